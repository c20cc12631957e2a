package race

import (
	"context"
	"encoding/json"
	"path"
	"reflect"

	"github.com/pelletier/go-toml/v2"

	"github.com/drawbar/drawbar/internal/worktree"
)

// steering are files of which only a part says how tests are run; the rest, such as dependencies, is a racer's to change.
var steering = map[string]struct {
	decode func([]byte, any) error
	parts  [][]string
}{
	"package.json":   {json.Unmarshal, [][]string{{"scripts"}, {"jest"}, {"mocha"}, {"ava"}, {"vitest"}, {"nyc"}, {"c8"}}},
	"pyproject.toml": {toml.Unmarshal, [][]string{{"tool", "pytest"}, {"tool", "tox"}, {"tool", "nox"}, {"tool", "hatch"}, {"tool", "coverage"}}},
}

// steers reports whether a work changes the part of a file that says how tests are run. A file that can no longer be read does.
func steers(ctx context.Context, w worktree.Work, file string) bool {
	known, ok := steering[path.Base(file)]
	if !ok {
		return false
	}
	var before, after map[string]any
	if text := w.File(ctx, w.Base, file); text != "" && known.decode([]byte(text), &before) != nil {
		return false // it said nothing before
	}
	if text := w.File(ctx, w.Commit, file); text != "" && known.decode([]byte(text), &after) != nil {
		return true
	}
	for _, part := range known.parts {
		if !reflect.DeepEqual(at(before, part), at(after, part)) {
			return true
		}
	}
	return false
}

func at(m map[string]any, keys []string) any {
	var v any = m
	for _, k := range keys {
		inner, _ := v.(map[string]any)
		v = inner[k]
	}
	return v
}
