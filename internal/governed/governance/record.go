package governance

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

func (s *step) add(e Effect) { s.effects = append(s.effects, e) }

func (s *step) warn(code, message string) { s.add(Warn{code, message}) }

// emit adds an event with the current phase and status of the run.
func (s *step) emit(eventType string, turn *protocol.EventTurn, payload map[string]any) {
	s.add(Emit{Event: s.event(eventType, turn, payload)})
}

// emitLast adds an event that follows those of the transaction's checkpoint: nothing follows the end of a run.
func (s *step) emitLast(eventType string, turn *protocol.EventTurn, payload map[string]any) {
	s.add(Emit{Event: s.event(eventType, turn, payload), AfterCheckpoint: true})
}

func (s *step) event(eventType string, turn *protocol.EventTurn, payload map[string]any) protocol.Event {
	return protocol.Event{EventType: eventType, Timestamp: s.now, RunID: s.st.ID(), Phase: s.st.Phase, Status: string(s.st.Status),
		Turn: turn, IntentID: s.intentOf(turn), Payload: raw(payload)}
}

// intentOf is the intent of an active turn.
func (s *step) intentOf(turn *protocol.EventTurn) *string {
	if turn == nil {
		return nil
	}
	return s.st.ActiveTurns.At(turn.TurnID).Intent()
}

// eventTurn describes an active or accepted turn; nil for an empty id.
func (s *step) eventTurn(id string) *protocol.EventTurn {
	if id == "" {
		return nil
	}
	if t := s.st.ActiveTurns.At(id); t != nil {
		return eventOf(t)
	}
	for _, h := range slices.Backward(s.run.History) {
		if h.TurnID == id {
			return &protocol.EventTurn{TurnID: id, RoleID: h.Role, Attempt: h.Attempt, AssignedSequence: h.AssignedSequence}
		}
	}
	return &protocol.EventTurn{TurnID: id}
}

func eventOf(t *protocol.Turn) *protocol.EventTurn {
	return &protocol.EventTurn{TurnID: t.TurnID, RoleID: t.AssignedRole, Attempt: t.Attempt, AssignedSequence: t.AssignedSequence}
}

// noteDecision adds a note with the key "decision", noteType one with the key "type".
func (s *step) noteDecision(decision, turn string, more map[string]any) {
	s.note(protocol.LedgerNote{Decision: decision}, turn, more)
}

func (s *step) noteType(noteType, turn string, more map[string]any) {
	s.note(protocol.LedgerNote{Type: noteType}, turn, more)
}

func (s *step) note(n protocol.LedgerNote, turn string, more map[string]any) {
	n.RunID, n.Phase, n.Timestamp, n.TurnID = s.st.ID(), s.st.Phase, s.now, turn
	if e := s.eventTurn(turn); e != nil {
		n.Role = e.RoleID
	}
	for _, k := range slices.Sorted(maps.Keys(more)) {
		n.Extra.Set(k, raw(more[k]))
	}
	s.add(AppendNote{n})
}

// raw encodes a value that is known to have a JSON form.
func raw(v any) json.RawMessage {
	b, err := protocol.Marshal(v)
	if err != nil {
		panic(err) // callers pass only values with a JSON form
	}
	return b
}

// orNull is a raw value, null if it is empty.
func orNull(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return json.RawMessage("null")
	}
	return v
}
