package cliagent

import (
	"slices"

	"github.com/drawbar/drawbar/execution"
)

// Talk is how a parser takes the commands of a conversation. What cannot be done now is refused in the same words for every agent.
type Talk struct {
	Agent     string
	Closed    bool // no more messages: the input has ended
	Idle      bool // no turn runs, and none will by itself
	End       func()
	Say       func(execution.Say)
	Answer    func(execution.Answer) error
	Interrupt func()
}

// Take carries out a command, as Parser.Command promises.
func (t Talk) Take(cmd execution.Command) error {
	switch c := cmd.(type) {
	case execution.EndInput:
		t.End()
	case execution.Say:
		if t.Closed {
			return execution.Errorf(execution.CodeRunNotActive, "%s accepts no more messages: the input has ended", t.Agent)
		}
		t.Say(c)
	case execution.Answer:
		return t.Answer(c)
	case execution.Interrupt:
		if t.Idle {
			return execution.Errorf(execution.CodeInvalidStateTransition, "there is nothing to interrupt: no turn of %s is running", t.Agent)
		}
		t.Interrupt()
	default:
		return execution.Errorf(execution.CodeInternal, "%s has no command %T", t.Agent, cmd)
	}
	return nil
}

// Questions are what an agent asked and nobody has answered, the oldest first. The zero value has none.
type Questions[Q any] []OpenQuestion[Q]

// OpenQuestion is a question with what the parser needs to know for the answer.
type OpenQuestion[Q any] struct {
	ID    execution.QuestionID
	Asked Q
}

// Add adds a question. A question with the same id is replaced.
func (o *Questions[Q]) Add(id execution.QuestionID, asked Q) {
	o.Remove(id)
	*o = append(*o, OpenQuestion[Q]{id, asked})
}

// Find returns a question, or an error that says that it is not open.
func (o *Questions[Q]) Find(id execution.QuestionID) (asked Q, err error) {
	if i := o.index(id); i >= 0 {
		return (*o)[i].Asked, nil
	}
	return asked, execution.Errorf(execution.CodeInteractionNotFound, "no question %s is open: it was answered or withdrawn", id)
}

// Remove removes a question if it is open.
func (o *Questions[Q]) Remove(id execution.QuestionID) {
	if i := o.index(id); i >= 0 {
		*o = slices.Delete(*o, i, i+1)
	}
}

// Withdraw withdraws the questions for which drop returns true, all of them without it.
func (o *Questions[Q]) Withdraw(why string, s *Sink, drop func(Q) bool) {
	*o = slices.DeleteFunc(*o, func(q OpenQuestion[Q]) bool {
		dropped := drop == nil || drop(q.Asked)
		if dropped {
			s.Emit(execution.QuestionWithdrawn{ID: q.ID, Reason: why})
		}
		return dropped
	})
}

func (o *Questions[Q]) index(id execution.QuestionID) int {
	return slices.IndexFunc(*o, func(q OpenQuestion[Q]) bool { return q.ID == id })
}
