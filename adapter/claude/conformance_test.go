package claude

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// TestConformance runs the suite on the adapter with the test binary in the place of Claude Code.
func TestConformance(t *testing.T) {
	dir := adaptertest.LinkSelf(t, "claude")
	state := t.TempDir()
	grace := int64(200)
	s := adaptertest.Subject{
		Backend: func() agent.Backend { return agent.BackendOf(Descriptor()) },
		Request: func(sc adaptertest.Scenario) execution.Request {
			req := adaptertest.PlayRequest(sc)
			path := dir + string(os.PathListSeparator) + os.Getenv("PATH")
			if sc == adaptertest.Missing {
				path = t.TempDir()
			}
			if sc == adaptertest.Clarify {
				req.Run.ApprovalMode = execution.ApprovalPrompt
			}
			if sc == adaptertest.Talk {
				req.Message.Text = "again"
			}
			req.Run.GracePeriodMs = &grace
			req.Run.Env = map[string]string{"PATH": path, fakeVar: string(sc), stateVar: state, "GORACE": "atexit_sleep_ms=0", "HOME": state}
			return req
		},
		Answer: "hi", Memory: "42", Source: ".", Others: []string{"codex", "gemini"}, Limit: 30 * time.Second, Grace: 2 * time.Second,
	}
	if runtime.GOOS == "linux" {
		s.Survivors = adaptertest.MarkedProcesses(stateVar + "=" + state)
	}
	adaptertest.Test(t, s)
}
