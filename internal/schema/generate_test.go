package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/google/jsonschema-go/jsonschema"
)

// generate returns the schema files by name.
func generate() (map[string][]byte, error) {
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
		s, err := Of(v.typ)
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
	if err := put(files, "agent", ofNode(declarative.Keys())); err != nil {
		return nil, err
	}
	event, err := eventSchema()
	if err != nil {
		return nil, err
	}
	return files, put(files, "event", event)
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
		s, err := Of(reflect.TypeOf(execution.ZeroBody(typ)))
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

// governedSchema returns the schema of agentxchain.json. It describes single values; relations between values, such as a role that
// names a runtime, are checked only by the program.
func governedSchema() *jsonschema.Schema {
	s := ofNode(charter.Keys())
	s.Properties["schema_version"] = &jsonschema.Schema{Enum: []any{protocol.ConfigVersion, 4}, Description: s.Properties["schema_version"].Description}
	s.Required = append([]string{"schema_version"}, s.Required...)
	role := s.Properties["roles"].AdditionalProperties
	role.AnyOf = []*jsonschema.Schema{
		{Required: []string{"title", "mandate", "write_authority", "runtime"}},
		{Required: []string{"adapter"}},
	}
	runtime := s.Properties["runtimes"].AdditionalProperties
	for typ, need := range charter.RuntimeNeeds() {
		var name any = typ
		runtime.AllOf = append(runtime.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"type": {Const: &name}}, Required: []string{"type"}},
			Then: &jsonschema.Schema{Required: need},
		})
	}
	return s
}
