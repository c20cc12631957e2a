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

// Continued is the start of a session with what the request says that it goes on from.
func Continued(req execution.Request, start execution.SessionStart) execution.SessionStart {
	switch from, fork := SessionOf(req); {
	case fork:
		start.ForkedFrom = from
	case from != "":
		start.Resumed = true
	}
	return start
}

// BeginSession emits the start of a session, and that it is a fork or goes on.
func (s *Sink) BeginSession(start execution.SessionStart) {
	s.Emit(start)
	switch {
	case start.Resumed:
		s.Emit(execution.SessionResume{SessionID: start.SessionID})
	case start.ForkedFrom != "":
		s.Emit(execution.SessionFork{SessionID: start.SessionID, ForkedFrom: start.ForkedFrom})
	}
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
