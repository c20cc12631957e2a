package acp

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// TestResumedRunsShowNothingOld resumes a session of several turns, with an agent that shows them again before its answer or behind
// it: the new turn has the new answer only.
func TestResumedRunsShowNothingOld(t *testing.T) {
	t.Parallel()
	for _, late := range []string{"", "yes"} {
		dir, state := adaptertest.LinkSelf(t, "fake-agent"), t.TempDir()
		run := func(sc adaptertest.Scenario, session string) execution.Result {
			t.Helper()
			req := adaptertest.PlayRequest(sc)
			req.SchemaVersion, req.AssistantID, req.TurnID = execution.SchemaVersion, "a", "t"
			req.Run = execution.RunOptions{Command: []string{"fake-agent", "--acp", "an argument"}, SessionID: session, Env: map[string]string{
				"PATH": dir + string(os.PathListSeparator) + os.Getenv("PATH"), fakeVar: string(sc), stateVar: state, lateVar: late, "GORACE": "atexit_sleep_ms=0"}}
			r, err := agent.New(agent.BackendOf(Descriptor())).Start(context.Background(), req, agent.Options{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := r.Result(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		first := run(adaptertest.Simple, "")
		if first.Status != execution.StatusCompleted || first.SessionID == "" {
			t.Fatalf("%s %+v", first.Status, first.Error)
		}
		again := run(adaptertest.Remember, first.SessionID)
		if again.Text != "it was 42" || again.SessionID != first.SessionID || strings.Contains(again.Text, "old") {
			t.Errorf("late %q: %s %+v, text %q", late, again.Status, again.Error, again.Text)
		}
	}
}
