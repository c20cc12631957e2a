package drawbar_test

import (
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	_ "github.com/drawbar/drawbar/adapter/all"
	"github.com/drawbar/drawbar/execution"
)

// TestReadOutput: the output of an agent that was started by a command of its own is told by its first record.
func TestReadOutput(t *testing.T) {
	t.Parallel()
	c, err := drawbar.New(drawbar.Options{StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for line, want := range map[string]string{
		`{"type":"system","subtype":"init","session_id":"s","model":"m","claude_code_version":"2.1.0"}`: "claude",
		`{"type":"system","subtype":"init","session_id":"s","model":"m","qwen_code_version":"0.24.4"}`:  "qwen",
		`{"type":"thread.started","thread_id":"t"}`:                                                     "codex",
		`{"type":"result","subtype":"success","is_error":false,"modelUsage":{}}`:                        "claude",
		`{"type":"system","subtype":"init","session_id":"s"}`:                                           "",
		`{"type":"thread.started"}`:                                   "",
		`{"type":"system","subtype":7,"claude_code_version":"2.1.0"}`: "",
		`{"type":`: "", `working`: "", ``: "", `null`: "", `[]`: "",
	} {
		got := ""
		if out := c.GovernedAgents().(interface{ ReadOutput([]byte) adapter.Output }).ReadOutput([]byte(line)); out != nil {
			out.Line([]byte(line))
			_, res := out.End(1, "")
			if got = res.BackendID; res.Status == execution.StatusCompleted && want != "claude" {
				t.Errorf("%s: it has stated %s", line, res.Status)
			}
		}
		if got != want {
			t.Errorf("%s: read by %q, want %q", line, got, want)
		}
	}
}
