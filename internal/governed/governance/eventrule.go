package governance

import (
	"encoding/json"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// turnEvents are the event types that concern a turn.
var turnEvents = []string{"turn_dispatched", "turn_accepted", "turn_rejected", "turn_conflicted", "conflict_resolved", "acceptance_failed",
	"turn_reissued", "turn_stalled", "turn_start_failed", "runtime_spawn_failed", "stdout_attach_failed", "turn_checkpointed", "dispatch_progress"}

// DecodeEvent reads an event and validates it.
func DecodeEvent(data []byte) (protocol.Event, *Refused) {
	var e protocol.Event
	if err := json.Unmarshal(data, &e); err != nil {
		return e, refuse(CodeInvalidEvent, "drawbar govern events", "the event cannot be read: %v", err)
	}
	return e, validateEvent(e)
}

// validateEvent returns what an event of the record lacks.
func validateEvent(e protocol.Event) *Refused {
	bad := func(field, format string, args ...any) *Refused {
		return refuse(CodeInvalidEvent, "drawbar govern events", format, args...).with("field", field)
	}
	switch {
	case e.EventID == "":
		return bad("event_id", "an event has no id")
	case !slices.Contains(protocol.EventTypes(), e.EventType):
		return bad("event_type", "the event %s has the unknown type %q", e.EventID, e.EventType)
	case e.Timestamp.IsZero():
		return bad("timestamp", "the event %s has no timestamp", e.EventID)
	case e.RunID == "":
		return bad("run_id", "event %s has no run id", e.EventID)
	case slices.Contains(turnEvents, e.EventType) && (e.Turn == nil || e.Turn.TurnID == ""):
		return bad("turn.turn_id", "event %s of type %s has no turn id", e.EventID, e.EventType)
	}
	return nil
}

// ValidateOrdering returns whether the order of events is one that the protocol allows, run by run: run_started is
// first, a turn is dispatched before it is accepted, time does not go backwards, and nothing follows run_completed.
func ValidateOrdering(events []protocol.Event) *Refused {
	type progress struct {
		last       protocol.Event
		ended      bool
		dispatched map[string]bool
	}
	runs := map[string]*progress{}
	for i, e := range events {
		bad := func(format string, args ...any) *Refused {
			return refuse(CodeOrdering, "drawbar govern events", format, args...).with("index", i).with("event_id", e.EventID)
		}
		p := runs[e.RunID]
		if p == nil {
			if e.EventType != "run_started" {
				return bad("run %s starts with %s, not with run_started", e.RunID, e.EventType)
			}
			runs[e.RunID] = &progress{last: e, dispatched: map[string]bool{}}
			continue
		}
		turn := ""
		if e.Turn != nil {
			turn = e.Turn.TurnID
		}
		switch {
		case p.ended:
			return bad("%s follows run_completed", e.EventType)
		case e.EventType == "run_started":
			return bad("the run %s is started twice", e.RunID)
		case e.Timestamp.Before(p.last.Timestamp.Time):
			return bad("%s is of %s, before %s of %s", e.EventType, e.Timestamp, p.last.EventType, p.last.Timestamp)
		case e.EventType == "turn_accepted" && !p.dispatched[turn]:
			return bad("turn %s was accepted but not dispatched", turn)
		}
		if e.EventType == "turn_dispatched" {
			p.dispatched[turn] = true
		}
		p.last, p.ended = e, e.EventType == "run_completed"
	}
	return nil
}
