package copilot

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// callHooks calls the hooks of the plugin that the arguments name, as Copilot CLI does.
func (f *fake) callHooks(event string, payload object) (why string, denied bool) {
	if !f.has("--plugin-dir") {
		return "", false
	}
	read := func(file string, v any) error {
		data, err := os.ReadFile(filepath.Join(f.flags["--plugin-dir"], file))
		if err != nil {
			return err
		}
		return json.Unmarshal(data, v)
	}
	var manifest struct {
		Name  string `json:"name"`
		Hooks string `json:"hooks"`
	}
	var hooks struct {
		Version int `json:"version"`
		Hooks   map[string][]struct {
			Bash string `json:"bash"`
		} `json:"hooks"`
	}
	if err := read("plugin.json", &manifest); err != nil || manifest.Name == "" {
		return "", false // no plugin
	}
	if err := read(manifest.Hooks, &hooks); err != nil || hooks.Version != 1 {
		return "", false
	}
	payload["sessionId"], payload["cwd"], payload["timestamp"] = f.session, "/w", time.Now().UnixMilli()
	for _, h := range hooks.Hooks[event] {
		out, err := adaptertest.AskHook(cliagent.Spawn, h.Bash, payload)
		var answer struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		}
		switch {
		case err != nil || out.Code != 0:
			return "hook failed: " + out.Stderr, event == "preToolUse"
		case json.Unmarshal([]byte(out.Stdout), &answer) == nil && answer.Decision == "deny":
			return answer.Reason, true
		}
	}
	return "", false
}
