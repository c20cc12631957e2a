package declared

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
)

// Table is what an agent declares. Parts that it does not embed may be left empty.
type Table struct {
	Agent   string // its registered name
	Command string // its program
	Home    Dir    // where it keeps what is the user's
	Project string // the folder of a project where it keeps what is the project's: .claude
	Model   Model
	// Note says what is wrong with an installation of a version, empty for nothing; nil where nothing can be.
	Note    Note
	Skills  Folders
	Hooks   *HookTable
	Plugins *PluginTable
	Login   *LoginTable
}

// Declares is a type without fields whose method returns an agent's table, always the same.
type Declares interface{ Table() *Table }

func of[D Declares]() *Table {
	var d D
	return d.Table()
}

// Of has all that an agent with skills, sub-agents, hooks, plugins and a login has. An agent with fewer embeds the parts.
type Of[D Declares] struct {
	SkillsOf[D]
	HooksOf[D]
	PluginsOf[D]
	LoginsOf[D]
}

// Dir is a folder in the user's home directory that a variable may place elsewhere.
type Dir struct {
	Default  string // in the home directory: .claude
	Variable string
	Below    string // the folder within that which the variable names, empty for itself
	Tilde    bool   // the variable's value may begin with ~
}

// In is the folder on a machine.
func (d Dir) In(h adapter.Host) string {
	dir := h.Getenv(d.Variable)
	switch {
	case dir == "":
		return filepath.Join(h.Home, d.Default)
	case d.Tilde && dir == "~":
		dir = h.Home
	case d.Tilde && (strings.HasPrefix(dir, "~/") || strings.HasPrefix(dir, `~\`)):
		dir = filepath.Join(h.Home, dir[2:])
	}
	if d.Below != "" {
		return filepath.Join(dir, d.Below)
	}
	return dir
}

// Path is a file or folder within it.
func (d Dir) Path(h adapter.Host, name string) string { return filepath.Join(d.In(h), name) }

// Read reads a file within it.
func (d Dir) Read(h adapter.Host, name string) ([]byte, error) { return Read(h, d.Path(h, name)) }

// Read reads a file of the machine.
func Read(h adapter.Host, path string) ([]byte, error) {
	name, err := h.Name(path)
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(h.FS, name)
}

// settingsDir is where an agent reads settings, skills and hooks of a scope, and the project that they must not lead out of.
func (t *Table) settingsDir(h adapter.Host, scope adapter.ConfigScope, dir string) (folder, within string) {
	if scope == adapter.ScopeProject {
		return filepath.Join(dir, t.Project), dir
	}
	return t.Home.In(h), ""
}
