package drawbar_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/worktree"
	"github.com/drawbar/drawbar/settings"
)

// spender is an agent whose runs cost a dollar. With the prompt "hold" a run ends when hold is closed.
type spender struct {
	echo
	priced bool
	hold   chan struct{}
}

func (s spender) Capabilities() execution.Capabilities {
	c := s.echo.Capabilities()
	c.Agent.CostReported = s.priced
	return c
}

func (s spender) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		cost := execution.Cost{InputTokens: 1, OutputTokens: 1}
		if s.priced {
			cost.TotalUSD = new(1.0)
		}
		if !yield(execution.Event{Body: execution.TokenUsage{InputTokens: 1, OutputTokens: 1}}, nil) || !yield(execution.Event{Body: execution.CostEvent{Cost: cost}}, nil) {
			return
		}
		if req.Message.Text == "hold" {
			select {
			case <-s.hold:
			case <-ctx.Done():
			}
		}
		for e, err := range s.echo.Execute(ctx, req, in) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// purse is a client of spenders: "paid", whose cost is known, and "free", whose is not.
func purse(t *testing.T, dir string, budgets ...drawbar.Budget) (c *drawbar.Client, release func()) {
	t.Helper()
	hold := make(chan struct{})
	descriptor := func(name string, priced bool) adapter.Descriptor {
		return adapter.Descriptor{Name: name, DisplayName: name, Command: name, DefaultModel: "m", Models: []execution.Model{{ID: "m"}}, Config: settings.Schema{Agent: name},
			New: func() adapter.Adapter { return spender{priced: priced, hold: hold} }}
	}
	c, err := drawbar.New(drawbar.Options{StateDir: dir, Budgets: budgets, Agents: []adapter.Descriptor{descriptor("paid", true), descriptor("free", false)}})
	if err != nil {
		t.Fatal(err)
	}
	once := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(func() {
		once()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, once
}

func ask(agent, prompt, cwd string) execution.Request {
	return execution.Request{Message: execution.Message{Text: execution.Prompt(prompt)}, Run: execution.RunOptions{Agent: agent, Cwd: cwd}}
}

// pay runs a request to its end.
func pay(t *testing.T, c *drawbar.Client, req execution.Request) (execution.Result, error) {
	t.Helper()
	run, err := c.Run(t.Context(), req, drawbar.RunOptions{})
	if err != nil {
		return execution.Result{}, err
	}
	res, err := run.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res, nil
}

func refused(t *testing.T, err error, want string) *drawbar.OverBudget {
	t.Helper()
	over, is := errors.AsType[*drawbar.OverBudget](err)
	if execution.CodeOf(err) != execution.CodeBudgetExceeded || !is || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v, want BUDGET_EXCEEDED with %q", err, want)
	}
	return over
}

// TestBudgets: a run is refused when too little is left, reserves what it may cost while it is live, and counts with what it cost.
func TestBudgets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, release := purse(t, filepath.Join(dir, "state"), drawbar.Budget{Agent: "paid", Daily: 10, Run: 4}, drawbar.Budget{Monthly: 100})
	left := func(want float64) {
		t.Helper()
		if states, err := c.Budgets(); err != nil || len(states) != 2 || states[0].LeftUSD != want {
			t.Errorf("%+v, %v, want %g left", states, err, want)
		}
	}
	if res, err := pay(t, c, ask("paid", "x", dir)); err != nil || res.Status != execution.StatusCompleted {
		t.Fatal(res, err)
	}
	left(9)
	first, err := c.Run(t.Context(), ask("paid", "hold", dir), drawbar.RunOptions{}) // reserves what Run says
	if err != nil {
		t.Fatal(err)
	}
	left(5)
	own := ask("paid", "x", dir)
	own.Run.MaxBudgetUSD = new(5.5)
	_, err = pay(t, c, own)
	if over := refused(t, err, "has $5.00 left: $1.00 spent, $4.00 reserved; --budget 5.0000"); over.LeftUSD != 5 || over.Period != drawbar.PeriodDay {
		t.Errorf("%+v", over)
	}
	if _, err := c.Affordable(own, drawbar.RunOptions{}); err == nil {
		t.Error("Affordable allows what Run refuses")
	}
	if a, err := c.Affordable(ask("paid", "x", dir), drawbar.RunOptions{}); err != nil || a.LeftUSD != 5 || a.RunUSD != 4 {
		t.Errorf("%+v, %v", a, err)
	}
	own.Message.Text, own.Run.MaxBudgetUSD = "hold", new(5.0)
	second, err := c.Run(t.Context(), own, drawbar.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = pay(t, c, ask("paid", "x", dir))
	refused(t, err, "the daily budget of $10.00 for paid has nothing left while other runs are live: $1.00 spent, $9.00 reserved")
	if _, err := c.Run(t.Context(), ask("free", "x", dir), drawbar.RunOptions{Fallback: []string{"paid"}}); err == nil {
		t.Error("a run that may fall back to the agent is not counted")
	}
	release()
	for _, run := range []interface{ Done() <-chan struct{} }{first, second} {
		<-run.Done()
	}
	left(7)
	c2, _ := purse(t, filepath.Join(dir, "state"), drawbar.Budget{Weekly: 3})
	_, err = pay(t, c2, ask("free", "x", dir))
	refused(t, err, "the weekly budget of $3.00 is used up: $3.00 spent")
}

// TestBudgetStops: a run that states no limit is stopped at what it reserved; one whose cost may stay unknown is told so and reserves
// nothing, or nobody else could start.
func TestBudgetStops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, _ := purse(t, filepath.Join(dir, "state"), drawbar.Budget{Daily: 2, Run: 0.5})
	res, err := pay(t, c, ask("paid", "hold", dir))
	if err != nil || res.Error.ErrorCode() != execution.CodeBudgetExceeded {
		t.Errorf("%+v, %v", res.Error, err)
	}
	run, err := c.Run(t.Context(), ask("paid", "x", dir), drawbar.RunOptions{BudgetUSD: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := run.Result(t.Context()); err != nil || !strings.Contains(res.Error.Message, "the budget of 0.2500 USD") {
		t.Errorf("%+v, %v", res.Error, err)
	}

	c, _ = purse(t, filepath.Join(dir, "other"), drawbar.Budget{Daily: 2})
	if run, err = c.Run(t.Context(), ask("free", "hold", dir), drawbar.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	states, err := c.Budgets()
	if err != nil || states[0].ReservedUSD != 0 {
		t.Errorf("%+v, %v", states, err)
	}
	warned := false
	for e, err := range run.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, is := e.Body.(execution.Debug); is && b.Level == execution.DebugWarn && strings.Contains(b.Message, "price of model m is unknown") {
			warned = true
			break
		}
	}
	if !warned {
		t.Error("nothing says that the budget cannot be kept")
	}
	if _, err := pay(t, c, ask("paid", "x", dir)); err != nil {
		t.Errorf("beside it: %v", err)
	}
	stated := ask("free", "x", dir)
	stated.Run.MaxBudgetUSD = new(1.0)
	if res, err := pay(t, c, stated); err != nil || res.Status != execution.StatusUnsupported {
		t.Errorf("a stated limit that cannot be kept: %s, %v", res.Status, err)
	}
}

// TestBudgetsOfProjects: the budget of a project is about the runs below it, by whatever name, and those in worktrees of it.
func TestBudgetsOfProjects(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, other, link := filepath.Join(dir, "a"), filepath.Join(dir, "ab"), filepath.Join(dir, "link")
	state := filepath.Join(dir, "state")
	trees := worktree.In(state)
	for _, d := range []string{filepath.Join(project, "sub"), other} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(project, link); err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = project
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
	}
	tree, where, free, err := trees.Open(t.Context(), project, "one")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := purse(t, state, drawbar.Budget{Project: project, Daily: 3})
	for _, cwd := range []string{filepath.Join(project, "sub"), link, where} {
		if _, err := pay(t, c, ask("paid", "x", cwd)); err != nil {
			t.Fatal(cwd, err)
		}
	}
	free()
	if _, err := trees.Remove(t.Context(), tree, worktree.OwnChanges); err != nil { // its run counts on
		t.Fatal(err)
	}
	_, err = pay(t, c, ask("paid", "x", project))
	refused(t, err, "in "+project+" is used up")
	if _, err := pay(t, c, ask("paid", "x", other)); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
}

// TestBudgetsOfTwoClients: what two processes reserve at once is never more than there is.
func TestBudgetsOfTwoClients(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var started, refused atomic.Int32
	var all sync.WaitGroup
	var release []func()
	for range 2 {
		c, r := purse(t, filepath.Join(dir, "state"), drawbar.Budget{Daily: 10, Run: 2})
		release = append(release, r)
		for range 6 {
			all.Go(func() {
				_, err := c.Run(t.Context(), ask("paid", "hold", dir), drawbar.RunOptions{})
				if err == nil {
					started.Add(1)
				} else if execution.CodeOf(err) == execution.CodeBudgetExceeded {
					refused.Add(1)
				}
			})
		}
	}
	all.Wait()
	if started.Load() != 5 || refused.Load() != 7 {
		t.Errorf("%d started, %d refused, want 5 and 7", started.Load(), refused.Load())
	}
	for _, r := range release {
		r()
	}
}

// TestBudgetsThatLimitNothing are refused, not passed over.
func TestBudgetsThatLimitNothing(t *testing.T) {
	t.Parallel()
	for _, list := range [][]drawbar.Budget{{{}}, {{Daily: -1}}, {{Daily: 1, Project: "here"}}, {{Daily: 1}, {Weekly: 2}}} {
		if _, err := drawbar.New(drawbar.Options{Budgets: list, Agents: []adapter.Descriptor{echoDescriptor()}}); execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("%+v: %v", list, err)
		}
	}
}

// TestBudgetsNeedTheRecord: without a record nothing holds a budget, so nothing starts.
func TestBudgetsNeedTheRecord(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := purse(t, filepath.Join(file, "state"), drawbar.Budget{Daily: 10})
	if _, err := pay(t, c, ask("paid", "x", t.TempDir())); err == nil {
		t.Error("a run began that nobody can count")
	}
}
