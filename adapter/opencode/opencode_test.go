package opencode

import (
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
	acpgolden.Test(t, map[string]acpagent.Spec{name: row().Spec()}, 8)
}

// The files in testdata/config have what the program's documentation shows, and it started with them.
func TestConfig(t *testing.T) {
	t.Parallel()
	adaptertest.Config(t, configSchema(), "testdata/config")
}

// TestAsks: OpenCode asks unless everything is allowed.
func TestAsks(t *testing.T) {
	t.Parallel()
	asks := func(mode execution.ApprovalMode) bool {
		inv, err := spawn(&cliagent.Launch{Request: execution.Request{Run: execution.RunOptions{ApprovalMode: mode}}})
		return err == nil && inv.Args[0] == "acp" && inv.Env["OPENCODE_PERMISSION"] != ""
	}
	if !asks("") || !asks(execution.ApprovalPrompt) || !asks(execution.ApprovalDeny) || asks(execution.ApprovalYolo) {
		t.Error("the approval mode does not decide whether it asks")
	}
}

func TestServerTool(t *testing.T) {
	t.Parallel()
	if server, tool, ok := serverTool(&acpagent.ToolCall{Title: "files_echo"}, []string{"files"}); server != "files" || tool != "echo" || !ok {
		t.Error(server, tool, ok)
	}
	if _, _, ok := serverTool(&acpagent.ToolCall{Title: "files_of/w"}, []string{"files"}); ok {
		t.Error("a path is no tool")
	}
}

func FuzzModels(f *testing.F) { adaptertest.FuzzModels(f, Adapter{}) }
