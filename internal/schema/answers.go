package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Answers returns the schema of what commands answer with --json, from the schemas of each one's answers.
func Answers(commands map[string][]*jsonschema.Schema) ([]byte, error) {
	p := parts{count: map[string]int{}, names: map[string]string{}, defs: map[string]any{}}
	answers := map[string]any{}
	for name, list := range commands {
		name = strings.ReplaceAll(name, " ", "-")
		one := &jsonschema.Schema{AnyOf: list}
		if len(list) == 1 {
			one = list[0]
		}
		answer, err := convert[any](one)
		if err != nil {
			return nil, err
		}
		answers[name] = answer
		p.visit(name, answer, false)
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		p.defs[name] = p.visit(name, answers[name], true)
	}
	all, err := convert[jsonschema.Schema](map[string]any{"type": "object", "required": []string{"ok"}, "$defs": p.defs,
		"description": "What a command prints with --json. $defs has the data of each command by its name, with - for spaces, and parts of several by names with a capital.",
		"properties":  map[string]any{"ok": map[string]any{"type": "boolean"}, "data": map[string]any{}, "error": map[string]any{"type": "object"}}})
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	err = put(files, "answers", &all)
	return files["answers.json"], err
}

func convert[T any](v any) (to T, err error) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &to)
	}
	return to, err
}

// parts are the objects that occur several times.
type parts struct {
	count map[string]int    // by their text
	names map[string]string // by their text
	defs  map[string]any
}

// visit counts the objects in a schema, or puts references in the place of those that occur several times. name is that of the property
// which has the schema.
func (p *parts) visit(name string, v any, split bool) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	properties, _ := s["properties"].(map[string]any)
	text := ""
	if len(properties) > 2 {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err) // it was decoded from JSON
		}
		text = string(b)
		if !split {
			p.count[text]++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		properties[key] = p.visit(key, properties[key], split)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if s[key] != nil {
			s[key] = p.visit(name, s[key], split)
		}
	}
	if list, ok := s["anyOf"].([]any); ok {
		for i := range list {
			list[i] = p.visit(name, list[i], split)
		}
	}
	if !split || p.count[text] < 2 {
		return s
	}
	def := p.names[text]
	for n := 1; def == ""; n++ {
		def = strings.ToUpper(name[:1]) + name[1:]
		if n > 1 {
			def = fmt.Sprint(def, n)
		}
		if p.defs[def] != nil {
			def = ""
			continue
		}
		p.names[text], p.defs[def] = def, s
	}
	return map[string]any{"$ref": "#/$defs/" + def}
}
