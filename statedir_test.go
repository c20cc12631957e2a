package drawbar_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/modelserver"
	"github.com/drawbar/drawbar/sessions"
)

// TestSessionsInStateDir: conversations that Drawbar keeps itself are in the state directory of their client, which alone finds them.
func TestSessionsInStateDir(t *testing.T) {
	t.Parallel()
	script, err := modelserver.Parse([]byte(`{"turns":[{"text":"noted","repeat":true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	server, err := modelserver.New(script, modelserver.Options{}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	home := t.TempDir()
	open := func() *drawbar.Client {
		c, err := drawbar.New(drawbar.Options{StateDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	run := func(c *drawbar.Client, agent, model, session string) execution.Result {
		t.Helper()
		req := execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "test", TurnID: "t", Message: execution.Message{Text: execution.Prompt("remember 42")}}
		req.Run = execution.RunOptions{Agent: agent, Model: model, SessionID: session, Cwd: t.TempDir(),
			Env: map[string]string{"HOME": home, "XDG_STATE_HOME": home, "ANTHROPIC_BASE_URL": server.URL(), "ANTHROPIC_API_KEY": "dummy"}}
		r, err := c.Run(t.Context(), req, drawbar.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Result(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	ours, theirs := open(), open()
	for agent, model := range map[string]string{"anthropic": "model-1", "harness": "anthropic/model-1"} {
		first := run(ours, agent, model, "")
		if first.Status != execution.StatusCompleted || first.SessionID == "" {
			t.Fatalf("%s: %s %+v", agent, first.Status, first.Error)
		}
		if again := run(ours, agent, "", first.SessionID); agent == "harness" && again.Status != execution.StatusCompleted {
			t.Errorf("%s does not go on with the model that it had: %s %+v", agent, again.Status, again.Error)
		}
		if res := run(theirs, agent, model, first.SessionID); res.Error.ErrorCode() != execution.CodeSessionNotFound {
			t.Errorf("%s: the other client continues it: %s %+v", agent, res.Status, res.Error)
		}
		for c, want := range map[*drawbar.Client]int{ours: 1, theirs: 0} {
			s, err := c.Sessions()
			if err != nil {
				t.Fatal(err)
			}
			list, err := s.List(t.Context(), sessions.Query{Agent: agent})
			if err != nil || len(list.Sessions) != want {
				t.Errorf("%s: %v, sessions %+v, want %d", agent, err, list.Sessions, want)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(home, "drawbar")); err == nil {
		t.Error("something was kept in the default state directory")
	}
}
