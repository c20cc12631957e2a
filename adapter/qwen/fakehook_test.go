package qwen

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// callHooks calls the hooks of the settings of the machine, as Qwen Code does. Only exit code 2 of a command denies.
func (f *fake) callHooks(event string, payload object) (why string, denied bool) {
	data, err := os.ReadFile(os.Getenv(systemSettings))
	if err != nil {
		return "", false // there are none
	}
	var settingsForm struct {
		Off   bool `json:"disableAllHooks"`
		Hooks map[string][]struct {
			Hooks []struct {
				Command string `json:"command"`
			} `json:"hooks"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(data, &settingsForm); err != nil || settingsForm.Off {
		return "", false
	}
	payload["session_id"], payload["cwd"], payload["hook_event_name"] = f.session, "/w", event
	for _, g := range settingsForm.Hooks[event] {
		for _, h := range g.Hooks {
			out, err := adaptertest.AskHook(cliagent.Spawn, h.Command, payload)
			if err == nil && out.Code == 2 {
				return strings.TrimSpace(out.Stderr), true
			}
		}
	}
	return "", false
}
