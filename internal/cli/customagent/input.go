package customagent

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/cli"
)

// readEntry reads the text of an entry from a file, or from standard input for "-".
func readEntry(app *cli.App, file string) (text []byte, where string, err error) {
	if file == "-" {
		text, err = io.ReadAll(io.LimitReader(app.In, maxFile+1))
		return text, "standard input", err
	}
	if text, err = repofile.Input(file, maxFile); err != nil {
		return nil, file, cli.Usage("%s: %v", file, err).WithHint("name a readable file with an entry in JSON, as drawbar agents export prints it")
	}
	return text, file, nil
}

// transport returns how a command passes the prompt by its placeholders; empty for standard input.
func transport(command []string) string {
	for _, word := range command {
		switch {
		case strings.Contains(word, "{prompt_file}"):
			return "file"
		case strings.Contains(word, "{prompt}"):
			return "argument"
		}
	}
	return ""
}

// setKey sets a key of the entry from KEY=VALUE.
func setKey(d *configfile.Document, stated string) error {
	key, text, ok := strings.Cut(stated, "=")
	if !ok {
		return fmt.Errorf("--set %s has no value", stated)
	}
	path, err := configfile.ParsePath(key)
	if err != nil {
		return fmt.Errorf("--set: %q is not a key: %w", key, err)
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		value = text
	}
	return d.Set(path, value)
}
