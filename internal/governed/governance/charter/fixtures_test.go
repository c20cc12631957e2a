package charter

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// fixtures are the public fixtures beside the repository.
func fixtures(t *testing.T, patterns ...string) []string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "..", "..", "shared", "conformance", "agentxchain", "fixtures", "1")
	if env := os.Getenv("DRAWBAR_SHARED"); env != "" {
		dir = filepath.Join(env, "conformance", "agentxchain", "fixtures", "1")
	}
	var files []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skipf("no fixtures in %s: set DRAWBAR_SHARED to the folder that has conformance/", dir)
	}
	return files
}

// inflate fills in what the suite's configurations leave out, as its adapter does.
func inflate(t *testing.T, raw json.RawMessage) []byte {
	t.Helper()
	var c map[string]any
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	def := func(m map[string]any, key string, v any) {
		if _, ok := m[key]; !ok {
			m[key] = v
		}
	}
	def(c, "schema_version", "1.0")
	def(c, "project", map[string]any{"id": "p", "name": "P"})
	def(c, "runtimes", map[string]any{})
	roles, _ := c["roles"].(map[string]any)
	for id, r := range roles {
		role, _ := r.(map[string]any)
		def(role, "title", strings.ToUpper(id))
		def(role, "mandate", "do it")
		def(role, "write_authority", "authoritative")
		def(role, "runtime", "manual")
		if role["runtime"] == "manual" {
			def(c["runtimes"].(map[string]any), "manual", map[string]any{"type": "manual"})
		}
	}
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFixtures holds the checks against the public suite's configurations.
func TestFixtures(t *testing.T) {
	t.Parallel()
	for _, file := range fixtures(t, "config_schema/CS-*.json", "parallel_turns/PT-*.json", "state_machine/SM-004.json") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var f struct {
				Setup struct{ Config json.RawMessage }
				Input struct {
					Args struct{ Config json.RawMessage }
				}
				Expected map[string]any
			}
			if err := json.Unmarshal(data, &f); err != nil {
				t.Fatal(err)
			}
			raw := f.Input.Args.Config
			if raw == nil {
				raw = f.Setup.Config
			}
			var c protocol.Config
			if err := json.Unmarshal(inflate(t, raw), &c); err != nil {
				t.Fatal(err)
			}
			errors := Errors(Check(&c))
			if f.Expected["result"] == "success" {
				if len(errors) > 0 {
					t.Errorf("refused: %v", errors)
				}
				return
			}
			if len(errors) != 1 {
				t.Fatalf("%d errors, want one: %v", len(errors), errors)
			}
			p := errors[0]
			if want := f.Expected["error_type"]; want != "invalid_config" && want != p.Type {
				t.Errorf("type %s, want %s", p.Type, want)
			}
			if want, ok := f.Expected["error_field"]; ok && want != p.Field {
				t.Errorf("field %s, want %s", p.Field, want)
			}
			for key, want := range f.Expected {
				if strings.HasPrefix(key, "referenced_") || strings.HasSuffix(key, "_version") {
					if p.Detail[key] != want {
						t.Errorf("detail %s is %v, want %v", key, p.Detail[key], want)
					}
				}
			}
		})
	}
}
