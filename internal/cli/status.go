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
	lanes   *Lanes // below it; may be nil
	below   int    // rows on the screen
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
	parts := append([]string{s.agent, time.Since(s.start).Round(time.Second).String(), s.now.Doing}, s.now.spent()...)
	width, height := s.room()
	text := fmt.Sprintf("\r\x1b[K%c %s", frames[s.frame%len(frames)], Fit(strings.Join(parts, " · "), width))
	var rows []string
	if s.lanes != nil {
		rows = s.lanes.rows()
	}
	if more := len(rows) - height; more > 0 {
		rows = append(rows[:height-1], fmt.Sprintf("and %d more", more+1))
	}
	if len(rows)+s.below > 0 {
		text += "\x1b[J"
	}
	for _, row := range rows {
		text += "\n  " + Cut(row, width)
	}
	if len(rows) > 0 {
		text += fmt.Sprintf("\x1b[%dA\r", len(rows)) // where hide and the next frame begin
	}
	_, _ = io.WriteString(s.w, text) // nowhere to report an error
	s.shown, s.below = true, len(rows)
}

// maxLanes is how many lanes have a row at once.
const maxLanes = 12

// room returns how many columns there are after the frame, and rows for lanes. The terminal's size may change, so it is read each time.
func (s *StatusLine) room() (columns, rows int) {
	columns, rows = sizeOf(s.w)
	if columns <= 4 {
		return 77, maxLanes
	}
	return min(columns-3, 100), max(min(rows-3, maxLanes), 1)
}

// Lanes shows lanes below the line from now on.
func (s *StatusLine) Lanes(l *Lanes) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lanes = l
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
		end := "\r\x1b[K"
		if s.below > 0 {
			end += "\x1b[J"
		}
		_, _ = io.WriteString(s.w, end) // nowhere to report an error
		s.shown, s.below = false, 0
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hide()
	s.held = held
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
	select {
	case <-s.done: // it was closed already
	default:
		close(s.stop)
		<-s.done
	}
}
