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

// conversation is a person at standard input.
type conversation struct {
	app   *cli.App
	shown Shown
}

// Shown remembers when questions came on the screen or into the stream. Its zero value is ready; it is safe for concurrent use.
type Shown struct {
	mu sync.Mutex
	at map[execution.QuestionID]time.Time
}

// Add notes that a question is there to be read.
func (s *Shown) Add(id execution.QuestionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[execution.QuestionID]time.Time{}
	}
	s.at[id] = time.Now()
}

// By reports which questions a line of that time can answer: on a terminal those that were on the screen. A program that
// writes to standard input answers what is pending.
func (s *Shown) By(app *cli.App, at time.Time) func(execution.QuestionID) bool {
	terminal := cli.IsTerminal(app.In)
	return func(id execution.QuestionID) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		shown, ok := s.at[id]
		return !terminal || ok && !at.Before(shown)
	}
}

// listen passes lines of standard input on: answers while a question is pending, else messages and slash commands.
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

// Parse turns a line into a call. do is asked what is pending, since a plain line answers a question before it is a message;
// shown reports whether a question was there when the line was typed: no other is answered.
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
