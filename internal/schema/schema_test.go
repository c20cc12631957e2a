package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/drawbar/drawbar/execution"
)

var update = flag.Bool("update", false, "rewrite the files in schema/")

const dir = "../../schema"

func TestNoDrift(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, want := range files {
			if err := os.WriteFile(filepath.Join(dir, name), want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	have, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range have {
		if filepath.Base(f) == "model-script.json" || filepath.Base(f) == "answers.json" {
			continue // written by hand, and by the scripts of the command line: packages modelserver and cmd/drawbar test them
		}
		if files[filepath.Base(f)] == nil {
			t.Errorf("%s is not generated any more", f)
		}
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("schema/%s is out of date: go test ./internal/schema -update", name)
		}
	}
}

func TestEveryEnumHasItsType(t *testing.T) {
	named := map[string]bool{}
	for _, typ := range enumTypes() {
		named[typ.Name()] = true
		if len(execution.EnumValues()[typ.Name()]) == 0 {
			t.Errorf("%s has no values", typ.Name())
		}
	}
	for name := range execution.EnumValues() {
		if !named[name] {
			t.Errorf("%s is missing in enumTypes", name)
		}
	}
}

// TestSchemasAccept holds real values against the published schemas, with a validator that did not make them.
func TestSchemasAccept(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	resolved := map[string]*jsonschema.Resolved{}
	for _, name := range []string{"request.json", "event.json"} {
		var s jsonschema.Schema
		if err := json.Unmarshal(files[name], &s); err != nil {
			t.Fatal(err)
		}
		if resolved[name], err = s.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name string, value any, ok bool) {
		t.Helper()
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved[name].Validate(v); (err == nil) != ok {
			t.Errorf("%s: valid %v, want %v: %v\n%s", name, err == nil, ok, err, b)
		}
	}
	req := execution.Request{SchemaVersion: "1.0", AssistantID: "a", TurnID: "t", Message: execution.Message{ID: "m", Text: "hi"}}
	check("request.json", req, true)
	req.Run.ApprovalMode = "maybe"
	check("request.json", req, false)
	for _, typ := range execution.EventTypes() {
		if typ == "finished" || typ == "turn_end" {
			continue // their zero values hold enums that are not set
		}
		switch execution.ZeroBody(typ).(type) {
		case execution.ErrorEvent, execution.Debug, execution.Log, execution.Timeout, execution.InputRequired, execution.ApprovalRequired, execution.InputQueued:
			continue
		}
		check("event.json", execution.Event{RunID: "01JD0000000000000000000000", Body: execution.ZeroBody(typ)}, true)
	}
	check("event.json", map[string]any{"type": "nosuch", "runId": "01JD0000000000000000000000", "agent": "a", "timestamp": 1}, false)
}
