package cli

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// Questions asks the questions of a run on the terminal. The goroutine that prints events calls GiveWay at a question's event, so
// that earlier events are on the screen and nothing else is printed until the question is answered. It is safe for concurrent use.
type Questions struct {
	app    *App
	status *StatusLine

	mu    sync.Mutex
	gates map[execution.QuestionID]*gate
}

// gate synchronizes a question: GiveWay closes open, Ask closes done.
type gate struct {
	open   chan struct{}
	done   chan struct{}
	render *Renderer // set before open is closed
	many   int       // questions that waited then
}

// NewQuestions returns the questions of one run. status may be nil.
func NewQuestions(app *App, status *StatusLine) *Questions {
	return &Questions{app: app, status: status, gates: map[execution.QuestionID]*gate{}}
}

func (q *Questions) gate(id execution.QuestionID) *gate {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.gates[id]
	if g == nil {
		g = &gate{open: make(chan struct{}), done: make(chan struct{})}
		q.gates[id] = g
	}
	return g
}

// GiveWay waits until a pending question of the run is answered or withdrawn.
func (q *Questions) GiveWay(id execution.QuestionID, render *Renderer, run *agent.Run) {
	g := q.gate(id)
	g.render, g.many = render, len(run.Pending())
	close(g.open)
	// A question that another process answers first is never asked here, so done may stay open.
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for Pending(run, id) {
		select {
		case <-g.done:
			return
		case <-tick.C:
		}
	}
}

// Approve asks for permission.
func (q *Questions) Approve(ctx context.Context, b execution.ApprovalRequired) execution.Decision {
	decision := execution.Decision{Reason: "no answer was given"}
	err := q.ask(ctx, b.ID, func(g *gate) error {
		p := Permission{b, g.render.Dir, g.render.run}
		text := g.render.QuestionText(b, g.many)
		for {
			line, err := q.app.askAgain(ctx, text, p.keys(false))
			if err != nil {
				return err
			}
			d, reply := Decide(line, p.Always(), b.WithCommand)
			text = g.render.Again(p, reply, line)
			if reply == ReplyEdit && q.app.HasEditor() {
				if d.Input, err = q.app.EditCall(ctx, string(p.Run), b); err == nil {
					d.Approve, reply = true, ReplyDecision
				} else {
					text = "  " + err.Error() + "\n" + p.keys(false)
				}
			}
			if reply == ReplyDecision {
				decision = d
				return nil
			}
		}
	})
	if err != nil {
		return execution.Decision{Reason: "no answer was given"}
	}
	return decision
}

// Input asks a question of the agent.
func (q *Questions) Input(ctx context.Context, b execution.InputRequired) (line string, err error) {
	err = q.ask(ctx, b.ID, func(g *gate) error {
		text := g.render.QuestionText(b, g.many)
		line, err = q.app.Ask(ctx, text)
		return err
	})
	return line, err
}

// DeniedByUser is the reason of a denial without one.
const DeniedByUser = "denied by the user"

// Yes reports whether an answer is yes.
func Yes(answer string) bool {
	answer = strings.TrimSpace(answer)
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}

// Pending reports whether a question of the run is unanswered.
func Pending(run *agent.Run, id execution.QuestionID) bool {
	return id != "" && slices.ContainsFunc(run.Pending(), func(q execution.Question) bool { return q.ID == id })
}

// ask waits for GiveWay and lets f show the question and wait for its answer.
func (q *Questions) ask(ctx context.Context, id execution.QuestionID, f func(*gate) error) error {
	g := q.gate(id)
	defer close(g.done)
	select {
	case <-g.open:
	case <-ctx.Done():
		return ctx.Err()
	}
	q.status.Hold(true)
	defer q.status.Hold(false)
	return f(g)
}
