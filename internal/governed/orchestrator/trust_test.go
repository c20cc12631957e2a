//go:build unix

package orchestrator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// distrusted is a project that was cloned: whatever of it runs leaves a file in traces.
type distrusted struct {
	*world
	traces string
	store  trust.Store
}

func newDistrusted(t *testing.T, more string) *distrusted {
	t.Helper()
	dir := t.TempDir()
	d := &distrusted{traces: filepath.Join(dir, "traces"), store: trust.Store{File: filepath.Join(dir, "trust.json")}}
	if err := os.Mkdir(d.traces, 0o700); err != nil {
		t.Fatal(err)
	}
	d.world = bare(t, one(`{"type":"local_cli","command":["sh","agent.sh"]}`, fmt.Sprintf(
		`,"hooks":{"before_assignment":[{"name":"look","type":"process","command":["sh","-c",%q],"timeout_ms":9000,"mode":"advisory"}]}%s`, d.touch("hook"), more)))
	d.write("agent.sh", d.touch("agent")+"\nexit 3\n")
	d.git("init", "-q", "-b", "main")
	d.git("add", "-A")
	d.git("commit", "-qm", "start")
	return d
}

func (d *distrusted) touch(name string) string {
	return "touch '" + filepath.Join(d.traces, name) + "'"
}

func (d *distrusted) ran() string {
	d.t.Helper()
	entries, err := os.ReadDir(d.traces)
	if err != nil {
		d.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func (d *distrusted) engine() *Local {
	return d.world.engine(func(o *Options) { o.Trust = d.store.Check })
}

func (d *distrusted) trust() {
	d.t.Helper()
	p, err := project.Load(d.root)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.store.Trust(d.t.Context(), d.root, p.Items(), true); err != nil {
		d.t.Fatal(err)
	}
}

// untrusted wants an error that says so, and nothing new that ran.
func (d *distrusted) untrusted(what string, err error, ran string) {
	d.t.Helper()
	if execution.CodeOf(err) != execution.CodeUntrusted || d.ran() != ran {
		d.t.Errorf("%s: got %v, and %q ran; want %q", what, err, d.ran(), ran)
	}
}

// Nothing of a project runs, and nothing is written, before somebody says that it may.
func TestNothingRunsUntrusted(t *testing.T) {
	t.Parallel()
	d := newDistrusted(t, "")
	commands := map[string]func(context.Context, *Local) error{
		"step":   func(ctx context.Context, e *Local) error { _, err := e.Step(ctx, govern.StepOptions{}); return err },
		"run":    func(ctx context.Context, e *Local) error { _, err := e.Run(ctx, govern.RunOptions{}); return err },
		"resume": func(ctx context.Context, e *Local) error { _, err := e.Resume(ctx, govern.StepOptions{}); return err },
		"restart": func(ctx context.Context, e *Local) error {
			_, err := e.Restart(ctx, govern.RestartOptions{})
			return err
		},
		"accept": func(ctx context.Context, e *Local) error { _, err := e.Accept(ctx, govern.AcceptOptions{}); return err },
		"approve": func(ctx context.Context, e *Local) error {
			_, err := e.Approve(ctx, govern.ApproveOptions{Either: true})
			return err
		},
		"reissue": func(ctx context.Context, e *Local) error { _, err := e.Reissue(ctx, "", "x"); return err },
		"escalate": func(ctx context.Context, e *Local) error {
			_, err := e.Escalate(ctx, govern.EscalateOptions{Reason: "x"})
			return err
		},
		"unblock": func(ctx context.Context, e *Local) error { _, err := e.Unblock(ctx, ""); return err },
	}
	nobody, err := Open(d.root, Options{Environ: os.Environ(), Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	for name, do := range commands {
		d.untrusted(name, do(t.Context(), d.engine()), "")
		d.untrusted(name+" of an engine that asks nobody", do(t.Context(), nobody), "")
	}
	if _, err := os.Stat(filepath.Join(d.root, ".agentxchain")); err == nil {
		t.Error("a record was begun")
	}
	if s, err := d.engine().Status(t.Context()); err != nil || !strings.Contains(s.NotTrusted, "you have not trusted it") {
		t.Errorf("status: %q, %v", s.NotTrusted, err)
	}
	if r, err := d.engine().Run(t.Context(), govern.RunOptions{DryRun: true}); err != nil || r.Last.Role != "dev" {
		t.Errorf("dry run: %+v, %v", r, err)
	}
	d.trust()
	if s, err := d.engine().Status(t.Context()); err != nil || s.NotTrusted != "" {
		t.Errorf("status: %q, %v", s.NotTrusted, err)
	}
	if r, err := d.engine().Step(t.Context(), govern.StepOptions{}); err != nil || r.Outcome != govern.OutcomeBlocked || d.ran() != "agent hook" {
		t.Errorf("trusted: %+v, %v, ran %q", r, err, d.ran())
	}
}

// A turn that changes what a later one runs makes the next step ask again.
func TestATurnCannotChangeWhatRuns(t *testing.T) {
	t.Parallel()
	d := newDistrusted(t, "")
	d.write("agent.sh", d.touch("agent")+"\necho '"+strings.ReplaceAll(d.touch("changed"), "'", "")+"' > agent.sh\nexit 3\n")
	d.git("commit", "-qam", "an agent that writes itself")
	d.trust()
	if r, err := d.engine().Step(t.Context(), govern.StepOptions{}); err != nil || r.Outcome != govern.OutcomeBlocked {
		t.Fatalf("got %+v, %v", r, err)
	}
	_, err := d.engine().Step(t.Context(), govern.StepOptions{Resume: true})
	d.untrusted("the next step", err, "agent hook")
	if err == nil || !strings.Contains(err.Error(), "it changed since you trusted it") {
		t.Errorf("got %v", err)
	}
}

// What runs is checked where it runs: a hook that is let in first cannot exchange the program of the turn.
func TestWhatRunsIsCheckedWhereItRuns(t *testing.T) {
	t.Parallel()
	d := newDistrusted(t, "")
	d.write("agentxchain.json", strings.Replace(d.read("agentxchain.json"), d.touch("hook"), "echo "+strings.ReplaceAll(d.touch("exchanged"), "'", "")+" > agent.sh", 1))
	d.git("commit", "-qam", "a hook that writes the agent")
	d.trust()
	_, err := d.engine().Step(t.Context(), govern.StepOptions{})
	d.untrusted("the turn", err, "")
}

// In a worktree the files that a command names are those of a commit: they have to be the trusted ones.
func TestAWorktreeRunsWhatWasTrusted(t *testing.T) {
	t.Parallel()
	d := newDistrusted(t, `,"workspace":"worktree"`)
	d.trust()
	if r, err := d.engine().Step(t.Context(), govern.StepOptions{}); err != nil || r.Outcome != govern.OutcomeBlocked || d.ran() != "agent hook" {
		t.Fatalf("got %+v, %v, ran %q", r, err, d.ran())
	}

	d = newDistrusted(t, `,"workspace":"worktree"`)
	committed := d.read("agent.sh")
	d.write("agent.sh", "exit 0\n")
	d.trust() // of what stands in the project; the commit has another
	d.git("update-index", "--assume-unchanged", "agent.sh")
	_, err := d.engine().Step(t.Context(), govern.StepOptions{})
	d.untrusted("the worktree", err, "hook")
	if committed == d.read("agent.sh") || err == nil || !strings.Contains(err.Error(), "the worktree of turn") {
		t.Errorf("got %v", err)
	}
}

// A gate's action runs as it was trusted, and not otherwise.
func TestGateActionsNeedTrust(t *testing.T) {
	t.Parallel()
	d := newDistrusted(t, "")
	d.write("agentxchain.json", strings.Replace(d.read("agentxchain.json"), `"gates":{"done":{"requires_verification_pass":true}}`,
		fmt.Sprintf(`"gates":{"done":{"requires_human_approval":true,"gate_actions":[{"run":%q}]}}`, d.touch("gate")), 1))
	d.git("commit", "-qam", "a gate with an action")
	_, err := d.engine().Approve(t.Context(), govern.ApproveOptions{Either: true})
	d.untrusted("approve", err, "")
}
