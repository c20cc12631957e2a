// Package coordination has several specialists work on one turn by a plan, one after the other or at once where the plan allows, and makes one answer of
// what they say (BYOH specification, coordination).
package coordination

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/product/routing"
	"github.com/drawbar/drawbar/product/signal"
	"github.com/drawbar/drawbar/product/turncontext"
)

// Status is how a specialist's part ended.
type Status string

// The statuses.
const (
	Complete Status = "complete"
	Partial  Status = "partial"
	Failed   Status = "failed"
)

// Result is what a specialist says.
type Result struct {
	Specialist string
	Output     string // required unless it failed
	Status     Status
	Confidence *float64 // from 0 to 1
	CostUSD    float64
	Metadata   map[string]any
}

// Task is what a specialist gets.
type Task struct {
	TurnID, ThreadID string
	Step             int // from 0
	Intent           string
	Instruction      string
	Prior            []Result // of the steps before; a copy
	Signals          *signal.Layer
	Route            *routing.Decision // with Coordinator.Routing
}

// Specialist is one who can do a part.
type Specialist struct {
	Name, Description string
	Capabilities      []string
	Do                func(context.Context, Task) (Result, error)
	Timeout           time.Duration // 0 is none
}

// Step is a part of a plan.
type Step struct {
	Specialist, Instruction string
	Optional                bool // its failure does not end the turn
	// With says that the step begins together with the one before it: neither sees the other's result.
	With bool
}

// Plan is who does what.
type Plan struct {
	Intent string
	Steps  []Step
}

// Errors, for errors.Is.
var (
	ErrPlan    = errors.New("the plan is not valid")
	ErrFailed  = errors.New("a specialist failed")
	ErrBlocked = errors.New("a specialist stopped the turn")
)

// usualSteps is the most steps of a plan.
const usualSteps = 10

// Coordinator runs plans. It is safe for concurrent use.
type Coordinator struct {
	Specialists []Specialist
	Signals     *signal.Layer // nil is one of its own
	MaxSteps    int           // 0 is 10
	// Synthesize makes one answer of the results that did not fail; nil is Concatenate.
	Synthesize func(Plan, []Result) (string, error)
	// Routing decides how much each step is worth; the cost of the steps before and open escalations count. nil decides nothing.
	Routing *routing.Policy
}

// Turn is what came of a plan.
type Turn struct {
	TurnID, ThreadID string
	Results          []Result
	Text             string
	Contributors     []string
	Degraded         bool   // somebody's part is missing or incomplete, or a conflict is open
	Skipped          []Step // optional ones that failed or were blocked
	Signals          []signal.Signal
	CostUSD          float64
}

// Concatenate joins the outputs by blank lines.
func Concatenate(_ Plan, results []Result) (string, error) {
	texts := make([]string, len(results))
	for i, r := range results {
		texts[i] = r.Output
	}
	return strings.Join(texts, "\n\n"), nil
}

// LastWins is the last output.
func LastWins(_ Plan, results []Result) (string, error) {
	if len(results) == 0 {
		return "", nil
	}
	return results[len(results)-1].Output, nil
}

func (c *Coordinator) find(name string) *Specialist {
	for i := range c.Specialists {
		if c.Specialists[i].Name == name {
			return &c.Specialists[i]
		}
	}
	return nil
}

// Check reports every fault of a plan.
func (c *Coordinator) Check(p Plan) error {
	var faults []string
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if strings.TrimSpace(p.Intent) == "" {
		bad("it has no intent")
	}
	if len(p.Steps) == 0 {
		bad("it has no steps")
	}
	if most := cmp.Or(c.MaxSteps, usualSteps); len(p.Steps) > most {
		bad("it has %d steps, more than %d", len(p.Steps), most)
	}
	names := map[string]bool{}
	for _, s := range c.Specialists {
		if s.Name == "" || s.Do == nil || names[s.Name] {
			bad("the specialist %q has no name, does nothing, or is there twice", s.Name)
		}
		names[s.Name] = true
	}
	for i, s := range p.Steps {
		switch {
		case strings.TrimSpace(s.Specialist) == "":
			bad("step %d names no specialist", i)
		case !names[s.Specialist]:
			bad("step %d: the specialist %q is unknown", i, s.Specialist)
		}
		if strings.TrimSpace(s.Instruction) == "" {
			bad("step %d has no instruction", i)
		}
		if s.With && i == 0 {
			bad("step 0 begins with nothing before it")
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("%w: %s", ErrPlan, strings.Join(faults, "; "))
	}
	return nil
}

// Run runs a plan. A required step that fails, a blocker of one, or an interrupt of anybody ends it with an error, and the turn as far as it came.
func (c *Coordinator) Run(ctx context.Context, p Plan) (*Turn, error) {
	if err := c.Check(p); err != nil {
		return nil, err
	}
	layer := c.Signals
	if layer == nil {
		layer = signal.New(signal.Options{})
	}
	id := "coord_" + rand.Text()
	t := &Turn{TurnID: id, ThreadID: id}
	var mu sync.Mutex
	seen := map[string]signal.Signal{}
	var order []string
	defer layer.On(func(s signal.Signal) {
		if s.ThreadID != id {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if _, ok := seen[s.ID]; !ok {
			order = append(order, s.ID)
		}
		seen[s.ID] = s
	})()
	defer layer.Forget(id)
	collect := func() {
		mu.Lock()
		defer mu.Unlock()
		t.Signals = nil
		for _, id := range order {
			t.Signals = append(t.Signals, seen[id])
		}
	}
	defer collect()
	for at := 0; at < len(p.Steps); {
		end := at + 1
		for end < len(p.Steps) && p.Steps[end].With {
			end++
		}
		if err := c.together(ctx, layer, t, p, at, end); err != nil {
			return t, err
		}
		layer.Advance(id)
		at = end
	}
	return t, c.conclude(layer, t, p, collect)
}

var urgency = map[signal.Priority]int{signal.Low: 1, signal.Normal: 2, signal.High: 3, signal.Critical: 4}

// together runs the steps from at to end at once.
func (c *Coordinator) together(ctx context.Context, layer *signal.Layer, t *Turn, p Plan, at, end int) error {
	results, failures := make([]Result, end-at), make([]error, end-at)
	prior := clone(t.Results)
	var all sync.WaitGroup
	for i := at; i < end; i++ {
		task := Task{TurnID: t.TurnID, ThreadID: t.ThreadID, Step: i, Intent: p.Intent, Instruction: p.Steps[i].Instruction, Prior: clone(prior), Signals: layer}
		if c.Routing != nil {
			worth := routing.Turn{Capability: p.Steps[i].Specialist, Cost: t.CostUSD}
			for _, s := range layer.Query(signal.Query{ThreadID: t.ThreadID, Message: "escalation"}) {
				worth.Escalations = append(worth.Escalations, routing.Escalation{Signal: string(s.Class), Priority: urgency[s.Priority]})
			}
			d, err := c.Routing.Decide(worth)
			if err != nil {
				return fmt.Errorf("route step %d: %w", i, err)
			}
			task.Route = &d
		}
		all.Go(func() { results[i-at], failures[i-at] = c.do(ctx, c.find(p.Steps[i].Specialist), task) })
	}
	all.Wait()
	for i := range results {
		step, r := p.Steps[at+i], results[i]
		t.Results = append(t.Results, r)
		t.CostUSD += r.CostUSD
		if err := failures[i]; err != nil || r.Status == Failed {
			if !step.Optional || ctx.Err() != nil {
				return fmt.Errorf("%w: %s: %s", ErrFailed, step.Specialist, r.Output)
			}
			t.Skipped = append(t.Skipped, step)
		}
	}
	for i := range results {
		step := p.Steps[at+i]
		for _, s := range layer.Query(signal.Query{ThreadID: t.ThreadID, Source: step.Specialist, Oldest: true, Limit: 500}) {
			switch {
			case s.Class == signal.EscalationInterrupt, s.Class == signal.ConfidenceBlocker && !step.Optional:
				_, _ = layer.Resolve(s.ID) // it has had its effect
				return fmt.Errorf("%w: %s: %s", ErrBlocked, step.Specialist, s.Summary)
			case s.Class == signal.ConfidenceBlocker:
				_, _ = layer.Resolve(s.ID)
				if !slices.Contains(t.Skipped, step) {
					t.Skipped = append(t.Skipped, step)
				}
			}
		}
	}
	return nil
}

// do runs one specialist; whatever goes wrong is a failed result.
func (c *Coordinator) do(ctx context.Context, s *Specialist, task Task) (r Result, err error) {
	if s.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("it took longer than %s", s.Timeout))
		defer stop()
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
		if err != nil {
			r = Result{Output: err.Error(), Status: Failed, CostUSD: r.CostUSD}
		}
		r.Specialist = s.Name
	}()
	if r, err = s.Do(ctx, task); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return r, err
	}
	switch {
	case !slices.Contains([]Status{Complete, Partial, Failed}, r.Status):
		return r, fmt.Errorf("its status %q is unknown", r.Status)
	case r.Status != Failed && strings.TrimSpace(r.Output) == "":
		return r, errors.New("it said nothing")
	case r.Confidence != nil && (math.IsNaN(*r.Confidence) || *r.Confidence < 0 || *r.Confidence > 1):
		return r, fmt.Errorf("its confidence %v is not from 0 to 1", *r.Confidence)
	case r.CostUSD < 0 || math.IsNaN(r.CostUSD) || math.IsInf(r.CostUSD, 0):
		return r, fmt.Errorf("its cost %v is none", r.CostUSD)
	}
	return r, nil
}

// conclude makes the answer. Open conflicts stay open, other signals are resolved.
func (c *Coordinator) conclude(layer *signal.Layer, t *Turn, p Plan, collect func()) (err error) {
	var usable []Result
	complete := 0
	for _, r := range t.Results {
		if r.Status != Failed {
			usable = append(usable, r)
			t.Contributors = append(t.Contributors, r.Specialist)
		}
		if r.Status == Complete {
			complete++
		}
	}
	synthesize := c.Synthesize
	if synthesize == nil {
		synthesize = Concatenate
	}
	if t.Text, err = synthesize(p, clone(usable)); err != nil {
		return fmt.Errorf("make one answer: %w", err)
	}
	open := 0
	for _, s := range layer.Query(signal.Query{ThreadID: t.ThreadID, Limit: 1 << 20}) {
		if s.Class == signal.ConflictActive {
			open++
			continue
		}
		_, _ = layer.Resolve(s.ID)
	}
	t.Degraded = complete < len(p.Steps) || len(t.Skipped) > 0 || open > 0
	collect()
	return nil
}

func clone(list []Result) []Result {
	out := slices.Clone(list)
	for i := range out {
		if c := out[i].Confidence; c != nil {
			own := *c
			out[i].Confidence = &own
		}
	}
	return out
}

// Memos are results as enrichment of a turn's context: what is complete is important, what is partial less so, and what failed is for the product.
func (t *Turn) Memos() (list []turncontext.Enrichment) {
	for i, r := range t.Results {
		e := turncontext.Enrichment{ID: fmt.Sprintf("%s-%d", t.TurnID, i), Kind: "specialist_memo", Source: r.Specialist, Title: "Memo of " + r.Specialist, Content: r.Output, Importance: turncontext.High}
		switch r.Status {
		case Partial:
			e.Importance = turncontext.Medium
		case Failed:
			e.Audience = turncontext.ForProduct
		}
		list = append(list, e)
	}
	return list
}
