package copilot

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
)

// Probe looks for the copilot command, asks it for its version and reads the model of the user's settings. The first
// start in a fresh home directory unpacks 235 MB and takes a second or two longer.
func (Adapter) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	in, err := cliagent.DetectVersion(ctx, h, "copilot")
	if err != nil || !in.Installed {
		return in, err
	}
	if in.ActiveModel = h.Getenv("COPILOT_MODEL"); in.ActiveModel == "" {
		var settings struct {
			Model string `json:"model"`
		}
		if data, err := readFile(h, filepath.Join(homeDir(h), "settings.json")); err == nil && json.Unmarshal(withoutComments(data), &settings) == nil {
			in.ActiveModel = settings.Model
		}
	}
	return in, nil
}
