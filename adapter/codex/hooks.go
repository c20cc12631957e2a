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
	"github.com/drawbar/drawbar/settings"
)

// trusted is the condition under which Codex reads a project's files.
const trusted = "codex reads it in projects that the user trusts"

// hookSeconds is the time limit for a command that is registered in its files.
const hookSeconds = 600

// hooks are the events at which Codex calls commands. A changed tool input requires a permission; Codex's own sandbox
// and approvals still apply. It calls only reviewed commands.
var hooks = declared.HookTable{
	Tool: "PreToolUse", File: "hooks.json", Format: "json", Specific: true,
	Group: func(_ settings.Hook, command string) any {
		return map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command, "timeout": hookSeconds}}}
	},
	Finish: func(h adapter.Host, p *settings.HookPlace, event, command string) {
		p.Note = "codex calls it after a review: start codex and type /hooks, or install it with --trust"
		if p.Within != "" {
			p.Note += "; " + trusted
		}
		p.Review = &settings.HookReview{File: home.Path(h, "config.toml"), Format: "toml", Value: hookHash(event, command, hookSeconds),
			Path: func(group int) []string {
				return []string{"hooks", "state", hookKey(p.File, event, group), "trusted_hash"}
			}}
	},
	Modified: func(input json.RawMessage) map[string]any {
		return map[string]any{"permissionDecision": "allow", "updatedInput": input}
	},
	Events: []settings.Hook{
		{Name: "PreToolUse", Event: execution.HookPreToolUse, Direction: settings.HookBefore, Blocking: true},
		{Name: "PermissionRequest", Direction: settings.HookBefore, Blocking: true},
		{Name: "PostToolUse", Event: execution.HookPostToolUse, Direction: settings.HookAfter},
		{Name: "UserPromptSubmit", Event: execution.HookUserPromptSubmit, Direction: settings.HookBefore, Blocking: true},
		{Name: "SessionStart", Event: execution.HookSessionStart, Direction: settings.HookBeside},
		{Name: "SessionEnd", Event: execution.HookSessionEnd, Direction: settings.HookBeside},
		{Name: "Stop", Event: execution.HookStop, Direction: settings.HookBeside, Blocking: true},
		{Name: "SubagentStart", Direction: settings.HookBeside},
		{Name: "SubagentStop", Direction: settings.HookBeside, Blocking: true},
		{Name: "PreCompact", Direction: settings.HookBefore},
		{Name: "PostCompact", Direction: settings.HookAfter},
		{Name: "Interrupt", Direction: settings.HookBeside},
	},
}

// sessionFlags is Codex's name of the configuration layer made of arguments.
const sessionFlags = "/<session-flags>/config.toml"

// hookSettings returns the arguments that add a run's hooks to the user's. Codex runs only reviewed hooks and
// remembers a review by the hook's hash: the caller made these, and marks only them as reviewed.
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

// hookKey returns the name under which Codex stores the review of the first command of a group of hooks.
func hookKey(file, event string, group int) string {
	return file + ":" + snake(event) + ":" + strconv.Itoa(group) + ":0"
}

// hookHash returns Codex's hash of a group with one command and without a matcher.
func hookHash(event, command string, seconds int) string {
	type handler struct { // sorted by name
		Async   bool   `json:"async"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
		Type    string `json:"type"`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // in Codex's format
	_ = e.Encode(struct {  // strings and numbers always encode
		EventName string    `json:"event_name"`
		Hooks     []handler `json:"hooks"`
	}{snake(event), []handler{{Command: command, Timeout: seconds, Type: "command"}}})
	sum := sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// snake converts a name to lower case with underscores between its words.
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
