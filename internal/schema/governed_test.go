package schema

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestGovernedSchema holds configurations against the published schema, with a validator that knows nothing of the checks.
func TestGovernedSchema(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(files["agentxchain.json"], &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	const head = `"schema_version":"1.0","project":{"id":"p","name":"P"},"roles":{"dev":{"title":"t","mandate":"m","write_authority":"proposed","runtime":"r"}}`
	for text, ok := range map[string]bool{
		`{` + head + `}`:                                                                                                true,
		`{` + head + `,"anything":1}`:                                                                                   true,
		`{` + head + `,"budget":null,"workflow_kit":null}`:                                                              true,
		`{` + head + `,"budget":{"per_turn_max_usd":0}}`:                                                                false,
		`{` + head + `,"runtimes":{"r":{"type":"agent"}}}`:                                                              false,
		`{` + head + `,"runtimes":{"r":{"type":"agent","agent":"claude","session":"role"}}}`:                            true,
		`{` + head + `,"runtimes":{"r":{"type":"agent","agent":"claude","session":"day"}}}`:                             false,
		`{` + head + `,"runtimes":{"r":{"type":"local_cli","command":["a"]},"s":{"type":"local_cli","command":"a b"}}}`: true,
		`{` + head + `,"runtimes":{"r":{"type":"local_cli","command":[]}}}`:                                             false,
		`{` + head + `,"routing":{"Build":{}}}`:                                                                         false,
		`{` + head + `,"routing":{"build":{"max_concurrent_turns":5}}}`:                                                 false,
		`{` + head + `,"hooks":{"before_gates":[]}}`:                                                                    false,
		`{` + head + `,"workspace":"worktree"}`:                                                                         true,
		`{"schema_version":4,"project":{"id":"p","name":"P"},"roles":{"dev":{"adapter":"manual"}}}`:                     true,
		`{"schema_version":"2.0","project":{"id":"p","name":"P"},"roles":{}}`:                                           false,
		`{"schema_version":"1.0","project":{"id":"p","name":"P"},"roles":{"dev":{"title":"t"}}}`:                        false,
		`{"schema_version":"1.0","roles":{}}`:                                                                           false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); (err == nil) != ok {
			t.Errorf("valid %v, want %v: %v\n%s", err == nil, ok, err, text)
		}
	}
}
