package acpagent_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// capabilities are those of an agent that speaks ACP, as far as the tests need them.
func capabilities() execution.Capabilities {
	c := adaptertest.Capable()
	c.Agent.Verbs = acpagent.Verbs()
	return c
}

// run runs the test binary as an agent that plays a part, and hands over its events as they come.
func run(t *testing.T, part string, spec acpagent.Spec, req execution.Request, each func(*agent.Run, execution.Event)) ([]execution.Event, execution.Result) {
	t.Helper()
	dir := adaptertest.LinkSelf(t, "agent")
	spec.Name = "agent"
	spec.Spawn = func(*cliagent.Launch) (cliagent.Invocation, error) { return cliagent.Invocation{}, nil }
	a := cliagent.New(acpagent.Join(cliagent.Spec{Name: "agent", Command: "agent", Capabilities: capabilities, Grace: 100 * time.Millisecond,
		Linger: 100 * time.Millisecond}, spec, nil), cliagent.Options{})
	req.Run.Env = map[string]string{"PATH": dir + string(os.PathListSeparator) + os.Getenv("PATH"), fakeVar: part, "GORACE": "atexit_sleep_ms=0"}
	req.Run.Cwd = t.TempDir()
	r, err := agent.New(agent.Backend{Name: "agent", Adapter: a}).Start(context.Background(), req, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var events []execution.Event
	for e, err := range r.Events(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
		if each != nil {
			each(r, e)
		}
	}
	res, err := r.Result(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := adaptertest.CheckOrder(events, res); err != nil {
		t.Error(err)
	}
	return events, res
}

func oneShot() execution.Request {
	req := newRequest("hi")
	req.Run.Interactive = false
	return req
}

func TestAgentThatNeverAnswers(t *testing.T) {
	t.Parallel()
	_, res := run(t, "mute", acpagent.Spec{Startup: 100 * time.Millisecond}, oneShot(), nil)
	if res.Status != execution.StatusFailed || res.Error.ErrorCode() != execution.CodeTimeout || !strings.Contains(res.Error.Message, "initialize within 100ms") {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
}

func TestProgramThatIsNoAgent(t *testing.T) {
	t.Parallel()
	_, res := run(t, "no-agent", acpagent.Spec{}, oneShot(), nil)
	if res.Status != execution.StatusFailed || res.Error.ErrorCode() != execution.CodeAgentCrash || !strings.Contains(res.Error.Stderr, "usage: no-agent") {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
}

func TestAgentThatDiesWithinATurn(t *testing.T) {
	t.Parallel()
	events, res := run(t, "dies", acpagent.Spec{}, oneShot(), nil)
	if res.Status != execution.StatusFailed || res.Error.ErrorCode() != execution.CodeAgentCrash || res.ExitReason != execution.ExitCrash || *res.ExitCode != 9 || res.Text != "half a" {
		t.Errorf("%s %s %+v %q", res.Status, res.ExitReason, res.Error, res.Text)
	}
	crashes := 0
	for _, e := range events {
		if c, ok := e.Body.(execution.Crash); ok && strings.Contains(c.Stderr, "out of memory") {
			crashes++
		}
	}
	if crashes != 1 {
		t.Errorf("%d crashes are told", crashes)
	}
}

// TestAgentThatDiesInTheHandshake has said nothing.
func TestAgentThatDiesInTheHandshake(t *testing.T) {
	t.Parallel()
	_, res := run(t, "dies-early", acpagent.Spec{}, oneShot(), nil)
	if res.Status != execution.StatusFailed || res.Error.ErrorCode() != execution.CodeAgentCrash || *res.ExitCode != 9 || res.TurnCount != 0 {
		t.Errorf("%s %+v, %d turns", res.Status, res.Error, res.TurnCount)
	}
}

// TestPromptWithoutAReply: an agent that never stops retrying is ended by the run's time limit.
func TestPromptWithoutAReply(t *testing.T) {
	t.Parallel()
	req := oneShot()
	req.Run.TimeoutMs = 500
	_, res := run(t, "deaf", acpagent.Spec{}, req, nil)
	if res.Status != execution.StatusFailed || res.Error.ErrorCode() != execution.CodeTimeout || res.Text != "half a" {
		t.Errorf("%s %+v %q", res.Status, res.Error, res.Text)
	}
}

// TestGiantMessage arrives whole.
func TestGiantMessage(t *testing.T) {
	t.Parallel()
	_, res := run(t, "giant", acpagent.Spec{}, oneShot(), nil)
	if res.Status != execution.StatusCompleted || len(res.Text) != len("half a")+giant {
		t.Errorf("%s %+v, %d bytes", res.Status, res.Error, len(res.Text))
	}
}

// TestAgentThatStays does not end when its input is closed: it is stopped, and how it ends means nothing. Neither does the code of
// one that ends by itself.
func TestAgentThatStays(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"stays", "exits-7"} {
		_, res := run(t, part, acpagent.Spec{}, oneShot(), nil)
		if res.Status != execution.StatusCompleted || res.ExitReason != execution.ExitCompleted || res.Output.Text != "half a" || res.UnknownLines != 2 {
			t.Errorf("%s: %s %s %+v, %d unknown lines", part, res.Status, res.ExitReason, res.Error, res.UnknownLines)
		}
	}
}

// TestAgentThatIgnoresAnInterrupt is stopped after its time, and the run ends interrupted.
func TestAgentThatIgnoresAnInterrupt(t *testing.T) {
	t.Parallel()
	req := newRequest("hi")
	_, res := run(t, "deaf", acpagent.Spec{CancelWait: 100 * time.Millisecond}, req, func(r *agent.Run, e execution.Event) {
		if _, ok := e.Body.(execution.TextDelta); ok {
			if err := r.Interrupt(); err != nil {
				t.Error(err)
			}
		}
	})
	if res.Error.ErrorCode() != execution.CodeInterrupted || res.ExitReason != execution.ExitInterrupted || res.TurnCount != 1 {
		t.Errorf("%s %s %+v", res.Status, res.ExitReason, res.Error)
	}
}

// TestJoin picks the mode of every run.
func TestJoin(t *testing.T) {
	t.Parallel()
	spec := acpagent.Join(cliagent.Spec{
		Spawn: func(*cliagent.Launch) (cliagent.Invocation, error) {
			return cliagent.Invocation{Args: []string{"-p"}}, nil
		},
		NewParser: func(execution.Request) cliagent.Parser { return nil },
		Negotiate: func(execution.Request) []execution.Reason { return []execution.Reason{{Message: "of the adapter"}} },
	}, acpagent.Spec{Name: "agent", Spawn: func(*cliagent.Launch) (cliagent.Invocation, error) {
		return cliagent.Invocation{Args: []string{"--acp"}}, nil
	}}, func(req execution.Request) bool { return req.Run.Interactive })
	for _, twoWay := range []bool{false, true} {
		req := newRequest("hi")
		req.Run.Interactive, req.Run.MaxTurns = twoWay, 2
		inv, err := spec.Spawn(&cliagent.Launch{Request: req})
		if err != nil || inv.KeepStdin != twoWay || (inv.Args[0] == "--acp") != twoWay {
			t.Errorf("two-way %v: %+v %v", twoWay, inv, err)
		}
		if (spec.NewParser(req) != nil) != twoWay {
			t.Errorf("two-way %v has the wrong parser", twoWay)
		}
		if n := len(spec.Negotiate(req)); (n == 2) != twoWay {
			t.Errorf("two-way %v: %d reasons", twoWay, n)
		}
	}
}
