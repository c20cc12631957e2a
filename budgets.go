package drawbar

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/worktree"
)

// Budget limits what the recorded runs of a time may cost together, in US dollars. Zero is no limit. A run reserves what it may
// cost before it starts, and counts with what it cost when it has ended, at the time of its start.
type Budget struct {
	Agent   string  `json:"agent,omitempty"`   // whose runs it is about; empty: all
	Project string  `json:"project,omitempty"` // absolute path of the directory whose runs it is about, those in worktrees of its repositories too; empty: all
	Daily   float64 `json:"daily,omitempty"`   // from midnight to midnight
	Weekly  float64 `json:"weekly,omitempty"`  // from Monday on
	Monthly float64 `json:"monthly,omitempty"` // from the first day of the month on
	Run     float64 `json:"run,omitempty"`     // the limit of a run that states none; zero: what is left
}

// Period is the time that a budget is for.
type Period string

// The periods.
const (
	PeriodDay   Period = "day"
	PeriodWeek  Period = "week"
	PeriodMonth Period = "month"
)

// BudgetState is how a budget stands in the period that is now.
type BudgetState struct {
	Agent       string    `json:"agent,omitempty"`
	Project     string    `json:"project,omitempty"`
	Period      Period    `json:"period"`
	Since       time.Time `json:"since"`
	Until       time.Time `json:"until"`
	LimitUSD    float64   `json:"limitUsd"`
	SpentUSD    float64   `json:"spentUsd"`
	ReservedUSD float64   `json:"reservedUsd"`      // by live runs
	LiveRuns    int       `json:"liveRuns"`         // that have reserved it
	LeftUSD     float64   `json:"leftUsd"`          // zero or at least a hundredth of a cent
	Unpriced    int       `json:"unpricedRuns"`     // whose cost is unknown: more than SpentUSD was spent
	RunUSD      float64   `json:"runUsd,omitempty"` // the limit of a run that states none; zero: LeftUSD
}

// String names the budget: "the daily budget of $20.00 for claude".
func (s BudgetState) String() string {
	text := fmt.Sprintf("the %s budget of %s", map[Period]string{PeriodDay: "daily", PeriodWeek: "weekly", PeriodMonth: "monthly"}[s.Period], dollars(s.LimitUSD))
	if s.Agent != "" {
		text += " for " + s.Agent
	}
	if s.Project != "" {
		text += " in " + s.Project
	}
	return text
}

// checkBudgets refuses budgets that limit nothing or cannot be understood.
func checkBudgets(list []Budget) error {
	same := make([]config.Budget, len(list))
	for i, b := range list {
		same[i] = config.Budget(b)
	}
	if err := config.CheckBudgets(same); err != nil {
		return execution.Errorf(execution.CodeValidation, "drawbar.New: %w", err)
	}
	return nil
}

// dollars formats an amount with cents, or with hundredths of a cent if it has any.
func dollars(usd float64) string {
	if cents := usd * 100; math.Abs(cents-math.Round(cents)) < 0.005 {
		return fmt.Sprintf("$%.2f", usd)
	}
	return fmt.Sprintf("$%.4f", usd)
}

// OverBudget is the cause of a BUDGET_EXCEEDED error of Client.Run: a budget has less left than a run may cost.
type OverBudget struct{ BudgetState }

// Error says what is left.
func (e *OverBudget) Error() string {
	switch text := e.String(); {
	case e.LeftUSD > 0:
		return fmt.Sprintf("%s has %s left: %s spent, %s reserved", text, dollars(e.LeftUSD), dollars(e.SpentUSD), dollars(e.ReservedUSD))
	case e.ReservedUSD > 0:
		return fmt.Sprintf("%s has nothing left while other runs are live: %s spent, %s reserved", text, dollars(e.SpentUSD), dollars(e.ReservedUSD))
	default:
		return fmt.Sprintf("%s is used up: %s spent", text, dollars(e.SpentUSD))
	}
}

func (e *OverBudget) refusal() *execution.Error {
	err := execution.Errorf(execution.CodeBudgetExceeded, "%w", e)
	switch {
	case e.LeftUSD > 0:
		return err.WithHint("--budget %.4f", math.Floor(e.LeftUSD*1e4)/1e4)
	case e.ReservedUSD > 0:
		return err.WithHint("drawbar ps shows them; a run reserves its --budget, and without one what drawbar budget set --run says, or else all that is left")
	default:
		return err.WithHint("wait until %s, or raise it: drawbar budget set", e.Until.Format("Monday, 2 January"))
	}
}

// least is what must be left for a run to begin: less is nothing.
const least = 0.0001

// Budgets returns how every budget stands, by period.
func (c *Client) Budgets() ([]BudgetState, error) {
	if len(c.opts.Budgets) == 0 {
		return []BudgetState{}, nil
	}
	store, err := c.openStore()
	if err != nil || store == nil {
		return nil, cmp.Or(err, error(errNoRecord))
	}
	c.settle()
	return c.budgets(store, c.opts.Budgets, time.Now())
}

var errNoRecord = execution.Errorf(execution.CodeConfig, "budgets need the run record, and it is disabled")

// Allowance is what budgets allow runs to cost, in US dollars.
type Allowance struct {
	LeftUSD float64 // for all
	RunUSD  float64 // for a run that states no limit; at most LeftUSD
}

// Affordable returns what a run may cost by the budgets it would count in, nil if none limits it. The error is BUDGET_EXCEEDED, with a
// cause *OverBudget, if Run would refuse the request for it. Nothing is reserved.
func (c *Client) Affordable(req execution.Request, opts RunOptions) (*Allowance, error) {
	if len(c.opts.Budgets) == 0 {
		return nil, nil //nolint:nilnil // no limit
	}
	req, entry, err := c.prepare(req)
	if err != nil {
		return nil, err
	}
	return c.afford(req, entry, opts)
}

func (c *Client) afford(req execution.Request, entry catalog.Entry, opts RunOptions) (*Allowance, error) {
	own := c.budgetsOf(req, entry, opts)
	if len(own) == 0 {
		return nil, nil //nolint:nilnil // no limit
	}
	store, err := c.openStore()
	if err != nil || store == nil {
		return nil, cmp.Or(err, error(errNoRecord))
	}
	return c.affordable(store, own, req.Run.MaxBudgetUSD)
}

// affordable is Affordable for a run that counts in the budgets own, and whose limit is asked, nil for none.
func (c *Client) affordable(store *runstore.Store, own []Budget, asked *float64) (*Allowance, error) {
	c.settle()
	states, err := c.budgets(store, own, time.Now())
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "read what runs have cost: %w", err).WithHint("drawbar doctor")
	}
	tightest := slices.MinFunc(states, func(a, b BudgetState) int { return cmp.Compare(a.LeftUSD, b.LeftUSD) })
	if tightest.LeftUSD == 0 || asked != nil && *asked > tightest.LeftUSD {
		return nil, (&OverBudget{tightest}).refusal()
	}
	a := &Allowance{tightest.LeftUSD, tightest.LeftUSD}
	for _, s := range states {
		if s.RunUSD > 0 {
			a.RunUSD = min(a.RunUSD, s.RunUSD)
		}
	}
	return a, nil
}

// begin reserves what a run may cost, and begins its record. The run gets what is reserved as its limit; limited says whether something
// is sure to keep it.
func (c *Client) begin(req *execution.Request, entry catalog.Entry, limited func() bool, opts *RunOptions) (w *runstore.Writer, err error) {
	own := c.budgetsOf(*req, entry, *opts)
	if len(own) == 0 {
		return c.record(*req, entry.Descriptor, opts, 0)
	}
	store, err := c.openStore()
	if err != nil || store == nil {
		return nil, cmp.Or(err, error(errNoRecord))
	}
	err = store.Exclusively(func() error {
		a, err := c.affordable(store, own, req.Run.MaxBudgetUSD)
		if err != nil {
			return err
		}
		if req.Run.MaxBudgetUSD == nil {
			if opts.BudgetUSD > 0 {
				a.RunUSD = min(a.RunUSD, opts.BudgetUSD)
			}
			req.Run.MaxBudgetUSD = &a.RunUSD
			opts.BudgetIfKnown = true
		}
		reserved := *req.Run.MaxBudgetUSD
		if !limited() {
			reserved = 0 // or a model without a price would keep everybody else from starting
		}
		w, err = c.record(*req, entry.Descriptor, opts, reserved)
		if w == nil && err == nil {
			err = execution.Errorf(execution.CodeConfig, "the run cannot be recorded, and without its record no budget holds").WithHint("drawbar doctor")
		}
		return err
	})
	if e := (*execution.Error)(nil); err != nil && !errors.As(err, &e) {
		err = execution.Errorf(execution.CodeConfigLock, "reserve what the run may cost: %w", err).WithHint("try again")
	}
	return w, err
}

// recording notes that the record or the recording of a run is being written, until ended is called.
func (c *Client) recording(run *agent.Run) (ended func()) {
	done := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recorded == nil {
		c.recorded = map[chan struct{}]*agent.Run{}
	}
	c.recorded[done] = run
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.recorded, done)
		close(done)
	}
}

// settle waits for the records and recordings of runs that have ended: until then, budgets have what they reserved, and the next recording
// could come before theirs.
func (c *Client) settle() {
	c.mu.Lock()
	var ending []chan struct{}
	for done, run := range c.recorded {
		select {
		case <-run.Done():
			ending = append(ending, done)
		default:
		}
	}
	c.mu.Unlock()
	for _, done := range ending {
		<-done
	}
}

// limited reports whether something is sure to keep a run to the limit of its cost.
func limited(b agent.Backend, req execution.Request, opts agent.Options) bool {
	opts.BudgetIfKnown = false
	return !slices.ContainsFunc(agent.New(b).Negotiate(req, opts).Reasons, func(r execution.Reason) bool {
		return r.Severity == execution.SeverityBlocking && r.Capability == "budget"
	})
}

// budgetsOf returns the budgets that a run counts in: those of every agent that may run it.
func (c *Client) budgetsOf(req execution.Request, entry catalog.Entry, opts RunOptions) (own []Budget) {
	agents := []string{"", entry.Descriptor.Name}
	for _, name := range opts.Fallback {
		if e, err := c.registry.Get(name); err == nil { // else the run is refused
			agents = append(agents, e.Descriptor.Name)
		}
	}
	for _, b := range c.opts.Budgets {
		if slices.Contains(agents, b.Agent) && (b.Project == "" || c.in(b.Project, req.Run.Cwd)) {
			own = append(own, b)
		}
	}
	return own
}

// in reports whether a directory is in a project, or in a worktree of a repository in it.
func (c *Client) in(project, dir string) bool {
	if dir == "" {
		return false
	}
	if top := worktree.In(c.cacheDir()).Origin(dir); top != "" {
		dir = top
	}
	for _, dir := range []string{dir, resolved(dir)} {
		if rel, err := filepath.Rel(resolved(project), dir); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

func resolved(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir // it is gone
}

// budgets returns how some budgets stand.
func (c *Client) budgets(store *runstore.Store, list []Budget, now time.Time) ([]BudgetState, error) {
	live, err := store.List(runstore.Filter{Live: true})
	if err != nil {
		return nil, err
	}
	states := []BudgetState{}
	for _, b := range list {
		inside := map[string]bool{} // directories
		in := func(dir string) bool {
			if b.Project == "" {
				return true
			}
			is, known := inside[dir]
			if !known {
				is = c.in(b.Project, dir)
				inside[dir] = is
			}
			return is
		}
		for _, p := range []struct {
			period Period
			limit  float64
		}{{PeriodDay, b.Daily}, {PeriodWeek, b.Weekly}, {PeriodMonth, b.Monthly}} {
			if p.limit == 0 {
				continue
			}
			s := BudgetState{Agent: b.Agent, Project: b.Project, Period: p.period, LimitUSD: p.limit, RunUSD: b.Run}
			s.Since, s.Until = p.period.around(now)
			report, err := store.Cost(runstore.Filter{Agent: b.Agent, Since: s.Since}, runstore.GroupCwd)
			if err != nil {
				return nil, err
			}
			for _, g := range report.Groups {
				if in(g.Key) {
					s.SpentUSD, s.Unpriced = s.SpentUSD+g.TotalUSD, s.Unpriced+g.Unpriced+g.Unknown
				}
			}
			for _, r := range live {
				if r.ReservedUSD > 0 && (b.Agent == "" || r.Agent == b.Agent) && !r.StartedAt.Before(s.Since) && in(r.Cwd) {
					s.ReservedUSD, s.LiveRuns = s.ReservedUSD+r.ReservedUSD, s.LiveRuns+1
				}
			}
			if s.LeftUSD = p.limit - s.SpentUSD - s.ReservedUSD; s.LeftUSD < least {
				s.LeftUSD = 0
			}
			states = append(states, s)
		}
	}
	return states, nil
}

// around returns the beginning and the end of the period that a time is in, in the time's zone.
func (p Period) around(t time.Time) (since, until time.Time) {
	y, m, d := t.Date()
	switch p {
	case PeriodMonth:
		return time.Date(y, m, 1, 0, 0, 0, 0, t.Location()), time.Date(y, m+1, 1, 0, 0, 0, 0, t.Location())
	case PeriodWeek:
		d -= (int(t.Weekday()) + 6) % 7 // days since Monday
		return time.Date(y, m, d, 0, 0, 0, 0, t.Location()), time.Date(y, m, d+7, 0, 0, 0, 0, t.Location())
	}
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location()), time.Date(y, m, d+1, 0, 0, 0, 0, t.Location())
}
