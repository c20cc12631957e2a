package gemini

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// TestConformance runs the suite on the adapter with the test binary in the place of Gemini.
func TestConformance(t *testing.T) {
	dir := adaptertest.LinkSelf(t, "gemini")
	state := t.TempDir()
	grace := int64(200)
	s := adaptertest.Subject{
		Backend: func() agent.Backend { return agent.BackendOf(Descriptor()) },
		Request: func(sc adaptertest.Scenario) execution.Request {
			req := adaptertest.PlayRequest(sc)
			path := dir + string(os.PathListSeparator) + os.Getenv("PATH")
			switch sc {
			case adaptertest.Missing:
				path = t.TempDir()
			case adaptertest.Talk:
				req.Message.Text = "again"
			}
			req.Run.GracePeriodMs = &grace
			req.Run.Env = map[string]string{"PATH": path, fakeVar: string(sc), stateVar: state, "GORACE": "atexit_sleep_ms=0", "HOME": state}
			return req
		},
		Cannot: map[adaptertest.Scenario]string{adaptertest.Clarify: "Gemini asks a person for text in its own terminal only"},
		Answer: "hi", Memory: "42", Source: ".", Others: []string{"claude", "codex"}, Limit: 30 * time.Second, Grace: 2 * time.Second,
	}
	if runtime.GOOS == "linux" {
		s.Survivors = adaptertest.MarkedProcesses(stateVar + "=" + state)
	}
	adaptertest.Test(t, s)
}
