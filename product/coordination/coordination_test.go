package coordination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/product/routing"
	"github.com/drawbar/drawbar/product/signal"
	"github.com/drawbar/drawbar/product/turncontext"
)

func says(name, text string, change ...func(*Result)) Specialist {
	return Specialist{Name: name, Do: func(_ context.Context, t Task) (Result, error) {
		r := Result{Output: text, Status: Complete}
		for _, c := range change {
			c(&r)
		}
		return r, nil
	}}
}

func fails(name string) Specialist {
	return Specialist{Name: name, Do: func(context.Context, Task) (Result, error) { return Result{}, errors.New("no paper") }}
}

// emits says something, and sends a signal.
func emits(name string, class signal.Class, summary string) Specialist {
	return Specialist{Name: name, Do: func(_ context.Context, t Task) (Result, error) {
		zero := 0.0
		s := signal.Signal{ThreadID: t.ThreadID, Source: name, Audience: signal.Coordinator, Class: class, Summary: summary}
		if m := class.Message(); m == "confidence" || m == "conflict" {
			s.Confidence = &zero
		}
		if _, err := t.Signals.Emit(s); err != nil {
			return Result{}, err
		}
		return Result{Output: name + " spoke", Status: Complete}, nil
	}}
}

func plan(names ...string) Plan {
	p := Plan{Intent: "answer"}
	for _, n := range names {
		name, optional := strings.CutSuffix(n, "?")
		name, with := strings.CutPrefix(name, "+")
		p.Steps = append(p.Steps, Step{Specialist: name, Instruction: "do " + name, Optional: optional, With: with})
	}
	return p
}

// TestCheck: every fault of a plan is listed.
func TestCheck(t *testing.T) {
	t.Parallel()
	c := &Coordinator{Specialists: []Specialist{says("a", "x")}, MaxSteps: 2}
	err := c.Check(Plan{Steps: []Step{{Specialist: "a", With: true}, {Instruction: "x"}, {Specialist: "b", Instruction: "x"}}})
	if !errors.Is(err, ErrPlan) {
		t.Fatal(err)
	}
	for _, want := range []string{"no intent", "3 steps, more than 2", "step 0 has no instruction", "step 0 begins with nothing", "step 1 names no specialist", `step 2: the specialist "b" is unknown`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if _, err := c.Run(t.Context(), Plan{Intent: "x"}); !errors.Is(err, ErrPlan) {
		t.Errorf("%v", err)
	}
	if _, err := (&Coordinator{Specialists: []Specialist{says("a", "x"), says("a", "y")}}).Run(t.Context(), plan("a")); !errors.Is(err, ErrPlan) {
		t.Errorf("%v", err)
	}
	long := plan(slices.Repeat([]string{"a"}, 11)...)
	if err := (&Coordinator{Specialists: []Specialist{says("a", "x")}}).Check(long); !errors.Is(err, ErrPlan) {
		t.Errorf("%v", err)
	}
}

// TestRun: who does what becomes one answer; optional failures degrade it, others end it.
func TestRun(t *testing.T) {
	t.Parallel()
	all := []Specialist{says("a", "first"), says("b", "second"), fails("broken"), says("partly", "half", func(r *Result) { r.Status = Partial }),
		says("silent", " "), says("odd", "x", func(r *Result) { r.Status = "done" }), says("sure", "x", func(r *Result) { two := 2.0; r.Confidence = &two }),
		{Name: "panics", Do: func(context.Context, Task) (Result, error) { panic("boo") }},
		emits("stuck", signal.ConfidenceBlocker, "no access"), emits("alarm", signal.EscalationInterrupt, "stop"), emits("against", signal.ConflictActive, "not so"), emits("raises", signal.AttentionRaise, "look")}
	for _, tt := range []struct {
		plan     Plan
		want     error
		text     string
		degraded bool
		skipped  int
	}{
		{plan("a", "b"), nil, "first\n\nsecond", false, 0},
		{plan("a", "broken?"), nil, "first", true, 1},
		{plan("broken", "a"), ErrFailed, "", false, 0},
		{plan("a", "partly"), nil, "first\n\nhalf", true, 0},
		{plan("silent?", "a"), nil, "first", true, 1},
		{plan("odd"), ErrFailed, "", false, 0},
		{plan("sure"), ErrFailed, "", false, 0},
		{plan("panics?", "a"), nil, "first", true, 1},
		{plan("stuck", "a"), ErrBlocked, "", false, 0},
		{plan("stuck?", "a"), nil, "stuck spoke\n\nfirst", true, 1},
		{plan("alarm?", "a"), ErrBlocked, "", false, 0},
		{plan("against", "a"), nil, "against spoke\n\nfirst", true, 0},
		{plan("raises", "a"), nil, "raises spoke\n\nfirst", false, 0},
	} {
		turn, err := (&Coordinator{Specialists: all}).Run(t.Context(), tt.plan)
		if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%v: %v", tt.plan.Steps, err)
		}
		if err == nil && (turn.Text != tt.text || turn.Degraded != tt.degraded || len(turn.Skipped) != tt.skipped) {
			t.Errorf("%v: %+v", tt.plan.Steps, turn)
		}
		if turn == nil || len(turn.Results) == 0 {
			t.Errorf("%v: what was done is lost", tt.plan.Steps)
		}
	}
	turn, err := (&Coordinator{Specialists: all}).Run(t.Context(), plan("raises", "against"))
	if err != nil || len(turn.Signals) != 2 || turn.Signals[0].State != signal.Resolved || turn.Signals[1].State == signal.Resolved {
		t.Errorf("%+v %v", turn.Signals, err)
	}
}

// TestPrior: a step sees what the steps before said, as a copy, and not what begins with it.
func TestPrior(t *testing.T) {
	t.Parallel()
	var saw []int
	look := func(name string) Specialist {
		return Specialist{Name: name, Do: func(_ context.Context, task Task) (Result, error) {
			for i := range task.Prior {
				task.Prior[i].Output = "changed"
			}
			return Result{Output: fmt.Sprint(name, len(task.Prior)), Status: Complete}, nil
		}}
	}
	turn, err := (&Coordinator{Specialists: []Specialist{look("a"), look("b"), look("c"), look("d")}, Synthesize: func(_ Plan, results []Result) (string, error) {
		saw = append(saw, len(results))
		return LastWins(Plan{}, results)
	}}).Run(t.Context(), plan("a", "b", "+c", "d"))
	var said []string
	for _, r := range turn.Results {
		said = append(said, r.Output)
	}
	if err != nil || turn.Text != "d3" || !slices.Equal(said, []string{"a0", "b1", "c1", "d3"}) || !slices.Equal(saw, []int{4}) {
		t.Errorf("%v %+v", err, turn)
	}
	if _, err := (&Coordinator{Specialists: []Specialist{look("a")}, Synthesize: func(Plan, []Result) (string, error) { return "", errors.New("no words") }}).Run(t.Context(), plan("a")); err == nil {
		t.Error("a synthesis that fails")
	}
}

// TestTime: steps that begin together take as long as the longest, and a slow one is stopped.
func TestTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(name string, d, limit time.Duration) Specialist {
			return Specialist{Name: name, Timeout: limit, Do: func(ctx context.Context, _ Task) (Result, error) {
				select {
				case <-time.After(d):
					return Result{Output: name, Status: Complete}, nil
				case <-ctx.Done():
					return Result{}, ctx.Err()
				}
			}}
		}
		c := &Coordinator{Specialists: []Specialist{slow("a", time.Minute, 0), slow("b", time.Minute, 0), slow("late", time.Hour, time.Second)}}
		began := time.Now()
		if turn, err := c.Run(t.Context(), plan("a", "+b", "+late?")); err != nil || time.Since(began) != time.Minute || turn.Results[2].Output != "it took longer than 1s" {
			t.Errorf("%v after %s: %+v", err, time.Since(began), turn)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := c.Run(ctx, plan("a?", "b")); !errors.Is(err, ErrFailed) {
			t.Errorf("%v", err)
		}
	})
}

// TestRouting: what the steps before cost, and escalations, decide what the next one is worth.
func TestRouting(t *testing.T) {
	t.Parallel()
	var modes []routing.Mode
	look := func(name string, cost float64, raise bool) Specialist {
		return Specialist{Name: name, Do: func(_ context.Context, task Task) (Result, error) {
			modes = append(modes, task.Route.Mode)
			if raise {
				if _, err := task.Signals.Emit(signal.Signal{ThreadID: task.ThreadID, Source: name, Audience: signal.All, Class: signal.EscalationUncertainty, Summary: "hm"}); err != nil {
					return Result{}, err
				}
			}
			return Result{Output: name, Status: Complete, CostUSD: cost}, nil
		}}
	}
	c := &Coordinator{Specialists: []Specialist{look("a", 0.1, true), look("b", 5, false), look("c", 0, false)},
		Routing: &routing.Policy{CostLimit: 1, Escalations: map[string]routing.Mode{"escalation.uncertainty": routing.Deep}}}
	turn, err := c.Run(t.Context(), plan("a", "b", "c"))
	if err != nil || !slices.Equal(modes, []routing.Mode{routing.Fast, routing.Deep, routing.Cheap}) || turn.CostUSD != 5.1 {
		t.Errorf("%v %v %v", err, modes, turn)
	}
	c.Routing.Default = "huge"
	if _, err := c.Run(t.Context(), plan("a")); err == nil {
		t.Error("an unknown mode")
	}
}

// TestMemos: results become enrichment, of which a request has what did not fail.
func TestMemos(t *testing.T) {
	t.Parallel()
	turn, err := (&Coordinator{Specialists: []Specialist{says("a", "the law says so"), fails("b")}}).Run(t.Context(), plan("a", "b?"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := turncontext.Assembler{}.Assemble(t.Context(), turncontext.Input{AssistantID: "x", TurnID: "t", Identity: turncontext.Identity{SystemPrompt: "s"}, Enrichment: turn.Memos()})
	if err != nil || len(a.Used(turncontext.FromEnrichment)) != 1 || len(a.Dropped) != 1 || a.Dropped[0].Reason != turncontext.DroppedAudience || a.Blocks[0].Content != "the law says so" {
		t.Errorf("%+v %v", a, err)
	}
}
