package race

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/worktree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEntries(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][][]string{
		"claude,codex":                    {{"claude"}, {"codex"}},
		"claude:2":                        {{"claude-1", "claude-2"}},
		" claude , codex:2 ":              {{"claude"}, {"codex-1", "codex-2"}},
		"codex,claude,codex":              {{"codex-1"}, {"claude"}, {"codex-2"}},
		"ollama/qwen:7b,ollama/qwen:7b:1": {{"ollama/qwen:7b-1"}, {"ollama/qwen:7b-2"}},
	} {
		entries, err := Entries(list)
		if got := Names(entries); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"", "claude", "claude,", ",claude", "claude:0,codex", "claude:-1", "claude:17", "claude:9,codex:8", ":2"} {
		if got, err := Entries(list); execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
}

func TestProtects(t *testing.T) {
	t.Parallel()
	c := Check{Command: "cd web && ./scripts/check.sh 'tools/run'; make", Protect: Protected}
	for _, file := range []string{"a_test.go", "deep/er/a_test.go", "Makefile", "makefile", "sub/MAKEFILE", "tests/x", "a/tests/b/c", "testdata/x", "x.test.ts", "conftest.py",
		".github/workflows/ci.yml"} {
		if !c.protects(file) {
			t.Errorf("%s is not protected", file)
		}
	}
	for _, file := range []string{"main.go", "contest.py", "latest/x", "scripts/other.sh", "run", "Makefile.md/x", "README.md"} {
		if c.protects(file) {
			t.Errorf("%s is protected", file)
		}
	}
	for file, want := range map[string]bool{"scripts/check.sh": true, "tools/run": true, "scripts/other.sh": false, "run": false} {
		if got := names(c.Command, file); got != want {
			t.Errorf("names %s: %t", file, got)
		}
	}
	if err := CheckPatterns([]string{"a/[b"}); execution.CodeOf(err) != execution.CodeValidation {
		t.Error(err)
	}
}

// TestSteers: the part of a file that says how tests are run is not a racer's, the rest is.
func TestSteers(t *testing.T) {
	repo := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false"}, args...)...)
		cmd.Dir, cmd.Env = repo, append(worktree.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(files map[string]string) string {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		git("add", "-A")
		git("commit", "-q", "--allow-empty", "-m", "x")
		return git("rev-parse", "HEAD")
	}
	git("init", "-q")
	const script, deps = `{"scripts":{"test":"jest"},"dependencies":{"a":"1"}}`, `{"scripts":{"test":"jest"},"dependencies":{"a":"1","b":"2"}}`
	const project = "[project]\nname='x'\n[tool.pytest.ini_options]\naddopts='-q'\n"
	base := commit(map[string]string{"package.json": script, "pyproject.toml": project, "there.txt": "x"})
	for _, c := range []struct {
		file, text string
		want       bool
	}{
		{"package.json", deps, false},
		{"package.json", `{"scripts":{"test":"true"},"dependencies":{"a":"1"}}`, true},
		{"package.json", `{"scripts":{"test":"jest"},"jest":{"testMatch":[]}}`, true},
		{"package.json", `{"scripts"`, true},
		{"pyproject.toml", "[project]\nname='x'\ndependencies=['y']\n[tool.pytest.ini_options]\naddopts='-q'\n", false},
		{"pyproject.toml", strings.Replace(project, "-q", "--collect-only", 1), true},
	} {
		git("reset", "-q", "--hard", base)
		w := worktree.Work{Repository: repo, Base: base, Commit: commit(map[string]string{c.file: c.text})}
		if got := steers(t.Context(), w, c.file); got != c.want {
			t.Errorf("%s %s: %t", c.file, c.text, got)
		}
		if (Check{Command: "npm test"}).keeps(t.Context(), "", w, c.file) {
			t.Error("kept without a pattern")
		}
	}
	git("reset", "-q", "--hard", base)
	w := worktree.Work{Repository: repo, Base: base, Commit: commit(map[string]string{"made.txt": "x", "there.txt": "changed"})}
	const line = "cat made.txt there.txt"
	for _, c := range []struct{ command, setup string }{{line, ""}, {"make", line}, {"make", ""}} {
		check := Check{Command: c.command, Protect: []string{"none.of.these"}}
		if check.keeps(t.Context(), c.setup, w, "made.txt") || check.keeps(t.Context(), c.setup, w, "there.txt") != (c != struct{ command, setup string }{"make", ""}) {
			t.Errorf("%q: a file that the command or the set-up names is kept, if it was there before", c)
		}
	}
}

// TestHide: hidden files replace those of a checkout, and a link that a racer left does not lead them out of it.
func TestHide(t *testing.T) {
	t.Parallel()
	hidden, dir, outside := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(hidden, "tests", "a"), "hidden")
	write(filepath.Join(hidden, "b"), "hidden")
	write(filepath.Join(hidden, "c"), "hidden")
	write(filepath.Join(outside, "a"), "mine")
	write(filepath.Join(dir, "b", "was", "a", "directory"), "")
	for name, to := range map[string]string{"tests": outside, "c": filepath.Join(outside, "a")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	if err := (Check{Hidden: hidden}).hide(dir); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join("tests", "a"), "b", "c"} {
		info, err := os.Lstat(filepath.Join(dir, file))
		b, _ := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !info.Mode().IsRegular() || string(b) != "hidden" {
			t.Errorf("%s: %v %q", file, err, b)
		}
	}
	if b, _ := os.ReadFile(filepath.Join(outside, "a")); string(b) != "mine" {
		t.Errorf("outside: %q", b)
	}
}

// TestCheck: a check has its output's end, its exit code and its limit.
func TestCheck(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a Unix shell")
	}
	run := func(command string, limit time.Duration) Verdict {
		t.Helper()
		v, err := Check{Command: command, Limit: limit}.run(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := run("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo the end >&2; exit 3", time.Minute); v.ExitCode != 3 || v.Last() != "the end" || len(v.Output) > 8<<10+100 {
		t.Errorf("%d, %d bytes, %q", v.ExitCode, len(v.Output), v.Last())
	}
	if v := run("sleep 60", 200*time.Millisecond); !v.TimedOut || v.Last() != "the check took too long" {
		t.Errorf("%+v", v)
	}
	if v := run("nosuchcommand", time.Minute); v.ExitCode != notFound {
		t.Errorf("%+v", v)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Check{Command: "true", Limit: time.Minute}).run(ctx, t.TempDir()); err == nil {
		t.Error("run although it was stopped")
	}
}
