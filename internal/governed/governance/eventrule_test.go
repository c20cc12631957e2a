package governance

import (
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

func TestValidateEvent(t *testing.T) {
	t.Parallel()
	const good = `{"event_id":"evt_1","event_type":"turn_accepted","timestamp":"2026-04-01T00:00:00Z","run_id":"run_1","turn":{"turn_id":"turn_1"},"payload":{}}`
	for _, tc := range []struct{ name, from, to, field string }{
		{"good", "", "", ""},
		{"no id", `"evt_1"`, `""`, "event_id"},
		{"unknown type", "turn_accepted", "moon_landed", "event_type"},
		{"no time", `"2026-04-01T00:00:00Z"`, `null`, "timestamp"},
		{"no run", `"run_1"`, `""`, "run_id"},
		{"no turn", `"turn":{"turn_id":"turn_1"}`, `"turn":null`, "turn.turn_id"},
		{"no turn id", `{"turn_id":"turn_1"}`, `{}`, "turn.turn_id"},
		{"no turn needed", `"turn_accepted","timestamp":"2026-04-01T00:00:00Z","run_id":"run_1","turn":{"turn_id":"turn_1"}`,
			`"run_started","timestamp":"2026-04-01T00:00:00Z","run_id":"run_1","turn":null`, ""},
	} {
		_, r := DecodeEvent([]byte(strings.Replace(good, tc.from, tc.to, 1)))
		if tc.field == "" && r != nil || tc.field != "" && (r == nil || r.Code != CodeInvalidEvent || r.Detail["field"] != tc.field) {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
	for _, bad := range []string{"", "[]", `{"timestamp":"yesterday"}`} {
		if _, r := DecodeEvent([]byte(bad)); r == nil || r.Code != CodeInvalidEvent {
			t.Errorf("%q: %+v", bad, r)
		}
	}
}

func TestValidateOrdering(t *testing.T) {
	t.Parallel()
	// Each word is an event: type, or type@turn, or type!run; ~ before it sets the clock back.
	types := map[string]string{"start": "run_started", "dispatch": "turn_dispatched", "accept": "turn_accepted", "end": "run_completed", "check": "turn_checkpointed"}
	for _, tc := range []struct{ events, want string }{
		{"", ""},
		{"start dispatch@a accept@a end", ""},
		{"start dispatch@a accept@a check@a end", ""},
		{"dispatch@a", "starts with turn_dispatched"},
		{"start accept@a", "accepted but not dispatched"},
		{"start dispatch@b accept@a", "accepted but not dispatched"},
		{"start dispatch@a accept@a end check@a", "follows run_completed"},
		{"start end end", "follows run_completed"},
		{"start ~dispatch@a", "before run_started"},
		{"start start", "started twice"},
		{"start dispatch@a start!2 dispatch@b!2 accept@a accept@b!2 end end!2", ""},
		{"start dispatch@a start!2 accept@a!2", "accepted but not dispatched"},
	} {
		var events []protocol.Event
		clock := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
		for word := range strings.FieldsSeq(tc.events) {
			word, back := strings.CutPrefix(word, "~")
			clock = clock.Add(time.Second)
			e := protocol.Event{RunID: "run_1", Timestamp: protocol.At(clock)}
			if back {
				e.Timestamp = protocol.At(clock.Add(-time.Hour))
			}
			if w, run, ok := strings.Cut(word, "!"); ok {
				word, e.RunID = w, "run_"+run
			}
			kind, turn, ok := strings.Cut(word, "@")
			if ok {
				e.Turn = &protocol.EventTurn{TurnID: turn}
			}
			e.EventType = types[kind]
			events = append(events, e)
		}
		r := ValidateOrdering(events)
		if tc.want == "" && r != nil || tc.want != "" && (r == nil || r.Code != CodeOrdering || !strings.Contains(r.Message, tc.want)) {
			t.Errorf("%s: %+v, want %q", tc.events, r, tc.want)
		}
	}
}
