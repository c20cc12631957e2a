// Package schema makes the JSON Schemas of the wire values from their Go types. The files in schema/ at the root of the
// module are its output; its test fails when they differ.
//
// What a schema says comes from the types of package execution alone, and that of agentxchain.json from the table of keys
// in package charter; nothing is written by hand here but the names of the files.
package schema

//go:generate go test . -run TestNoDrift -update

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/config"
)

// base is where a published schema is found.
const base = "https://github.com/drawbar/drawbar/schema/"

// Generate returns the schema files by name.
func Generate() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, v := range []struct {
		name string
		typ  reflect.Type
	}{
		{"request", reflect.TypeFor[execution.Request]()},
		{"capabilities", reflect.TypeFor[execution.Capabilities]()},
		{"negotiation", reflect.TypeFor[execution.Negotiation]()},
		{"result", reflect.TypeFor[execution.Result]()},
	} {
		s, err := forType(v.typ)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", v.name, err)
		}
		if err := put(files, v.name, s); err != nil {
			return nil, err
		}
	}
	// What a person writes is closed: an unknown key is a mistake there.
	for name, typ := range map[string]reflect.Type{"config": config.FileType(), "profile": reflect.TypeFor[execution.RunOptions]()} {
		s, err := jsonschema.ForType(typ, &jsonschema.ForOptions{TypeSchemas: special()})
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", name, err)
		}
		written(s)
		if name == "profile" {
			for o := range execution.Options() {
				if !o.In(execution.ReachProfile) {
					delete(s.Properties, o.Name)
				}
			}
			s.Properties["$schema"] = &jsonschema.Schema{Type: "string"}
			s.PropertyOrder = nil
		}
		if err := put(files, name, s); err != nil {
			return nil, err
		}
	}
	if err := put(files, "agentxchain", governedSchema()); err != nil {
		return nil, err
	}
	event, err := eventSchema()
	if err != nil {
		return nil, err
	}
	return files, put(files, "event", event)
}

func put(files map[string][]byte, name string, s *jsonschema.Schema) error {
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.ID = base + name + ".json"
	s.Title = "Drawbar " + name
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	files[name+".json"] = out.Bytes()
	return nil
}

// special are the types whose wire form reflection does not see.
func special() map[reflect.Type]*jsonschema.Schema {
	types := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {Description: "any JSON"},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[execution.Prompt](): {Types: []string{"string", "array"}, Items: &jsonschema.Schema{Type: "string"},
			Description: "text, or lines to be joined"},
		reflect.TypeFor[execution.RunID](): {Type: "string", Pattern: "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"},
		reflect.TypeFor[execution.Event](): {Type: "object", Description: "an event, see event.json"},
	}
	values := execution.EnumValues()
	for _, t := range enumTypes() {
		s := &jsonschema.Schema{Type: "string"}
		for _, v := range values[t.Name()] {
			s.Enum = append(s.Enum, v)
		}
		if t == reflect.TypeFor[execution.StreamMode]() {
			s.Type, s.Enum = "", append(s.Enum, true, false)
		}
		types[t] = s
	}
	return types
}

func forType(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: special()})
	if err != nil {
		return nil, err
	}
	open(s)
	return s, nil
}

// written makes a schema one of values that a person writes: a policy for retries names only what differs from the default one, and
// null is no value.
func written(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for name, p := range s.Properties {
		if name == "retryPolicy" {
			p.Required = nil
		}
		written(p)
	}
	written(s.AdditionalProperties)
	written(s.Items)
}

// open lets readers of a later minor version see fields they do not know.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.AdditionalProperties = openValue(s.AdditionalProperties)
	for _, p := range s.Properties {
		open(p)
	}
	open(s.Items)
}

func openValue(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil || s.Not != nil {
		return nil
	}
	open(s)
	return s
}

// eventSchema is a choice of one object per event type.
func eventSchema() (*jsonschema.Schema, error) {
	all := &jsonschema.Schema{}
	head := map[string]*jsonschema.Schema{
		"schemaVersion":    {Type: "string"},
		"runId":            special()[reflect.TypeFor[execution.RunID]()],
		"agent":            {Type: "string"},
		"timestamp":        {Type: "integer", Description: "milliseconds since 1970, never before an earlier event's"},
		"seq":              {Type: "integer"},
		"turn":             {Type: "integer"},
		"parentToolCallId": {Type: "string", Description: "tool call of the sub-agent it comes from"},
		"origin":           {Type: "string"},
		"raw":              {Description: "the agent's own line, in debug mode"},
	}
	for _, typ := range execution.EventTypes() {
		s, err := forType(reflect.TypeOf(execution.ZeroBody(typ)))
		if err != nil {
			return nil, fmt.Errorf("schema of event %s: %w", typ, err)
		}
		if s.Properties == nil {
			s.Properties = map[string]*jsonschema.Schema{}
		}
		for k, v := range head {
			c := *v
			s.Properties[k] = &c
		}
		var name any = string(typ)
		s.Properties["type"] = &jsonschema.Schema{Const: &name}
		s.Required = append([]string{"type", "runId", "agent", "timestamp"}, s.Required...)
		s.Title = strings.ReplaceAll(string(typ), "_", " ")
		s.Description = "group " + execution.EventGroup(typ)
		all.OneOf = append(all.OneOf, s)
	}
	return all, nil
}
