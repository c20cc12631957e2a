package queue

import (
	"cmp"
	"context"
	"maps"
	"time"
)

// Item is something to do once.
type Item struct {
	ID    string
	Hash  string // of what it says
	Agent string
	Alone bool // the agent cannot run beside itself
	Work  any  // the caller's
}

// Limit is what kept an item from its result.
type Limit struct {
	Agent  string    // that reached a usage limit, one that the item falls back to, maybe; empty for the item's
	Until  time.Time // of a usage limit: nothing of that agent, and not the item, starts before
	Budget bool      // what runs may cost together is used up: nothing more starts
}

// Options say how items are carried out. Run and Results are required.
type Options struct {
	Jobs int // items at once, at least 1
	// Run carries out an item. It is called concurrently and returns soon after ctx ends. With a limit, the item is run again after it.
	Run     func(ctx context.Context, item Item, attempt int) (Result, *Limit)
	Results *Results
	// Told gets each result in the order of the items, those of earlier runs too. Optional. Waits is told of a usage limit. Optional.
	Told  func(item Item, r Result, earlier bool)
	Waits func(agent string, until time.Time)

	MaxCost     float64 // dollars of this run at which nothing more starts; 0 for no limit
	MaxFailures int     // failed items of this run at which nothing more starts; 0 for no limit
	RetryFailed bool    // items that failed in an earlier run are run again
	MaxAttempts int     // runs of an item that meets usage limits; 0 means 10
}

// Stop is why a batch ended.
type Stop string

// The reasons.
const (
	Done     Stop = "done"     // every item has a result
	Stopped  Stop = "stopped"  // the context ended
	Cost     Stop = "cost"     // MaxCost
	Budget   Stop = "budget"   // Limit.Budget
	Failures Stop = "failures" // MaxFailures
)

// Summary is what a batch did.
type Summary struct {
	Stop    Stop    `json:"stop"`
	Items   int     `json:"items"`
	Earlier int     `json:"earlier"` // had a result before
	Run     int     `json:"run"`     // got one now
	Failed  int     `json:"failed"`  // of both
	Left    int     `json:"left"`
	CostUSD float64 `json:"costUsd"` // of Run, as far as it is known
}

// shortestWait is the wait for a usage limit whose end is not known; it doubles with each attempt of the item.
const shortestWait = time.Minute

type ended struct {
	index   int
	attempt int
	result  Result
	limit   *Limit
}

// runner is a batch that runs.
type runner struct {
	Options
	items    []Item
	results  []*Result // by item
	earlier  []bool
	attempts []int
	told     int // items whose result was told
	waiting  []int
	running  map[string]int // by agent
	busy     int
	paused   map[string]time.Time // by agent
	held     map[int]time.Time    // items that wait for the limit of another agent than theirs
	before   int                  // failed items of earlier runs
	spent    bool
	sum      Summary
}

// Run carries out the items that have no result, and returns when each has one, or a limit or the context ends it. The error is about
// the file of results; then nothing more was started.
func Run(ctx context.Context, items []Item, o Options) (Summary, error) {
	r := &runner{Options: o, items: items, results: make([]*Result, len(items)), earlier: make([]bool, len(items)), attempts: make([]int, len(items)),
		running: map[string]int{}, paused: map[string]time.Time{}, held: map[int]time.Time{}}
	if r.MaxAttempts == 0 {
		r.MaxAttempts = 10
	}
	r.sum.Items = len(items)
	for i, item := range items {
		if known := o.Results.Of(item.ID); known != nil && (!o.RetryFailed || !known.Failed()) {
			r.results[i], r.earlier[i] = known, true
			r.sum.Earlier++
			r.count(known)
		} else {
			r.waiting = append(r.waiting, i)
		}
	}
	r.before = r.sum.Failed
	err := r.work(ctx)
	r.tell(true)
	r.sum.Left = r.sum.Items - r.sum.Earlier - r.sum.Run
	return r.sum, err
}

// work starts items and takes their results, on this goroutine alone.
func (r *runner) work(ctx context.Context) error {
	done := make(chan ended)
	var failed error
	for {
		r.tell(false)
		stop := r.stop(ctx)
		if failed == nil && stop == "" {
			r.start(ctx, done)
		}
		if r.busy == 0 && (failed != nil || stop != "" || len(r.waiting) == 0) {
			if r.sum.Stop = stop; stop == "" {
				r.sum.Stop = Done
			}
			return failed
		}
		var cancelled <-chan struct{}
		if ctx.Err() == nil {
			cancelled = ctx.Done()
		}
		wake, off := r.wake()
		select {
		case e := <-done:
			if err := r.take(ctx, e); err != nil && failed == nil {
				failed = err
			}
		case <-wake:
		case <-cancelled:
		}
		off()
	}
}

// stop is why nothing more may start, empty if something may.
func (r *runner) stop(ctx context.Context) Stop {
	switch {
	case len(r.waiting) == 0:
		return ""
	case ctx.Err() != nil:
		return Stopped
	case r.MaxCost > 0 && r.sum.CostUSD >= r.MaxCost:
		return Cost
	case r.spent:
		return Budget
	case r.MaxFailures > 0 && r.sum.Failed-r.before >= r.MaxFailures:
		return Failures
	}
	return ""
}

// start starts the first items that may run.
func (r *runner) start(ctx context.Context, done chan<- ended) {
	now := time.Now()
	maps.DeleteFunc(r.paused, func(_ string, until time.Time) bool { return !now.Before(until) })
	for n := 0; n < len(r.waiting) && r.busy < r.Jobs; {
		i := r.waiting[n]
		item := r.items[i]
		if _, waits := r.paused[item.Agent]; waits || now.Before(r.held[i]) || item.Alone && r.running[item.Agent] > 0 {
			n++
			continue
		}
		r.waiting = append(r.waiting[:n], r.waiting[n+1:]...)
		r.running[item.Agent]++
		r.busy++
		r.attempts[i]++
		e := ended{index: i, attempt: r.attempts[i]}
		go func() {
			e.result, e.limit = r.Run(ctx, item, e.attempt)
			done <- e
		}()
	}
}

// wake is when the next pause ends, if something waits for it.
func (r *runner) wake() (<-chan time.Time, func()) {
	var next time.Time
	for _, i := range r.waiting {
		until := r.paused[r.items[i].Agent]
		if held := r.held[i]; held.After(until) && held.After(time.Now()) {
			until = held
		}
		if !until.IsZero() && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	if next.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(next))
	return t.C, func() { t.Stop() }
}

// take takes the end of an item. One that the context cut off has no result and is left for another run.
func (r *runner) take(ctx context.Context, e ended) error {
	item := r.items[e.index]
	r.busy--
	r.running[item.Agent]--
	if e.limit != nil && e.limit.Budget {
		r.spent = true
		r.again(e.index)
		return nil
	}
	if e.limit != nil && e.attempt < r.MaxAttempts {
		r.pause(cmp.Or(e.limit.Agent, item.Agent), e)
	}
	if e.limit != nil && e.attempt < r.MaxAttempts || ctx.Err() != nil && e.result.Failed() {
		r.again(e.index)
		return nil
	}
	e.result.ID, e.result.Hash, e.result.Agent, e.result.Attempts = item.ID, item.Hash, cmp.Or(e.result.Agent, item.Agent), e.attempt
	if err := r.Results.Add(e.result); err != nil {
		r.again(e.index)
		return err
	}
	r.results[e.index] = &e.result
	r.sum.Run++
	r.count(&e.result)
	if c := e.result.Cost; c != nil && c.TotalUSD != nil {
		r.sum.CostUSD += *c.TotalUSD
	}
	return nil
}

func (r *runner) count(one *Result) {
	if one.Failed() {
		r.sum.Failed++
	}
}

// again puts an item back among those that wait, in their order.
func (r *runner) again(index int) {
	n := 0
	for n < len(r.waiting) && r.waiting[n] < index {
		n++
	}
	r.waiting = append(r.waiting[:n], append([]int{index}, r.waiting[n:]...)...)
}

// pause keeps items of an agent from starting before its limit ends.
func (r *runner) pause(agent string, e ended) {
	until := e.limit.Until
	if !until.After(time.Now()) {
		until = time.Now().Add(shortestWait << (e.attempt - 1))
	}
	if agent != r.items[e.index].Agent {
		r.held[e.index] = until
	}
	if until.After(r.paused[agent]) {
		r.paused[agent] = until
		if r.Waits != nil {
			r.Waits(agent, until)
		}
	}
}

// tell tells results in the order of the items; at the end also those behind an item without one.
func (r *runner) tell(end bool) {
	for ; r.told < len(r.items) && (end || r.results[r.told] != nil); r.told++ {
		if one := r.results[r.told]; one != nil && r.Told != nil {
			r.Told(r.items[r.told], *one, r.earlier[r.told])
		}
	}
}
