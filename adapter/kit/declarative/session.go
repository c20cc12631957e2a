package declarative

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// session is the agent's session of a run.
type session struct {
	req   execution.Request
	given string // the id that the command line states, empty for none
	id    string // the id that was announced
	model string
	turn  bool // the turn has begun
}

// give records an id that the command line states.
func (n *session) give(id string) { n.given = id }

// announce emits the session that the command line names.
func (n *session) announce(s *cliagent.Sink) {
	if n.given != "" {
		n.begin(n.given, "", s)
	}
}

// begin emits a session unless it was already announced.
func (n *session) begin(id, model string, s *cliagent.Sink) {
	if model != "" {
		n.model = model
	}
	if id == "" || id == n.id {
		return
	}
	s.Begin(n.req, execution.SessionStart{SessionID: id, Model: n.model})
	n.id = id
}

// work starts the turn unless it has begun. A program without sessions has one without an id.
func (n *session) work(s *cliagent.Sink) {
	if !n.turn {
		n.turn = true
		if n.id == "" {
			s.Begin(n.req, execution.SessionStart{})
		}
		s.Emit(execution.TurnStart{})
	}
}

// end completes the result of a run with its outcome, and emits the failure, if there is one, and the end of the turn.
func (n *session) end(res *execution.Result, text string, failed *cliagent.Failure, s *cliagent.Sink) {
	end := execution.TurnEnd{Reason: execution.TurnCompleted, Text: text}
	if failed != nil {
		s.Emit(failed.Event())
		res.Error = failed.Result()
		end = execution.TurnEnd{Reason: execution.TurnFailed, Error: res.Error}
	} else if res.Status = execution.StatusCompleted; text != "" {
		res.Output = &execution.Output{Text: text}
	}
	if n.turn {
		s.Emit(end)
	}
}
