package turnresult

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// required are the keys that every result must have, in the order in which they are asked for.
var required = []string{"schema_version", "run_id", "turn_id", "role", "runtime_id", "status", "summary", "decisions", "objections",
	"files_changed", "verification", "artifact", "proposed_next_role"}

// shape names the keys of an object, and the shapes of the objects in them: Go reads JSON keys in any case, so a key that
// differs from a known one in case only would be checked by nobody and read all the same.
type shape struct {
	keys   []string
	inside []child
}

// child is the shape of the object at a key, or of the objects of the array there.
type child struct {
	key string
	shape
}

func keysOf(v any) []string {
	t := reflect.TypeOf(v)
	var keys []string
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	return keys
}

var resultShape = shape{append(keysOf(protocol.TurnResult{}), "files_modified", "milestone", "milestone_title"), []child{
	{"decisions", shape{append(keysOf(protocol.Decision{}), "decision", "description", "summary", "title", "reason", "why"), nil}},
	{"objections", shape{append(keysOf(protocol.Objection{}), "summary", "detail"), nil}},
	{"verification", shape{append(keysOf(protocol.Verification{}), "exit_code"), []child{
		{"machine_evidence", shape{append(keysOf(protocol.Evidence{}), "type"), nil}},
		{"produced_files", shape{keysOf(protocol.ProducedFile{}), nil}},
	}}},
	{"artifact", shape{keysOf(protocol.ResultArtifact{}), nil}},
	{"cost", shape{keysOf(protocol.Cost{}), nil}},
	{"delegations", shape{keysOf(protocol.Delegation{}), nil}},
	{"proposed_changes", shape{keysOf(protocol.ProposedChange{}), nil}},
	{"adapter_meta", shape{keysOf(protocol.AdapterMeta{}), nil}},
}}

// known is the known key that a key is but for its case; false when it is a known key itself, or none.
func (s shape) known(key string) (string, bool) {
	if slices.Contains(s.keys, key) {
		return "", false
	}
	i := slices.IndexFunc(s.keys, func(k string) bool { return strings.EqualFold(k, key) })
	if i < 0 {
		return "", false
	}
	return s.keys[i], true
}

// respell gives every key that is known but for its case its own spelling; when that is there already, the other is dropped.
func (s shape) respell(path string, o object) (object, []protocol.Change) {
	var changes []protocol.Change
	had := o
	o = object{}
	for key, value := range had.All() {
		right, ok := s.known(key)
		switch {
		case !ok:
			o.Set(key, value)
		case had.Has(right) || o.Has(right):
			changes = append(changes, protocol.Change{Field: join(path, key), Original: value, Normalized: null, Rationale: "key_in_another_case_dropped"})
		default:
			o.Set(right, value)
			changes = append(changes, protocol.Change{Field: join(path, right), Original: encode(key), Normalized: encode(right), Rationale: "key_respelled"})
		}
	}
	for _, c := range s.inside {
		raw, ok := o.Get(c.key)
		if !ok {
			continue
		}
		field := join(path, c.key)
		if m, ok := members(raw); ok {
			if m, more := c.respell(field, m); more != nil {
				o.Set(c.key, encode(m))
				changes = append(changes, more...)
			}
			continue
		}
		list, _ := items(raw)
		var inner []protocol.Change
		for i, item := range list {
			if m, ok := members(item); ok {
				if m, more := c.respell(at(field, i), m); more != nil {
					list[i] = encode(m)
					inner = append(inner, more...)
				}
			}
		}
		if inner != nil {
			o.Set(c.key, encode(list))
			changes = append(changes, inner...)
		}
	}
	return o, changes
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// at is the path of an element.
func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
