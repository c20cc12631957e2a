package acpagent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/drawbar/drawbar/transport/jsonscan"
)

// AuthMethod is a login method that an agent offers.
type AuthMethod struct {
	ID, Name, Description string
}

// ToolCall is what is known about a tool call so far. The agent's updates are merged into it.
type ToolCall struct {
	ID     string
	Title  string          // for display
	Kind   string          // read, edit, delete, move, search, execute, think, fetch, switch_mode, other; empty if not stated
	Name   string          // the tool, if the agent states it
	Status string          // pending, in_progress, completed, failed
	Input  json.RawMessage // rawInput, nil if not stated
	Output json.RawMessage // rawOutput, nil if not stated
	Meta   json.RawMessage // _meta of the last update that had one
	// Terminal is the output of the call's command, if the agent reports it in pieces in _meta.
	Terminal string
	// Content is what the call shows, Locations are its files.
	Content   []Content
	Locations []string
}

// Content is a part of a tool call's content: a text, an image, a file change, or something else.
type Content struct {
	Text  string
	Image *Image
	Diff  *Diff
}

// Image is an image as base64.
type Image struct{ MimeType, Data string }

// Diff is the change of a file. Old is nil for a new or formerly empty file.
type Diff struct {
	Path string
	Old  *string
	New  string
}

// Shell is a call that runs a command.
type Shell struct {
	Command  string
	Cwd      string
	Output   string // of the command so far; complete when the call has ended
	ExitCode *int   // nil if unknown
}

// Subagent is a call that starts a sub-agent.
type Subagent struct {
	Name, Prompt string
	Summary      string // of its work, when the call has ended
	Failure      string // why it failed, if the call itself did not
	Running      bool   // it continues after the call
}

// Text returns all text of the call's content.
func (c *ToolCall) Text() string {
	var parts []string
	for _, p := range c.Content {
		if p.Text != "" {
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// InputField returns a string member of the call's input, empty if there is none.
func (c *ToolCall) InputField(name string) string { return field(c.Input, name).Str() }

// OutputField returns a member of the call's output.
func (c *ToolCall) OutputField(name string) jsonscan.Value { return field(c.Output, name) }

// MetaField returns a value of the call's _meta by its path.
func (c *ToolCall) MetaField(path ...string) jsonscan.Value { return field(c.Meta, path...) }

func field(raw json.RawMessage, path ...string) jsonscan.Value {
	v, err := jsonscan.Parse(raw)
	if err != nil {
		return jsonscan.Value{}
	}
	for _, name := range path {
		v = v.Get(name)
	}
	return v
}

// DefaultToolName returns the name that the agent states, else the kind of the call, else its title.
func DefaultToolName(c *ToolCall) string {
	switch {
	case c.Name != "":
		return c.Name
	case c.Kind != "" && c.Kind != kindOther:
		return c.Kind
	case c.Title != "":
		return c.Title
	}
	return "tool"
}

// DefaultMCPTool searches a call's names for the name of a server of the request: server-tool, server_tool,
// mcp__server__tool, mcp_server_tool, "tool (server MCP Server)" and the like. Calls with a kind of their own, such
// as commands and file changes, are excluded.
func DefaultMCPTool(c *ToolCall, servers []string) (server, tool string, ok bool) {
	if c.Kind != "" && c.Kind != kindOther && c.Kind != kindFetch {
		return "", "", false
	}
	for _, s := range servers {
		for _, called := range []string{c.Name, c.Title} {
			if tool, ok := strings.CutSuffix(called, " ("+s+" MCP Server)"); ok && tool != "" {
				return s, tool, true
			}
			for _, before := range []string{"mcp__" + s + "__", "mcp_" + s + "_", s + "__", s + "_", s + "-", s + "/", s + "."} {
				if tool, ok := strings.CutPrefix(called, before); ok && tool != "" && !strings.ContainsAny(tool, " \n") {
					return s, tool, true
				}
			}
		}
	}
	return "", "", false
}

// commandOf returns the exact command of a call's input, empty if it has none.
func commandOf(input json.RawMessage) string {
	v := field(input, "command")
	if line := v.Str(); line != "" {
		return line
	}
	var words []string
	for _, w := range v.Array {
		word := w.Str()
		if word == "" || strings.ContainsFunc(word, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./=:,+@%", r)
		}) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// DefaultShell treats a call of kind execute as a command: that of its input, else its title. Its content is the
// output.
func DefaultShell(c *ToolCall) (Shell, bool) {
	if c.Kind != kindExecute {
		return Shell{}, false
	}
	sh := Shell{Command: c.InputField("command"), Cwd: c.InputField("cwd"), Output: c.Text()}
	if sh.Output == "" {
		sh.Output = c.Terminal
	}
	if code, ok := c.MetaField("terminal_exit", "exit_code").Int(); ok {
		sh.ExitCode = new(int(code))
	}
	if sh.Command == "" {
		var words []string
		for _, w := range field(c.Input, "command").Array {
			words = append(words, w.Str())
		}
		sh.Command = strings.Join(words, " ")
	}
	if sh.Command == "" {
		sh.Command = c.Title
	}
	return sh, true
}

// merge merges an update.
func (c *ToolCall) merge(u *ToolCall) {
	for _, f := range []struct{ into, from *string }{{&c.Title, &u.Title}, {&c.Kind, &u.Kind}, {&c.Name, &u.Name}, {&c.Status, &u.Status}} {
		if *f.from != "" {
			*f.into = *f.from
		}
	}
	for _, f := range []struct{ into, from *json.RawMessage }{{&c.Input, &u.Input}, {&c.Output, &u.Output}, {&c.Meta, &u.Meta}} {
		if *f.from != nil {
			*f.into = *f.from
		}
	}
	c.Terminal += u.Terminal
	if u.Content != nil {
		c.Content = u.Content
	}
	if u.Locations != nil {
		c.Locations = u.Locations
	}
}

// clone returns a copy of a value's bytes, nil for none and for null.
func clone(v jsonscan.Value) json.RawMessage {
	if !v.Exists() || v.Kind() == jsonscan.Null {
		return nil
	}
	return bytes.Clone(v.Raw())
}

// empty reports whether an input has no content.
func empty(raw json.RawMessage) bool {
	return len(raw) == 0 || slices.Contains([]string{"{}", "null", `""`}, string(raw))
}
