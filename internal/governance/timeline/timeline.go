// Package timeline holds events of a governed run to the protocol: each one by itself, and all of a run in their order. It is
// pure.
package timeline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/internal/governance/protocol"
)

// Check says what is wrong with one event, as it was read; nothing for a good one. An event about a turn names the turn.
func Check(raw json.RawMessage) []string {
	var e protocol.Ordered[json.RawMessage]
	if protocol.Kind(raw) != "object" {
		return []string{"an event is an object, not " + protocol.Kind(raw)}
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return []string{err.Error()}
	}
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if word(e.At("event_id")) == "" {
		fault("event_id is missing or empty")
	}
	kind := word(e.At("event_type"))
	if !slices.Contains(protocol.EventTypes(), kind) {
		fault("event_type %q is none of the protocol's", kind)
	}
	if _, err := time.Parse(time.RFC3339Nano, word(e.At("timestamp"))); err != nil {
		fault("timestamp %s is no ISO 8601 time", text(e.At("timestamp")))
	}
	if aboutTurn(kind) && turnID(e.At("turn")) == "" {
		fault("turn.turn_id is missing in %s", kind)
	}
	return faults
}

// Order says what is wrong with the events of one run, oldest first: it begins with run_started, nothing follows
// run_completed, a turn is dispatched before it is accepted, and time does not go back. Events that Check refuses are left
// out where they lack what is looked at.
func Order(events []json.RawMessage) []string {
	if len(events) == 0 {
		return []string{"there are no events"}
	}
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	dispatched := map[string]bool{}
	var last time.Time
	completed := false
	for i, raw := range events {
		var e protocol.Ordered[json.RawMessage]
		if protocol.Kind(raw) != "object" || json.Unmarshal(raw, &e) != nil {
			fault("event %d is no object", i)
			continue
		}
		kind, turn := word(e.At("event_type")), turnID(e.At("turn"))
		if i == 0 && kind != "run_started" {
			fault("the first event is %s, not run_started", kind)
		}
		if completed {
			fault("event %d, %s, stands behind run_completed", i, kind)
		}
		completed = completed || kind == "run_completed"
		switch kind {
		case "turn_dispatched":
			dispatched[turn] = true
		case "turn_accepted":
			if !dispatched[turn] {
				fault("event %d accepts turn %s, which was not dispatched before", i, turn)
			}
		}
		if at, err := time.Parse(time.RFC3339Nano, word(e.At("timestamp"))); err == nil {
			if at.Before(last) {
				fault("event %d is of %s, before the one in front of it", i, at.Format(time.RFC3339Nano))
			}
			last = at
		}
	}
	return faults
}

// aboutTurn reports whether events of the type are about one turn.
func aboutTurn(kind string) bool {
	return strings.HasPrefix(kind, "turn_") || kind == "acceptance_failed"
}

func turnID(raw json.RawMessage) string {
	var t protocol.Ordered[json.RawMessage]
	if protocol.Kind(raw) != "object" || json.Unmarshal(raw, &t) != nil {
		return ""
	}
	return word(t.At("turn_id"))
}

// word is a string value without blanks around it; empty for anything else.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

func text(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "(missing)"
	}
	return string(raw)
}
