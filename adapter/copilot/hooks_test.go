package copilot

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
)

func TestReadHook(t *testing.T) { adaptertest.HookGoldens(t, Adapter{}, *clitest.Update) }

func FuzzHooks(f *testing.F) { adaptertest.FuzzHooks(f, Adapter{}) }

func TestAnswerHook(t *testing.T) {
	deny := execution.HookResult{Decision: execution.HookDeny, Message: "not today"}
	modify := execution.HookResult{Decision: execution.HookModify, ModifiedInput: json.RawMessage(`{"command":"ls"}`)}
	for _, tt := range []struct {
		name, event string
		res         execution.HookResult
		want        adapter.HookAnswer
	}{
		{"deny a tool", "preToolUse", deny, adapter.HookAnswer{Stdout: `{"permissionDecision":"deny","permissionDecisionReason":"not today"}`}},
		{"deny a prompt", "userPromptSubmitted", deny, adapter.HookAnswer{Stdout: `{"decision":"block","reason":"not today"}`}},
		{"deny without a reason", "agentStop", execution.HookResult{Decision: execution.HookDeny}, adapter.HookAnswer{Stderr: "denied by a hook", ExitCode: 2}},
		{"modify", "preToolUse", modify, adapter.HookAnswer{Stdout: `{"modifiedArgs":{"command":"ls"}}`}},
		{"allow", "preToolUse", execution.HookResult{Decision: execution.HookAllow}, adapter.HookAnswer{}},
		{"allow with output", "preToolUse", execution.HookResult{Decision: execution.HookAllow, Stdout: "note"}, adapter.HookAnswer{Stdout: "note"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Adapter{}).AnswerHook(tt.event, tt.res); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestPlaceHook(t *testing.T) {
	h := adapter.Host{Getenv: func(string) string { return "" }, Home: "/home/ann", Platform: "linux"}
	for _, tt := range []struct {
		scope        adapter.ConfigScope
		file, within string
	}{
		{adapter.ScopeGlobal, "/home/ann/.copilot/hooks/drawbar.json", ""},
		{adapter.ScopeProject, "/work/.github/hooks/drawbar.json", "/work"},
	} {
		p := Adapter{}.PlaceHook(h, tt.scope, "/work", "preToolUse", "it's here hooks handle")
		if filepath.ToSlash(p.File) != tt.file || p.Within != tt.within || strings.Join(p.Path, ".") != "hooks.preToolUse" {
			t.Errorf("%s: %s within %q at %v", tt.scope, p.File, p.Within, p.Path)
		}
		got, err := json.Marshal(p.Group)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"bash":"it's here hooks handle","powershell":"\u0026 it's here hooks handle","timeoutSec":600,"type":"command"}`; string(got) != want {
			t.Errorf("%s: got %s, want %s", tt.scope, got, want)
		}
	}
}
