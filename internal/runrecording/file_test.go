package runrecording

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/linefile"
)

const (
	head    = `{"recording":1}` + "\n"
	began   = `{"run":{"request":{},"cwd":"/a"}}` + "\n"
	started = `{"execution":{"agent":"x"}}` + "\n"
	event   = `{"event":{"schemaVersion":"1.0","type":"text_delta","delta":"a","accumulated":""}}` + "\n"
	over    = `{"event":{"schemaVersion":"1.0","type":"finished","result":{"schemaVersion":"1.0","status":"completed"}}}` + "\n"
	end     = `{"end":{"status":"completed"}}` + "\n"
	whole   = began + started + event + over + end
)

func TestBadFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"no run", head + event, "line 2: it is in no run"},
		{"no execution", head + began + event + end, "line 3: it is in no execution"},
		{"a run within a run", head + began + whole, "line 3: a run begins within the run that begins in line 2"},
		{"after the end", head + whole + event, "line 7: it is in no run"},
		{"nothing", head + "{}\n", "line 2: want one of run, execution"},
		{"two things", head + `{"end":{"status":"completed"},"execution":{"agent":"x"}}` + "\n", "line 2: want one of run, execution"},
		{"unknown", head + `{"runn":{}}` + "\n", `line 2: unknown key "runn"`},
		{"no request", head + `{"run":{"cwd":"/a"}}` + "\n", "line 2: run.request is missing"},
		{"unknown event", head + began + started + `{"event":{"schemaVersion":"1.0","type":"nonsense"}}` + "\n", `line 4: unknown event type "nonsense"`},
		{"event of a later version", head + began + started + `{"event":{"schemaVersion":"9.0","type":"text_delta"}}` + "\n", "line 4: "},
		{"two commands", head + began + started + `{"command":{"endInput":true,"say":{"id":"a","text":"b"}}}` + "\n", "line 4: command: want one of"},
		{"no agent", head + began + `{"execution":{"agent":""}}` + "\n", "line 3: execution.agent is missing"},
		{"truncated", head + whole[:len(whole)-9], "line 6: it is cut off"},
	} {
		list, err := read(strings.NewReader(tt.text))
		var fault *linefile.LineError
		if !errors.As(err, &fault) || len(list) != 0 || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	for name, text := range map[string]string{"in a line": whole + whole[:len(whole)-9], "between lines": whole + began + started, "in the first line of a run": whole + began[:20]} {
		if list, err := read(strings.NewReader(head + text)); !errors.Is(err, linefile.ErrCutOff) || len(list) != 1 || !list[0].ended {
			t.Errorf("cut off %s: %v, %v", name, list, err)
		}
	}
	if list, err := read(strings.NewReader(head + whole + whole)); err != nil || len(list) != 2 || list[1].line != 7 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := read(strings.NewReader(head)); err != nil || len(list) != 0 {
		t.Errorf("no runs: %v", err)
	}
}

// idle is an inbox without commands.
type idle struct{}

func (idle) Receive(context.Context) (execution.Command, error) { return nil, io.EOF }

// FuzzRead: whatever is read is replayed without a panic, in another directory too, and ends with one result.
func FuzzRead(f *testing.F) {
	f.Add(head + whole)
	f.Add(head + began + started + `{"command":{"say":{"id":"i","text":"t"}}}` + "\n" + `{"tool":{"call":{"id":"1","name":"n","input":{}},"result":{}}}` + "\n" + end)
	f.Add(head + began + started + `{"command":{"answer":{"id":"q","decision":{"approve":true}}}}` + "\n" + `{"hook":{"call":{"agent":"x","hookType":"h","timestamp":"2026-01-01T00:00:00Z","data":{}},"result":{"decision":"allow"}}}` + "\n" + over + end)
	f.Add(head + began + `{"used":{"agent":"x","session":"s","usage":{"input":1}}}` + "\n" + end)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, r := range list {
			lines, err := r.at("/another")
			if err != nil {
				continue // a changed text may be no event any more
			}
			p := &Replay{path: "f", lines: lines}
			p.SessionBefore()
			results := 0
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			for e, err := range p.Adapter("x", &adaptertest.Fake{}).Execute(ctx, execution.Request{}, idle{}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Terminal() {
					results++
				}
			}
			cancel()
			p.SessionUsage("", "")
			if results != 1 {
				t.Errorf("%d results of %s", results, text)
			}
		}
	})
}
