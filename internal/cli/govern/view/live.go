package view

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
)

// quietSpell is how often a command that nobody watches on a terminal says that somebody is at work.
const quietSpell = 30 * time.Second

// live shows on standard error what happens while a command works: on a terminal a line that is rewritten every second, else a
// line now and then.
type live struct {
	app      *cli.App
	terminal bool
	says     *cli.Renderer // shows what agents say; nil does not

	mu    sync.Mutex
	quiet *sync.Cond // signals that no question is open any more
	shown bool
	last  time.Time
	now   *work         // what is under way
	asks  bool          // a question stands there, and its answer is awaited
	stop  chan struct{} // ends the clock
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

// Duration is a time for people, in whole seconds from a second on.
func Duration(ms int64) string { return govern.Took(time.Duration(ms) * time.Millisecond) }

func (l *live) notice(n govern.Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.asks && n.Kind != govern.NoticeProgress {
		l.quiet.Wait()
	}
	switch n.Kind {
	case govern.NoticeProgress:
		l.progress(n)
		return
	case govern.NoticeEvent:
		if n.Event != nil && l.says != nil {
			l.wipe()
			l.says.Event(*n.Event)
		}
		return // else what the agent says is in its own record; the line of progress says what it does
	case govern.NoticeWarning:
		l.wipe()
		l.app.Warnf("%s", n.Text)
		return
	case govern.NoticeOutput, govern.NoticeLog:
		l.wipe()
		l.app.Notef("%s", n.Text)
		return
	}
	l.now = nil // nobody works on a turn any more, or not yet
	l.wipe()
	l.app.Notef("%-11s %s", n.Kind, n.Text)
}

func (l *live) progress(n govern.Notice) {
	first := l.now == nil || l.now.p.Turn != n.TurnID || l.now.p.Stage != n.Progress.Stage
	l.now = &work{n.Role, *n.Progress}
	l.now.p.Turn = n.TurnID
	if !l.asks {
		l.show(first)
	}
	if l.stop == nil && !l.app.JSON {
		stop := make(chan struct{})
		l.stop = stop
		l.ended.Go(func() { l.tick(stop) })
	}
}

// tick shows that time goes by, whether or not something happens.
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
		if l.now != nil && !l.asks {
			l.show(false)
		}
		l.mu.Unlock()
	}
}

// show shows what is under way. Where nobody looks, that a person is waited for is said at once, the rest now and then.
func (l *live) show(first bool) {
	now := time.Now()
	text := Line(l.now.role, l.now.p, now)
	if l.terminal {
		runes := []rune(strings.Map(printable, text))
		if w := cli.WidthOf(l.app.Err); w > 4 && len(runes) > w-1 {
			runes = append(runes[:w-4], []rune("...")...)
		}
		fmt.Fprintf(l.app.Err, "\r\x1b[K%s", string(runes))
		l.shown = true
		return
	}
	if l.app.JSON {
		return
	}
	if l.last.IsZero() {
		l.last = now
	}
	if first && l.now.p.Stage == govern.StageWaiting || now.Sub(l.last) >= quietSpell {
		l.app.Notef("%s", text)
		l.last = now
	}
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// LiveLine is Line of a turn that another process carries out.
func LiveLine(l govern.Live, now time.Time) string {
	return Line(l.Role, govern.Progress{Worker: l.Worker, Stage: govern.Stage(l.Stage), Since: l.StartedAt.Time, LastSign: l.LastSign.Time,
		Deadline: l.Deadline.Time, Doing: l.Doing, CostUSD: l.CostUSD, Tokens: l.Tokens}, now)
}

// Line says who works, since when, at what cost.
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

// wipe takes the line of progress away.
func (l *live) wipe() {
	if l.shown {
		fmt.Fprint(l.app.Err, "\r\x1b[K")
		l.shown = false
	}
}

// clear ends the showing.
func (l *live) clear() {
	l.mu.Lock()
	l.now = nil
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

// approve asks the person at the terminal whether the agent may.
func (l *live) approve(ctx context.Context, q execution.ApprovalRequired) execution.Decision {
	detail := ""
	if q.Detail != "" {
		detail = "\n  " + q.Detail
	}
	line, err := l.ask(ctx, "the agent asks to: "+q.Action+detail+"\nallow? [y/N] ")
	if a := strings.ToLower(line); err == nil && (a == "y" || a == "yes") {
		return execution.Decision{Approve: true}
	}
	return execution.Decision{Reason: "the person at the terminal did not allow it"}
}

func (l *live) answer(ctx context.Context, q execution.InputRequired) (string, error) {
	return l.ask(ctx, "the agent asks: "+q.Question+"\n> ")
}

// ask leaves the terminal to one question until it is answered or withdrawn; what else happens is shown afterwards.
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
