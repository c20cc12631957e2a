package cliagent

import "github.com/drawbar/drawbar/execution"

// ResolveSession returns the agent's session that a request continues or forks (agent-mux specification,
// resolveSessionId), empty for a new session.
func ResolveSession(req execution.Request) (id string, fork bool) {
	if req.Run.SessionID != "" {
		return req.Run.SessionID, false
	}
	return req.Run.ForkSessionID, req.Run.ForkSessionID != ""
}

// SessionOf is ResolveSession for an agent whose continuations name the session, as those of package agent do.
func SessionOf(req execution.Request) (id string, fork bool) {
	if id, fork = ResolveSession(req); id != "" || req.Run.NoSession || req.Continuation == nil {
		return id, fork
	}
	id, _ = req.Continuation.State["sessionId"].(string)
	return id, false
}

// Begin is BeginSession for an agent that does not state what a session continues: the first session of a run is the one that the
// request continues.
func (s *Sink) Begin(req execution.Request, start execution.SessionStart) {
	switch from, fork := SessionOf(req); {
	case s.SessionID() != "":
	case fork:
		start.ForkedFrom = from
	case from != "":
		start.Resumed = true
	}
	s.BeginSession(start)
}

// BeginSession emits the start of a session, and whether it is a fork or resumed.
func (s *Sink) BeginSession(start execution.SessionStart) {
	s.Emit(start)
	switch {
	case start.Resumed:
		s.Emit(execution.SessionResume{SessionID: start.SessionID})
	case start.ForkedFrom != "":
		s.Emit(execution.SessionFork{SessionID: start.SessionID, ForkedFrom: start.ForkedFrom})
	}
}

// IsUUID reports whether s has the form of a UUID, like the session ids of several agents. These agents treat another
// string as the name of a session, and create or offer one of that name.
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
