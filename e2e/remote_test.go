//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/external"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// TestBehindAnotherDrawbar: an agent that another Drawbar runs answers, states its tokens, and continues its session.
func TestBehindAnotherDrawbar(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"Hello from the scripted model.","chunks":5},{"text":"Hello again."}]}`)
		l.drawbar(nil, "agents", "add", "box", "--output", "drawbar", "--set", "directory={cwd}", "--", "env", "BOX=yes", binary, "agents", "serve", k.name)
		o := l.stream("run", "box", "--json", "--cwd", l.work, "say hello")
		o.completed(t)
		if o.result.Text != "Hello from the scripted model." || o.result.SessionID == "" || o.result.UnknownLines != 0 || o.result.BackendID != "box" {
			t.Errorf("text %q, session %q, %d lines could not be parsed", o.result.Text, o.result.SessionID, o.result.UnknownLines)
		}
		if u := o.result.Usage; !k.can(t).Agent.TokensUnstated && (u == nil || u.Input != 100 || u.Output != 20) {
			t.Errorf("usage %+v, want 100 in and 20 out", u)
		}
		if from, _ := o.result.Metadata["remote"].(map[string]any); from["agent"] != k.name {
			t.Errorf("metadata %v", o.result.Metadata)
		}
		again := l.stream("run", "box", "--json", "--cwd", l.work, "--session", o.result.SessionID, "and again")
		again.completed(t)
		if start := bodies[execution.SessionStart](again); again.result.Text != "Hello again." || len(start) == 0 || !start[0].Resumed {
			t.Errorf("text %q, session %+v", again.result.Text, start)
		}
	})
}

// TestPermissionBehindAnotherDrawbar: questions come through, answers and later messages go back.
func TestPermissionBehindAnotherDrawbar(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"x"}]}`)
		path := filepath.Join(l.outside(), "asked.txt")
		l = relab(t, l, `{"turns":[{"tools":[`+escalated(k, path)+`]},{"text":"so be it"},{"text":"and more"}]}`)
		box, err := external.Remote{Name: "box", Command: []string{binary, "agents", "serve", k.name}, Directory: "{cwd}"}.
			Find(t.Context(), oshost.New(cliagent.Spawn))
		if err != nil {
			t.Fatal(err)
		}
		l.kit.name, l.agents = "box", []adapter.Descriptor{box}
		c := l.talk(interactive("write it"), drawbar.RunOptions{Options: agent.Options{ // some ask twice
			OnApproval: func(context.Context, execution.ApprovalRequired) execution.Decision {
				return execution.Decision{Approve: true}
			},
		}})
		await[execution.ApprovalRequired](c)
		await[execution.TurnEnd](c)
		if _, err := c.run.Continue("two"); err != nil {
			t.Fatal(err)
		}
		await[execution.InputTaken](c)
		c.run.CloseInput()
		res := c.result()
		if _, err := os.Stat(path); res.Status != execution.StatusCompleted || res.TurnCount != 2 || res.Output.Text != "and more" || err != nil {
			t.Errorf("%s, %d turns, %+v %+v; the file: %v", res.Status, res.TurnCount, res.Output, res.Error, err)
		}
	})
}
