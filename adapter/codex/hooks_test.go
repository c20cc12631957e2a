package codex

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
		{"deny a tool", "PreToolUse", deny, adapter.HookAnswer{Stderr: "not today", ExitCode: 2}},
		{"deny a prompt", "UserPromptSubmit", deny, adapter.HookAnswer{Stderr: "not today", ExitCode: 2}},
		{"deny without a reason", "Stop", execution.HookResult{Decision: execution.HookDeny}, adapter.HookAnswer{Stderr: "denied by a hook", ExitCode: 2}},
		{"modify", "PreToolUse", modify, adapter.HookAnswer{Stdout: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"ls"}}}`}},
		{"allow", "PreToolUse", execution.HookResult{Decision: execution.HookAllow}, adapter.HookAnswer{}},
		{"allow with output", "PreToolUse", execution.HookResult{Decision: execution.HookAllow, Stdout: "note"}, adapter.HookAnswer{Stdout: "note"}},
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
		{adapter.ScopeGlobal, "/home/ann/.codex/hooks.json", ""},
		{adapter.ScopeProject, "/work/.codex/hooks.json", "/work"},
	} {
		p := Adapter{}.PlaceHook(h, tt.scope, "/work", "PreToolUse", "it's here hooks handle")
		if filepath.ToSlash(p.File) != tt.file || p.Within != tt.within || strings.Join(p.Path, ".") != "hooks.PreToolUse" {
			t.Errorf("%s: %s within %q at %v", tt.scope, p.File, p.Within, p.Path)
		}
		got, err := json.Marshal(p.Group)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"hooks":[{"command":"it's here hooks handle","timeout":600,"type":"command"}]}`; string(got) != want {
			t.Errorf("%s: got %s, want %s", tt.scope, got, want)
		}
	}
}

// What Codex remembers of a review: the hash of the group in its own words, in the order of the names.
func TestHookHash(t *testing.T) {
	if got := hookHash("PreToolUse", "a 'b' && <c>", 600); got != "sha256:9edcad066369bb0e060b7b4bdf21603dc75b9a60df561ff84f609b6db1986f5c" {
		t.Error(got)
	}
	if got := hookKey("/x/hooks.json", "UserPromptSubmit", 2); got != "/x/hooks.json:user_prompt_submit:2:0" {
		t.Error(got)
	}
}
