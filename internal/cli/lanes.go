package cli

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Lanes are runs that go on side by side, a row each below the status line. The zero value is ready; it is safe for concurrent use, and so are
// its lanes.
type Lanes struct {
	mu   sync.Mutex
	list []*Lane
}

// Lane is one of them.
type Lane struct {
	of    *Lanes
	name  string
	since time.Time
	took  time.Duration // once it is over
	now   Progress
}

// Begin adds a row.
func (l *Lanes) Begin(name string) *Lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := &Lane{of: l, name: OneLine(name, 60), since: time.Now(), now: Progress{Doing: "starting"}}
	l.list = append(l.list, one)
	return one
}

// Event adds the next event of the run.
func (l *Lane) Event(e execution.Event) {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.now.Event(e)
}

// Say sets what the run does now.
func (l *Lane) Say(doing string) {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.now.Doing = doing
}

// Over stops the clock of the row and says how it ended.
func (l *Lane) Over(how string) {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.now.Doing, l.took = how, max(time.Since(l.since), 1)
}

// End removes the row.
func (l *Lane) End() {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.list = slices.DeleteFunc(l.of.list, func(other *Lane) bool { return other == l })
}

// rows are the rows as they are now.
func (l *Lanes) rows() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	width := 0
	for _, one := range l.list {
		width = max(width, Columns(one.name))
	}
	width = min(width, 30)
	rows := make([]string, 0, len(l.list))
	for _, one := range l.list {
		took := one.took
		if took == 0 {
			took = time.Since(one.since)
		}
		name := Cut(one.name, width)
		name += strings.Repeat(" ", width-Columns(name))
		parts := []string{fmt.Sprintf("%s %6s", name, took.Round(time.Second)), OneLine(one.now.Doing, 200)}
		rows = append(rows, strings.Join(append(parts, one.now.spent()...), " · "))
	}
	return rows
}
