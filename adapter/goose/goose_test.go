package goose

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acpgolden"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// TestGoldens replays conversations with the real program.
func TestGoldens(t *testing.T) {
	t.Parallel()
	acpgolden.Test(t, map[string]acpagent.Spec{name: row().Spec()}, 6)
}

// The files in testdata/config have what the program's documentation shows, and it started with them.
func TestConfig(t *testing.T) {
	t.Parallel()
	adaptertest.Config(t, configSchema(), "testdata/config")
}

// TestFailures: what goose words as an answer.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		spent execution.Usage
		want  execution.ErrorCode
	}{
		{"Ran into this error: Server error (500 Internal Server Error) at http://127.0.0.1", execution.Usage{}, execution.CodeProvider},
		{"Ran into this error: Rate limit exceeded: 429", execution.Usage{}, execution.CodeRateLimited},
		{"Ran into this error: it broke", execution.Usage{}, execution.CodeProvider},
		{"Ran into this error: it is in line 3 of main.go", execution.Usage{Input: 1, Output: 1}, ""},
		{"hello", execution.Usage{}, ""},
	} {
		code, is := failed(tt.text, tt.spent)
		if is != (tt.want != "") || is && code != tt.want {
			t.Errorf("%q, %+v: %s %v, want %q", tt.text, tt.spent, code, is, tt.want)
		}
	}
}

// TestUnconfigured: goose without settings asks for a login, whether it opens a session or a turn.
func TestUnconfigured(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]execution.ErrorCode{"Internal error: Failed to resolve provider: Configuration value not found: GOOSE_PROVIDER": execution.CodeAuth,
		"Internal error: Provider not set": execution.CodeAuth, "Internal error: it broke": ""} {
		if code := unconfigured.Code(strings.ToLower(message)); code != want {
			t.Errorf("%s: %q", message, code)
		}
	}
}

// TestModelOfRun: the model of a run is offered even if goose could not list those of its provider.
func TestModelOfRun(t *testing.T) {
	t.Parallel()
	var req execution.Request
	req.Run.Model = "big"
	if inv, err := spawn(&cliagent.Launch{Request: req}); err != nil || inv.Env["GOOSE_MODEL"] != "big" {
		t.Errorf("%+v, %v", inv, err)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	call := &acpagent.ToolCall{Title: "echo · /w", Input: []byte(`{"command":"ls"}`),
		Meta: []byte(`{"goose":{"toolCall":{"toolName":"shell","extensionName":"files"}}}`)}
	if _, tool, ok := serverTool(&acpagent.ToolCall{Meta: []byte(`{"goose":{"toolCall":{"toolName":"files__echo","extensionName":"files"}}}`)}, []string{"files"}); tool != "echo" || !ok {
		t.Error(tool, ok)
	}
	if server, tool, ok := serverTool(call, []string{"other", "files"}); server != "files" || tool != "shell" || !ok {
		t.Error(server, tool, ok)
	}
	if _, _, ok := serverTool(call, []string{"other"}); ok {
		t.Error("a tool of another extension")
	}
	if got := kind(call); got != "execute" {
		t.Errorf("the kind of a shell's call is %q", got)
	}
}

func FuzzHooks(f *testing.F) { adaptertest.FuzzHooks(f, Adapter{}) }

// TestShell: output and exit code of a command stand in the result of the tool.
func TestShell(t *testing.T) {
	t.Parallel()
	sh, ok := shellOf(&acpagent.ToolCall{Kind: "execute", Input: []byte(`{"command":"x"}`), Output: []byte(`{"stdout":"a\n","stderr":"b","exit_code":3}`)})
	if !ok || sh.Output != "a\nb" || sh.ExitCode == nil || *sh.ExitCode != 3 {
		t.Errorf("%+v %v", sh, ok)
	}
	if sh, ok := shellOf(&acpagent.ToolCall{Kind: "execute", Input: []byte(`{"command":"x"}`)}); !ok || sh.ExitCode != nil {
		t.Errorf("a command that runs: %+v %v", sh, ok)
	}
}
