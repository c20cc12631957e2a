//go:build unix

package phasehook

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// TestFixtures runs the hook fixtures of the public suite as they are, node included.
func TestFixtures(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "conformance", "agentxchain", "fixtures", "2", "hook_audit")
	files, _ := filepath.Glob(filepath.Join(dir, "HA-*.json"))
	if len(files) == 0 {
		t.Skipf("SKIPPED: no fixtures in %s, so nothing was compared with the public suite", dir)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("SKIPPED: node is not on PATH, and the fixtures' hooks are node programs")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			var f struct {
				Setup struct {
					State  json.RawMessage `json:"state"`
					Config struct {
						Hooks protocol.Ordered[[]protocol.Hook] `json:"hooks"`
					} `json:"config"`
				} `json:"setup"`
				Input struct {
					Args struct {
						Phase   string          `json:"phase"`
						Payload json.RawMessage `json:"payload"`
					} `json:"args"`
				} `json:"input"`
				Expected struct {
					OK      *bool            `json:"hook_ok"`
					Blocked *bool            `json:"blocked"`
					Entry   map[string]any   `json:"audit_entry"`
					Entries []map[string]any `json:"audit_entries"`
				} `json:"expected"`
			}
			b, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(b, &f)
			}
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			write(t, root, protocol.StateFile, string(f.Setup.State))
			r := &Runner{Root: root, Environ: os.Environ()}
			out := run(t, r, f.Input.Args.Phase, Call{RunID: "run_001", TurnID: "turn_abc", Payload: f.Input.Args.Payload},
				f.Setup.Config.Hooks.At(f.Input.Args.Phase)...)
			if f.Expected.OK != nil && out.OK != *f.Expected.OK || f.Expected.Blocked != nil && out.Blocked != *f.Expected.Blocked {
				t.Errorf("%+v", out)
			}
			want := f.Expected.Entries
			if f.Expected.Entry != nil {
				want = append(want, f.Expected.Entry)
			}
			for i, w := range want {
				var got map[string]any
				line, _ := json.Marshal(out.Entries[i])
				_ = json.Unmarshal(line, &got)
				for k, v := range w {
					if _, assert := v.(map[string]any); assert {
						if g, there := got[k]; !there || g == "" {
							t.Errorf("%s is missing", k)
						}
						continue
					}
					if g, there := got[k]; !there || g != v {
						t.Errorf("%s is %v, want %v", k, got[k], v)
					}
				}
			}
		})
	}
}
