package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/internal/modelserver"
)

const clientsScript = `{"turns":[
 {"match":{"contains":"say hello"},"text":"Hello from the model.","chunks":4,"repeat":true},
 {"match":{"contains":"created note.txt"},"text":"It is written.","repeat":true},
 {"match":{"contains":"denied"},"text":"It is not.","repeat":true},
 {"match":{"contains":"write the note"},"tools":[{"name":"write","input":{"path":"note.txt","content":"x"}}],"repeat":true},
 {"match":{"contains":"blue"},"text":"It is blue.","repeat":true},
 {"match":{"contains":"no colours today"},"text":"Nobody knows.","repeat":true},
 {"match":{"contains":"which shade"},"tools":[{"name":"shade","input":{"of":"sky"}}],"repeat":true},
 {"match":{"contains":"dark red"},"text":"Dark red it is.","repeat":true},
 {"match":{"contains":"ask me"},"tools":[{"name":"ask","input":{"question":"Which colour?"}}],"repeat":true},
 {"match":{"contains":"hang"},"text":"this will never be whole","chunks":4,"hang":"mid-text","repeat":true}]}`

// TestClients runs the tests of the clients in other languages, against this program and a scripted model.
func TestClients(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is found through a symbolic link")
	}
	for name, c := range languages(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := exec.Command(c.probe[0], c.probe[1:]...).Run(); err != nil {
				t.Skipf("SKIPPED: %s is missing or too old: %v", c.probe[0], err)
			}
			cmd := exec.Command(c.test[0], c.test[1:]...)
			cmd.Dir, cmd.Env = c.dir, clientEnv(t)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// client is a client in another language: its folder, whether this machine can run it, and its tests.
type client struct {
	dir         string
	probe, test []string
}

func languages(t *testing.T) map[string]client {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", "clients"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]client{
		"python":     {filepath.Join(root, "python"), []string{"python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"}, []string{"python3", "-B", "-m", "unittest", "discover", "-s", "tests"}},
		"typescript": {filepath.Join(root, "typescript"), []string{"node", "-e", "process.exit(process.features.typescript ? 0 : 1)"}, []string{"node", "--test", "test/client.test.ts"}},
	}
}

// clientEnv is the environment of a program that uses drawbar, on a machine of its own with a scripted model.
func clientEnv(t *testing.T) []string {
	t.Helper()
	home := t.TempDir()
	env := stage(t, home)
	script, err := modelserver.Parse([]byte(clientsScript))
	if err != nil {
		t.Fatal(err)
	}
	model, err := modelserver.New(script, modelserver.Options{}).Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	return append(env, "ANTHROPIC_BASE_URL="+model.URL(), "ANTHROPIC_API_KEY=dummy-key-1", "DRAWBAR="+filepath.Join(home, "bin", "drawbar"), "PYTHONPATH="+languages(t)["python"].dir,
		"PYTHONDONTWRITEBYTECODE=1", "NODE_NO_WARNINGS=1")
}

// TestBots runs the bots in other languages over days: an approval of the day after tomorrow, a denied one, one that came too late, and an answer.
func TestBots(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is found through a symbolic link")
	}
	for _, b := range []struct{ name, program, file string }{{"python", "python3", "bot.py"}, {"typescript", "node", "bot.ts"}} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			program := languages(t)[b.name]
			if err := exec.Command(program.probe[0], program.probe[1:]...).Run(); err != nil {
				t.Skipf("SKIPPED: %s is missing or too old: %v", program.probe[0], err)
			}
			source, err := filepath.Abs(filepath.Join("..", "..", "examples", "bot-"+b.name, b.file))
			if err != nil {
				t.Fatal(err)
			}
			env, dir := clientEnv(t), t.TempDir()
			bot := func(now string, args ...string) (string, error) {
				cmd := exec.Command(b.program, append([]string{source}, args...)...)
				cmd.Dir, cmd.Env = dir, append(env, "BOT_AGENT=harness", "BOT_MODEL=anthropic/m", "BOT_NOW="+now)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			wrote := func() bool { _, err := os.Stat(filepath.Join(dir, "note.txt")); return err == nil }
			const monday, wednesday, later = "2026-01-05T08:00:00+00:00", "2026-01-07T08:00:00+00:00", "2026-01-12T08:00:00+00:00"
			waiting := func(text, kind string) string {
				t.Helper()
				out, err := bot(monday, "ask", text)
				id, rest, _ := strings.Cut(strings.TrimSpace(out), " ")
				if err != nil || rest != "waits for "+kind || wrote() {
					t.Fatalf("%s: %q %v", text, out, err)
				}
				return id
			}
			id := waiting("write the note", "an approval")
			if out, err := bot(monday, "list"); err != nil || !strings.HasPrefix(out, id+" waits for an approval until 2026-01-12") {
				t.Errorf("%q %v", out, err)
			}
			if out, err := bot(wednesday, "answer", id, "approve"); err != nil || out != "It is written.\n" || !wrote() {
				t.Fatalf("%q %v", out, err)
			}
			if err := os.Remove(filepath.Join(dir, "note.txt")); err != nil {
				t.Fatal(err)
			}
			if out, err := bot(wednesday, "answer", id, "approve"); err == nil || !strings.Contains(out, "waits for nothing") || wrote() {
				t.Errorf("a second answer: %q %v", out, err)
			}
			if out, err := bot(wednesday, "answer", waiting("write the note", "an approval"), "deny"); err != nil || out != "It is not.\n" || wrote() {
				t.Errorf("%q %v", out, err)
			}
			if out, err := bot(later, "answer", waiting("write the note", "an approval"), "approve"); err == nil || !strings.Contains(out, "has expired") || wrote() {
				t.Errorf("too late: %q %v", out, err)
			}
			if out, err := bot(wednesday, "answer", waiting("ask me", "an answer"), "dark red"); err != nil || out != "Dark red it is.\n" {
				t.Errorf("%q %v", out, err)
			}
			if out, err := bot(monday, "ask", "transfer 5 to bob"); err == nil || !strings.Contains(out, "moves no money") {
				t.Errorf("%q %v", out, err)
			}
			if out, err := bot(monday, "ask", "say hello"); err != nil || out != "Hello from the model.\n" {
				t.Errorf("%q %v", out, err)
			}
		})
	}
}
