package declared

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/settings"
)

// Table is what an agent declares. Parts that the adapter does not embed may be empty.
type Table struct {
	Agent   string // registered name
	Command string // program
	Home    Dir    // folder of the user's settings
	Project string // folder of a project's settings: .claude
	Model   Model
	Models  *ModelTable // the command that lists models, nil for none
	// Note returns a warning about an installation of a version, empty for none; it may be nil.
	Note    Note
	Skills  Folders
	Hooks   *HookTable
	Plugins *PluginTable
	Login   *LoginTable
}

// Declares is a type without fields whose method always returns the same table.
type Declares interface{ Table() *Table }

func of[D Declares]() *Table {
	var d D
	return d.Table()
}

// Of combines skills, sub-agents, hooks, plugins and a login. An agent with fewer embeds the parts.
type Of[D Declares] struct {
	SkillsOf[D]
	HooksOf[D]
	PluginsOf[D]
	LoginsOf[D]
}

// Dir is a folder in the user's home directory that a variable may relocate.
type Dir struct {
	Default  string // in the home directory: .claude
	Variable string
	Below    string // subfolder of the variable's folder; empty for none
	Tilde    bool   // the variable's value may begin with ~
}

// In returns the folder on a machine.
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

// Of returns the folder that a run uses on this machine.
func (d Dir) Of(l *cliagent.Launch) string {
	home := l.Variable("HOME")
	if runtime.GOOS == "windows" {
		home = l.Variable("USERPROFILE")
	}
	return d.In(adapter.Host{Home: home, Getenv: l.Variable})
}

// Path returns a file or folder within it.
func (d Dir) Path(h adapter.Host, name string) string { return filepath.Join(d.In(h), name) }

// Read reads a file within it.
func (d Dir) Read(h adapter.Host, name string) ([]byte, error) { return Read(h, d.Path(h, name)) }

// Read reads a file on the machine.
func Read(h adapter.Host, path string) ([]byte, error) {
	name, err := h.Name(path)
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(h.FS, name)
}

// settingsDir returns the folder of settings, skills and hooks in a scope, and the project that must contain it.
func (t *Table) settingsDir(h adapter.Host, scope settings.Scope, dir string) (folder, within string) {
	if scope == settings.Project {
		return filepath.Join(dir, t.Project), dir
	}
	return t.Home.In(h), ""
}
