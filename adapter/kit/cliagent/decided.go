package cliagent

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/drawbar/drawbar/internal/base/repofile"
)

// Decided is a file in which an agent keeps what its user has decided about folders: a JSON object by folder.
type Decided struct {
	Path string
	// Trust says that the decisions are whether a folder is trusted, and hold for every folder below that has none. Others are objects, of
	// their own folder alone.
	Trust bool
}

// trusting are the decisions about trust: of Pi, and of Gemini CLI and Qwen Code.
var trusting = []any{nil, true, false, "TRUST_FOLDER", "TRUST_PARENT", "DO_NOT_TRUST"}

// Inherit returns the content of the file with one more decision: that of the repository for the run's directory, if this is in one of
// its linked worktrees, which the user has not decided about. ok is false if there is nothing to inherit: for a run elsewhere, and if
// the user distrusts the repository, too. A file that cannot be read, or has something else
// in it, is the agent's to report.
func (l *Launch) Inherit(d Decided) (content []byte, ok bool) {
	if l.here != "" {
		return nil, false
	}
	dir, err := filepath.EvalSymlinks(l.Request.Run.Cwd)
	if err != nil {
		return nil, false
	}
	main := repofile.MainTree(dir)
	if main == "" {
		return nil, false
	}
	decisions, err := SettingsIn(d.Path)
	if err != nil || d.find(decisions, dir) != nil {
		return nil, false
	}
	v := d.find(decisions, main)
	if v == nil || d.Trust && v != true && v != "TRUST_FOLDER" {
		return nil, false
	}
	for _, v := range decisions {
		if d.Trust && !slices.Contains(trusting, v) {
			return nil, false
		}
	}
	decisions[dir] = v
	content, err = json.Marshal(decisions)
	return content, err == nil
}

// InheritIn is Inherit for a file that a variable can name in place of d.Path. It returns the variables that make the agent read a
// private one; none if there is nothing to inherit.
func (l *Launch) InheritIn(variable string, d Decided) map[string]string {
	d.Path = cmp.Or(l.Variable(variable), d.Path)
	content, ok := l.Inherit(d)
	if !ok {
		return nil
	}
	return map[string]string{variable: l.File(filepath.Base(d.Path), content)}
}

// find returns the decision that holds for a folder: the nearest one, or nil.
func (d Decided) find(decisions map[string]any, dir string) any {
	byFolder := map[string]any{}
	for folder, v := range decisions {
		if v == "TRUST_PARENT" { // as Gemini CLI and Qwen Code note that a folder's parent is trusted
			folder, v = filepath.Dir(folder), "TRUST_FOLDER"
		}
		if resolved, err := filepath.EvalSymlinks(folder); err == nil && v != nil {
			byFolder[resolved] = v
		}
	}
	for {
		v, up := byFolder[dir], filepath.Dir(dir)
		if v != nil || !d.Trust || up == dir {
			return v
		}
		dir = up
	}
}
