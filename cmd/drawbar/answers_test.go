package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/schema"
)

// answersVar is the folder in which the commands of the scripts leave the schemas of what they answer with --json.
const answersVar = "DRAWBAR_TEST_ANSWERS"

// answersFile has the schema of the answer of every command.
var answersFile = filepath.Join("..", "..", "schema", "answers.json")

// commandNames are the commands of docs/COMMANDS.md.
var commandNames = sync.OnceValue(func() map[string]bool {
	text, err := os.ReadFile(filepath.Join(repository(), "docs", "COMMANDS.md"))
	if err != nil {
		panic(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "## drawbar "); ok {
			names[name] = true
		}
	}
	return names
})

func repository() string {
	if dir := os.Getenv("REPOSITORY"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..")
}

// observe notes what the command of this process answers: its schema, or that the answer does not keep to it.
func observe() {
	dir := os.Getenv(answersVar)
	if dir == "" {
		return
	}
	cli.Answered = func(data any) {
		if data == nil {
			return
		}
		name := ""
		for _, arg := range os.Args[1:] {
			if next := strings.TrimSpace(name + " " + arg); commandNames()[next] {
				name = next
			}
		}
		if i := slices.IndexFunc(os.Args[1:], func(arg string) bool { return !strings.HasPrefix(arg, "-") }); name == "" && i >= 0 { // another name of a command
			name = os.Args[1+i]
		}
		text, err := answerSchema(data)
		if err != nil {
			text = []byte("fault: " + err.Error())
		}
		record, err := json.Marshal([2]string{name, string(text)})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256(record))), record, 0o600)
		}
		if err != nil {
			panic(err)
		}
	}
}

// schemaOf is schema.Of for a value: a map of names to values is an object with these.
func schemaOf(data any) (*jsonschema.Schema, error) {
	v := reflect.ValueOf(data)
	if v.Kind() != reflect.Map || v.Type() != reflect.TypeFor[map[string]any]() && v.Type() != reflect.TypeFor[map[string]string]() {
		return schema.Of(v.Type())
	}
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for name, value := range v.Seq2() {
		part, err := schemaOf(value.Interface())
		if err != nil {
			return nil, err
		}
		s.Properties[name.String()] = part
		s.Required = append(s.Required, name.String())
	}
	slices.Sort(s.Required)
	return s, nil
}

// answerSchema returns the schema of an answer by its type, to which the answer must keep.
func answerSchema(data any) ([]byte, error) {
	s, err := schemaOf(data)
	if err != nil {
		return nil, err
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, err
	}
	var v any
	b, err := json.Marshal(data)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err == nil {
		err = r.Validate(v)
	}
	if err != nil {
		return nil, fmt.Errorf("%T: %w: %s", data, err, b)
	}
	return json.Marshal(s)
}

// checkAnswers looks for what the commands answered in the scripts in answersFile, which -update writes; all says that every script ran.
func checkAnswers(t *testing.T, dir string, all bool) {
	t.Helper()
	found, seen := map[string][]*jsonschema.Schema{}, map[string]bool{}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var records [][2]string
	for _, f := range files {
		var record [2]string
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err == nil {
			err = json.Unmarshal(b, &record)
		}
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	slices.SortFunc(records, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, record := range records {
		name, text := record[0], record[1]
		var s jsonschema.Schema
		if why, ok := strings.CutPrefix(text, "fault: "); ok {
			t.Errorf("the answer of %s has no schema, or does not keep to it: %s", name, why)
		} else if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if !seen[name+text] {
			seen[name+text], found[name] = true, append(found[name], &s)
		}
	}
	if t.Failed() {
		return
	}
	if *update && all {
		b, err := schema.Answers(found)
		if err == nil {
			err = os.WriteFile(answersFile, b, 0o644) //nolint:gosec // a public file
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var file struct {
		Defs map[string]any `json:"$defs"`
	}
	b, err := os.ReadFile(answersFile)
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range found {
		known := whole(file.Defs[strings.ReplaceAll(name, " ", "-")], file.Defs)
		object, _ := known.(map[string]any)
		variants, _ := object["anyOf"].([]any)
		for _, s := range list { // a machine may not run every script
			if text := jsonText(t, s); !slices.ContainsFunc(append(variants, known), func(v any) bool { return jsonText(t, v) == text }) {
				t.Errorf("%s does not have this answer of %s: %s; go test ./cmd/drawbar -run TestScripts -update", answersFile, name, text)
			}
		}
	}
}

// whole puts the parts of a schema in the place of the references to them.
func whole(v any, defs map[string]any) any {
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return whole(defs[strings.TrimPrefix(ref, "#/$defs/")], defs)
		}
		for k := range v {
			v[k] = whole(v[k], defs)
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i], defs)
		}
	}
	return v
}

// jsonText is the JSON of a value with sorted keys.
func jsonText(t *testing.T, v any) string {
	t.Helper()
	var sorted any
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &sorted)
	}
	if err == nil {
		b, err = json.Marshal(sorted)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
