// Package toolrule matches tool calls against the rules of a person: which calls are allowed, and which are denied, without asking.
//
// A rule is a name, or a name with a pattern: Read, Edit(docs/**), Bash(go test:*), MCP(github/*), WebSearch.
package toolrule

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/drawbar/drawbar/execution"
)

// Use is one call of a tool.
type Use struct {
	execution.ToolUse
	Name string // the agent's own name of the tool
	Dir  string // working directory of the run, absolute
}

// names are the spellings of the kinds in rules.
var names = map[string]execution.ToolKind{"read": execution.ToolRead, "edit": execution.ToolEdit, "write": execution.ToolEdit, "bash": execution.ToolShell, "shell": execution.ToolShell,
	"fetch": execution.ToolFetch, "agent": execution.ToolAgent, "skill": execution.ToolSkill, "mcp": execution.ToolMCP}

// Rule is a parsed rule.
type Rule struct {
	text    string
	kind    execution.ToolKind
	name    string   // the agent's own name of a tool, if kind is empty
	pattern string   // empty: every call
	words   []string // of a shell pattern
	prefix  bool     // more words may follow
}

// String returns the rule as it was written.
func (r Rule) String() string { return r.text }

// Parse reads a rule. The error says what is wrong with it.
func Parse(text string) (Rule, error) {
	text = strings.TrimSpace(text)
	name, rest, bracket := strings.Cut(text, "(")
	r := Rule{text: text, kind: names[strings.ToLower(name)], name: name}
	switch {
	case name == "" || strings.ContainsAny(text, "\n\r\x00"):
		return Rule{}, fmt.Errorf("the rule %q has no tool; a rule is TOOL or TOOL(PATTERN), such as Read or Bash(go test:*)", text)
	case strings.ContainsAny(name, " )*"):
		return Rule{}, fmt.Errorf("the rule %q: %q is not the name of a tool", text, name)
	case !bracket:
		return r, nil
	case !strings.HasSuffix(rest, ")"):
		return Rule{}, fmt.Errorf("the rule %q does not end with a bracket", text)
	}
	if r.pattern = strings.TrimSpace(strings.TrimSuffix(rest, ")")); r.pattern == "" {
		return Rule{}, fmt.Errorf("the rule %q has an empty pattern; without brackets it means every call of %s", text, name)
	}
	switch r.kind {
	case execution.ToolShell:
		return r.shell()
	case execution.ToolRead, execution.ToolEdit:
		if !doublestar.ValidatePattern(filepath.ToSlash(r.pattern)) {
			return Rule{}, fmt.Errorf("the rule %q: %q is not a pattern of paths", text, r.pattern)
		}
	case execution.ToolMCP:
		if _, err := path.Match(r.pattern, ""); err != nil || strings.Count(r.pattern, "/") > 1 {
			return Rule{}, fmt.Errorf("the rule %q: %q is not SERVER or SERVER/TOOL", text, r.pattern)
		}
	default:
		return Rule{}, fmt.Errorf("the rule %q: %s takes no pattern", text, name)
	}
	return r, nil
}

// Rules are parsed rules.
type Rules []Rule

// ParseAll parses rules and reports the first fault.
func ParseAll(texts []string) (list Rules, err error) {
	for _, text := range texts {
		r, err := Parse(text)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// Allow returns the rule that allows a call. All parts of the call must be allowed: every command of a command line, every file.
// What is not known is not allowed.
func (rs Rules) Allow(u Use) (Rule, bool) {
	if u.Kind == execution.ToolShell {
		if r, ok := rs.allowShell(u.Command); ok {
			return r, true
		}
	}
	for _, r := range rs {
		if r.matches(u, false) {
			return r, true
		}
	}
	return Rule{}, false
}

// Deny returns the rule that denies a call. One part of the call is enough. What is not known is denied by every rule for its kind. A rule
// for commands looks at their words; it is no sandbox.
func (rs Rules) Deny(u Use) (Rule, bool) {
	for _, r := range rs {
		if r.matches(u, true) {
			return r, true
		}
	}
	return Rule{}, false
}

// matches reports whether the rule applies to a call; deny applies it to any part, else to all.
func (r Rule) matches(u Use, deny bool) bool {
	if r.kind == "" || r.kind != u.Kind {
		return r.pattern == "" && u.Name != "" && r.name == u.Name
	}
	switch {
	case r.pattern == "":
		return true
	case r.kind == execution.ToolShell:
		return deny && r.deniesShell(u.Command)
	case r.kind == execution.ToolMCP:
		return r.server(u)
	case len(u.Paths) == 0:
		return deny
	case deny:
		return slices.ContainsFunc(u.Paths, func(p string) bool { return r.path(u.Dir, p, true) })
	}
	return !slices.ContainsFunc(u.Paths, func(p string) bool { return !r.path(u.Dir, p, false) })
}

func (r Rule) server(u Use) bool {
	server, tool, one := strings.Cut(r.pattern, "/")
	same, _ := path.Match(server, u.Server) // Parse checked both
	if same && one {
		same, _ = path.Match(tool, u.Tool)
	}
	return same
}

// path reports whether the pattern matches a file. deny looks at its name as well as at where it is, allow only at where it is.
func (r Rule) path(dir, file string, deny bool) bool {
	at := absolute(dir, file)
	if r.matchPath(real(dir), real(at), deny) {
		return true
	}
	return deny && r.matchPath(dir, at, deny)
}

func (r Rule) matchPath(dir, file string, deny bool) bool {
	pattern := filepath.ToSlash(r.pattern)
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return deny
		}
		pattern = filepath.ToSlash(real(home)) + "/" + rest
	}
	if !path.IsAbs(pattern) && !filepath.IsAbs(r.pattern) {
		rel, err := filepath.Rel(dir, file)
		if err != nil || !filepath.IsLocal(rel) {
			return false
		}
		file, pattern = rel, strings.TrimPrefix(pattern, "./")
	}
	file = filepath.ToSlash(file)
	if deny && (runtime.GOOS == "darwin" || runtime.GOOS == "windows") { // where another spelling may be the same file
		file, pattern = strings.ToLower(file), strings.ToLower(pattern)
	}
	return doublestar.MatchUnvalidated(pattern, file)
}

// Inside reports whether all files of a call are known and inside its directory, wherever links lead.
func (u Use) Inside() bool {
	return len(u.Paths) > 0 && !slices.ContainsFunc(u.Paths, func(p string) bool {
		rel, err := filepath.Rel(real(u.Dir), real(absolute(u.Dir, p)))
		return err != nil || !filepath.IsLocal(rel)
	})
}

func absolute(dir, file string) string {
	switch {
	case filepath.IsAbs(file), filepath.VolumeName(file) != "": // C:x is relative to the current directory of drive C, which is unknown
		return filepath.Clean(file)
	case file != "" && os.IsPathSeparator(file[0]): // on Windows, /x is on the drive of dir
		return filepath.Join(filepath.VolumeName(dir), file)
	}
	return filepath.Join(dir, file)
}

// real resolves the links of a path as far as it exists.
func real(file string) string {
	for at, rest := file, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if resolved, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(resolved, rest)
		}
		if filepath.Dir(at) == at {
			return file
		}
	}
}
