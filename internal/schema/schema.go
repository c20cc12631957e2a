// Package schema generates JSON Schemas from Go types. The files in schema/ at the root of the module are its output; a test fails
// if they differ.
//
// The schemas are derived from the types of package execution, that of agentxchain.json from the table of keys in package charter.
// Only the names of the files are written here.
package schema

//go:generate go test . -run TestNoDrift -update

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/config"
)

// base is the address of the published schemas.
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
	if err := errors.Join(putConfig(files), putProfile(files)); err != nil {
		return nil, err
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

// Config returns the schema of the configuration files.
func Config() ([]byte, error) {
	files := map[string][]byte{}
	err := putConfig(files)
	return files["config.json"], err
}

func putConfig(files map[string][]byte) error {
	s, err := ofWritten(config.FileType())
	if err != nil {
		return fmt.Errorf("schema of config: %w", err)
	}
	return put(files, "config", s)
}

func putProfile(files map[string][]byte) error {
	s, err := ofWritten(reflect.TypeFor[execution.RunOptions]())
	if err != nil {
		return fmt.Errorf("schema of profile: %w", err)
	}
	for o := range execution.Options() {
		if !o.In(execution.ReachProfile) {
			delete(s.Properties, o.Name)
		}
	}
	s.Properties["$schema"] = &jsonschema.Schema{Type: "string"}
	s.PropertyOrder = nil
	return put(files, "profile", s)
}

// ofWritten returns the schema of a type that people write. It is closed: an unknown key is a mistake.
func ofWritten(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: special()})
	written(s)
	return s, err
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

// special returns the schemas of types whose JSON form differs from their Go type.
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

// written changes a schema for values that people write: a retry policy may state only some fields, and null is not allowed.
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

// open allows unknown fields, which a later minor version may add.
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

// eventSchema returns a schema with one object per event type.
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
