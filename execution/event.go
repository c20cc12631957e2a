package execution

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Event is something that happened in a run. An adapter sets Body, plus Parent, Origin and Raw if they apply;
// package agent sets the rest on its copy. Events are immutable once emitted.
type Event struct {
	Seq    uint64    // 1, 2, 3 ... within the run; 0 until package agent sets it
	Time   time.Time // never earlier than the previous event's; milliseconds on the wire
	Turn   int       // zero-based index of its turn
	RunID  RunID
	Agent  string
	Parent string          // tool call of the sub-agent that emitted it; empty for the agent itself
	Origin string          // "hook" for events from a hook
	Raw    json.RawMessage // the agent's own line, in debug mode only
	Caller *Correlation    // the caller's ids, shared by all events of the run; nil until package agent sets it
	Body   Body
}

// Body is what happened. The set is sealed: see EventTypes. Values are immutable and shared by all readers.
type Body interface {
	// Type returns the event's wire name.
	Type() EventType
	body()
}

// EventType is the wire name of an event.
type EventType string

// Terminal reports whether the body ends the stream.
func (e Event) Terminal() bool {
	_, ok := e.Body.(Finished)
	return ok
}

type eventHead struct {
	SchemaVersion string    `json:"schemaVersion,omitempty"`
	Type          EventType `json:"type"`
	RunID         RunID     `json:"runId"`
	Agent         string    `json:"agent"`
	Correlation
	Timestamp int64           `json:"timestamp"`
	Seq       uint64          `json:"seq,omitempty"`
	Turn      int             `json:"turn"`
	Parent    string          `json:"parentToolCallId,omitempty"`
	Origin    string          `json:"origin,omitempty"`
	Raw       json.RawMessage `json:"raw,omitempty"`
}

// MarshalJSON writes the event as one flat object: the base fields, then those of the body.
func (e Event) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil) }

// UnmarshalJSON reads what MarshalJSON writes. An unknown event type or major version is an error.
func (e *Event) UnmarshalJSON(b []byte) error {
	var h eventHead
	if err := json.Unmarshal(b, &h); err != nil {
		return err
	}
	if err := CheckSchemaVersion(h.SchemaVersion); err != nil {
		return err
	}
	decode, ok := bodyDecoders()[h.Type]
	if !ok {
		return fmt.Errorf("unknown event type %q", clip(string(h.Type), 60))
	}
	body, err := decode(b)
	if err != nil {
		return fmt.Errorf("decode %s event: %w", h.Type, err)
	}
	*e = Event{Seq: h.Seq, Time: time.UnixMilli(h.Timestamp).UTC(), Turn: h.Turn, RunID: h.RunID, Agent: h.Agent,
		Parent: h.Parent, Origin: h.Origin, Raw: bytes.Clone(h.Raw), Body: body}
	if h.Correlation != (Correlation{}) {
		e.Caller = &h.Correlation
	}
	return nil
}

// bodyRow is one row of the table of event types.
type bodyRow struct {
	group  string
	typ    EventType
	zero   Body
	decode func([]byte) (Body, error)
}

func row[T Body](group string) bodyRow {
	var zero T
	return bodyRow{group, zero.Type(), zero, func(b []byte) (Body, error) {
		var v T
		err := json.Unmarshal(b, &v)
		return v, err
	}}
}

var bodyDecoders = sync.OnceValue(func() map[EventType]func([]byte) (Body, error) {
	m := make(map[EventType]func([]byte) (Body, error), len(bodyTable()))
	for _, r := range bodyTable() {
		m[r.typ] = r.decode
	}
	return m
})

// EventTypes lists every event type in the order of the documentation.
func EventTypes() []EventType {
	types := make([]EventType, len(bodyTable()))
	for i, r := range bodyTable() {
		types[i] = r.typ
	}
	return types
}

// EventGroup returns the group of an event type, empty if unknown. Drawbar's additions are in the group
// "drawbar".
func EventGroup(t EventType) string {
	for _, r := range bodyTable() {
		if r.typ == t {
			return r.group
		}
	}
	return ""
}

// ZeroBody returns the zero body of an event type, nil if unknown. Schema generation uses it.
func ZeroBody(t EventType) Body {
	for _, r := range bodyTable() {
		if r.typ == t {
			return r.zero
		}
	}
	return nil
}
