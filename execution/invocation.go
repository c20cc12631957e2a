package execution

import (
	"errors"
	"path"
	"strings"
)

// Invocation is where the agent's process runs: local (also empty), ssh:[USER@]HOST[:DIR], docker:IMAGE or kubernetes:[NAMESPACE/]POD[:DIR]
// (agent-mux specification, InvocationMode). DIR is absolute, there.
type Invocation string

// InvocationLocal starts the agent on this machine.
const InvocationLocal Invocation = "local"

// Target is another place than this machine.
type Target struct {
	Kind TargetKind
	Name string // [USER@]HOST of ssh, an image, [NAMESPACE/]POD
	Dir  string // absolute, there; empty: that of the caller, or Workspace in a container
}

// TargetKind is how a target is reached.
type TargetKind string

// The kinds.
const (
	TargetSSH        TargetKind = "ssh"
	TargetDocker     TargetKind = "docker"
	TargetKubernetes TargetKind = "kubernetes"
)

// Workspace is where a container sees the caller's directory.
const Workspace = "/workspace"

// Elsewhere reports whether it is another place than this machine.
func (v Invocation) Elsewhere() bool { return v != "" && v != InvocationLocal }

// Target returns the place. It is the zero value for this machine.
func (v Invocation) Target() (Target, error) {
	if !v.Elsewhere() {
		return Target{}, nil
	}
	kind, name, _ := strings.Cut(string(v), ":")
	t := Target{Kind: TargetKind(kind), Name: name}
	switch t.Kind {
	case TargetDocker: // an image may have a port and a tag
	case TargetSSH, TargetKubernetes:
		if i := strings.Index(name, ":/"); i >= 0 {
			t.Name, t.Dir = name[:i], path.Clean(name[i+1:])
		} else if strings.Contains(name, ":") {
			return Target{}, errors.New("has a directory after the last colon that is not absolute")
		}
	default:
		return Target{}, errors.New("names no place that is known")
	}
	// It becomes an argument of a program that would take a dash for an option.
	if t.Name == "" || strings.HasPrefix(t.Name, "-") || strings.ContainsAny(t.Name, " \t\r\n\x00'\"\\`$;&|<>(){}*?!#~") {
		return Target{}, errors.New("has an empty name, or characters that names do not have")
	}
	return t, nil
}

// String names the place for people.
func (t Target) String() string { return string(t.Kind) + ":" + t.Name }

// WorkDir is the directory of the agent, for a caller that works in dir.
func (t Target) WorkDir(dir string) string {
	switch {
	case t.Kind == TargetDocker:
		return Workspace
	case t.Dir != "":
		return t.Dir
	}
	return dir
}
