package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	facts *Facts
}

// Shown has the questions of a run that its reader can answer, and shows them one at a time. Its zero value is ready; it is safe for
// concurrent use.
type Shown struct {
	mu   sync.Mutex
	list []asked
}

type asked struct {
	event  execution.Event
	at     time.Time     // when it was shown
	render *cli.Renderer // nil with --json
}

// Add adds a question. It reports whether to show it now: if another one is on the screen, it follows that one's answer.
func (s *Shown) Add(e execution.Event, render *cli.Renderer) (now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := asked{event: e, render: render}
	if now = len(s.list) == 0; now {
		q.at = time.Now()
	}
	s.list = append(s.list, q)
	return now
}

// Answered removes the question that an event ends, and returns the next one to show, with the number of those that wait.
func (s *Shown) Answered(b execution.Body) (next execution.Event, waiting int) {
	id := cli.AnsweredID(b)
	if id == "" {
		return next, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(q asked) bool { return cli.QuestionID(q.event.Body) == id })
	if len(s.list) == 0 || !s.list[0].at.IsZero() {
		return next, 0
	}
	s.list[0].at = time.Now()
	return s.list[0].event, len(s.list)
}

// find returns a question.
func (s *Shown) find(id execution.QuestionID) (asked, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.list, func(q asked) bool { return cli.QuestionID(q.event.Body) == id })
	if i < 0 {
		return asked{}, false
	}
	return s.list[i], true
}

// By returns a function that reports whether a line typed at that time can answer a question: on a terminal, only if the question
// was already shown. Lines from a program answer any pending question.
func (s *Shown) By(app *cli.App, at time.Time) func(execution.QuestionID) bool {
	terminal := cli.IsTerminal(app.In)
	return func(id execution.QuestionID) bool {
		q, ok := s.find(id)
		return !terminal || ok && !q.at.IsZero() && !at.Before(q.at)
	}
}

// slash is a command of a conversation. Other words that begin with / go to the agent.
type slash struct{ name, takes, does string }

var slashes = []slash{
	{"/queue", "MSG", "a message for after this turn"}, {"/steer", "MSG", "a message for the running turn"},
	{"/interrupt", "", "end the turn"}, {"/abort", "", "end the run and everything it started"},
	{"/pause", "", "stop the agent's process for now"}, {"/resume", "", "let it go on"},
	{"/approve", "", "allow what is asked"}, {"/deny", "WHY", "deny it"},
	{"/model", "", "the model, and how to go on with another"}, {"/cost", "", "what the conversation has cost"},
	{"/diff", "", "what has changed in the repository"}, {"/sessions", "", "the agent's newest sessions here"},
	{"/help", "", "this list"}, {"/quit", "", "leave: no more messages"},
}

// SlashCommands are what a person can type in a conversation besides messages.
func SlashCommands() (names []string) {
	for _, s := range slashes {
		names = append(names, s.name)
	}
	return names
}

// slashHelp explains what can be typed in a conversation.
func slashHelp() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-16s %s\n", "a line", "a message, or the answer to the question on the screen")
	for _, s := range slashes {
		fmt.Fprintf(&b, "  %-16s %s\n", strings.TrimSpace(s.name+" "+s.takes), s.does)
	}
	b.WriteString("Other commands that begin with / go to the agent. A line that ends with \\ or Alt-Enter goes on in the next one.")
	return b.String()
}

// Again goes on after a reply that does not decide: what a person reads then, or their editor, whose text they allow. For no question it is
// the help of the conversation.
func (s *Shown) Again(ctx context.Context, app *cli.App, do func(control.Call) (control.Reply, error), id execution.QuestionID, reply cli.Reply, line string) {
	if id == "" {
		app.Notef("%s", slashHelp())
		return
	}
	q, _ := s.find(id)
	b, ok := q.event.Body.(execution.ApprovalRequired)
	if !ok || q.render == nil {
		app.Notef("%q is not an answer: y, a, n, or n with a reason", cli.OneLine(line, 40))
		return
	}
	if reply == cli.ReplyEdit && app.HasEditor() {
		input, err := app.EditCall(ctx, string(q.event.RunID), b)
		if err == nil {
			_, err = do(control.Call{Verb: "answer", Question: id, Decision: &execution.Decision{Approve: true, Input: input}})
		}
		if err == nil {
			return
		}
		app.Notef("  %v", err)
	}
	_, _ = io.WriteString(app.Err, q.render.Again(cli.Permission{Question: b, Dir: q.render.Dir, Run: q.event.RunID}, reply, line)) // nowhere to report an error
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
		again := func(id execution.QuestionID, reply cli.Reply) { c.shown.Again(ctx, c.app, do, id, reply, line) }
		call, quit := Parse(line, do, c.shown.By(c.app, at), again, func(command string) { c.facts.Show(ctx, c.app, command) })
		if quit {
			return
		}
		if call.Verb == "" {
			c.facts.Idle(c.app)
			continue
		}
		working := c.facts.Working()
		if _, err := do(call); err != nil {
			c.app.Notef("  %v", err)
			c.facts.Idle(c.app)
			continue
		}
		Acknowledge(c.app, call, working)
	}
}

// Acknowledge tells a person that a message was accepted which the conversation does not show at once. working says that a turn was
// running.
func Acknowledge(app *cli.App, call control.Call, working bool) {
	switch {
	case app.JSON:
	case call.Verb == string(execution.VerbSend) && working:
		app.Notef("  sent: the agent reads it as soon as it can")
	case call.Verb == "queue":
		app.Notef("  queued for after this turn: %s", cli.OneLine(call.Text, 40))
	case call.Verb == "steer":
		app.Notef("  sent to the running turn: %s", cli.OneLine(call.Text, 40))
	}
}

// Parse converts a line to a call. A plain line answers a pending question, which do reports, or else is a message. shown reports
// whether a question was shown when the line was typed; other questions are not answered. again is called for a reply to a permission
// question that decides nothing, and without a question for /help. look is called for a command that only shows something.
func Parse(line string, do func(control.Call) (control.Reply, error), shown func(execution.QuestionID) bool,
	again func(execution.QuestionID, cli.Reply), look func(command string)) (call control.Call, quit bool) {
	text := strings.TrimSpace(line)
	if word, rest, _ := strings.Cut(text, " "); strings.HasPrefix(word, "/") {
		switch word {
		case "/quit", "/exit":
			_, _ = do(control.Call{Verb: "close-input"}) // the run may have ended meanwhile
			return control.Call{}, true
		case "/help":
			again("", cli.ReplyHelp)
			return control.Call{}, false
		case "/model", "/cost", "/diff", "/sessions":
			look(word)
			return control.Call{}, false
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
			d := execution.Decision{Approve: true, Text: text}
			if q.Approval {
				var reply cli.Reply
				if d, reply = cli.Decide(text, q.Always, q.Call().WithCommand); reply != cli.ReplyDecision {
					again(q.ID, reply)
					return control.Call{}, false
				}
			}
			return control.Call{Verb: "answer", Question: q.ID, Decision: &d}, false
		}
	}
	return control.Call{Verb: string(execution.VerbSend), Text: text, When: execution.WhenNow}, false
}
