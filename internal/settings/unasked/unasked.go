// Package unasked lists what an agent runs of a project without asking anyone, as items of trust. It starts nothing and asks nobody.
package unasked

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/settings/skill"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/settings"
)

const maxFile = 16 << 20

// Of returns the files of a built-in agent, by its name, an alias, or its program.
func Of(agent string) []settings.Unasked {
	for _, d := range adapter.Builtins() {
		if d.Name == agent || slices.Contains(d.Aliases, agent) || d.Command != "" && d.Command == filepath.Base(agent) {
			return d.Unasked
		}
	}
	return nil
}

// OfAll returns the files of all built-in agents.
func OfAll() (all []settings.Unasked) {
	for _, d := range adapter.Builtins() {
		all = append(all, d.Unasked...)
	}
	return all
}

// Items returns what agents with these files would run when they work in dir, and the directory that trust in it belongs to: the root of
// the repository, which is that of the main work tree for a linked one, as what is trusted are contents; dir outside of a repository.
// The user's home directory is not a project.
func Items(files []settings.Unasked, dir string) (root string, items []trust.Item) {
	dir = repofile.Real(dir)
	top, _ := repofile.GitDir(dir)
	top = cmp.Or(top, dir)
	root = cmp.Or(repofile.MainTree(top), top)
	home, _ := os.UserHomeDir() // without one, nothing is in it
	if home != "" {
		home = repofile.Real(home)
	}
	for at := dir; at != home; at = filepath.Dir(at) {
		for _, f := range files {
			if at != dir && !f.Up {
				continue
			}
			for _, name := range named(at, f.Path) {
				for _, i := range read(f, top, at, name) {
					if !slices.ContainsFunc(items, func(o trust.Item) bool { return trust.Same(i, o) }) {
						items = append(items, i)
					}
				}
			}
		}
		if at == top || at == filepath.Dir(at) {
			break
		}
	}
	return root, items
}

// named returns the files in a directory that a path stands for.
func named(dir, pattern string) []string {
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}
	}
	found, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil {
		return nil
	}
	return found
}

// read returns the items of a file: one for each key, or one for the whole file if it is a program, or cannot be read.
func read(f settings.Unasked, top, dir, name string) (items []trust.Item) {
	file := filepath.Join(dir, filepath.FromSlash(name))
	rel, err := filepath.Rel(top, file)
	if err != nil {
		return nil
	}
	rel = filepath.ToSlash(rel)
	data, err := repofile.Own(file, maxFile)
	switch {
	case errors.Is(err, repofile.ErrTooLarge), errors.Is(err, repofile.ErrNotRegular) && !isDir(file):
		return []trust.Item{{File: rel, Place: whole, Runs: "what Drawbar does not read", Files: []trust.File{{Path: rel, Problem: err.Error()}}}}
	case err != nil:
		return nil // the agent cannot read it either
	case f.Format == "":
		return []trust.Item{trust.Whole(rel, whole, "the file, as a program of the agent", data)}
	case f.Format == "env":
		return variables(f, top, dir, rel, string(data))
	}
	format := f.Format
	if format == "md" {
		head, _, ok := skill.Split(bytes.TrimLeft(data, " \t\r\n"))
		if !ok {
			return nil
		}
		data, format = head, string(configfile.YAML)
	}
	d, err := configfile.Parse(configfile.Format(format), rel, bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil { // the agent may read it all the same
		return []trust.Item{trust.Whole(rel, whole, "what the agent makes of a file that is no valid "+strings.ToUpper(f.Format), data)}
	}
	for _, key := range f.Keys {
		v, ok := d.Get(strings.Split(key, "."))
		if !ok || empty(v) {
			continue
		}
		var words []string
		texts(v, func(s string) { words = append(words, s) })
		var text strings.Builder
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false) // && of a command is shown as it is
		e.SetIndent("", "  ")
		if err := e.Encode(trust.Masked(v)); err != nil { // a number that JSON does not have
			return []trust.Item{trust.Whole(rel, whole, "what the agent makes of "+key, data)}
		}
		items = append(items, trust.New(top, dir, rel, key, text.String(), words...))
	}
	return items
}

// whole is the place of what is a whole file.
const whole = "the whole file"

// Check returns a function that refuses agents that would run something in a directory that the store has no trust in.
func Check(store trust.Store) func(agents []adapter.Descriptor, dir string) error {
	return func(agents []adapter.Descriptor, dir string) error {
		var files []settings.Unasked
		for _, d := range agents {
			files = append(files, d.Unasked...)
			if d.Unasked == nil { // another agent may be described that has the program of one
				files = append(files, Of(d.Command)...)
			}
		}
		return Hinted(store.Check(Items(files, dir)), dir)
	}
}

// Hinted returns a refusal of what would run in dir with what to type: the files of dir may be other ones than those of the root of its
// repository, or of its main work tree.
func Hinted(err error, dir string) error {
	e, ok := errors.AsType[*execution.Error](err)
	if !ok || e.Code != execution.CodeUntrusted {
		return err
	}
	if repofile.MainTree(dir) == "" {
		return e.WithHint("drawbar trust %s shows it and asks; --trust trusts it as it is", dir)
	}
	return e.WithHint("drawbar trust %s shows it and asks; if the run made this worktree, commit the change that you have trusted", dir)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// variables returns one item for the variables of a file that count.
func variables(f settings.Unasked, top, dir, rel, text string) []trust.Item {
	var lines, words []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export "))
		name, value, _ := strings.Cut(line, "=")
		if counts := func(pattern string) bool {
			ok, err := path.Match(pattern, strings.TrimSpace(name))
			return ok && err == nil
		}; slices.ContainsFunc(f.Keys, counts) {
			lines, words = append(lines, line), append(words, value)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return []trust.Item{trust.New(top, dir, rel, "variables", strings.Join(lines, "\n"), words...)}
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// texts calls fn for every text in a value.
func texts(v any, fn func(string)) {
	switch v := v.(type) {
	case string:
		fn(v)
	case []any:
		for _, e := range v {
			texts(e, fn)
		}
	case map[string]any:
		for _, e := range v {
			texts(e, fn)
		}
	}
}
