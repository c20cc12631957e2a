package toolcall

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Kind is what a tool does. Search and Fetch have no events of their own.
type Kind uint8

// The kinds of tools.
const (
	Other  Kind = iota
	Shell       // runs a command
	Read        // reads a file
	Write       // writes a whole file
	Edit        // changes a file
	Agent       // starts a sub-agent
	Skill       // uses a skill
	Search      // lists or searches files
	Fetch       // reaches the network
	kindCount
)

// Tools lists the agent's names of its tools by kind. Tools that are not listed are of kind Other.
type Tools [kindCount][]string

// Input names the input members that events derive from; an empty name means the agent's tools lack it.
type Input struct {
	Path, OtherPath string // of the file
	Command         string
	Agent, Prompt   string // of the sub-agent
	Content         string // of the file to write
	Skill           string // name of the skill
	Old             string // text that an edit replaces; empty for a new file
}

// Table declares the tools of an agent. It is used by pointer, and is safe for concurrent use.
type Table struct {
	Tools        Tools
	Input        Input
	DefaultAgent string // name of a sub-agent if the call names none
	Deferred     string // tool that calls another: its input is {"name":..., "arguments":...}
	MCP          Naming
	Apart        bool // files and ends of sub-agents are reported in separate lines, from which the vendor emits the events

	prepare sync.Once
	keys    *jsonscan.KeySet
	member  [memberCount]int // index of each member in keys, -1 for none
}

const (
	memberPath = iota
	memberOtherPath
	memberCommand
	memberAgent
	memberPrompt
	memberContent
	memberOld
	memberSkill
	memberCount
)

// Kind returns what a tool does, by the agent's name of it.
func (t *Table) Kind(tool string) Kind {
	for k, names := range t.Tools {
		if slices.Contains(names, tool) {
			return Kind(k)
		}
	}
	return Other
}

func (t *Table) indexMembers() {
	var names []string
	for i, name := range [memberCount]string{t.Input.Path, t.Input.OtherPath, t.Input.Command, t.Input.Agent, t.Input.Prompt,
		t.Input.Content, t.Input.Old, t.Input.Skill} {
		t.member[i] = -1
		if name != "" {
			t.member[i] = len(names)
			names = append(names, name)
		}
	}
	t.keys = jsonscan.NewKeySet(names...)
}

// input reads the members of a call's input; ok is false if it is not an object.
func (t *Table) input(v jsonscan.Value) (in [memberCount]jsonscan.Value, ok bool) {
	t.prepare.Do(t.indexMembers)
	var found [memberCount]jsonscan.Value
	if !v.Fields(found[:t.keys.Len()], t.keys) {
		return in, false
	}
	for i, at := range t.member {
		if at >= 0 {
			in[i] = found[at]
		}
	}
	return in, true
}

// Naming is how an agent names a tool of an MCP server: prefix, server, separator, tool.
type Naming struct {
	Prefix, Separator string
	Known             bool                // only names of known servers are split
	Spell             func(string) string // how it writes a server and a tool in a name; nil as they are
}

// Name is the name of a server's tool.
func (n Naming) Name(server, tool string) string {
	return n.Prefix + n.spell(server) + n.Separator + n.spell(tool)
}

func (n Naming) spell(part string) string {
	if n.Spell == nil {
		return part
	}
	return n.Spell(part)
}

// Split splits the name of an MCP server's tool. Both parts may contain the separator, so the longest known server
// that matches takes precedence over the first separator. server is empty for other tools.
func (n Naming) Split(name string, known iter.Seq[string]) (server, tool string) {
	rest, ok := strings.CutPrefix(name, n.Prefix)
	if !ok || n.Separator == "" {
		return "", ""
	}
	for k := range known {
		if after, ok := strings.CutPrefix(rest, n.spell(k)+n.Separator); ok && after != "" && len(k) > len(server) {
			server, tool = k, after
		}
	}
	if server != "" || n.Known {
		return server, tool
	}
	server, tool, _ = strings.Cut(rest, n.Separator)
	if server == "" || tool == "" {
		return "", ""
	}
	return server, tool
}
