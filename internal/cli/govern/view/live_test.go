package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
)

func TestLine(t *testing.T) {
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	now := since.Add(80 * time.Second)
	usd := 0.0123
	for name, tt := range map[string]struct {
		p    govern.Progress
		want string
	}{
		"a person": {govern.Progress{Worker: "a person", Stage: govern.StageWaiting, Since: since, Deadline: since.Add(20 * time.Minute)},
			"pm: waits for a person since 12:00:00 (1m20s), until 12:20:00"},
		"a program that says nothing of money": {govern.Progress{Worker: "agent.sh", Stage: govern.StageRunning, Since: since, LastSign: now.Add(-time.Second)},
			"pm: agent.sh works since 12:00:00 (1m20s), cost unknown"},
		"an agent": {govern.Progress{Worker: "claude", Stage: govern.StageRunning, Since: since, Doing: "Edit", CostUSD: &usd, Tokens: 4200, LastSign: now},
			"pm: claude works since 12:00:00 (1m20s), Edit, $0.0123, 4200 tokens"},
		"a silent one": {govern.Progress{Worker: "claude", Stage: govern.StageRunning, Since: since, CostUSD: &usd, LastSign: now.Add(-30 * time.Second)},
			"pm: claude works since 12:00:00 (1m20s), $0.0123, silent for 30s"},
		"one that begins": {govern.Progress{Worker: "claude", Stage: govern.StageStarting, Since: since}, "pm: claude is starting since 12:00:00 (1m20s), cost unknown"},
		"one that is ended": {govern.Progress{Worker: "claude", Stage: govern.StageStopping, Since: since, CostUSD: &usd},
			"pm: claude is stopped, at work since 12:00:00 (1m20s), $0.0123"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Line("pm", tt.p, now); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestTheLineTicks shows that the line goes on where nothing happens, keeps out of the way of a question, and goes away.
func TestTheLineTicks(t *testing.T) {
	var out lockedBuffer
	l := newLive(&cli.App{Err: &out, Getenv: func(string) string { return "" }})
	l.terminal = true
	out.lock = &l.mu
	l.notice(govern.Notice{Kind: govern.NoticeProgress, TurnID: "t", Role: "dev",
		Progress: &govern.Progress{Worker: "claude", Stage: govern.StageRunning, Since: time.Now().Add(-time.Hour)}})
	wait := func(what string, ok func(string) bool) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Second); !ok(out.text()); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %q", what, out.text())
			}
		}
	}
	wait("a second second", func(s string) bool { return strings.Contains(s, "(1h0m0s)") && strings.Contains(s, "(1h0m1s)") })
	l.mu.Lock()
	l.asks = true
	l.mu.Unlock()
	before := out.text()
	l.notice(govern.Notice{Kind: govern.NoticeProgress, TurnID: "t", Role: "dev",
		Progress: &govern.Progress{Worker: "claude", Stage: govern.StageRunning, Since: time.Now(), Doing: "Edit"}})
	time.Sleep(1200 * time.Millisecond)
	if after := out.text(); after != before {
		t.Errorf("the line runs over a question: %q", after[len(before):])
	}
	l.clear()
	if !strings.HasSuffix(out.text(), "\r\x1b[K") {
		t.Errorf("the line stays: %q", out.text())
	}
}

// Turns that work beside each other share the line, until each has ended.
func TestTheLineOfSeveral(t *testing.T) {
	var out lockedBuffer
	l := newLive(&cli.App{Err: &out, JSON: true, Getenv: func(string) string { return "" }}) // without the clock
	l.terminal = true
	out.lock = &l.mu
	at := time.Now()
	for _, role := range []string{"dev", "qa", "dev"} {
		l.notice(govern.Notice{Kind: govern.NoticeProgress, TurnID: "t-" + role, Role: role,
			Progress: &govern.Progress{Worker: "claude", Stage: govern.StageRunning, Since: at}})
	}
	last := func() string { all := out.text(); return all[strings.LastIndex(all, "\x1b[K")+3:] }
	if got := last(); !strings.HasPrefix(got, "dev: claude works") || !strings.Contains(got, " | qa: claude works") || strings.Count(got, "dev:") != 1 {
		t.Errorf("%q", got)
	}
	l.notice(govern.Notice{Kind: "accepted", TurnID: "t-dev", Role: "dev", Text: "done"})
	l.notice(govern.Notice{Kind: govern.NoticeProgress, TurnID: "t-qa", Role: "qa", Progress: &govern.Progress{Worker: "claude", Stage: govern.StageRunning, Since: at}})
	if got := last(); strings.Contains(got, "dev:") || !strings.HasPrefix(got, "qa: claude works") {
		t.Errorf("%q", got)
	}
	l.clear()
}

// lockedBuffer is written under the lock of what it belongs to.
type lockedBuffer struct {
	bytes.Buffer
	lock interface {
		Lock()
		Unlock()
	}
}

func (b *lockedBuffer) text() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.String()
}
