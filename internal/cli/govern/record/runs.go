package record

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/ledger"
)

// runLine is one run, from its last line in the run history or, for the current one, from the state.
type runLine struct {
	RunID     string             `json:"run_id"`
	Status    protocol.RunStatus `json:"status"`
	Phases    []string           `json:"phases"` // in which a turn was accepted, in their order
	Turns     int                `json:"turns"`
	Roles     []string           `json:"roles"`
	CostUSD   float64            `json:"cost_usd"`
	StartedAt protocol.Time      `json:"started_at"`
	EndedAt   protocol.Time      `json:"ended_at,omitzero"`
	Blocked   string             `json:"blocked_reason,omitempty"`
	Present   bool               `json:"present"`
}

// runsOf lists the runs of a project, oldest first.
func runsOf(v *ledger.View) ([]runLine, error) {
	history, err := v.History("")
	if err != nil {
		return nil, err
	}
	ended, err := v.Runs()
	if err != nil {
		return nil, err
	}
	var list []runLine
	of := func(id string) *runLine {
		i := slices.IndexFunc(list, func(r runLine) bool { return r.RunID == id })
		if i < 0 {
			i = len(list)
			list = append(list, runLine{RunID: id, Phases: []string{}, Roles: []string{}})
		}
		return &list[i]
	}
	for _, h := range history {
		if strings.EqualFold(h.Status, protocol.StatusReissued) {
			continue
		}
		r := of(h.RunID)
		r.Turns++
		if r.StartedAt.IsZero() {
			r.StartedAt = cmp.Or(h.StartedAt, h.AcceptedAt)
		}
		if !slices.Contains(r.Phases, h.Phase) {
			r.Phases = append(r.Phases, h.Phase)
		}
		if !slices.Contains(r.Roles, h.Role) {
			r.Roles = append(r.Roles, h.Role)
		}
		if h.Cost != nil {
			r.CostUSD += h.Cost.USD
		}
	}
	for _, s := range ended { // a run that was blocked and continued has several lines: the last one counts
		r := of(s.RunID)
		r.Status, r.StartedAt, r.EndedAt, r.CostUSD, r.Blocked = s.Status, s.StartedAt, s.CompletedAt, s.TotalCostUSD, ""
		if s.BlockedReason != nil {
			r.Blocked = *s.BlockedReason
		}
	}
	if id := v.State.ID(); id != "" {
		r := of(id)
		r.Present, r.Status, r.EndedAt, r.CostUSD = true, v.State.Status, v.State.CompletedAt, v.State.BudgetStatus.SpentUSD
		r.StartedAt = cmp.Or(v.State.CreatedAt, r.StartedAt)
		if v.State.BlockedOn == nil {
			r.Blocked = ""
		}
	}
	slices.SortStableFunc(list, func(a, b runLine) int { return a.StartedAt.Compare(b.StartedAt.Time) })
	return list, nil
}

func listRuns(app *cli.App, v *ledger.View, status string, limit int) error {
	list, err := runsOf(v)
	if err != nil {
		return err
	}
	list = newest(slices.DeleteFunc(list, func(r runLine) bool { return status != "" && string(r.Status) != status }), limit)
	return view.List(app, list, "no run yet", "RUN\tSTATUS\tTURNS\tPHASES\tSTARTED\tENDED\tCOST", func(r runLine) []string {
		return []string{r.RunID, cmp.Or(string(r.Status), "-"), strconv.Itoa(r.Turns), cmp.Or(strings.Join(r.Phases, ", "), "-"),
			at(r.StartedAt), at(r.EndedAt), dollars(r.CostUSD)}
	})
}

func costOf(h protocol.HistoryEntry) string {
	if h.Cost == nil {
		return "-"
	}
	return dollars(h.Cost.USD)
}

// dollars formats a sum; a missing one is a dash.
func dollars(usd float64) string {
	if usd == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.4f", usd)
}
