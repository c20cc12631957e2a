package governance

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// blockage describes what blocks a run, in the protocol's terms.
type blockage struct {
	on       string // blocked_on
	category string
	typed    string // typed_reason; empty is the category
	detail   string
	turn     string
	recovery string // empty: continue with the retained turn, or assign the next
	human    string // type in the human queue; empty is needs_decision
	action   string // what a person should do; empty is the detail
}

// block stops the run and asks a person to decide.
func (s *step) block(b blockage) {
	s.move(protocol.RunBlocked)
	if b.typed == "" {
		b.typed = b.category
	}
	if b.recovery == "" {
		b.recovery = resumeCommand(s.run, b.turn)
	}
	if b.detail == "" {
		b.detail = b.on
	}
	s.st.BlockedOn = &b.on
	s.st.BlockedReason = &protocol.BlockedReason{Category: b.category, BlockedAt: s.now, Recovery: protocol.Recovery{TypedReason: b.typed,
		Owner: protocol.Human, RecoveryAction: b.recovery, TurnRetained: s.st.ActiveTurns.Has(b.turn), Detail: b.detail}}
	if b.turn != "" {
		s.st.BlockedReason.TurnID = &b.turn
	}
	s.emit("run_blocked", s.eventTurn(b.turn), map[string]any{"blocked_on": b.on, "category": b.category, "detail": b.detail,
		"recovery_action": b.recovery})
	s.raise(b)
}

// raise opens an entry of the human queue. A fault has one open entry: a newer entry closes the older one of the same
// turn.
func (s *step) raise(b blockage) {
	s.resolveHuman("superseded", func(o protocol.OpenEscalation) bool {
		return o.TurnID == b.turn && (b.turn != "" || o.BlockedOn == b.on)
	})
	sum := sha256.Sum256([]byte(strings.Join([]string{s.st.ID(), b.turn, b.on, s.now.String()}, "\x00")))
	id := "hesc_" + hex.EncodeToString(sum[:8])
	s.st.OpenHuman = append(s.st.OpenHuman, protocol.OpenEscalation{EscalationID: id, BlockedOn: b.on, TurnID: b.turn, RaisedAt: s.now,
		Reason: s.st.BlockedReason})
	e := HumanEntry{Kind: "raised", EscalationID: id, CreatedAt: s.now, RunID: s.st.ID(), Phase: s.st.Phase, BlockedOn: b.on, Category: b.category,
		TypedReason: b.typed, Type: b.human, Action: b.action, RecoveryAction: b.recovery, ResolutionCommand: "drawbar govern unblock " + id,
		Detail: b.detail, TurnID: b.turn}
	if e.Type == "" {
		e.Type = "needs_decision"
	}
	if e.Action == "" {
		e.Action = b.detail
	}
	turn := s.eventTurn(b.turn)
	if turn != nil {
		e.RoleID = turn.RoleID
	}
	s.add(RaiseHuman{e})
	s.emit("human_escalation_raised", turn, map[string]any{"escalation_id": id, "blocked_on": b.on, "type": e.Type, "action": e.Action,
		"resolution_command": e.ResolutionCommand})
}

// resolveHuman closes the open entries that match.
func (s *step) resolveHuman(via string, match func(protocol.OpenEscalation) bool) {
	var keep []protocol.OpenEscalation
	for _, o := range s.st.OpenHuman {
		if !match(o) {
			keep = append(keep, o)
			continue
		}
		s.add(ResolveHuman{HumanEntry{Kind: "resolved", EscalationID: o.EscalationID, ResolvedAt: s.now, ResolvedVia: via, RunID: s.st.ID(),
			Phase: s.st.Phase, BlockedOn: o.BlockedOn, TurnID: o.TurnID}})
		s.emit("human_escalation_resolved", s.eventTurn(o.TurnID), map[string]any{"escalation_id": o.EscalationID, "blocked_on": o.BlockedOn,
			"resolved_via": via})
	}
	s.st.OpenHuman = keep
}

// resolveRaised resolves what a turn raised, when the turn continues or ends. A block caused by the turn is cleared, or
// replaced by another open one.
func (s *step) resolveRaised(turn, via string) {
	s.resolveHuman(via, func(o protocol.OpenEscalation) bool { return o.TurnID == turn })
	if s.st.Status != protocol.RunBlocked || s.st.BlockedReason != nil && blockedTurn(s.st) != turn {
		return
	}
	if n := len(s.st.OpenHuman); n > 0 && s.st.OpenHuman[n-1].Reason != nil {
		s.st.BlockedOn, s.st.BlockedReason = new(s.st.OpenHuman[n-1].BlockedOn), s.st.OpenHuman[n-1].Reason
		return
	}
	s.clearBlock()
}

// clearBlock unblocks a run: it becomes active, or paused if an approval is pending.
func (s *step) clearBlock() {
	s.st.BlockedOn, s.st.BlockedReason, s.st.Escalation = nil, nil, nil
	switch {
	case s.st.PendingTransition != nil:
		s.pause(s.st.PendingTransition.Gate)
	case s.st.PendingCompletion != nil:
		s.pause(s.st.PendingCompletion.Gate)
	default:
		s.move(protocol.RunActive)
	}
}

// pause makes the run wait for a person's approval of a gate.
func (s *step) pause(gate string) {
	s.move(protocol.RunPaused)
	s.st.BlockedOn, s.st.BlockedReason = new("human_approval:"+gate), nil
}

// slug is a reason as written in blocked_on.
func slug(reason string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(reason) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 60 {
			break
		}
	}
	if v := strings.Trim(b.String(), "-"); v != "" {
		return v
	}
	return "unspecified"
}
