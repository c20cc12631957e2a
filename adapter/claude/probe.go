package claude

import (
	"context"
	"encoding/json"
	"io/fs"
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
)

// Probe looks for the claude command, asks it for its version and reads the model of the user's settings.
func (Adapter) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	in, err := cliagent.DetectVersion(ctx, h, "claude")
	if err != nil {
		return in, err
	}
	if in.ActiveModel = h.Getenv("ANTHROPIC_MODEL"); in.ActiveModel == "" {
		var settings struct {
			Model string `json:"model"`
		}
		if data, err := readFile(h, configDir(h), "settings.json"); err == nil && json.Unmarshal(data, &settings) == nil {
			in.ActiveModel = settings.Model
		}
	}
	return in, nil
}

// configDir is where Claude keeps its settings.
func configDir(h adapter.Host) string {
	if dir := h.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(h.Home, ".claude")
}

func readFile(h adapter.Host, dir, file string) ([]byte, error) {
	path, err := h.Name(filepath.Join(dir, file))
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(h.FS, path)
}
