package toolcall

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// kinds are the kinds of tools by what a person may allow or deny.
var kinds = [kindCount]execution.ToolKind{Shell: execution.ToolShell, Read: execution.ToolRead, Search: execution.ToolRead, Write: execution.ToolEdit, Edit: execution.ToolEdit,
	Fetch: execution.ToolFetch, Agent: execution.ToolAgent, Skill: execution.ToolSkill}

// Use returns what a call would do. A tool that the table does not list runs a command if its input has one, and edits if its input has a
// path and a content.
func (t *Table) Use(name string, input json.RawMessage) (u execution.ToolUse) {
	if server, tool := t.MCP.Split(name, slices.Values([]string(nil))); server != "" {
		return execution.ToolUse{Kind: execution.ToolMCP, Server: server, Tool: tool}
	}
	kind := t.Kind(name)
	u.Kind = kinds[kind]
	value, err := jsonscan.Parse(input)
	if err != nil {
		return u
	}
	in, ok := t.input(value)
	if !ok {
		return u
	}
	file := in[memberPath].Str()
	if file == "" {
		file = in[memberOtherPath].Str()
	}
	command := in[memberCommand].Str()
	if kind == Other {
		switch {
		case command != "":
			u.Kind = execution.ToolShell
		case file != "" && (in[memberContent].Exists() || in[memberOld].Exists()):
			u.Kind = execution.ToolEdit
		}
	}
	switch u.Kind {
	case execution.ToolShell:
		u.Command = command
	case execution.ToolRead, execution.ToolEdit:
		if file != "" {
			u.Paths = append(u.Paths, file)
		}
		if kind == Search {
			u.Paths = append(u.Paths, searched(value)...)
		}
		if u.Kind == execution.ToolEdit && file == "" {
			for _, v := range value.Object {
				u.Paths = append(u.Paths, patched(v.Str())...)
			}
		}
	}
	return u
}

// searched returns where a call searches: the folders and the patterns that its input names, else the working directory.
func searched(input jsonscan.Value) (paths []string) {
	for key, v := range input.Object {
		text := v.Str()
		switch name := string(key); {
		case text == "":
		case name == "path" || name == "dir_path" || name == "directory":
			paths = append(paths, text)
		case (name == "pattern" || name == "glob" || name == "include") && (filepath.IsAbs(text) || strings.Contains(text, "..")):
			paths = append(paths, text) // the pattern of a search for names may lead elsewhere
		}
	}
	if len(paths) == 0 {
		return []string{"."}
	}
	return paths
}

// patched returns the files of a patch in the form of apply_patch: *** Update File: PATH.
func patched(patch string) (paths []string) {
	for line := range strings.Lines(patch) {
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if file, ok := strings.CutPrefix(strings.TrimSpace(line), head); ok && file != "" {
				paths = append(paths, file)
			}
		}
	}
	return paths
}

// CutExitCode splits the text of a command that failed as Claude Code words it for its model: "Exit code N", a line break, its output.
func CutExitCode(text string) (code int, output string, ok bool) {
	after, ok := strings.CutPrefix(text, "Exit code ")
	if !ok {
		return 0, "", false
	}
	digits, output, _ := strings.Cut(after, "\n")
	code, err := strconv.Atoi(strings.TrimSpace(digits))
	return code, output, err == nil
}
