package script

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// run runs a shell script as an adapter script in a directory with the files.
func run(t *testing.T, body, task string, files map[string]string, change func(*execution.Request)) (res execution.Result, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	dir = t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	path := filepath.Join(t.TempDir(), "adapter.sh")
	write(t, path, "#!/bin/sh\ntest \"$1\" = execute || exit 9\n"+body+"\n")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	req := clitest.Request()
	req.Message.Text, req.Run.Command, req.Run.Cwd = execution.Prompt(task), []string{path}, dir
	if change != nil {
		change(&req)
	}
	r, err := agent.New(agent.BackendOf(Descriptor())).Start(context.Background(), req, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res, err = r.Result(context.Background()); err != nil {
		t.Fatal(err)
	}
	return res, dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const passes = `echo pass > "$3/result"; `

// TestContext: the script gets everything that the contract promises, and may only read the copies.
func TestContext(t *testing.T) {
	t.Parallel()
	body := `cd "$2"; { cat task.md; echo "|$(cat conventions.md)|$(cat design.md)|$(cat files/src/a.go)|$ADAPTER_TASK_ID|$ADAPTER_MAX_TURNS|$ADAPTER_MODEL|"; find files -type f | sort | tr '\n' ' '; stat -c %a files/src/a.go; } > "$3/completion-report.md"; ` + passes
	res, _ := run(t, body, "do it\n\n- **Files**: `src/a.go` (modify), `new.go` (create)", map[string]string{"CLAUDE.md": "be kind", "src/a.go": "package a", "src/b.go": "package b"},
		func(r *execution.Request) {
			r.Run.MaxTurns, r.Run.Model = 7, "big"
			r.Run.Env = map[string]string{"ADAPTER_TASK_ID": "T1"}
		})
	want := "do it\n\n- **Files**: `src/a.go` (modify), `new.go` (create)|be kind||package a|T1|7|big|\nfiles/src/a.go 400\n"
	if res.Status != execution.StatusCompleted || res.Text != want {
		t.Errorf("%s %+v\n%q\n%q", res.Status, res.Error, res.Text, want)
	}
	if res, _ := run(t, `echo "$ADAPTER_MAX_TURNS|${ADAPTER_MODEL-unset}" > "$3/completion-report.md"; `+passes, "x", nil, nil); res.Text != "50|unset\n" {
		t.Errorf("%q", res.Text)
	}
}

// TestVerdicts: only exit code 0 together with the result pass is a success.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, says string }{
		"passes":                {passes, ""},
		"no result":             {`true`, "exit code 0 and wrote no result"},
		"contradicts itself":    {passes + `exit 1`, "contradicts itself: exit code 1"},
		"contradicts otherwise": {`echo fail > "$3/result"`, "contradicts itself: exit code 0"},
		"fails":                 {`echo fail > "$3/result"; echo no tests >&2; exit 1`, "failed with exit code 1: no tests"},
		"fails with a report":   {`echo fail > "$3/result"; echo the reason > "$3/completion-report.md"; exit 1`, "exit code 1: the reason"},
		"another word":          {`echo maybe > "$3/result"`, `says "maybe"`},
		"a linked result":       {`echo pass > "$2/x"; ln -s "$2/x" "$3/result"`, "result: it is not a regular file"},
		"prints a lot":          {`head -c 4000000 /dev/zero | tr '\0' '\n'; ` + passes, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, _ := run(t, c.body, "do it", nil, nil)
			if c.says == "" && res.Status != execution.StatusCompleted || c.says != "" && (res.Error == nil || !strings.Contains(res.Error.Message, c.says)) {
				t.Errorf("%s %+v", res.Status, res.Error)
			}
		})
	}
}

// TestFiles: what the script leaves is applied if the task declares all of it; otherwise nothing is.
func TestFiles(t *testing.T) {
	t.Parallel()
	leave := `mkdir -p "$3/files/src"; echo new > "$3/files/src/a.go"; echo added > "$3/files/b.go"; chmod +x "$3/files/b.go"; `
	for name, c := range map[string]struct{ task, body, a, b, says string }{
		"declared":           {"Files: src/a.go, b.go (create)", leave + passes, "new\n", "added\n", ""},
		"a folder":           {"**Files**: `src/`, `*.go`", leave + passes, "new\n", "added\n", ""},
		"below the line":     {"- **Files:**\n  - `src/a.go` (modify)\n  - b.go\n", leave + passes, "new\n", "added\n", ""},
		"one is not":         {"Files: `src/a.go`", leave + passes, "old", "", "does not declare b.go"},
		"none is":            {"do it", leave + passes, "old", "", "does not declare b.go, src/a.go"},
		"it failed":          {"Files: `src/`, `b.go`", leave + `echo fail > "$3/result"; exit 1`, "old", "", "exit code 1"},
		"a link":             {"Files: `src/`, `b.go`", leave + `ln -s /etc/hostname "$3/files/src/c"; ` + passes, "old", "", "files/src/c is not a regular file"},
		"a folder in place":  {"Files: `src/`, `b.go`, `src`", `mkdir -p "$3/files"; echo x > "$3/files/b.go"; echo x > "$3/files/src"; ` + passes, "old", "", "src: it is not a regular file"},
		"one cannot be made": {"Files: `**`", leave + `mkdir -p "$3/files/src/a.go.d" ; mkdir -p "$3/files/z.txt"; echo x > "$3/files/z.txt/y"; ` + passes, "old", "", "z.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, dir := run(t, c.body, c.task, map[string]string{"src/a.go": "old", "z.txt": "in the way"}, nil)
			a, _ := os.ReadFile(filepath.Join(dir, "src/a.go"))
			b, _ := os.ReadFile(filepath.Join(dir, "b.go"))
			if string(a) != c.a || string(b) != c.b {
				t.Errorf("a %q, b %q: %+v", a, b, res.Error)
			}
			if c.says == "" && res.Status != execution.StatusCompleted || c.says != "" && (res.Error == nil || !strings.Contains(res.Error.Message, c.says)) {
				t.Errorf("%s %+v", res.Status, res.Error)
			}
			if info, err := os.Stat(filepath.Join(dir, "b.go")); err == nil && info.Mode().Perm()&0o100 == 0 {
				t.Errorf("b.go has mode %v", info.Mode())
			}
		})
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	s := ScopeOf("# T1\n\n- **Files**: `a b.go` (modify), `x/` , `**/*_test.go`\r\nFILES: c.go, d.go (delete)\nThese files: matter\n")
	if len(s) != 5 || s[0].Action != "modify" || s[4] != (Declared{"d.go", "delete"}) {
		t.Errorf("%+v", s)
	}
	for name, want := range map[string]bool{"a b.go": true, "x/y/z": true, "x": false, "q/r_test.go": true, "e_test.go": true, "c.go": true, "C.go": false, "d.go": true, "y/x/z": false} {
		if s.Allows(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	for _, bad := range []string{"../a", "/etc/passwd", `a\b`, "a/../../b", "[", ""} {
		if len((Scope{{bad, ""}}).Faults()) == 0 {
			t.Errorf("%q is accepted", bad)
		}
	}
	if f := s.Faults(); len(f) > 0 {
		t.Errorf("%v", f)
	}
}

// TestGivenDirectories: a request may name the two directories.
func TestGivenDirectories(t *testing.T) {
	t.Parallel()
	in, out := t.TempDir(), t.TempDir()
	write(t, filepath.Join(in, "task.md"), "from the directory")
	give := func(args ...string) func(*execution.Request) {
		return func(r *execution.Request) { r.Run.Command = slices.Concat(r.Run.Command, args) }
	}
	res, _ := run(t, `cp "$2/task.md" "$3/completion-report.md"; `+passes, "from the message", nil, give(in, out))
	if b, _ := os.ReadFile(filepath.Join(out, "result")); res.Text != "from the directory" || string(b) != "pass\n" {
		t.Errorf("%q %q", res.Text, b)
	}
	if res, _ := run(t, passes, "x", nil, give("one")); cmp.Or(res.Error, &execution.ResultError{}).ErrorCode() != execution.CodeValidation {
		t.Errorf("%+v", res.Error)
	}
}
