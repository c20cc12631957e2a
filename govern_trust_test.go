package drawbar_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
)

// A program opens a project that was cloned: nothing of it runs unless the user has trusted it, or the program says so.
func TestOpenProjectRunsNothingUntrusted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is for a shell")
	}
	t.Setenv("DRAWBAR_CONFIG_DIR", t.TempDir())
	root := t.TempDir()
	for name, text := range map[string]string{"agent.sh": "touch ran\nexit 3\n", "agentxchain.json": `{"schema_version": "1.0", "project": {"id": "tale", "name": "Tale"},
		"roles": {"dev": {"title": "Developer", "mandate": "Build it.", "write_authority": "authoritative", "runtime": "worker"}},
		"runtimes": {"worker": {"type": "local_cli", "command": ["sh", "agent.sh"]}},
		"routing": {"build": {"entry_role": "dev", "allowed_next_roles": ["dev", "human"]}}, "workflow_kit": {}}`} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ran := func() bool {
		_, err := os.Stat(filepath.Join(root, "ran"))
		return err == nil
	}
	step := func(trust func(string, []govern.TrustItem) bool) error {
		p, err := drawbar.OpenProject(root, govern.Options{Trust: trust})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Step(t.Context(), govern.StepOptions{})
		return err
	}
	var asked []govern.TrustItem
	for _, trust := range []func(string, []govern.TrustItem) bool{nil, func(_ string, items []govern.TrustItem) bool { asked = items; return false }} {
		if err := step(trust); execution.CodeOf(err) != execution.CodeUntrusted || ran() {
			t.Errorf("got %v, and it ran: %v", err, ran())
		}
	}
	if len(asked) != 1 || asked[0].Runs != "local_cli: sh agent.sh" || len(asked[0].Files) != 1 || asked[0].Files[0] != "agent.sh" {
		t.Errorf("asked about %+v", asked)
	}
	if err := step(func(string, []govern.TrustItem) bool { return true }); err != nil || !ran() {
		t.Errorf("got %v, and it ran: %v", err, ran())
	}
}
