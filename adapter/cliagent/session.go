package cliagent

import "github.com/drawbar/drawbar/execution"

// ResolveSession is the agent's session that a request goes on from (agent-mux specification, resolveSessionId): the
// one to resume, or with fork the one to fork. It is empty for a new session.
func ResolveSession(req execution.Request) (id string, fork bool) {
	if req.Run.SessionID != "" {
		return req.Run.SessionID, false
	}
	return req.Run.ForkSessionID, req.Run.ForkSessionID != ""
}
