package adapter

import "context"

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
