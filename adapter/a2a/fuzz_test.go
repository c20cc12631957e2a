package a2a

import (
	"bytes"
	"encoding/json"
	"testing"

	proto "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/execution"
)

// FuzzTask takes any events of an agent, one a line: the text that is shown is that of its pieces, and every text that was begun ends.
func FuzzTask(f *testing.F) {
	for _, seed := range []string{
		`{"task":{"id":"1","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}` + "\n" +
			`{"artifactUpdate":{"taskId":"1","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"h"}]}}}` + "\n" +
			`{"artifactUpdate":{"taskId":"1","contextId":"c","append":true,"artifact":{"artifactId":"a","parts":[{"text":"i"}]}}}` + "\n" +
			`{"statusUpdate":{"taskId":"1","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`,
		`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":{"a":1}},{"raw":"AA=="},{"url":"x"}]}}`,
		`{"task":{"id":"1","contextId":"c","artifacts":[{"artifactId":"a","parts":[{"text":"one"}]},null],"status":{"state":"x"}}}` + "\n" +
			`{"task":{"id":"1","contextId":"c","artifacts":[{"artifactId":"a","parts":[{"text":"other"}]}],"status":{"state":"TASK_STATE_FAILED","message":{"messageId":"m","parts":[]}}}}`,
		`{"statusUpdate":{"taskId":"2","contextId":"d","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		open, shown := false, ""
		r := &run{c: &client{access: &service.Access{Title: "it"}}, box: service.NewInbox(0), cancel: func() {}, yield: func(e execution.Event, _ error) bool {
			switch b := e.Body.(type) {
			case execution.MessageStart:
				if open {
					t.Error("a text begins in another")
				}
				open, shown = true, ""
			case execution.TextDelta:
				if shown += b.Delta; !open || shown != b.Accumulated {
					t.Errorf("a piece outside a text (%v), or %q is not %q", !open, shown, b.Accumulated)
				}
			case execution.MessageStop:
				if !open || b.Text != shown {
					t.Errorf("an end of no text (%v), or %q is not %q", !open, b.Text, shown)
				}
				open = false
			}
			return true
		}}
		r.task = &task{run: r, artifacts: map[proto.ArtifactID]string{}}
		for line := range bytes.Lines(data) {
			var e proto.StreamResponse
			if json.Unmarshal(line, &e) == nil && e.Event != nil {
				r.task.take(e.Event)
			}
		}
		r.task.close()
		o := cliagent.Outcome{Reason: execution.TurnFailed, Text: r.task.answer()}
		o.Failure = r.task.judge(&o)
		if open || o.Reason == execution.TurnFailed && o.Failure == nil && r.task.state != proto.TaskStateInputRequired {
			t.Errorf("open %v, outcome %+v", open, o)
		}
	})
}
