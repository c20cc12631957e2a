//go:build unix

package turnruntime

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

func hearing(t *testing.T, d Dispatch) heard {
	t.Helper()
	var h heard
	if err := json.Unmarshal([]byte(read(t, filepath.Join(d.BundleDir, "heard.json"))), &h); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestPromptTransports(t *testing.T) {
	const text = "Do this.\n\n---\n\nKnow that.\n"
	for name, tt := range map[string]struct {
		transport string
		args      []string
		want      []string
		stdin     string
		file      bool
	}{
		"argv":                       {"argv", []string{"-p", "{prompt}"}, []string{"-p", text}, "", false},
		"argv within an argument":    {"argv", []string{"--say={prompt}!"}, []string{"--say=" + text + "!"}, "", false},
		"argv twice":                 {"argv", []string{"{prompt}", "{prompt}"}, []string{text, text}, "", false},
		"stdin":                      {"stdin", []string{"-"}, []string{"-"}, text, false},
		"dispatch_bundle_only":       {"dispatch_bundle_only", []string{"x"}, []string{"x"}, "", false},
		"inferred argv":              {"", []string{"{prompt}"}, []string{text}, "", false},
		"inferred bundle":            {"", []string{"x"}, []string{"x"}, "", false},
		"arg, appended":              {"arg", []string{"-x"}, []string{"-x", text}, "", false},
		"arg, substituted":           {"arg", []string{"{prompt}", "-x"}, []string{text, "-x"}, "", false},
		"file, appended":             {"file", []string{"-x"}, nil, "", true},
		"file, substituted":          {"file", []string{"-x", "{prompt_file}"}, nil, "", true},
		"one argument stays one":     {"argv", []string{"run --prompt {prompt}"}, []string{"run --prompt " + text}, "", false},
		"nothing is split after all": {"", []string{"a b", "c  d"}, []string{"a b", "c  d"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := scene(t, "echo", tt.args...)
			d.Runtime.PromptTransport = tt.transport
			if o := carry(t, context.Background(), d, &watcher{}); !o.Staged {
				t.Fatalf("%+v", o)
			}
			h := hearing(t, d)
			if tt.file {
				if h.File != text || len(h.Args) != 2 || h.Args[0] != "-x" {
					t.Errorf("%+v", h)
				}
			} else if fmt.Sprint(h.Args) != fmt.Sprint(tt.want) || len(h.Args) != len(tt.want) {
				t.Errorf("arguments %q", h.Args)
			}
			if h.Stdin != tt.stdin {
				t.Errorf("standard input %q", h.Stdin)
			}
			if log := transcriptOf(t, d); strings.Contains(log, "Know that") {
				t.Error("the prompt is in the log: " + log)
			}
		})
	}
}

func TestCommandForms(t *testing.T) {
	self, _ := os.Executable()
	blank := filepath.Join(t.TempDir(), "my tools")
	if err := os.MkdirAll(blank, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(blank, "agent")); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		command protocol.Words
		args    []string
		want    []string
	}{
		"a string":                    {protocol.Words{List: []string{self + " run x"}, String: true}, nil, []string{"run", "x"}},
		"a string and args":           {protocol.Words{List: []string{self + " run"}, String: true}, []string{"a b", "c"}, []string{"run", "a b", "c"}},
		"a list with a command line":  {protocol.Words{List: []string{self + " run x"}}, nil, []string{"run", "x"}},
		"a list":                      {protocol.Words{List: []string{self, "a b"}}, nil, []string{"a b"}},
		"a list has its args in it":   {protocol.Words{List: []string{self, "a"}}, []string{"lost"}, []string{"a"}},
		"a file with a blank in it":   {protocol.Words{List: []string{filepath.Join(blank, "agent"), "a"}}, nil, []string{"a"}},
		"a string that is such a one": {protocol.Words{List: []string{filepath.Join(blank, "agent")}, String: true}, []string{"a"}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := scene(t, "echo")
			d.Runtime.Command, d.Runtime.Args = tt.command, tt.args
			var said []string
			d.Out = func(s string) { said = append(said, s) }
			if o := carry(t, context.Background(), d, &watcher{}); !o.Staged {
				t.Fatalf("%+v", o)
			}
			if h := hearing(t, d); fmt.Sprintf("%q", h.Args) != fmt.Sprintf("%q", tt.want) {
				t.Errorf("%q", h.Args)
			}
			if (len(said) > 0) != (strings.Contains(name, "its args")) {
				t.Errorf("said %q", said)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	self, _ := os.Executable()
	for name, tt := range map[string]struct {
		change func(*Dispatch)
		says   string
	}{
		"no command":          {func(d *Dispatch) { d.Runtime.Command = protocol.Words{} }, "command is missing"},
		"an empty command":    {func(d *Dispatch) { d.Runtime.Command = protocol.Words{List: []string{"  "}, String: true} }, "command is missing"},
		"not installed":       {func(d *Dispatch) { d.Runtime.Command.List[0] = "no-such-agent" }, "no-such-agent"},
		"the prompt runs":     {func(d *Dispatch) { d.Runtime.Command.List = []string{"{prompt}"} }, "program name contains"},
		"an open quote":       {func(d *Dispatch) { d.Runtime.Command.List = []string{self + " 'x"} }, "is not closed"},
		"NUL":                 {func(d *Dispatch) { d.Runtime.Command.List = []string{self, "a\x00"} }, "NUL"},
		"argv without prompt": {func(d *Dispatch) { d.Runtime.PromptTransport = "argv" }, "{prompt}"},
		"unknown transport":   {func(d *Dispatch) { d.Runtime.PromptTransport = "pigeon" }, "pigeon"},
		"too long": {func(d *Dispatch) {
			d.Runtime.PromptTransport, d.Prompt = "arg", strings.Repeat("x", 128<<10)
		}, "131071"},
		"NUL in the prompt":       {func(d *Dispatch) { d.Runtime.PromptTransport, d.Prompt = "arg", "a\x00b" }, "NUL"},
		"cwd outside":             {func(d *Dispatch) { d.Runtime.CWD = ".." }, "outside"},
		"cwd outside, absolute":   {func(d *Dispatch) { d.Runtime.CWD = os.TempDir() }, "outside"},
		"cwd outside by a link":   {func(d *Dispatch) { _ = os.Symlink(os.TempDir(), filepath.Join(d.Root, "l")); d.Runtime.CWD = "l" }, "outside"},
		"no cwd":                  {func(d *Dispatch) { d.Runtime.CWD = "nowhere" }, "nowhere"},
		"cwd is a file":           {func(d *Dispatch) { _ = os.WriteFile(filepath.Join(d.Root, "f"), nil, 0o600); d.Runtime.CWD = "f" }, "not a folder"},
		"missing variable":        {func(d *Dispatch) { d.Runtime.Env.Set("A", "x${NOT_SET_ANYWHERE}") }, "${NOT_SET_ANYWHERE}"},
		"a name that is none":     {func(d *Dispatch) { d.Runtime.Env.Set("A=B", "x") }, "A=B"},
		"NUL in the environment":  {func(d *Dispatch) { d.Runtime.Env.Set("A", "\x00") }, "NUL"},
		"just over with the rest": {func(d *Dispatch) { d.Runtime.PromptTransport, d.Prompt = "arg", strings.Repeat("x", 128<<10-5) }, "131"},
	} {
		t.Run(name, func(t *testing.T) {
			d := scene(t, "echo")
			tt.change(&d)
			rt, err := For(d.Runtime, Deps{})
			if err != nil {
				t.Fatal(err)
			}
			err = rt.Check(d)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "; ") {
				t.Errorf("%v", err)
			}
			if _, again := rt.Run(context.Background(), d, &watcher{}); again == nil {
				t.Error("it was started all the same")
			}
			if _, err := os.Stat(filepath.Join(d.BundleDir, "evidence")); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func TestEnvironmentAndDirectory(t *testing.T) {
	d := scene(t, "echo")
	d.Environ = append(d.Environ, "MY_TOKEN=tok-12345678", "EMPTY_ONE=")
	d.Getenv = func(name string) string { return map[string]string{"ELSEWHERE": "from-getenv"}[name] }
	d.Runtime.Env.Set("API_KEY", "${MY_TOKEN}")
	d.Runtime.Env.Set("BOTH", "a-${ELSEWHERE}-${EMPTY_ONE}-$HOME")
	d.Runtime.Env.Set("AGENTXCHAIN_TURN_ID", "a lie")
	if err := os.MkdirAll(filepath.Join(d.Root, "sub", "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.Runtime.CWD = "sub/dir"
	if o := carry(t, context.Background(), d, &watcher{}); !o.Staged {
		t.Fatalf("%+v", o)
	}
	h := hearing(t, d)
	for name, want := range map[string]string{"API_KEY": "tok-12345678", "BOTH": "a-from-getenv--$HOME", "AGENTXCHAIN_TURN_ID": "turn_1",
		"AGENTXCHAIN_DISPATCH_DIR": d.BundleDir, "AGENTXCHAIN_STAGING_PATH": d.StagedPath, "MY_TOKEN": "tok-12345678"} {
		if h.Env[name] != want {
			t.Errorf("%s is %q, want %q", name, h.Env[name], want)
		}
	}
	if want, _ := filepath.EvalSymlinks(filepath.Join(d.Root, "sub", "dir")); h.Dir != want {
		t.Errorf("it ran in %s", h.Dir)
	}
}

func TestWorktree(t *testing.T) {
	d := scene(t, "echo")
	d.WorkDir = filepath.Join(d.Root, ".agentxchain", "worktrees", "turn_1")
	if err := os.MkdirAll(filepath.Join(d.WorkDir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.Runtime.CWD = "sub"
	if o := carry(t, context.Background(), d, &watcher{}); !o.Staged {
		t.Fatalf("%+v", o)
	}
	if want, _ := filepath.EvalSymlinks(filepath.Join(d.WorkDir, "sub")); hearing(t, d).Dir != want {
		t.Errorf("it ran in %s", hearing(t, d).Dir)
	}
	d.Runtime.CWD = d.Root
	if err := (&localCLI{Deps{}}).Check(d); err == nil {
		t.Error("a folder outside of the worktree")
	}
}
