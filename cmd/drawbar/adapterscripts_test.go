package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// ollama stands for the program of that name, which prints what its model answers to standard input.
const ollama = `#!/bin/sh
case $(cat) in
*"conformance: hang"*) sleep 60 ;;
*"conformance: fail"*) echo "Error: model runner has stopped" >&2; exit 1 ;;
esac
echo It adds numbers.
`

// TestAdapterScripts: the examples in three languages pass the suite, and each carries a task of a roadmap.
func TestAdapterScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a script is found by its first line")
	}
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples", "adapter-scripts"))
	if err != nil {
		t.Fatal(err)
	}
	probes := languages(t)
	for _, s := range []struct {
		name, file, adapter string // what the project has: the script itself if empty
		probe, plays        []string
	}{
		{name: "shell", file: "ollama.sh", probe: []string{"sh", "-c", ":"}, plays: []string{"--plays", "simple,fail,hang"}},
		{name: "python", file: "writer.py", probe: probes["python"].probe},
		{name: "typescript", file: "writer.ts", probe: probes["typescript"].probe, adapter: "#!/bin/sh\nexec node " + filepath.Join(examples, "writer.ts") + ` "$@"` + "\n"},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if err := exec.Command(s.probe[0], s.probe[1:]...).Run(); err != nil {
				t.Skipf("SKIPPED: %s is missing or too old: %v", s.probe[0], err)
			}
			home := t.TempDir()
			env := stage(t, home)
			source := filepath.Join(examples, s.file)
			if s.adapter == "" {
				text, err := os.ReadFile(source)
				if err != nil {
					t.Fatal(err)
				}
				s.adapter = string(text)
			}
			project := filepath.Join(home, "project")
			for name, text := range map[string]string{
				filepath.Join(home, "bin", "ollama"):                        ollama,
				filepath.Join(project, ".claude/agents/adapters/writer.sh"): s.adapter,
				filepath.Join(project, "ROADMAP.md"):                        "# Roadmap\n\n## Notes\n- [ ] Write the note #T1 (agent: writer)\n  - **Files**: `deep/note.txt` (create)\n",
			} {
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o700); err != nil { //nolint:gosec // programs
					t.Fatal(err)
				}
			}
			run := func(args ...string) string {
				t.Helper()
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir, cmd.Env = project, append(env, "OPENAI_API_KEY=dummy-key-1", "NODE_NO_WARNINGS=1")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%q: %v\n%s", args, err, out)
				}
				return string(out)
			}
			drawbar := filepath.Join(home, "bin", "drawbar")
			out := run(append(append([]string{drawbar, "conform", "script"}, s.plays...), "--", source)...)
			for _, check := range []string{"simple-completes", "failure-reported", "timeout", "cancel", "abort", "survivors", "isolation"} {
				if !strings.Contains(out, "pass  "+check+" ") {
					t.Errorf("%s did not pass", check)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
			run("git", "init", "-q")
			run("git", "add", "-A")
			run("git", "commit", "-qm", "start")
			run(drawbar, "trust", "--yes")
			run(drawbar, "roadmap", "run")
			if out := run("git", "show", "--stat", "--format=%s", "HEAD"); !strings.Contains(out, "T1: Write the note") || !strings.Contains(out, "1 file changed") {
				t.Errorf("%s", out)
			}
			if text, err := os.ReadFile(filepath.Join(project, "deep", "note.txt")); strings.TrimSpace(string(text)) != "It adds numbers." {
				t.Errorf("%q %v", text, err)
			}
		})
	}
}
