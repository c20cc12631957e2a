package cline

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/settings"
)

// The file of an event before a tool call prints what the command answers, and a denial for everything that is no answer.
func TestHookFile(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED: there is no bash")
	}
	const denied = "HOOK_CONTROL\t" + `{"cancel":true,"errorMessage":"a hook failed or did not end in time"}` + "\n"
	for _, tt := range []struct{ name, command, want string }{
		{"allow", "true", "HOOK_CONTROL\t{}\n"},
		{"answer", `printf '{"a":"%s."}' "$(cat)"`, "HOOK_CONTROL\t{\"a\":\"in.\"}\n"},
		{"fails", "exit 2", denied},
		{"is missing", "/nowhere/drawbar", denied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(bash, "-c", hooks.Program(settings.Hook{Blocking: true}, tt.command))
			cmd.Stdin = strings.NewReader("in")
			if out, err := cmd.Output(); err != nil || string(out) != tt.want {
				t.Errorf("%v, %q, want %q", err, out, tt.want)
			}
		})
	}
	t.Run("does not end", func(t *testing.T) {
		t.Parallel()
		program := strings.Replace(hooks.Program(settings.Hook{Blocking: true}, "cat"), "-t 110", "-t 1", 1)
		read, held, err := os.Pipe() // cat ends when this is closed, after the file has given up
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		defer read.Close()
		cmd := exec.Command(bash, "-c", program)
		cmd.Stdin = read
		var out strings.Builder
		cmd.Stdout = &out // cat keeps standard error open
		if err := cmd.Run(); err != nil || out.String() != denied {
			t.Errorf("%v, %q, want %q", err, out.String(), denied)
		}
	})
}
