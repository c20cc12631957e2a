package product

import (
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

type object = protocol.Ordered[json.RawMessage]

// fill sets a key that is missing or null.
func fill(o *object, key, value string) {
	if !protocol.Is(o.At(key)) {
		o.Set(key, json.RawMessage(value))
	}
}

// inflateConfig completes a partial configuration of a fixture with the values that fixtures assume. Given values are
// kept, valid or not.
func inflateConfig(raw json.RawMessage) (json.RawMessage, error) {
	var c, roles, runtimes object
	if protocol.Is(raw) {
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, err
		}
	}
	if !protocol.Is(raw) {
		c.Set("roles", json.RawMessage(`{"operator":{}}`)) // for a fixture without a configuration
	}
	fill(&c, "schema_version", `"1.0"`)
	fill(&c, "project", `{"id":"conformance","name":"Conformance"}`)
	if err := each(&c, "roles", &roles, func(id string, role *object) {
		fill(role, "title", quote(strings.ToUpper(id)))
		fill(role, "mandate", quote("Do the work of "+id+"."))
		fill(role, "write_authority", `"authoritative"`)
		fill(role, "runtime", `"manual"`)
	}); err != nil {
		return nil, err
	}
	if err := each(&c, "runtimes", &runtimes, func(_ string, rt *object) { fill(rt, "type", `"manual"`) }); err != nil {
		return nil, err
	}
	for _, role := range roles.All() {
		var r struct {
			Runtime any `json:"runtime"`
		}
		if json.Unmarshal(role, &r) == nil && r.Runtime == "manual" && !runtimes.Has("manual") {
			runtimes.Set("manual", json.RawMessage(`{"type":"manual"}`))
			b, err := protocol.Marshal(runtimes)
			if err != nil {
				return nil, err
			}
			c.Set("runtimes", b)
		}
	}
	var rules object
	if protocol.Kind(c.At("rules")) == "object" {
		if err := json.Unmarshal(c.At("rules"), &rules); err != nil {
			return nil, err
		}
	}
	fill(&rules, "challenge_required", "true")
	b, err := protocol.Marshal(rules)
	if err != nil {
		return nil, err
	}
	c.Set("rules", b)
	return protocol.MarshalFile(c)
}

// each fills every object in an object. Other values are kept.
func each(c *object, key string, all *object, fillIn func(id string, o *object)) error {
	if raw := c.At(key); protocol.Is(raw) {
		if protocol.Kind(raw) != "object" {
			return nil
		}
		if err := json.Unmarshal(raw, all); err != nil {
			return err
		}
	}
	for _, id := range all.Keys() {
		if protocol.Kind(all.At(id)) != "object" {
			continue
		}
		var o object
		if err := json.Unmarshal(all.At(id), &o); err != nil {
			return err
		}
		fillIn(id, &o)
		b, err := protocol.Marshal(o)
		if err != nil {
			return err
		}
		all.Set(id, b)
	}
	b, err := protocol.Marshal(*all)
	if err == nil {
		c.Set(key, b)
	}
	return err
}

// inflateState completes a partial state of a fixture.
func inflateState(raw json.RawMessage, c *protocol.Config) (protocol.State, error) {
	var s protocol.State
	if !protocol.Is(raw) {
		raw = json.RawMessage("{}")
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, err
	}
	s.SchemaVersion = protocol.StateVersion
	if s.Phase == "" {
		s.Phase = "planning"
	}
	if s.ProjectID == "" {
		s.ProjectID = c.Project.ID
	}
	for id, t := range s.ActiveTurns.All() {
		if t == nil {
			t = &protocol.Turn{}
			s.ActiveTurns.Set(id, t)
		}
		if t.TurnID == "" {
			t.TurnID = id
		}
		if t.AssignedRole == "" {
			t.AssignedRole = "dev"
			if role, ok := t.Extra.Get("role"); ok {
				_ = json.Unmarshal(role, &t.AssignedRole) // a role that is not a string keeps the default
			}
		}
		if t.RuntimeID == "" {
			t.RuntimeID, _, _ = c.RuntimeOf(t.AssignedRole)
		}
		if t.Status == "" {
			t.Status = protocol.TurnRunning
		}
		t.Attempt, t.AssignedSequence = max(1, t.Attempt), max(1, t.AssignedSequence)
	}
	return s, nil
}

func quote(s string) string {
	b, err := protocol.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
