package batch

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/batch/queue"
)

// progress is what the status line of a terminal says of a batch.
type progress struct {
	status *cli.StatusLine

	mu                  sync.Mutex
	total, done, failed int
	usd                 float64
	now                 []string // ids of items that run, in the order of their start
}

// begin starts the status line. Results of earlier runs count as done.
func begin(app *cli.App, items []queue.Item, o *queue.Options) *progress {
	p := &progress{status: app.StartStatus("batch"), total: len(items)}
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

func (p *progress) began(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = append(p.now, id)
	p.say()
}

// ended notes that an item no longer runs. over says that its result is final.
func (p *progress) ended(id string, r queue.Result, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = slices.DeleteFunc(p.now, func(other string) bool { return other == id })
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
	if len(p.now) > 0 {
		text += " · now " + strings.Join(p.now, ", ")
	}
	p.status.Say(cli.OneLine(text, 500))
}
