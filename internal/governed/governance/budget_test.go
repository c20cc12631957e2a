package governance

import (
	"math"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

func costs(usd float64) func(*protocol.TurnResult) {
	return func(r *protocol.TurnResult) { r.Cost = &protocol.Cost{USD: usd} }
}

func TestABudgetIsReservedAndSpent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	if Reserved(&w.run.State) != 2 {
		t.Errorf("reserved are %v", Reserved(&w.run.State))
	}
	w.accept(pm, costs(1.5))
	b := w.run.State.BudgetStatus
	if b.SpentUSD != 1.5 || *b.RemainingUSD != 8.5 || Reserved(&w.run.State) != 0 {
		t.Errorf("after the turn: %+v", b)
	}
	pm = w.turn("pm")
	w.accept(pm, costs(2.5))
	if warn, ok := find[Warn](w.effects); !ok || warn.Code != "budget_reservation" {
		t.Errorf("no warning of a turn dearer than reserved: %v", w.effects)
	}
	// What was measured goes before what the turn says, and a negative cost is none.
	pm = w.turn("pm")
	w.must(AcceptTurn{TurnID: pm, Result: w.result(pm, costs(-3)), Cost: &protocol.Cost{USD: 0.5}})
	if got := w.run.State.BudgetStatus.SpentUSD; got != 4.5 {
		t.Errorf("spent are %v", got)
	}
	w.accept(w.turn("pm"), costs(-3))
	if got := w.run.State.BudgetStatus.SpentUSD; got != 4.5 {
		t.Errorf("a negative cost was booked: %v", got)
	}
}

func TestAUsedUpBudgetStopsTheRun(t *testing.T) {
	t.Parallel()
	c := config(t)
	w := newWorld(t, c)
	w.accept(w.turn("pm"), costs(12))
	w.blockedOn("budget:exhausted")
	b := w.run.State.BudgetStatus
	if *b.RemainingUSD != 0 || !b.Exhausted || b.ExhaustedAfterTurn == "" || b.ExhaustedAt.IsZero() || b.WarnMode {
		t.Errorf("the budget is %+v", b)
	}
	const next = "drawbar govern config set budget.per_run_max_usd 24 && drawbar govern resume"
	if got := NextCommand(w.run); got != next {
		t.Errorf("next is %s", got)
	}
	if r := w.refused(Unblock{}, CodeBudgetExhausted); r.Next != next {
		t.Errorf("next is %s", r.Next)
	}
	c.Budget.PerRunMaxUSD = new(24.0)
	w.must(Unblock{})
	w.status(protocol.RunActive)
	if b := w.run.State.BudgetStatus; *b.RemainingUSD != 12 || b.Exhausted {
		t.Errorf("the raised budget is %+v", b)
	}
	w.turn("pm")
}

// TestARaisedBudgetIsSeenAtOnce: what to type next, and what is left, follow the configuration and not the state of before.
func TestARaisedBudgetIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.accept(w.turn("pm"), func(r *protocol.TurnResult) { r.Cost = &protocol.Cost{USD: 12} })
	w.blockedOn("budget:exhausted")
	if next := NextCommand(w.run); !strings.Contains(next, "config set budget.per_run_max_usd") {
		t.Errorf("next is %s", next)
	}
	w.run.Config = config(t, `"per_run_max_usd": 10`, `"per_run_max_usd": 15`)
	if next := NextCommand(w.run); next != NextResume {
		t.Errorf("next is %s after the budget was raised", next)
	}
	if left := Budget(w.run).RemainingUSD; left == nil || *left != 3 {
		t.Errorf("left is %v", left)
	}
	w.must(Unblock{})
	w.status(protocol.RunActive)
}

func TestAWarningBudgetGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t, `"per_run_max_usd": 10`, `"per_run_max_usd": 10, "on_exceed": "warn"`))
	w.accept(w.turn("pm"), costs(12))
	w.status(protocol.RunActive)
	if b := w.run.State.BudgetStatus; !b.Exhausted || !b.WarnMode || *b.RemainingUSD != 0 {
		t.Errorf("the budget is %+v", b)
	}
	w.accept(w.turn("pm"), costs(1))
	n := 0
	for _, e := range w.types() {
		if e == "budget_exceeded_warn" {
			n++
		}
	}
	if n != 1 || w.run.State.BudgetStatus.SpentUSD != 13 {
		t.Errorf("warned %d times, spent %v", n, w.run.State.BudgetStatus.SpentUSD)
	}
}

func TestTheLastTurnMayUseUpTheBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t, `"ship": {"requires_human_approval": true}`, `"ship": {}`))
	w.to("qa")
	w.accept(w.turn("qa"), asksForEnd, costs(12))
	w.status(protocol.RunCompleted)
}

func TestNoBudgetIsNoLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t, `"budget": {"per_turn_max_usd": 2, "per_run_max_usd": 10}`, `"budget": null`))
	w.accept(w.turn("pm"), costs(1000))
	if b := w.run.State.BudgetStatus; b.RemainingUSD != nil || b.SpentUSD != 1000 || Reservation(w.run) != nil {
		t.Errorf("the budget is %+v", b)
	}
}

func TestAStateWithANegativeBudgetIsPutRight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	pm := w.turn("pm")
	w.run.State.BudgetStatus = protocol.BudgetStatus{SpentUSD: -4, RemainingUSD: new(-1.0)}
	w.accept(pm, costs(1))
	if b := w.run.State.BudgetStatus; b.SpentUSD < 0 || *b.RemainingUSD < 0 {
		t.Errorf("the budget is %+v", b)
	}
}

func TestEveryAttemptIsPaidFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	before := w.run.State.BudgetStatus.SpentUSD
	pm := w.turn("pm")
	w.must(Attempted{TurnID: pm, Cost: protocol.Cost{InputTokens: 10, OutputTokens: 1, USD: 0.25}, Session: "s-1"})
	w.must(RejectTurn{TurnID: pm, Reason: "no objection"})
	if got := w.run.State.BudgetStatus.SpentUSD - before; math.Abs(got-0.25) > 1e-9 || w.run.State.Sessions.At("pm") != "s-1" {
		t.Errorf("after the first attempt %v is spent, the sessions are %v", got, w.run.State.Sessions.Keys())
	}
	w.must(Attempted{TurnID: pm, Cost: protocol.Cost{InputTokens: 20, OutputTokens: 2, USD: 0.5}})
	w.must(Attempted{TurnID: pm, Cost: protocol.Cost{USD: -3}})
	w.accept(pm, func(r *protocol.TurnResult) { r.Cost = &protocol.Cost{USD: 9} })
	if got := w.run.State.BudgetStatus.SpentUSD - before; math.Abs(got-0.75) > 1e-9 {
		t.Errorf("%v is spent", got)
	}
	if c := w.run.History[0].Cost; c == nil || *c != (protocol.Cost{InputTokens: 30, OutputTokens: 3, USD: 0.75}) {
		t.Errorf("the turn cost %+v", c)
	}
	w.refused(Attempted{TurnID: pm}, CodeTurnNotActive)
}

func TestCostRatesPriceTokens(t *testing.T) {
	t.Parallel()
	c := config(t, `"budget": {"per_turn_max_usd": 2,`, `"budget": {"cost_rates": {"deepseek-v3": {"input_per_1m": 0.5, "output_per_1m": 2}}, "per_turn_max_usd": 2,`)
	w := newWorld(t, c)
	id := w.turn("pm")
	w.must(Attempted{TurnID: id, Model: "deepseek-v3", Cost: protocol.Cost{InputTokens: 1_000_000, OutputTokens: 500_000}})
	if got := w.run.State.BudgetStatus.SpentUSD; got != 1.5 {
		t.Errorf("spent %v", got)
	}
	w.must(Attempted{TurnID: id, Model: "deepseek-v3", Cost: protocol.Cost{InputTokens: 1_000_000, USD: 0.25}}) // it states its price
	w.must(Attempted{TurnID: id, Model: "another", Cost: protocol.Cost{InputTokens: 1_000_000}})
	if got := w.run.State.BudgetStatus.SpentUSD; got != 1.75 {
		t.Errorf("spent %v", got)
	}
	w.accept(id, func(*protocol.TurnResult) {})
	if h := w.run.History[0]; h.Cost == nil || h.Cost.USD != 1.75 || w.run.State.BudgetStatus.SpentUSD != 1.75 {
		t.Errorf("%+v, spent %v", h.Cost, w.run.State.BudgetStatus.SpentUSD)
	}
	if got := Price(c, "deepseek-v3", protocol.Cost{InputTokens: -1_000_000, OutputTokens: 500_000}).USD; got != 1 {
		t.Errorf("fewer than no tokens make it %v", got)
	}
	id = w.turn("pm")
	w.accept(id, func(r *protocol.TurnResult) { // a person, or a program, counts by itself
		r.Cost, r.AdapterMeta = &protocol.Cost{InputTokens: 2_000_000}, &protocol.AdapterMeta{Model: "deepseek-v3"}
	})
	if got := w.run.State.BudgetStatus.SpentUSD; got != 2.75 {
		t.Errorf("spent %v", got)
	}
}
