package external

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/internal/base/repofile"
)

// Prefix begins the name of every external adapter; the agent's name follows.
const Prefix = "drawbar-adapter-"

// Search finds external adapters on the search path. Programs that other users or the project control are passed over. It
// implements catalog.Finder and is safe for concurrent use.
type Search struct {
	Host    adapter.Host
	Environ []string // with PATH, and on Windows PATHEXT
	Project string   // the project, whose programs are passed over; empty for none
}

// Find starts the program of an agent and describes it. The error matches fs.ErrNotExist if there is none.
func (s Search) Find(name string) (adapter.Descriptor, error) {
	for _, p := range lookpath.Prefixed(s.Environ, Prefix) {
		if p.Name != Prefix+name {
			continue
		}
		if why := s.passOver(p.Path); why != "" {
			return adapter.Descriptor{}, execution.Errorf(execution.CodeUntrusted, "%s is not used: %s", p.Path, why)
		}
		d, err := Describe(context.Background(), s.Host, []string{p.Path}, false)
		if err == nil && d.Name != name {
			err = execution.Errorf(execution.CodeInvalidOutput, "%s: it says that it is %s", p.Path, d.Name).
				WithHint("name the program %s%s, or correct the name in its reply to initialize", Prefix, d.Name)
		}
		return d, err
	}
	return adapter.Descriptor{}, fmt.Errorf("find %s%s on PATH: %w", Prefix, name, fs.ErrNotExist)
}

// List returns the agents that Find would start, known by name and path only, and why others are passed over. It starts
// nothing. The first program of a name counts.
func (s Search) List() (found []adapter.Descriptor, passed []string) {
	have := map[string]bool{}
	for _, p := range lookpath.Prefixed(s.Environ, Prefix) {
		name := strings.TrimPrefix(p.Name, Prefix)
		if have[name] {
			continue
		}
		have[name] = true
		why := s.passOver(p.Path)
		if !IsName(name) {
			why = fmt.Sprintf("%q is not a valid agent name", name)
		}
		if why != "" {
			passed = append(passed, p.Path+" is not used: "+why)
			continue
		}
		found = append(found, adapter.Descriptor{Name: name, Command: p.Path, Protocol: adapter.ProtocolExternal})
	}
	return found, passed
}

// passOver returns why a program is not used, empty if it is.
func (s Search) passOver(path string) string {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err.Error()
	}
	for _, p := range []string{path, file} {
		if s.Project != "" && within(s.Project, p) {
			return "it is in the project " + s.Project + ", and a project does not choose the programs that run"
		}
		for _, part := range []string{p, filepath.Dir(p)} {
			if uid, foreign := repofile.Foreign(part); foreign {
				return fmt.Sprintf("%s belongs to another user (%d)", part, uid)
			}
			info, err := os.Stat(part)
			if err != nil {
				return err.Error()
			}
			if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
				return "every user can write to " + part + ": chmod o-w " + part
			}
		}
	}
	return ""
}

func within(dir, path string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
