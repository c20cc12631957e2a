package claude

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// begun tells the hooks that the session begins.
func (f *fake) begun() {
	_, _ = f.callHooks("SessionStart", object{"source": "startup"})
}

// hooked asks the hooks whether a tool may run, as Claude Code does before it runs it.
func (f *fake) hooked(id, tool string, input object) (why string, denied bool) {
	return f.callHooks("PreToolUse", object{"tool_name": tool, "tool_input": input, "tool_use_id": id})
}

// callHooks calls the hooks of the settings that the arguments name.
func (f *fake) callHooks(event string, payload object) (why string, denied bool) {
	data, err := os.ReadFile(f.flags["--settings"])
	if err != nil {
		return "", false // there are none
	}
	var settings struct {
		Hooks map[string][]hookGroup `json:"hooks"`
	}
	if err := json.Unmarshal(data, &settings); err != nil {
		return err.Error(), true
	}
	payload["session_id"], payload["cwd"], payload["hook_event_name"] = f.session, "/work-dir", event
	for _, g := range settings.Hooks[event] {
		for _, h := range g.Hooks {
			out, err := adaptertest.AskHook(cliagent.Spawn, h.Command, payload)
			var answer struct {
				Specific struct {
					Decision string `json:"permissionDecision"`
					Reason   string `json:"permissionDecisionReason"`
				} `json:"hookSpecificOutput"`
			}
			switch {
			case err != nil:
				return err.Error(), h.OnFailure == "block"
			case out.Code == 2:
				return "[" + h.Command + "]: " + strings.TrimSpace(out.Stderr), true
			case out.Code != 0:
				return out.Stderr, h.OnFailure == "block"
			case json.Unmarshal([]byte(out.Stdout), &answer) == nil && answer.Specific.Decision == "deny":
				return answer.Specific.Reason, true
			}
		}
	}
	return "", false
}
