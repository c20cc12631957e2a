package view

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/orchestrator"
	"github.com/drawbar/drawbar/internal/orchestrator/turnruntime"
)

// quiet is how often a command that nobody watches on a terminal says that somebody is at work.
const quiet = 30 * time.Second

// live shows on standard error what happens while a command works: on a terminal a line that is rewritten, else a line now and
// then.
type live struct {
	app      *cli.App
	terminal bool
	says     *cli.Renderer // shows what agents say; nil does not

	mu    sync.Mutex
	shown bool
	last  time.Time
}

// Duration is a time for people, in whole seconds from a second on.
func Duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Second {
		return d.String()
	}
	return d.Round(time.Second).String()
}

func (l *live) notice(n orchestrator.Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch n.Kind {
	case "progress":
		l.progress(n)
		return
	case "event":
		if n.Event != nil && l.says != nil {
			l.wipe()
			l.says.Event(*n.Event)
		}
		return // else what the agent says is in its own record; the line of progress says what it does
	case "log":
		l.wipe()
		l.app.Notef("%s", n.Text)
		return
	case "warning":
		l.wipe()
		l.app.Warnf("%s", n.Text)
		return
	case "output":
		l.wipe()
		l.app.Notef("%s", n.Text)
		return
	}
	l.wipe()
	l.app.Notef("%-10s %s", n.Kind, n.Text)
}

func (l *live) progress(n orchestrator.Notice) {
	text := Line(n.Role, *n.Progress, time.Now())
	if l.terminal {
		if w := l.app.Width(); w > 4 && len(text) > w-1 {
			text = text[:w-4] + "..."
		}
		fmt.Fprintf(l.app.Err, "\r\x1b[K%s", strings.Map(printable, text))
		l.shown = true
		return
	}
	if l.app.JSON || time.Since(l.last) < quiet {
		return
	}
	if !l.last.IsZero() || n.Progress.Stage == turnruntime.StageWaiting {
		l.app.Notef("%s", text)
	}
	l.last = time.Now()
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// Line says who works, since when, at what cost.
func Line(role string, p turnruntime.Progress, now time.Time) string {
	parts := []string{fmt.Sprintf("%s: %s %s", role, p.Worker, p.Stage), "for " + now.Sub(p.Since).Round(time.Second).String()}
	if p.Doing != "" {
		parts = append(parts, p.Doing)
	}
	if p.CostUSD != nil {
		parts = append(parts, fmt.Sprintf("$%.4f", *p.CostUSD))
	}
	if p.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", p.Tokens))
	}
	if !p.LastSign.IsZero() && now.Sub(p.LastSign) > 10*time.Second {
		parts = append(parts, "silent for "+now.Sub(p.LastSign).Round(time.Second).String())
	}
	if !p.Deadline.IsZero() {
		parts = append(parts, "until "+p.Deadline.Local().Format(time.TimeOnly))
	}
	return strings.Join(parts, "  ")
}

// wipe takes the line of progress away.
func (l *live) wipe() {
	if l.shown {
		fmt.Fprint(l.app.Err, "\r\x1b[K")
		l.shown = false
	}
}

func (l *live) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wipe()
}

// approve asks the person at the terminal whether the agent may.
func (l *live) approve(ctx context.Context, q execution.ApprovalRequired) execution.Decision {
	l.mu.Lock()
	l.wipe()
	l.app.Notef("the agent asks to: %s", q.Action)
	if q.Detail != "" {
		l.app.Notef("  %s", q.Detail)
	}
	fmt.Fprint(l.app.Err, "allow? [y/N] ")
	l.mu.Unlock()
	line, err := l.app.ReadLine(ctx)
	if a := strings.ToLower(strings.TrimSpace(line)); err == nil && (a == "y" || a == "yes") {
		return execution.Decision{Approve: true}
	}
	return execution.Decision{Reason: "the person at the terminal did not allow it"}
}

func (l *live) answer(ctx context.Context, q execution.InputRequired) (string, error) {
	l.mu.Lock()
	l.wipe()
	l.app.Notef("the agent asks: %s", q.Question)
	fmt.Fprint(l.app.Err, "> ")
	l.mu.Unlock()
	return l.app.ReadLine(ctx)
}
