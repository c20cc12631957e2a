package command

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// run runs a shell script as the command.
func run(t *testing.T, script string, change func(*execution.Request), args ...string) execution.Result {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	req := clitest.Request()
	req.Message.Text, req.Run.Command = "do it", append([]string{path}, args...)
	if change != nil {
		change(&req)
	}
	r, err := agent.New(agent.BackendOf(Descriptor())).Start(context.Background(), req, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Result(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		text   string
		status execution.Status
		code   execution.ErrorCode
		stderr string
	}{
		"standard input":         {`cat; echo; echo; echo end`, "do it\n\nend", execution.StatusCompleted, "", ""},
		"nothing printed":        {`exit 0`, "", execution.StatusCompleted, "", ""},
		"input is not read":      {`exec <&-; echo done`, "done", execution.StatusCompleted, "", ""},
		"coloured":               {`printf '\033[31mred\033[0m\n'`, "red", execution.StatusCompleted, "", ""},
		"garbage":                {`printf 'a\377b\n'`, "a\uFFFDb", execution.StatusCompleted, "", ""},
		"children stay":          {`sleep 60 & echo done`, "done", execution.StatusCompleted, "", ""},
		"last line without end":  {`printf 'one\ntwo'`, "one\ntwo", execution.StatusCompleted, "", ""},
		"a failure with reasons": {`echo half; echo "no space left" >&2; exit 9`, "half", execution.StatusFailed, execution.CodeAgentCrash, "no space left"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := run(t, c.script, nil)
			if res.Status != c.status || res.Text != c.text {
				t.Errorf("%s, text %q, error %+v", res.Status, res.Text, res.Error)
			}
			if c.code != "" && (res.Error == nil || res.Error.ErrorCode() != c.code || !strings.Contains(res.Error.Stderr, c.stderr)) {
				t.Errorf("error %+v", res.Error)
			}
		})
	}
}

// TestLongLines: the start of a line that is too long is kept, and the run goes on.
func TestLongLines(t *testing.T) {
	t.Parallel()
	res := run(t, `head -c 40000000 /dev/zero | tr '\0' x; echo; echo end`, nil)
	if res.Status != execution.StatusCompleted || !strings.HasPrefix(res.Text, "xxx") || len(res.Text) > 17<<20 {
		t.Errorf("%s, %d bytes, %+v", res.Status, len(res.Text), res.Error)
	}
}

// TestArguments: only the two placeholders are replaced, once, and an argument stays one argument.
func TestArguments(t *testing.T) {
	t.Parallel()
	show := `for a; do echo "<$a>"; done; cat`
	if res := run(t, show, nil, "{model}", "-m={prompt}", "$HOME", ""); res.Text != "<{model}>\n<-m=do it>\n<$HOME>\n<>" {
		t.Errorf("%q", res.Text)
	}
	res := run(t, `cat "$1"; echo; cat`, func(r *execution.Request) {
		r.Message.Text, r.Instructions.SystemPrompt = "say {prompt}", "Be kind."
	}, "{prompt_file}")
	if res.Text != "Be kind.\n\nsay {prompt}" {
		t.Errorf("%q", res.Text)
	}
}

// TestLimits: a time limit, the directory and variables work as for any other agent.
func TestLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if res := run(t, `pwd; echo "$COLOUR"`, func(r *execution.Request) { r.Run.Cwd, r.Run.Env = dir, map[string]string{"COLOUR": "blue"} }); !strings.HasSuffix(res.Text, filepath.Base(dir)+"\nblue") {
		t.Errorf("%q", res.Text)
	}
	res := run(t, `sleep 60`, func(r *execution.Request) { r.Run.TimeoutMs = int64(50 * time.Millisecond / time.Millisecond) })
	if res.Error == nil || res.Error.ErrorCode() != execution.CodeTimeout {
		t.Errorf("%+v", res.Error)
	}
}
