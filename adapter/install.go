package adapter

import (
	"context"
	"fmt"
	"strings"
)

// Installer is an adapter that installs its agent in a way that InstallMethods cannot say (agent-mux specification,
// install and update). Without it the declared methods are carried out.
type Installer interface {
	Install(ctx context.Context, h Host, o InstallOptions) (InstallResult, error)
	Update(ctx context.Context, h Host, o InstallOptions) (InstallResult, error)
	Uninstall(ctx context.Context, h Host, o InstallOptions) (InstallResult, error)
}

// InstallMethod is one way to install an agent.
type InstallMethod struct {
	Platform string `json:"platform"` // darwin, linux, windows, all
	Type     string `json:"type"`     // npm, brew, pip, winget, script, manual
	// Package is what the package manager calls the agent; it may have options in front of it, as in "--cask claude-code".
	// The commands are made of it. For script it is empty and Command is run by a shell.
	Package  string        `json:"package,omitempty"`
	Command  string        `json:"command"` // what a person types
	Notes    string        `json:"notes,omitempty"`
	Requires []Requirement `json:"requires,omitempty"` // besides the package manager itself
	// PrerequisiteCheck is a command that succeeds where the method can be used.
	PrerequisiteCheck string `json:"prerequisiteCheck,omitempty"`
}

// Requirement is a program that an agent needs to run.
type Requirement struct {
	Command    string `json:"command"`
	MinVersion string `json:"minVersion,omitempty"`
}

// InstallOptions say what to install, and how.
type InstallOptions struct {
	Version string // exact, or what the package manager resolves (latest, a range); empty: the newest tested version
	Method  string // type of the method; empty: the first that this machine can carry out
	Force   bool   // also when that version is there already, and when a requirement is not met
	DryRun  bool   // say what would be run
	// Announce is called with each command just before it runs, as a person would type it. It may be nil.
	Announce func(command string)
}

// InstallResult is what an installation did (agent-mux specification, InstallResult).
type InstallResult struct {
	OK               bool   `json:"ok"`
	Agent            string `json:"agent"`
	Action           string `json:"action"` // install, update, uninstall
	Method           string `json:"method"`
	Command          string `json:"command"` // as a person would type it; empty when nothing had to be done
	DryRun           bool   `json:"dryRun,omitempty"`
	Stdout           string `json:"stdout,omitempty"` // the end of what the command printed
	Stderr           string `json:"stderr,omitempty"`
	InstalledVersion string `json:"installedVersion,omitempty"` // what is there afterwards
	Path             string `json:"path,omitempty"`             // what a run would start
	Message          string `json:"message,omitempty"`          // what a person should know
}

// action is what is to be done with an agent.
type action string

const (
	actionInstall   action = "install"
	actionUpdate    action = "update"
	actionUninstall action = "uninstall"
)

// managers are the package managers in the order of preference: npm first, because it alone takes a version for every
// agent and is the same on every system.
var managers = []string{"npm", "brew", "winget", "pip", "script"}

// command is what carries an action out; version is empty for what the package manager takes for the newest.
func (m InstallMethod) command(a action, version string) ([]string, error) {
	pkg := strings.Fields(m.Package)
	if m.Type != "script" && len(pkg) == 0 {
		return nil, fmt.Errorf("%s has no package", m.Type)
	}
	unpinned := func(argv ...string) ([]string, error) {
		if version != "" && a != actionUninstall {
			return nil, fmt.Errorf("%s installs what is newest; it takes no version", m.Type)
		}
		return argv, nil
	}
	switch m.Type {
	case "npm":
		if a == actionUninstall {
			return []string{"npm", "uninstall", "-g", m.Package}, nil
		}
		// Without a version npm takes an older release, silently, when the newest wants another Node.
		return []string{"npm", "install", "-g", "--no-fund", "--no-audit", m.Package + "@" + orLatest(version)}, nil
	case "brew":
		verb := map[action]string{actionInstall: "install", actionUpdate: "upgrade", actionUninstall: "uninstall"}[a]
		return unpinned(append([]string{"brew", verb}, pkg...)...)
	case "winget":
		verb := map[action]string{actionInstall: "install", actionUpdate: "upgrade", actionUninstall: "uninstall"}[a]
		argv := append([]string{"winget", verb, "--exact", "--id"}, pkg...)
		if version != "" && a != actionUninstall {
			argv = append(argv, "--version", version)
		}
		return argv, nil
	case "pip":
		switch {
		case a == actionUninstall:
			return []string{"pip", "uninstall", "--yes", m.Package}, nil
		case version != "":
			return []string{"pip", "install", m.Package + "==" + version}, nil
		}
		return []string{"pip", "install", "--upgrade", m.Package}, nil
	case "script":
		if a == actionUninstall {
			return nil, fmt.Errorf("what a script installed has to be removed by hand")
		}
		return unpinned("sh", "-c", m.Command)
	}
	return nil, fmt.Errorf("%s is not done by a command: %s", m.Type, m.Notes)
}

// manager is the program that carries the method out.
func (m InstallMethod) manager() string {
	if m.Type == "script" {
		return "sh"
	}
	return m.Type
}

func orLatest(version string) string {
	if version == "" {
		return "latest"
	}
	return version
}

// typed is a command as a person would type it in a shell.
func typed(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n\"'`$&|;<>()*?[]{}~#!\\") {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
