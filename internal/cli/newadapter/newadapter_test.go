package newadapter_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/internal/cli/root"
	"github.com/drawbar/drawbar/transport/process"
)

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	os.Exit(m.Run())
}

// drawbar runs a command line and returns what it printed.
func drawbar(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	code := root.Main(t.Context(), args, strings.NewReader(""), &out, &out)
	return out.String(), code
}

// TestConforms: an adapter of every language passes the suite as it was written.
func TestConforms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are found by their first line")
	}
	checkout, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	needs := map[string]string{"go": "go", "js": "node", "py": "python3", "sh": "sh"}
	home := t.TempDir()
	cache := strings.Fields(output(t, "go", "env", "GOCACHE", "GOMODCACHE"))
	for _, name := range []string{"DRAWBAR_CONFIG_DIR", "XDG_STATE_HOME"} {
		t.Setenv(name, home)
	}
	for lang, program := range needs {
		t.Run(lang, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("SKIPPED: it needs %s", program)
			}
			t.Chdir(t.TempDir())
			if out, code := drawbar(t, "agents", "new", "mine", "--lang", lang); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			dir := "drawbar-adapter-mine"
			if lang == "go" {
				buildHere(t, dir, checkout, cache)
			}
			out, code := drawbar(t, "conform", "--command", "./"+dir+"/drawbar-adapter-mine")
			for _, check := range []string{"simple-completes", "failure-reported", "failure-crash", "timeout", "stream"} {
				if !strings.Contains(out, fmt.Sprintf("pass  %-34s", check)) {
					t.Errorf("%s did not pass", check)
				}
			}
			if code != 0 || t.Failed() {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// buildHere builds the Go program with this checkout and without a network, which replaces the first step of test.sh.
func buildHere(t *testing.T, dir, checkout string, cache []string) {
	t.Helper()
	own, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	mod := strings.Replace(string(own), "module github.com/drawbar/drawbar", "module drawbar-adapter-mine", 1) +
		fmt.Sprintf("\nrequire github.com/drawbar/drawbar v0.0.0\n\nreplace github.com/drawbar/drawbar => %q\n", filepath.ToSlash(checkout))
	for name, content := range map[string]string{"go.mod": mod, "go.sum": string(sums)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "drawbar-adapter-mine", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOCACHE="+cache[0], "GOMODCACHE="+cache[1])
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestRefused: nothing is written when something is wrong, and nothing is ever overwritten.
func TestRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("DRAWBAR_CONFIG_DIR", t.TempDir())
	if err := os.Mkdir("drawbar-adapter-there", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"mine"}, "go|js|py|sh", 2},
		{[]string{"mine", "--lang", "cobol"}, `"cobol" is not a language`, 2},
		{[]string{"Mine", "--lang", "sh"}, "not a valid agent name", 2},
		{[]string{"../mine", "--lang", "sh"}, "not a valid agent name", 2},
		{[]string{"there", "--lang", "sh"}, "drawbar-adapter-there already exists", 0},
		{[]string{"--lang", "sh"}, "NAME is missing", 2},
	} {
		for _, command := range [][]string{{"agents", "new"}, {"adapter", "new"}} {
			out, code := drawbar(t, append(command, c.args...)...)
			if !strings.Contains(out, c.want) || code == 0 || c.code != 0 && code != c.code {
				t.Errorf("%v: exit code %d, %q", c.args, code, out)
			}
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 1 {
		t.Errorf("%v %v", entries, err)
	}
	if left, err := os.ReadDir("drawbar-adapter-there"); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}
