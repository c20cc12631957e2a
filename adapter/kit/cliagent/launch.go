package cliagent

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Launch is what Spawn has to go by.
type Launch struct {
	Request execution.Request
	Parser  Parser          // what NewParser made for this run, for what it must know of the command line
	Dir     string          // absolute path of the run's private directory; it exists only if File or Output was called
	Hook    *HookLines      // the hooks of the caller that the agent must call; nil for none
	environ func() []string // what the run inherits
	files   []privateFile
	outputs []string // names of files that the agent writes
	err     error    // the first misuse of File or Output
}

type privateFile struct {
	path    string
	content []byte
	runs    bool // it can be executed
}

// File asks for a file of the run, readable by this user alone, and returns its absolute path. It is written before
// the process starts and removed when the run ends. Secrets and long texts go here, never into arguments. The name may
// have directories in front, which are made; one that leads out of Dir makes the run fail before it starts. The content
// must not change until then. A second file of one name replaces the first.
func (l *Launch) File(name string, content []byte) string {
	path := l.path(name)
	l.files = append(l.files, privateFile{path: path, content: content})
	return path
}

// Output asks for a place in the run's private directory where the agent writes a file of its own, and returns its
// absolute path. What stands there when the process is gone is Sink.Output in Parser.Exit; the name has no directories.
func (l *Launch) Output(name string) string {
	path := l.path(name)
	if filepath.Base(name) != name && l.err == nil {
		l.err = fmt.Errorf("private file %q: the name of an output has no directories", name)
	}
	l.outputs = append(l.outputs, name)
	return path
}

func (l *Launch) path(name string) string {
	path := filepath.Join(l.Dir, name)
	if (!filepath.IsLocal(name) || path == l.Dir) && l.err == nil {
		l.err = fmt.Errorf("private file %q: the name leads out of the directory of the run", name)
	}
	return path
}

// maxOutput bounds a file that the agent writes for the run; more is as good as none.
const maxOutput = 16 << 20

// collect reads what the agent wrote. A file that is missing, is none, or is too long, counts as not written.
func (l *Launch) collect() map[string][]byte {
	var found map[string][]byte
	for _, name := range l.outputs {
		path := filepath.Join(l.Dir, name)
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

// scratch is the private directory, where there is one.
func (l *Launch) scratch() []string {
	if !l.used() {
		return nil
	}
	return []string{l.Dir}
}

// used reports whether anything goes into the private directory.
func (l *Launch) used() bool { return len(l.files) > 0 || len(l.outputs) > 0 }

// newLaunch names the private directory. It is made later, and only if something goes into it.
func newLaunch(req execution.Request) (*Launch, error) {
	temp, err := filepath.Abs(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("find the directory for temporary files: %w", err)
	}
	// A run id becomes part of a path only if it is one: it comes from the caller.
	id := "run"
	if parsed, err := execution.ParseRunID(string(req.Run.RunID)); err == nil {
		id = string(parsed)
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return &Launch{Request: req, Dir: filepath.Join(temp, "drawbar-"+id+"-"+hex.EncodeToString(random[:]))}, nil
}

// PrivateDir is the private directory of a run.
type PrivateDir struct {
	Path string
	Run  execution.RunID
}

// PrivateDirs lists the private directories of runs, of any state, in the directory for temporary files.
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

// write makes the private directory and its files. The caller removes it, also after an error.
func (l *Launch) write() error {
	if !l.used() {
		return nil
	}
	// Mkdir fails where something exists already, so nobody else can have prepared the directory.
	if err := os.Mkdir(l.Dir, 0o700); err != nil {
		return fmt.Errorf("make the private directory of the run: %w", err)
	}
	for _, f := range l.files {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
			return fmt.Errorf("make the private directory of the run: %w", err)
		}
		mode := os.FileMode(0o600)
		if f.runs {
			mode = 0o700
		}
		if err := os.WriteFile(f.path, f.content, mode); err != nil {
			return fmt.Errorf("write a private file of the run: %w", err)
		}
	}
	return nil
}

// remove removes what write made.
func (l *Launch) remove() error {
	if !l.used() || l.err != nil {
		return nil
	}
	return process.RemoveScratch(l.Dir)
}
