package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/tailscale/hujson"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
)

// Probe looks for the gemini command, asks it for its version and reads the model of the user's settings.
func (Adapter) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	in, err := cliagent.DetectVersion(ctx, h, "gemini")
	if err != nil {
		return in, err
	}
	if in.ActiveModel = h.Getenv("GEMINI_MODEL"); in.ActiveModel == "" {
		if s, err := readSettings(h); err == nil {
			in.ActiveModel = s.Model.Name
		}
	}
	return in, nil
}

// settings are what is looked at of Gemini's settings file.
type settings struct {
	Model struct {
		Name string `json:"name"`
	} `json:"model"`
	Security struct {
		Auth struct {
			SelectedType string `json:"selectedType"`
		} `json:"auth"`
	} `json:"security"`
}

// readSettings reads the user's settings. Comments may stand in them.
func readSettings(h adapter.Host) (s settings, err error) {
	data, err := readFile(h, settingsFile)
	if err != nil {
		return s, err
	}
	plain, err := hujson.Standardize(data)
	if err != nil || json.Unmarshal(plain, &s) != nil {
		// The parser's own error could quote the file.
		return settings{}, fmt.Errorf("%s is no JSON of the expected shape", configPath(h, settingsFile))
	}
	return s, nil
}

// configDir is where Gemini keeps its settings and logins.
func configDir(h adapter.Host) string {
	if home := h.Getenv("GEMINI_CLI_HOME"); home != "" {
		return filepath.Join(home, ".gemini")
	}
	return filepath.Join(h.Home, ".gemini")
}

func configPath(h adapter.Host, file string) string { return filepath.Join(configDir(h), file) }

func readFile(h adapter.Host, file string) ([]byte, error) {
	path, err := h.Name(configPath(h, file))
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(h.FS, path)
}
