package governance

import (
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

const gitPrefix = "git:"

func (in Checkpointed) apply(s *step) *Refused {
	i := slices.IndexFunc(s.run.History, func(h protocol.HistoryEntry) bool {
		return h.TurnID == in.TurnID && h.Status != protocol.StatusReissued
	})
	if i < 0 {
		return refuse(CodeTurnNotActive, NextStatus, "cannot checkpoint turn %q: it has not been accepted in this run", in.TurnID).
			with("turn_id", in.TurnID)
	}
	if in.SHA == "" {
		return refuse(CodeInvalidInput, NextCheckpoint, "a checkpoint needs its commit")
	}
	history := slices.Clone(s.run.History)
	history[i].CheckpointSHA, history[i].CheckpointedAt = in.SHA, s.now
	s.run.History = history
	h := history[i]
	if s.st.LastCompletedTurnID == nil || *s.st.LastCompletedTurnID == in.TurnID {
		ref := gitPrefix + in.SHA
		s.st.AcceptedIntegration = &ref
		s.st.LastCompletedTurn = &protocol.CompletedTurn{TurnID: h.TurnID, Role: h.Role, Phase: h.Phase, CheckpointSHA: in.SHA, CheckpointedAt: s.now}
	}
	if s.st.Status == protocol.RunCompleted && !in.InAcceptance {
		return nil // no event may follow the one that ended the run
	}
	s.emit("turn_checkpointed", s.eventTurn(in.TurnID), map[string]any{"checkpoint_sha": in.SHA})
	return nil
}

func (in OperatorCommits) apply(s *step) *Refused {
	if in.To == "" {
		return refuse(CodeInvalidInput, NextStatus, "operator commits need the commit they end at")
	}
	if s.st.Status == protocol.RunIdle {
		return refuse(CodeInvalidTransition, NextStep, "no run has been started")
	}
	ref := gitPrefix + in.To
	s.st.AcceptedIntegration = &ref
	payload := map[string]any{"from": in.From, "to": in.To, "commits": notNil(in.SHAs)}
	if len(in.Released) > 0 {
		payload["released_turns"] = in.Released
	}
	s.emit("state_reconciled_operator_commits", nil, payload)
	return nil
}
