package cliagent

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Launch is the input of Spawn.
type Launch struct {
	Request execution.Request
	Parser  Parser          // what NewParser returned for this run
	Dir     string          // absolute path of the run's private directory, where the agent runs; it is created only if File or Output was called
	Hook    *HookLines      // the caller's hooks that the agent must call; nil for none
	environ func() []string // inherited environment
	here    string          // of an agent that runs elsewhere: the private directory on this machine
	files   []privateFile
	outputs []string // names of files that the agent writes
	err     error    // the first invalid use of File or Output
}

type privateFile struct {
	name    string // as File got it
	content []byte
	mode    fs.FileMode
}

// File adds a private file of the run, readable by this user only, and returns its absolute path. It is written
// before the process starts and removed when the run ends. Secrets and long texts go into files rather than
// arguments. The name may contain directories, which are created; a name that leaves Dir fails the run before it
// starts. The content must not change until then. A second file of the same name replaces the first.
func (l *Launch) File(name string, content []byte) string {
	l.files = append(l.files, privateFile{name: name, content: content, mode: 0o600})
	return l.path(name)
}

// Copy is File for a file that the program may only read.
func (l *Launch) Copy(name string, content []byte) string {
	path := l.File(name, content)
	l.files[len(l.files)-1].mode = 0o400
	return path
}

// Folder adds an empty private folder for files that the program writes.
func (l *Launch) Folder(name string) string {
	path := l.File(name, nil)
	l.files[len(l.files)-1].mode = fs.ModeDir
	return path
}

// Output reserves a path in the run's private directory for a file that the agent writes, and returns its absolute
// path. Sink.Output returns its content in Parser.Exit. The name has no directories.
func (l *Launch) Output(name string) string {
	path := l.path(name)
	if filepath.Base(name) != name && l.err == nil {
		l.err = fmt.Errorf("private file %q: the name of an output has no directories", name)
	}
	l.outputs = append(l.outputs, name)
	return path
}

func (l *Launch) path(name string) string {
	if (!filepath.IsLocal(name) || filepath.Clean(name) == ".") && l.err == nil {
		l.err = fmt.Errorf("private file %q: the name leads out of the directory of the run", name)
	}
	if l.here != "" {
		return path.Join(l.Dir, filepath.ToSlash(name))
	}
	return filepath.Join(l.Dir, name)
}

// local is the private directory on this machine.
func (l *Launch) local() string { return cmp.Or(l.here, l.Dir) }

// maxOutput bounds a file that the agent writes for the run; a larger one is ignored.
const maxOutput = 16 << 20

// collect reads what the agent wrote. A missing, irregular or oversized file counts as not written.
func (l *Launch) collect() map[string][]byte {
	var found map[string][]byte
	for _, name := range l.outputs {
		path := filepath.Join(l.local(), name)
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxOutput {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if found == nil {
			found = map[string][]byte{}
		}
		found[name] = content
	}
	return found
}

// scratch returns the private directory, if there is one.
func (l *Launch) scratch() []string {
	if !l.used() {
		return nil
	}
	return []string{l.local()}
}

// used reports whether the private directory is needed.
func (l *Launch) used() bool { return len(l.files) > 0 || len(l.outputs) > 0 }

// newLaunch names the private directory. It is created later, if it is needed.
func newLaunch(req execution.Request) (*Launch, error) {
	temp, err := filepath.Abs(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("find the directory for temporary files: %w", err)
	}
	// A run id becomes part of a path only if it is valid: it comes from the caller.
	id := "run"
	if parsed, err := execution.ParseRunID(string(req.Run.RunID)); err == nil {
		id = string(parsed)
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	name := "drawbar-" + id + "-" + hex.EncodeToString(random[:])
	l := &Launch{Request: req, Dir: filepath.Join(temp, name)}
	if req.Run.Invocation.Elsewhere() { // where this machine's directory for temporary files need not be, or may be the same one
		l.Dir, l.here = path.Join("/tmp", name+"-there"), l.Dir
	}
	return l, nil
}

// PrivateDir returns the private directory of a run.
type PrivateDir struct {
	Path string
	Run  execution.RunID
}

// PrivateDirs lists the private directories of all runs in the directory for temporary files.
func PrivateDirs() ([]PrivateDir, error) {
	temp, err := filepath.Abs(os.TempDir())
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(temp)
	var found []PrivateDir
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), "drawbar-")
		id, random, parts := strings.Cut(rest, "-")
		if !ours || !parts || len(random) != 16 || !e.IsDir() {
			continue
		}
		if run, err := execution.ParseRunID(id); err == nil {
			found = append(found, PrivateDir{filepath.Join(temp, e.Name()), run})
		}
	}
	return found, err
}

// write creates the private directory and its files. The caller removes it, also after an error.
func (l *Launch) write() error {
	if !l.used() {
		return nil
	}
	// Mkdir fails if the path exists, so nobody else can have prepared the directory.
	if err := os.Mkdir(l.local(), 0o700); err != nil {
		return fmt.Errorf("create the private directory of the run: %w", err)
	}
	for _, f := range l.files {
		at := filepath.Join(l.local(), f.name)
		dir := filepath.Dir(at)
		if f.mode.IsDir() {
			dir = at
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("create the private directory of the run: %w", err)
		}
		if f.mode.IsDir() {
			continue
		}
		if err := os.WriteFile(at, f.content, f.mode); err != nil {
			return fmt.Errorf("write a private file of the run: %w", err)
		}
	}
	return nil
}

// remove deletes what write created.
func (l *Launch) remove() error {
	if !l.used() || l.err != nil {
		return nil
	}
	return process.RemoveScratch(l.local())
}
