package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/base/shape"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
)

// maxConfigSize limits agentxchain.json.
const maxConfigSize = 1 << 20

// Project is a governed project whose configuration satisfies every rule.
type Project struct {
	Root     string
	Raw      []byte           // the text of agentxchain.json
	Config   *protocol.Config // normalized: the one to work with
	Declared *protocol.Config // as written
	Warnings []charter.Problem
}

// InvalidError lists all errors of a configuration; errors.As finds it in the error of Load.
type InvalidError struct {
	File     string
	Problems []charter.Problem // errors and warnings
}

// shownFaults limits the lines of an error's text; Problems has all.
const shownFaults = 50

// Error has one line per error.
func (e *InvalidError) Error() string {
	faults := charter.Errors(e.Problems)
	lines := make([]string, 0, min(len(faults), shownFaults+1))
	for i, p := range faults {
		if i == shownFaults {
			lines = append(lines, fmt.Sprintf("and %d more", len(faults)-i))
			break
		}
		lines = append(lines, e.line(p))
	}
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("%s has %d errors:\n  %s", e.File, len(faults), strings.Join(lines, "\n  "))
}

func (e *InvalidError) line(p charter.Problem) string {
	at := e.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", e.File, p.Line, p.Column)
		p.Line, p.Column = 0, 0
	}
	return at + ": " + p.String()
}

// refusal returns the CONFIG_ERROR of an invalid configuration.
func (e *InvalidError) refusal() error {
	err := execution.Errorf(execution.CodeConfig, "%w", e)
	err.Cause = e
	for _, p := range charter.Errors(e.Problems) {
		err.Fields = append(err.Fields, execution.FieldError{Field: p.Field, Message: p.Message, Expected: p.Hint})
	}
	return err.WithHint("fix %s, then: drawbar govern validate", filepath.Base(e.File))
}

// Find returns the folder of the nearest agentxchain.json, from dir upwards.
func Find(dir string) (root string, err error) {
	root, err = repofile.Above(dir, protocol.ConfigFile)
	switch {
	case err != nil:
		return "", execution.Errorf(execution.CodeConfig, "find a project from %s: %w", dir, err)
	case root == "":
		return "", execution.Errorf(execution.CodeConfig, "there is no %s in %s or above it", protocol.ConfigFile, dir).WithHint("drawbar govern init")
	}
	return root, nil
}

// loaded is the last project that Load returned: a command loads its own several times.
var loaded atomic.Pointer[Project]

// Load reads and checks the configuration of the project in root. The error is a CONFIG_ERROR; if the file
// could be read, it wraps an *InvalidError with every problem. Callers share the project and do not change it.
func Load(root string) (*Project, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "load the project in %s: %w", root, err)
	}
	data, err := readConfig(abs)
	if err != nil {
		return nil, err
	}
	if p := loaded.Load(); p != nil && p.Root == abs && bytes.Equal(p.Raw, data) {
		return p, nil
	}
	c, problems := charter.Decode(data)
	if len(charter.Errors(problems)) > 0 || c == nil {
		return nil, (&InvalidError{File: filepath.Join(abs, protocol.ConfigFile), Problems: problems}).refusal()
	}
	p := &Project{Root: abs, Raw: data, Config: charter.Normalize(c), Declared: c, Warnings: charter.Warnings(problems)}
	loaded.Store(p)
	return p, nil
}

// Prompts returns the configured prompts of roles that do not exist: their turns run without instructions.
func (p *Project) Prompts() []charter.Problem {
	var list []charter.Problem
	for role, name := range p.Config.Prompts.All() {
		file := filepath.Join(p.Root, filepath.FromSlash(name))
		if info, err := os.Stat(file); strings.TrimSpace(name) == "" || err == nil && info.Mode().IsRegular() {
			continue
		}
		list = append(list, charter.Problem{Severity: charter.SeverityWarning, Type: charter.MissingPrompt, Field: shape.Path("prompts", role),
			Message: "names " + name + ", which does not exist: the role's turns run without instructions of their own",
			Hint:    "write " + name + ", or correct prompts." + role})
	}
	return list
}

// readConfig reads agentxchain.json, which must be a regular file: the target of a link may belong to anybody.
func readConfig(root string) ([]byte, error) {
	file := filepath.Join(root, protocol.ConfigFile)
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, execution.Errorf(execution.CodeConfig, "there is no %s: %w", file, fs.ErrNotExist).WithHint("drawbar govern init")
	case err != nil:
		return nil, execution.Errorf(execution.CodeConfig, "read %s: %w", file, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, execution.Errorf(execution.CodeConfig, "%s is a link", file).WithHint("replace it with the file itself")
	case info.IsDir():
		return nil, execution.Errorf(execution.CodeConfig, "%s is a directory", file).WithHint("remove it, then: drawbar govern init")
	}
	data, err := ReadFile(root, protocol.ConfigFile, maxConfigSize)
	if err != nil {
		return nil, err
	}
	return data, nil
}

// ReadFile reads a regular file of the project: rel is relative to root, with slashes, and no link in it may
// lead out. More than limit bytes are refused. A missing file is fs.ErrNotExist.
func ReadFile(root, rel string, limit int64) ([]byte, error) {
	data, err := repofile.Read(root, rel, limit)
	if err != nil {
		e := execution.Errorf(execution.CodeConfig, "read %s in %s: %w", rel, root, err)
		if errors.Is(err, repofile.ErrTooLarge) {
			return nil, e.WithHint("the limit is %d bytes", limit)
		}
		return nil, e
	}
	return data, nil
}
