package adapter

import "context"

// Installer is an adapter that installs its agent in a way that InstallMethods cannot describe (agent-mux
// specification, install and update). Without it the declared methods are used.
type Installer interface {
	Install(ctx context.Context, h Host, o InstallOptions) (InstallResult, error)
	Update(ctx context.Context, h Host, o InstallOptions) (InstallResult, error)
	Uninstall(ctx context.Context, h Host, o InstallOptions) (InstallResult, error)
}

// InstallMethod is one way to install an agent.
type InstallMethod struct {
	Platform string `json:"platform"` // darwin, linux, windows, all
	Type     string `json:"type"`     // npm, brew, pip, winget, script, manual
	// Package is the package manager's name of the agent, optionally preceded by options, as in "--cask
	// claude-code". Commands are built from it. For script it is empty and a shell runs Command.
	Package  string        `json:"package,omitempty"`
	Command  string        `json:"command"` // as a person types it
	Notes    string        `json:"notes,omitempty"`
	Requires []Requirement `json:"requires,omitempty"` // besides the package manager itself
	// PrerequisiteCheck is a command that succeeds if the method can be used.
	PrerequisiteCheck string `json:"prerequisiteCheck,omitempty"`
}

// Requirement is a program that an agent needs to run.
type Requirement struct {
	Command    string `json:"command"`
	MinVersion string `json:"minVersion,omitempty"`
}

// InstallOptions say what to install and how.
type InstallOptions struct {
	Version string // exact, or resolved by the package manager (latest, a range); empty: the newest tested version
	Method  string // type of the method; empty: the first that works on this machine
	Force   bool   // even if that version is installed or a requirement is not met
	DryRun  bool   // report the commands without running them
	// Announce is called with each command just before it runs, as a person would type it. May be nil.
	Announce func(command string)
}

// InstallResult is the result of an installation (agent-mux specification, InstallResult).
type InstallResult struct {
	OK               bool   `json:"ok"`
	Agent            string `json:"agent"`
	Action           string `json:"action"` // install, update, uninstall
	Method           string `json:"method"`
	Command          string `json:"command"` // as a person would type it; empty if nothing had to be done
	DryRun           bool   `json:"dryRun,omitempty"`
	Stdout           string `json:"stdout,omitempty"` // the end of the command's output
	Stderr           string `json:"stderr,omitempty"`
	InstalledVersion string `json:"installedVersion,omitempty"` // installed afterwards
	Path             string `json:"path,omitempty"`             // the program that a run would start
	Message          string `json:"message,omitempty"`          // information for the person
}
