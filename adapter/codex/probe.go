package codex

import (
	"bufio"
	"bytes"
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
)

// Probe looks for the codex command, asks it for its version and reads the model of the user's configuration.
func (Adapter) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	in, err := cliagent.DetectVersion(ctx, h, "codex")
	if err != nil {
		return in, err
	}
	if data, err := readFile(h, "config.toml"); err == nil {
		in.ActiveModel = topLevelText(data, "model")
	}
	return in, nil
}

// configDir is where Codex keeps its settings.
func configDir(h adapter.Host) string {
	if dir := h.Getenv("CODEX_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(h.Home, ".codex")
}

func readFile(h adapter.Host, file string) ([]byte, error) {
	path, err := h.Name(filepath.Join(configDir(h), file))
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(h.FS, path)
}

// topLevelText finds a text before the first table of a TOML file. It is for showing: what is written in any other way than
// as one quoted text on one line is not found.
func topLevelText(data []byte, key string) string {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			return ""
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok || strings.Trim(strings.TrimSpace(k), `"'`) != key {
			continue
		}
		v = strings.TrimSpace(v)
		if len(v) < 2 || v[0] != '"' && v[0] != '\'' {
			return ""
		}
		end := strings.IndexByte(v[1:], v[0])
		if end < 0 || strings.Contains(v[1:1+end], `\`) {
			return ""
		}
		return v[1 : 1+end]
	}
	return ""
}
