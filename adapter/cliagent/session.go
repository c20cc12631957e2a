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

// SessionOf is ResolveSession for an agent whose continuations name the session to go on from, as package agent makes them.
func SessionOf(req execution.Request) (id string, fork bool) {
	if id, fork = ResolveSession(req); id != "" || req.Run.NoSession || req.Continuation == nil {
		return id, fork
	}
	id, _ = req.Continuation.State["sessionId"].(string)
	return id, false
}

// IsUUID reports whether s has the form of a UUID, as the session ids of several agents do. Agents take another word for
// the name of a session, and begin or offer one of that name.
func IsUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return false
			}
		}
	}
	return true
}
