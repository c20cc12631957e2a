package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// StatusLine is the live line of a terminal with the agent, the time, the current step and the cost. A nil StatusLine does
// nothing. It is safe for concurrent use.
type StatusLine struct {
	mu      sync.Mutex
	w       io.Writer
	start   time.Time
	agent   string
	now     Progress
	shown   bool
	allowed bool // the cursor is at the start of a line
	held    bool // a question is on the screen
	frame   int
	stop    chan struct{}
	done    chan struct{}
}

var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// StartStatus starts the status line of the app's terminal; Close ends it. It is drawn only while Allow permits it. It returns nil where lines cannot
// be drawn again, and with --json.
func (a *App) StartStatus(agentName string) *StatusLine {
	if !IsTerminal(a.Err) || a.JSON || a.Getenv("TERM") == "dumb" {
		return nil
	}
	s := &StatusLine{w: a.Err, start: time.Now(), agent: agentName, now: Progress{Doing: "starting"}, allowed: true, stop: make(chan struct{}), done: make(chan struct{})}
	a.status = s
	go func() {
		defer close(s.done)
		tick := time.NewTicker(125 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.draw()
			case <-s.stop:
				s.Hide()
				return
			}
		}
	}()
	return s
}

func (s *StatusLine) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.allowed || s.held {
		return
	}
	s.frame++
	parts := []string{s.agent, time.Since(s.start).Round(time.Second).String(), s.now.Doing}
	if s.now.Tokens > 0 {
		parts = append(parts, Count(s.now.Tokens)+" tokens")
	}
	if s.now.USD > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", s.now.USD))
	}
	fmt.Fprintf(s.w, "\r\x1b[K%c %s", frames[s.frame%len(frames)], Fit(strings.Join(parts, " · "), s.room()))
	s.shown = true
}

// room returns how many columns there are after the frame. The terminal's width may change, so it is read each time.
func (s *StatusLine) room() int {
	if w := WidthOf(s.w); w > 4 {
		return min(w-3, 100)
	}
	return 77
}

// Hide clears the line until the next tick.
func (s *StatusLine) Hide() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hide()
}

func (s *StatusLine) hide() {
	if s.shown {
		io.WriteString(s.w, "\r\x1b[K")
		s.shown = false
	}
}

// above writes text in the place of the line, which the next tick draws below it.
func (s *StatusLine) above(w io.Writer, text string) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hide()
	}
	_, _ = io.WriteString(w, text) // nowhere to report an error
}

// Allow sets whether the line may be drawn: only while the cursor is at the start of a line.
func (s *StatusLine) Allow(ok bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.allowed = ok
	s.mu.Unlock()
}

// Hold hides the line while a question is open, regardless of Allow.
func (s *StatusLine) Hold(held bool) {
	if s == nil {
		return
	}
	s.Hide()
	s.mu.Lock()
	s.held = held
	s.mu.Unlock()
}

// Say sets what is shown of the current step.
func (s *StatusLine) Say(what string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.now.Doing = what
	s.mu.Unlock()
}

// Event updates the line.
func (s *StatusLine) Event(e execution.Event) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Event(e)
}

// Close clears the line and stops its goroutine.
func (s *StatusLine) Close() {
	if s == nil {
		return
	}
	close(s.stop)
	<-s.done
}
