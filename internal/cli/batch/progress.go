package batch

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/batch/queue"
)

// progress is what a terminal shows of a batch while it runs: a line for all of it, and a row for each item that runs.
type progress struct {
	status *cli.StatusLine
	lanes  cli.Lanes

	mu                  sync.Mutex
	total, done, failed int
	usd                 float64
	waits               map[string]time.Time // agents with a usage limit, and its end
}

// begin starts the status line. Results of earlier runs count as done.
func begin(app *cli.App, items []queue.Item, o *queue.Options) *progress {
	p := &progress{status: app.StartStatus("batch"), total: len(items), waits: map[string]time.Time{}}
	p.status.Lanes(&p.lanes)
	for _, item := range items {
		if r := o.Results.Of(item.ID); r != nil && (!o.RetryFailed || !r.Failed()) {
			p.count(*r)
		}
	}
	return p
}

func (p *progress) count(r queue.Result) {
	if p.done++; r.Failed() {
		p.failed++
	}
}

// limited notes that an agent has reached its usage limit.
func (p *progress) limited(agent string, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits[agent] = until
	p.say()
}

// began notes that an item runs.
func (p *progress) began(item queue.Item) *cli.Lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say()
	return p.lanes.Begin(item.ID + " " + item.Agent)
}

// ended notes that an item no longer runs. over says that its result is final.
func (p *progress) ended(lane *cli.Lane, r queue.Result, over bool) {
	lane.End()
	p.mu.Lock()
	defer p.mu.Unlock()
	if over {
		p.count(r)
	}
	if r.Cost != nil && r.Cost.TotalUSD != nil {
		p.usd += *r.Cost.TotalUSD
	}
	p.say()
}

// say is called with the lock held.
func (p *progress) say() {
	text := fmt.Sprintf("%d of %d", p.done, p.total)
	if p.failed > 0 {
		text += fmt.Sprintf(", %d failed", p.failed)
	}
	if p.usd > 0 {
		text += fmt.Sprintf(" · $%.4f", p.usd)
	}
	for _, agent := range slices.Sorted(maps.Keys(p.waits)) {
		if until := p.waits[agent]; time.Now().Before(until) {
			text += fmt.Sprintf(" · %s waits until %s", agent, until.Format("15:04"))
		}
	}
	p.status.Say(text)
}
