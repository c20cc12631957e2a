package codex

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
)

// trusted is what must be so before Codex reads what a project brings.
const trusted = "codex reads it in projects that the user trusts"

// hookSeconds is how long Codex waits for a command that is registered in its files.
const hookSeconds = 600

// hooks are the events at which Codex calls commands. A new input of a tool is taken with a permission only; Codex's own sandbox and
// approvals hold for it. It calls only commands that somebody has reviewed.
var hooks = declared.HookTable{
	Tool: "PreToolUse", File: "hooks.json", Format: "json", Specific: true,
	Group: func(_ adapter.NativeHook, command string) any {
		return map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command, "timeout": hookSeconds}}}
	},
	Finish: func(h adapter.Host, p *adapter.HookPlace, event, command string) {
		p.Note = "codex calls it after a review: start codex and type /hooks, or install it with --trust"
		if p.Within != "" {
			p.Note += "; " + trusted
		}
		p.Review = &adapter.HookReview{File: home.Path(h, "config.toml"), Format: "toml", Value: hookHash(event, command, hookSeconds),
			Path: func(group int) []string {
				return []string{"hooks", "state", hookKey(p.File, event, group), "trusted_hash"}
			}}
	},
	Modified: func(input json.RawMessage) map[string]any {
		return map[string]any{"permissionDecision": "allow", "updatedInput": input}
	},
	Events: []adapter.NativeHook{
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
