package governance

import (
	"fmt"

	"github.com/drawbar/drawbar/govern/protocol"
)

// OnExceed is what happens when the budget is used up.
const (
	ExceedPause = "pause_and_escalate"
	ExceedWarn  = "warn"
)

// cent is the tolerance for sums of money: less than a thousandth of a cent is zero.
const cent = 1e-5

// Budget is the budget left by the current configuration.
func Budget(run Run) protocol.BudgetStatus { return budgetStatus(run.Config, run.State.BudgetStatus) }

// budgetStatus is the budget after spent, with the configured limit. No value is negative.
func budgetStatus(c *protocol.Config, old protocol.BudgetStatus) protocol.BudgetStatus {
	old.SpentUSD = max(0, old.SpentUSD)
	old.RemainingUSD = nil
	if c.Budget != nil && c.Budget.PerRunMaxUSD != nil {
		left := *c.Budget.PerRunMaxUSD - old.SpentUSD
		if left < cent {
			left = 0
		}
		old.RemainingUSD = &left
	}
	if old.RemainingUSD == nil || *old.RemainingUSD > 0 {
		old.Exhausted, old.ExhaustedAt, old.ExhaustedAfterTurn, old.WarnMode = false, protocol.Time{}, "", false
	}
	return old
}

func warnOnly(c *protocol.Config) bool { return c.Budget != nil && c.Budget.OnExceed == ExceedWarn }

// Reserved is the part of the budget that the active turns have reserved.
func Reserved(st *protocol.State) float64 {
	var sum float64
	for _, r := range st.BudgetReservations.All() {
		sum += max(0, r.ReservedUSD)
	}
	return sum
}

// Reservation is what a new turn reserves; nil without a limit for turns. If the budget only warns, less may be left
// than a turn's limit, and a turn reserves no more than is left.
func Reservation(run Run) *float64 {
	b := run.Config.Budget
	if b == nil || b.PerTurnMaxUSD == nil || *b.PerTurnMaxUSD <= 0 {
		return nil
	}
	v := *b.PerTurnMaxUSD
	if left := budgetStatus(run.Config, run.State.BudgetStatus).RemainingUSD; left != nil {
		v = min(v, max(0, *left-Reserved(&run.State)))
	}
	return &v
}

// guardBudget refuses a turn if the budget is used up, or if a turn's limit exceeds what is not reserved.
func guardBudget(run Run) []*Refused {
	left := budgetStatus(run.Config, run.State.BudgetStatus).RemainingUSD
	if left == nil || warnOnly(run.Config) {
		return nil
	}
	var all []*Refused
	if *left <= 0 {
		all = append(all, refuse(CodeBudgetExhausted, budgetCommand(run), "the budget of the run is used up: %.2f USD spent", run.State.BudgetStatus.SpentUSD))
	}
	if b := run.Config.Budget; b.PerTurnMaxUSD != nil {
		if free := *left - Reserved(&run.State); *b.PerTurnMaxUSD > free+cent {
			all = append(all, refuse(CodeReservation, budgetCommand(run), "a turn reserves %.2f USD, but only %.2f USD are unreserved",
				*b.PerTurnMaxUSD, max(0, free)))
		}
	}
	return all
}

// reserve reserves the turn's share of the budget.
func (s *step) reserve(turn, role string) {
	if r := Reservation(s.run); r != nil {
		s.st.BudgetReservations.Set(turn, protocol.Reservation{ReservedUSD: *r, RoleID: role, CreatedAt: s.now})
	}
}

// attempted records the session of an attempt and books its cost, which is spent whether or not the result is accepted.
func (in Attempted) apply(s *step) *Refused {
	t, r := s.active(in.TurnID)
	if r != nil {
		return r
	}
	if in.Session != "" {
		s.st.Sessions.Set(t.AssignedRole, in.Session)
	}
	if in.Cost == (protocol.Cost{}) {
		return nil
	}
	cost := Price(s.run.Config, in.Model, in.Cost)
	sum := protocol.Cost{}
	if t.Cost != nil {
		sum = *t.Cost
	}
	sum.InputTokens += max(0, cost.InputTokens)
	sum.OutputTokens += max(0, cost.OutputTokens)
	sum.USD += max(0, cost.USD)
	t.Cost = &sum
	s.st.BudgetStatus.SpentUSD += max(0, cost.USD)
	s.st.BudgetStatus = budgetStatus(s.run.Config, s.st.BudgetStatus)
	return nil
}

// Price adds the price by budget.cost_rates to a cost whose runtime reports tokens of a model and no price.
func Price(c *protocol.Config, model string, cost protocol.Cost) protocol.Cost {
	if cost.USD > 0 || c.Budget == nil {
		return cost
	}
	if rate, ok := c.Budget.CostRates.Get(model); ok {
		cost.USD = rate.USD(cost.InputTokens, cost.OutputTokens)
	}
	return cost
}

// spend books the cost of an accepted turn that is not booked yet, and releases its reservation.
func (s *step) spend(turn string, cost *protocol.Cost, booked float64) {
	r, reserved := s.st.BudgetReservations.Get(turn)
	s.st.BudgetReservations.Delete(turn)
	if cost != nil && cost.USD > 0 {
		s.st.BudgetStatus.SpentUSD += max(0, cost.USD-booked)
		if reserved && cost.USD > r.ReservedUSD+cent {
			s.warn("budget_reservation", fmt.Sprintf("the turn cost %.2f USD, %.2f USD were reserved", cost.USD, r.ReservedUSD))
		}
	}
	s.st.BudgetStatus = budgetStatus(s.run.Config, s.st.BudgetStatus)
}

// exhausted marks a used-up budget and reports whether the run has to stop.
func (s *step) exhausted(turn string) bool {
	b := &s.st.BudgetStatus
	if b.RemainingUSD == nil || *b.RemainingUSD > 0 {
		return false
	}
	if !b.Exhausted {
		b.Exhausted, b.ExhaustedAt, b.ExhaustedAfterTurn = true, s.now, turn
	}
	if !warnOnly(s.run.Config) {
		return true
	}
	first := !b.WarnMode
	b.WarnMode = true
	msg := fmt.Sprintf("the budget is used up: %.2f USD spent; the run continues with a warning", b.SpentUSD)
	s.warn("budget_exhausted", msg)
	if first {
		s.emit("budget_exceeded_warn", s.eventTurn(turn), map[string]any{"spent_usd": b.SpentUSD, "remaining_usd": 0, "message": msg})
	}
	return false
}
