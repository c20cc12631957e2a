package timeline

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const good = `{"event_id":"evt_1","event_type":"run_started","timestamp":"2026-01-02T03:04:05.678Z","turn":null}`
	for _, tc := range []struct{ name, event, want string }{
		{"good", good, ""},
		{"about a turn", strings.NewReplacer("run_started", "turn_dispatched", "null", `{"turn_id":"t"}`).Replace(good), ""},
		{"no object", `[]`, "not array"},
		{"nothing", ``, "not nothing"},
		{"a key twice", `{"event_id":"a","event_id":"b"}`, "stands twice"},
		{"no id", strings.Replace(good, "evt_1", "  ", 1), "event_id"},
		{"an id that is a number", strings.Replace(good, `"evt_1"`, "1", 1), "event_id"},
		{"unknown type", strings.Replace(good, "run_started", "run_begun", 1), "run_begun"},
		{"no time", strings.Replace(good, `"2026-01-02T03:04:05.678Z"`, "1767323045", 1), "1767323045"},
		{"time missing", `{"event_id":"e","event_type":"run_started"}`, "(missing)"},
		{"a turn without id", strings.NewReplacer("run_started", "turn_accepted", "null", "{}").Replace(good), "turn.turn_id"},
		{"a turn that is none", strings.NewReplacer("run_started", "acceptance_failed", "null", `"t"`).Replace(good), "turn.turn_id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(Check(json.RawMessage(tc.event)), "; ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	// An event is written as its type, its second, and its turn.
	parse := func(words string) []json.RawMessage {
		var list []json.RawMessage
		for _, w := range strings.Fields(words) {
			part := strings.Split(w, "/")
			turn := "null"
			if len(part) > 2 {
				turn = `{"turn_id":"` + part[2] + `"}`
			}
			list = append(list, json.RawMessage(`{"event_type":"`+part[0]+`","timestamp":"2026-01-02T03:04:0`+part[1]+`Z","turn":`+turn+`}`))
		}
		return list
	}
	for _, tc := range []struct{ name, events, want string }{
		{"good", "run_started/1 turn_dispatched/2/a turn_dispatched/2/b turn_accepted/3/b turn_accepted/4/a run_completed/4", ""},
		{"none", "", "no events"},
		{"not begun", "turn_dispatched/1/a run_started/2", "the first event is turn_dispatched"},
		{"not the end", "run_started/1 run_completed/2 turn_checkpointed/3/a", "behind run_completed"},
		{"completed twice", "run_started/1 run_completed/2 run_completed/3", "behind run_completed"},
		{"another turn was dispatched", "run_started/1 turn_dispatched/2/a turn_accepted/3/b", "turn b"},
		{"dispatched afterwards", "run_started/1 turn_accepted/2/a turn_dispatched/3/a", "turn a"},
		{"back in time", "run_started/5 turn_dispatched/2/a", "before the one"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(Order(parse(tc.events)), "; ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if got := Order([]json.RawMessage{[]byte("1")}); len(got) != 1 || !strings.Contains(got[0], "no object") {
		t.Errorf("a number: %q", got)
	}
}
