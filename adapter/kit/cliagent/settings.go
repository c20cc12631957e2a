package cliagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/repofile"
)

// Variable returns a variable of the run's environment, empty for none.
func (l *Launch) Variable(name string) string {
	if v, ok := l.Request.Run.Env[name]; ok {
		return v
	}
	if l.environ == nil {
		return ""
	}
	value := ""
	for _, entry := range l.environ() {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v
		}
	}
	return value
}

// SettingsWithHooks returns a JSON settings file with groups of hooks added to those of each event. It is for a layer
// of an agent's settings that a run replaces as a whole: the content of the machine's own file remains valid. A
// missing file is empty; an unreadable one refuses the run.
func (l *Launch) SettingsWithHooks(path string, groups map[string]any) ([]byte, error) {
	refuse := func(err error) ([]byte, error) {
		return nil, execution.Errorf(execution.CodeConfig, "add to %s what the run needs: %w", path, err).WithHint("fix the file")
	}
	settings, err := SettingsIn(path)
	if err != nil {
		return refuse(err)
	}
	hooks, ok := settings["hooks"].(map[string]any)
	if !ok && settings["hooks"] != nil {
		return refuse(errors.New("its hooks are not an object"))
	}
	if hooks == nil {
		hooks = map[string]any{}
	}
	for event, group := range groups {
		list, ok := hooks[event].([]any)
		if !ok && hooks[event] != nil {
			return refuse(fmt.Errorf("its hooks of %s are not a list", event))
		}
		hooks[event] = append(list, group)
	}
	settings["hooks"] = hooks
	return json.Marshal(settings)
}

// SettingsIn reads settings in JSON, which may have comments. A missing file is an empty object.
func SettingsIn(path string) (map[string]any, error) {
	data, err := repofile.Own(path, 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := UnmarshalJSONC(data, &object); err != nil {
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	if object == nil {
		return nil, errors.New("it is not a JSON object")
	}
	return object, nil
}

// UnmarshalJSONC reads JSON with comments and trailing commas.
func UnmarshalJSONC(data []byte, v any) error {
	plain, err := hujson.Standardize(append(data[:len(data):len(data)], '\n')) // a comment may end the text
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, v)
}
