package codex

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// hookEvents are the events at which Codex calls commands.
func hookEvents() []adapter.NativeHook {
	return []adapter.NativeHook{
		{Name: "PreToolUse", Event: execution.HookPreToolUse, Direction: adapter.HookBefore, Blocking: true},
		{Name: "PermissionRequest", Direction: adapter.HookBefore, Blocking: true},
		{Name: "PostToolUse", Event: execution.HookPostToolUse, Direction: adapter.HookAfter},
		{Name: "UserPromptSubmit", Event: execution.HookUserPromptSubmit, Direction: adapter.HookBefore, Blocking: true},
		{Name: "SessionStart", Event: execution.HookSessionStart, Direction: adapter.HookBeside},
		{Name: "SessionEnd", Event: execution.HookSessionEnd, Direction: adapter.HookBeside},
		{Name: "Stop", Event: execution.HookStop, Direction: adapter.HookBeside, Blocking: true},
		{Name: "SubagentStart", Direction: adapter.HookBeside},
		{Name: "SubagentStop", Direction: adapter.HookBeside, Blocking: true},
		{Name: "PreCompact", Direction: adapter.HookBefore},
		{Name: "PostCompact", Direction: adapter.HookAfter},
		{Name: "Interrupt", Direction: adapter.HookBeside},
	}
}

// toolHook makes Codex ask before a tool call.
var toolHook = &cliagent.ToolHook{
	Read: func(_ string, payload []byte) (execution.HookCall, error) { return readHook("PreToolUse", payload) },
	Answer: func(_ string, res execution.HookResult) adapter.HookAnswer {
		return answerHook("PreToolUse", res)
	},
}

// sessionFlags is what Codex calls the layer of its configuration that arguments make.
const sessionFlags = "/<session-flags>/config.toml"

// hookSettings are the arguments that add the hooks of a run to those of the user. Codex runs only hooks that somebody has
// reviewed, and remembers a review by the hook's hash: these were made by the caller, which says so for them alone.
func hookSettings(h *cliagent.HookLines) []string {
	seconds := int(h.Timeout.Seconds())
	group := func(command string) string {
		return fmt.Sprintf(`[{hooks=[{type="command",command=%s,timeout=%d}]}]`, tomlString(command), seconds)
	}
	trust := func(event, command string) string {
		return fmt.Sprintf(`%s={trusted_hash=%s}`, tomlString(hookKey(sessionFlags, event, 0)), tomlString(hookHash(event, command, seconds)))
	}
	return []string{"-c", "features.hooks=true",
		"-c", "hooks.PreToolUse=" + group(h.PreTool),
		"-c", "hooks.SessionStart=" + group(h.Start),
		"-c", "hooks.state={" + trust("PreToolUse", h.PreTool) + "," + trust("SessionStart", h.Start) + "}"}
}

// hookKey is the name under which Codex remembers the review of the first command of a group of hooks.
func hookKey(file, event string, group int) string {
	return file + ":" + snake(event) + ":" + strconv.Itoa(group) + ":0"
}

// hookHash is Codex's hash of a group with one command and without a matcher.
func hookHash(event, command string, seconds int) string {
	type handler struct { // in the order of the names
		Async   bool   `json:"async"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
		Type    string `json:"type"`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // as Codex writes it
	_ = e.Encode(struct {  // strings and numbers always encode
		EventName string    `json:"event_name"`
		Hooks     []handler `json:"hooks"`
	}{snake(event), []handler{{Command: command, Timeout: seconds, Type: "command"}}})
	sum := sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// snake is a name in lower case with underscores between its words.
func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// readHook reads what Codex writes to a command.
func readHook(event string, payload []byte) (execution.HookCall, error) {
	return cliagent.ReadHook(name, event, payload, event == "PreToolUse")
}

// answerHook words an answer. A new input is taken with a permission only; Codex's own sandbox and approvals hold for it.
func answerHook(event string, res execution.HookResult) adapter.HookAnswer {
	switch {
	case res.Decision == execution.HookDeny:
		return cliagent.DenyHook(res)
	case res.Decision == execution.HookModify && event == "PreToolUse":
		return adapter.HookAnswer{Stdout: cliagent.HookOutput(event, map[string]any{"permissionDecision": "allow", "updatedInput": res.ModifiedInput})}
	}
	return adapter.HookAnswer{Stdout: res.Stdout}
}

// Hooks lists the events at which Codex calls commands.
func (Adapter) Hooks() []adapter.NativeHook { return hookEvents() }

// ReadHook reads what Codex writes to a command.
func (Adapter) ReadHook(event string, payload []byte) (execution.HookCall, error) {
	return readHook(event, payload)
}

// AnswerHook words a result for Codex.
func (Adapter) AnswerHook(event string, res execution.HookResult) adapter.HookAnswer {
	return answerHook(event, res)
}

// PlaceHook says where Codex reads a hook. It calls only commands that somebody has reviewed.
func (Adapter) PlaceHook(h adapter.Host, scope adapter.ConfigScope, dir, event, command string) adapter.HookPlace {
	codex := configDir(h)
	p := adapter.HookPlace{File: filepath.Join(codex, "hooks.json"), Format: "json", Path: []string{"hooks", event},
		Group: map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command, "timeout": hookSeconds}}},
		Note:  "codex calls it after a review: start codex and type /hooks, or install it with --trust"}
	if scope == adapter.ScopeProject {
		p.File, p.Within = filepath.Join(dir, ".codex", "hooks.json"), dir
		p.Note += "; codex reads it in projects that the user trusts"
	}
	p.Review = &adapter.HookReview{File: filepath.Join(codex, "config.toml"), Format: "toml", Value: hookHash(event, command, hookSeconds),
		Path: func(group int) []string {
			return []string{"hooks", "state", hookKey(p.File, event, group), "trusted_hash"}
		}}
	return p
}

// hookSeconds is how long Codex waits for a command that is registered in its files.
const hookSeconds = 600
