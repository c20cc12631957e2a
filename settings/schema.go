// Package settings defines the words for what a user configures of an agent: its settings files and their fields, MCP
// servers, hooks, plugins, and folders of skills. They are values; package adapter/kit/agentconfig reads and changes the files.
package settings

import (
	"path"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Schema describes an agent's configuration files, their fields, and the names of Drawbar's own fields in
// them. It is all that is needed to read and change them; adapters have no code for it.
type Schema struct {
	Agent              string    `json:"agent"`
	Version            string    `json:"version,omitempty"` // of the agent that the schema was checked against
	Fields             []Field   `json:"fields"`
	ConfigFiles        []string  `json:"configFilePaths"`        // global, ~ for the home directory
	ProjectConfigFiles []string  `json:"projectConfigFilePaths"` // relative to the project
	Format             string    `json:"configFormat"`           // json, jsonc, json5, toml, yaml
	SupportsProject    bool      `json:"supportsProjectConfig"`
	Files              []File    `json:"files,omitempty"` // the same files in detail
	MCP                *MCPShape `json:"mcp,omitempty"`   // the format of MCP servers; nil if they cannot be configured
}

// Scope is the scope of a setting. A narrower scope wins.
type Scope string

// The scopes, widest first.
const (
	Global  Scope = "global"  // this user, everywhere
	Project Scope = "project" // everyone in this project
	Local   Scope = "local"   // this user in this project
	Both    Scope = "both"    // of a field: global and project
)

// Scopes are the scopes of files; later ones win.
var Scopes = []Scope{Global, Project, Local}

// MainFile is the ID of the files that contain every field without a File.
const MainFile = "settings"

// File is one configuration file of an agent.
type File struct {
	ID    string `json:"id"` // referenced by fields; empty means MainFile
	Scope Scope  `json:"scope"`
	// Path begins with ~/ or / outside the project, else it is relative to the project.
	Path string `json:"path"`
	// Moved is the file's path if a variable is set: "$CODEX_HOME/config.toml".
	Moved  string `json:"movedTo,omitempty"`
	Format string `json:"format"`
	// Prefix is the path of the object that contains the fields. The element {project} stands for the project's
	// directory.
	Prefix []string `json:"prefix,omitempty"`
	// AtRoot says that the project's directory is the root of its git repository, if it has one.
	AtRoot bool   `json:"atRepositoryRoot,omitempty"`
	Note   string `json:"note,omitempty"` // what to know before writing it
}

// The types of settings.
const (
	TypeString     = "string"
	TypeNumber     = "number"
	TypeInteger    = "integer"
	TypeBoolean    = "boolean"
	TypeEnum       = "enum"
	TypeStringList = "string[]"
	TypeObject     = "object"
	TypeMCPServers = "McpServerConfig[]"
)

var Types = []string{TypeString, TypeNumber, TypeInteger, TypeBoolean, TypeEnum, TypeStringList, TypeObject, TypeMCPServers}

// MergeUnion is the Field.Merge of a list that joins the elements of all scopes.
const MergeUnion = "union"

// Field is one setting of an agent.
type Field struct {
	Path        string   `json:"path"` // the setting's name: Drawbar's own if Normalized
	Label       string   `json:"label,omitempty"`
	Description string   `json:"description,omitempty"`
	Type        string   `json:"type"`
	Required    bool     `json:"required,omitempty"`
	Default     any      `json:"defaultValue,omitempty"`
	Enum        []string `json:"enumValues,omitempty"` // the agent's words
	Values      []Value  `json:"values,omitempty"`     // Drawbar's words for some of them
	Min         *float64 `json:"min,omitempty"`
	Max         *float64 `json:"max,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
	Normalized  bool     `json:"normalized"`
	Native      string   `json:"nativeKeyPath"`  // dotted; a key that contains a dot is quoted
	Scope       Scope    `json:"scope"`          // global, project or both
	File        string   `json:"file,omitempty"` // the ID of its files; empty means MainFile
	Secret      bool     `json:"secret,omitempty"`
	Merge       string   `json:"merge,omitempty"`      // MergeUnion for a list that the agent joins across files; else the narrowest wins
	Deprecated  string   `json:"deprecated,omitempty"` // what to use instead
	Variable    string   `json:"variable,omitempty"`   // environment variable that overrides every file
}

// Value maps one of Drawbar's words to the agent's.
type Value struct {
	Value  string `json:"value"`
	Native string `json:"native"`
}

// MCPShape is an agent's format of MCP servers: an object by name, under the field mcpServers.
type MCPShape struct {
	Kinds []MCPKind `json:"kinds"`
	// TypeKey is the key with an entry's type; empty means "type".
	TypeKey string `json:"typeKey,omitempty"`
	// Other are the types of entries beside the servers, which are skipped.
	Other []string `json:"other,omitempty"`
}

// MCPKind is the format of servers of one transport. A kind without an address key has a command, arguments and variables.
type MCPKind struct {
	Transport execution.MCPTransport `json:"transport"`
	Type      string                 `json:"type,omitempty"`    // the value of the type key; empty if there is none
	Aliases   []string               `json:"aliases,omitempty"` // other types with the same meaning
	URL       string                 `json:"url,omitempty"`     // the key of the address
	Headers   string                 `json:"headers,omitempty"` // the key of the headers; empty if there are none
	Command   string                 `json:"command,omitempty"` // the key of the command; empty means "command"
	Line      bool                   `json:"line,omitempty"`    // the command is a list with its arguments, which have no key "args"
	Env       string                 `json:"env,omitempty"`     // the key of the variables; empty means "env"
	Name      string                 `json:"name,omitempty"`    // a key with the server's name; empty if there is none
	Constant  map[string]any         `json:"constant,omitempty"`
}

// NewSchema returns a schema whose file lists derive from files. The first file determines the format.
func NewSchema(agent, version string, files []File, mcp *MCPShape, fields []Field) Schema {
	s := Schema{Agent: agent, Version: version, Fields: fields, Files: files, MCP: mcp}
	for i, f := range files {
		if f.ID == "" {
			s.Files[i].ID = MainFile
		}
		if s.Format == "" {
			s.Format = f.Format
		}
		list := &s.ProjectConfigFiles
		if strings.HasPrefix(f.Path, "~/") || path.IsAbs(f.Path) {
			list = &s.ConfigFiles
		}
		if !slices.Contains(*list, f.Path) {
			*list = append(*list, f.Path)
		}
		s.SupportsProject = s.SupportsProject || f.Scope == Project
	}
	for i := range s.Fields {
		if s.Fields[i].Scope == "" {
			s.Fields[i].Scope = Both
		}
	}
	return s
}

// Field returns a setting by name.
func (s Schema) Field(name string) (Field, bool) {
	i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Path == name })
	if i < 0 {
		return Field{}, false
	}
	return s.Fields[i], true
}
