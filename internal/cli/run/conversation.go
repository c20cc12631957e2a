package run

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/control"
)

// conversation handles the lines of standard input.
type conversation struct {
	app   *cli.App
	shown Shown
}

// Shown records when questions were shown. Its zero value is ready; it is safe for concurrent use.
type Shown struct {
	mu sync.Mutex
	at map[execution.QuestionID]time.Time
}

// Add records that a question is shown now.
func (s *Shown) Add(id execution.QuestionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[execution.QuestionID]time.Time{}
	}
	s.at[id] = time.Now()
}

// By returns a function that reports whether a line typed at that time can answer a question: on a terminal, only if the question
// was already shown. Lines from a program answer any pending question.
func (s *Shown) By(app *cli.App, at time.Time) func(execution.QuestionID) bool {
	terminal := cli.IsTerminal(app.In)
	return func(id execution.QuestionID) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		shown, ok := s.at[id]
		return !terminal || ok && !at.Before(shown)
	}
}

// listen forwards lines of standard input to the run: as answers to pending questions, messages or slash commands.
func (c *conversation) listen(ctx context.Context, do func(control.Call) (control.Reply, error)) {
	for {
		line, at, err := c.app.ReadLineAt(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				_, _ = do(control.Call{Verb: "close-input"}) // the run may have ended meanwhile
			}
			return
		}
		call, quit := Parse(line, do, c.shown.By(c.app, at))
		if quit {
			return
		}
		if call.Verb == "" {
			continue
		}
		if _, err := do(call); err != nil {
			c.app.Notef("  %v", err)
		}
	}
}

// Parse converts a line to a call. A plain line answers a pending question, which do reports, or else is a message. shown reports
// whether a question was shown when the line was typed; other questions are not answered.
func Parse(line string, do func(control.Call) (control.Reply, error), shown func(execution.QuestionID) bool) (call control.Call, quit bool) {
	text := strings.TrimSpace(line)
	if word, rest, _ := strings.Cut(text, " "); strings.HasPrefix(word, "/") {
		switch word {
		case "/quit", "/exit":
			_, _ = do(control.Call{Verb: "close-input"}) // the run may have ended meanwhile
			return control.Call{}, true
		case "/interrupt", "/abort", "/pause", "/resume":
			return control.Call{Verb: word[1:]}, false
		case "/queue", "/steer", "/approve", "/deny":
			return control.Call{Verb: word[1:], Text: strings.TrimSpace(rest)}, false
		}
	}
	if text == "" {
		return control.Call{}, false
	}
	if status, err := do(control.Call{Verb: "status"}); err == nil {
		for _, q := range status.Pending {
			if !shown(q.ID) {
				continue
			}
			d := cli.Decide(text)
			if !q.Approval {
				d = execution.Decision{Approve: true, Text: text}
			}
			return control.Call{Verb: "answer", Question: q.ID, Decision: &d}, false
		}
	}
	return control.Call{Verb: string(execution.VerbSend), Text: text, When: execution.WhenNow}, false
}
