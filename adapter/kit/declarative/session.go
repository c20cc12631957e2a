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
}

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
