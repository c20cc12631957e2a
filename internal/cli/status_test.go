package cli

import (
	"bytes"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// screen is a terminal's standard output and error in one.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// TestNothingIsWrittenBehindTheStatusLine: whenever its clock ticks, the line is cleared before a text of the run is written.
func TestNothingIsWrittenBehindTheStatusLine(t *testing.T) {
	t.Parallel()
	w := &screen{}
	s := &StatusLine{w: w, start: time.Now(), agent: "x", now: Progress{Doing: "answering"}, allowed: true}
	r := NewRenderer(&App{Out: w, Err: w, NoColor: true}, false, s)
	stop, ticked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ticked)
		for {
			select {
			case <-stop:
				return
			default:
				s.draw()
			}
		}
	}()
	frames := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.frame
	}
	for range 120 {
		for was := frames(); frames() == was; {
			runtime.Gosched()
		}
		for _, b := range []execution.Body{
			execution.MessageStart{}, execution.TextDelta{Delta: "half a "}, execution.TextDelta{Delta: "line"}, execution.MessageStop{},
			execution.Retry{Attempt: 1, Reason: "busy"},
			execution.Finished{Result: execution.Result{Status: execution.StatusFailed, Error: execution.NewResultError(execution.CodeProvider, "busy")}},
		} {
			r.Event(execution.Event{Body: b})
		}
	}
	close(stop)
	<-ticked
	s.Hide()
	drawn := regexp.MustCompile(`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] x · [^\x1b\n]*`).FindAllString(w.b.String(), -1)
	if len(drawn) < 100 {
		t.Fatalf("it was drawn %d times", len(drawn))
	}
	for _, line := range drawn {
		if !strings.HasSuffix(line, " · answering\r") && !strings.HasSuffix(line, "retry\r") {
			t.Fatalf("written behind the line: %q", line)
		}
	}
	if strings.Contains(w.b.String(), "half a \r") {
		t.Error("the line was drawn over a text that ends within a line")
	}
}
