package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/notify"
)

// quietSpell is the interval of progress lines without a terminal.
const quietSpell = 30 * time.Second

// live shows on standard error what happens while a command works: on a terminal a line that is rewritten every second,
// otherwise an occasional line.
type live struct {
	app      *cli.App
	terminal bool
	says     *cli.Renderer    // shows agents' output; nil hides it
	tells    *notify.Notifier // tells the user elsewhere; nil tells nobody

	mu    sync.Mutex
	quiet *sync.Cond // signals that no question is open any more
	shown bool
	last  time.Time
	works []work        // in progress, in the order in which they began
	asks  bool          // a question is waiting for its answer
	stop  chan struct{} // stops the clock
	ended sync.WaitGroup
}

func newLive(app *cli.App) *live {
	l := &live{app: app}
	l.quiet = sync.NewCond(&l.mu)
	return l
}

// work is who works on what.
type work struct {
	role string
	p    govern.Progress
}

// Duration formats a duration for people, in whole seconds from one second on.
func Duration(ms int64) string { return govern.Took(time.Duration(ms) * time.Millisecond) }

func (l *live) notice(n govern.Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.asks && n.Kind != govern.NoticeProgress {
		l.quiet.Wait()
	}
	l.tell(n)
	switch n.Kind {
	case govern.NoticeProgress:
		l.progress(n)
		return
	case govern.NoticeEvent:
		if n.Event != nil && l.says != nil {
			l.wipe()
			l.says.Event(*n.Event)
		}
		return // otherwise the agent's output is in its own record; the progress line shows what it does
	case govern.NoticeWarning:
		l.wipe()
		l.app.Warnf("%s", n.Text)
		return
	case govern.NoticeOutput, govern.NoticeLog:
		l.wipe()
		l.app.Notef("%s", n.Text)
		return
	}
	l.works = slices.DeleteFunc(l.works, func(w work) bool { return n.TurnID == "" || w.p.Turn == n.TurnID }) // its worker is not running
	l.wipe()
	l.app.Notef("%-11s %s", n.Kind, n.Text)
}

func (l *live) progress(n govern.Notice) {
	i := slices.IndexFunc(l.works, func(w work) bool { return w.p.Turn == n.TurnID })
	first := i < 0 || l.works[i].p.Stage != n.Progress.Stage
	if i < 0 {
		i = len(l.works)
		l.works = append(l.works, work{})
	}
	l.works[i] = work{n.Role, *n.Progress}
	l.works[i].p.Turn = n.TurnID
	if !l.asks {
		l.show(l.works[i], first)
	}
	if l.stop == nil && !l.app.JSON {
		stop := make(chan struct{})
		l.stop = stop
		l.ended.Go(func() { l.tick(stop) })
	}
}

// tick updates the elapsed time.
func (l *live) tick(stop <-chan struct{}) {
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	for {
		select {
		case <-stop:
			return
		case <-clock.C:
		}
		l.mu.Lock()
		if len(l.works) > 0 && !l.asks {
			l.show(l.works[0], false)
		}
		l.mu.Unlock()
	}
}

// show shows the work in progress. Without a terminal, waiting for a person is reported at once, other progress of this one occasionally.
func (l *live) show(one work, first bool) {
	now := time.Now()
	if l.terminal {
		width := cli.WidthOf(l.app.Err) - 1
		texts := make([]string, len(l.works))
		for i, w := range l.works {
			texts[i] = strings.Map(printable, Line(w.role, w.p, now))
			if share := (width - 3*(len(texts)-1)) / len(texts); width > 3 && len([]rune(texts[i])) > share {
				texts[i] = string([]rune(texts[i])[:max(share-3, 0)]) + "..."
			}
		}
		fmt.Fprintf(l.app.Err, "\r\x1b[K%s", strings.Join(texts, " | "))
		l.shown = true
		return
	}
	if l.app.JSON {
		return
	}
	if l.last.IsZero() {
		l.last = now
	}
	if first && one.p.Stage == govern.StageWaiting || now.Sub(l.last) >= quietSpell {
		works := l.works
		if first {
			works = []work{one}
		}
		for _, w := range works {
			l.app.Notef("%s", Line(w.role, w.p, now))
		}
		l.last = now
	}
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// LiveLine is Line for a turn that another process runs.
func LiveLine(l govern.Live, now time.Time) string {
	return Line(l.Role, govern.Progress{Worker: l.Worker, Stage: govern.Stage(l.Stage), Since: l.StartedAt.Time, LastSign: l.LastSign.Time,
		Deadline: l.Deadline.Time, Doing: l.Doing, CostUSD: l.CostUSD, Tokens: l.Tokens}, now)
}

// Line shows who works, since when, at what cost.
func Line(role string, p govern.Progress, now time.Time) string {
	what := map[govern.Stage]string{govern.StageStarting: "is starting", govern.StageStopping: "is stopped, at work"}[p.Stage]
	if what == "" {
		what = "works"
	}
	who := p.Worker + " " + what
	person := p.Stage == govern.StageWaiting
	if person {
		who = "waits for " + p.Worker
	}
	parts := []string{fmt.Sprintf("%s: %s since %s (%s)", role, who, p.Since.Local().Format(time.TimeOnly), now.Sub(p.Since).Round(time.Second))}
	if p.Doing != "" {
		parts = append(parts, p.Doing)
	}
	switch {
	case p.CostUSD != nil:
		parts = append(parts, fmt.Sprintf("$%.4f", *p.CostUSD))
	case !person:
		parts = append(parts, "cost unknown")
	}
	if p.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", p.Tokens))
	}
	if !person && !p.LastSign.IsZero() && now.Sub(p.LastSign) > 10*time.Second {
		parts = append(parts, "silent for "+now.Sub(p.LastSign).Round(time.Second).String())
	}
	if !p.Deadline.IsZero() {
		parts = append(parts, "until "+p.Deadline.Local().Format(time.TimeOnly))
	}
	return strings.Join(parts, ", ")
}

// wipe removes the progress line.
func (l *live) wipe() {
	if l.shown {
		fmt.Fprint(l.app.Err, "\r\x1b[K")
		l.shown = false
	}
}

// clear ends the display.
func (l *live) clear() {
	l.mu.Lock()
	l.works = nil
	if l.stop != nil {
		close(l.stop)
		l.stop = nil
	}
	l.mu.Unlock()
	l.ended.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wipe()
}

// approve asks the person at the terminal for a permission.
func (l *live) approve(ctx context.Context, q execution.ApprovalRequired) execution.Decision {
	detail := ""
	if q.Detail != "" {
		detail = "\n  " + q.Detail
	}
	line, err := l.ask(ctx, "the agent asks to: "+q.Action+detail+"\nallow? [y/N] ")
	if a := strings.ToLower(line); err == nil && (a == "y" || a == "yes") {
		return execution.Decision{Approve: true}
	}
	return execution.Decision{Reason: "the person at the terminal denied it"}
}

func (l *live) answer(ctx context.Context, q execution.InputRequired) (string, error) {
	return l.ask(ctx, "the agent asks: "+q.Question+"\n> ")
}

// ask reserves the terminal for one question until it is answered or withdrawn; other output follows afterwards.
func (l *live) ask(ctx context.Context, question string) (string, error) {
	l.mu.Lock()
	for l.asks {
		l.quiet.Wait()
	}
	l.asks = true
	l.wipe()
	l.mu.Unlock()
	line, err := l.app.Ask(ctx, cli.Printable(question))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asks = false
	l.quiet.Broadcast()
	return line, err
}
