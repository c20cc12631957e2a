package codetool

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/drawbar/drawbar/internal/base/repofile"
)

// ignoreFile lists what a repository does not keep (https://git-scm.com/docs/gitignore): usually what a build makes.
const ignoreFile = ".gitignore"

// The bounds of such files.
const (
	maxIgnoreFile = 64 << 10
	maxRules      = 500
)

// ignored are the rules of the folders on the way to a file. The last one that matches decides.
type ignored struct {
	root  root
	rules []rule
	read  map[string]bool // folders whose file was read
}

type rule struct {
	glob         string // for a path from the root
	folder, keep bool   // only for folders; what matches is kept
}

// enter reads the rules of a folder and of those above it.
func (g *ignored) enter(dir string) {
	if dir != "." {
		g.enter(path.Dir(dir))
	}
	if g.read[dir] || len(g.rules) > maxRules {
		return
	}
	if g.read == nil {
		g.read = map[string]bool{}
	}
	g.read[dir] = true
	file, info, err := repofile.OpenPlain(g.root.Root, path.Join(dir, ignoreFile))
	if err != nil {
		return
	}
	_ = file.Close() // opened read-only
	if info.Size() > maxIgnoreFile {
		return
	}
	text, err := g.root.ReadFile(path.Join(dir, ignoreFile))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		if r, ok := parseRule(dir, line); ok {
			g.rules = append(g.rules, r)
		}
	}
}

// parseRule reads a line of the file in a folder.
func parseRule(dir, line string) (r rule, ok bool) {
	line = strings.TrimRight(line, " \t\r\n")
	if line == "" || line[0] == '#' {
		return r, false
	}
	line, r.keep = strings.CutPrefix(line, "!")
	line, r.folder = strings.CutSuffix(line, "/")
	if anchored := strings.Contains(line, "/"); anchored {
		line = strings.TrimPrefix(line, "/")
	} else {
		line = "**/" + line
	}
	if dir != "." {
		line = escape.Replace(dir) + "/" + line
	}
	r.glob = line
	return r, line != "" && doublestar.ValidatePattern(line)
}

var escape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`)

// has reports whether the rules leave out a file or a folder. That of a folder above it was asked before.
func (g *ignored) has(name string, folder bool) bool {
	for _, r := range slices.Backward(g.rules) {
		if r.folder && !folder {
			continue
		}
		if ok, err := doublestar.Match(r.glob, name); ok && err == nil {
			return !r.keep
		}
	}
	return false
}
