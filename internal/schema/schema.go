// Package schema generates JSON Schemas from Go types. The files in schema/ at the root of the module are its output; a test fails
// if they differ.
//
// The schemas are derived from the types of package execution, those of agentxchain.json and of custom agents from tables of keys.
// Only the names of the files are written here.
package schema

//go:generate go test . -run TestNoDrift -update

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/drawbar/drawbar/adapter/kit/agentconfig"
	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/settings/config"
)

// base is the address of the published schemas.
const base = "https://github.com/drawbar/drawbar/schema/"

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
	s.Properties[config.CustomAgents].AdditionalProperties = ofNode(declarative.Keys())
	s.Properties[config.CustomAgents].PropertyNames = &jsonschema.Schema{Pattern: declarative.NamePattern}
	return put(files, "config", s)
}

// Of returns the schema of a type, open for fields that a later version may add.
func Of(t reflect.Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: special()})
	if err != nil {
		return nil, err
	}
	open(s)
	return s, nil
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

// Agent returns the schema of a custom agent's entry.
func Agent() ([]byte, error) {
	files := map[string][]byte{}
	err := put(files, "agent", ofNode(declarative.Keys()))
	return files["agent.json"], err
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
		reflect.TypeFor[protocol.Time]():   {Types: []string{"null", "string"}, Format: "date-time"},
		reflect.TypeFor[protocol.Words]():  {Types: []string{"null", "string", "array"}, Items: &jsonschema.Schema{Type: "string"}},
		reflect.TypeFor[agentconfig.AgentConfig](): {Type: "object", Required: []string{"agent", "source", "filePaths"}, Description: "with the normalized settings by name",
			Properties: map[string]*jsonschema.Schema{"agent": {Type: "string"}, "source": {Type: "string"}, "filePaths": {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
				"mcpServers": {Type: "array"}, "native": {Type: "object"}}},
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
	found, err := jsonschema.ForType(reflect.TypeFor[catalog.InstalledInfo](), &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		panic(fmt.Sprintf("schema of a detection: %v", err)) // the type holds plain values
	}
	for _, name := range []string{"cliPath", "version", "activeModel"} {
		found.Properties[name] = &jsonschema.Schema{Types: []string{"null", "string"}}
	}
	types[reflect.TypeFor[catalog.InstalledInfo]()] = found
	return types
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
