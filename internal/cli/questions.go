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
	g.render = render
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
	line, err := q.Ask(ctx, b)
	if err != nil {
		return execution.Decision{Reason: "no answer was given"}
	}
	return Decide(line)
}

// Input asks a question of the agent.
func (q *Questions) Input(ctx context.Context, b execution.InputRequired) (string, error) {
	return q.Ask(ctx, b)
}

// DeniedByUser is the reason of a denial without one.
const DeniedByUser = "denied by the user"

// Decide reads an answer to a permission question: yes, no, or the reason of a denial.
func Decide(line string) execution.Decision {
	switch answer := strings.TrimSpace(line); {
	case Yes(answer):
		return execution.Decision{Approve: true}
	case answer == "" || strings.EqualFold(answer, "n") || strings.EqualFold(answer, "no"):
		return execution.Decision{Reason: DeniedByUser}
	default:
		return execution.Decision{Reason: answer}
	}
}

// Yes reports whether an answer is yes.
func Yes(answer string) bool {
	answer = strings.TrimSpace(answer)
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}

// Pending reports whether a question of the run is unanswered.
func Pending(run *agent.Run, id execution.QuestionID) bool {
	return id != "" && slices.ContainsFunc(run.Pending(), func(q execution.Question) bool { return q.ID == id })
}

// Ask waits for GiveWay, shows the question, and waits for a line.
func (q *Questions) Ask(ctx context.Context, b execution.Body) (string, error) {
	g := q.gate(QuestionID(b))
	defer close(g.done)
	select {
	case <-g.open:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	q.status.Hold(true)
	defer q.status.Hold(false)
	return q.app.Ask(ctx, g.render.QuestionText(b))
}
