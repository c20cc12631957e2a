package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/repofile"
)

// Files of the context and the output directory.
const (
	TaskFile        = "task.md"
	ConventionsFile = "conventions.md"
	DesignFile      = "design.md"
	FilesDir        = "files" // in both
	ReportFile      = "completion-report.md"
	ResultFile      = "result"
	TestFile        = "test-output.txt"
)

// Variables of a script.
const (
	VarTask     = "ADAPTER_TASK_ID"
	VarFeature  = "ADAPTER_FEATURE"
	VarMaxTurns = "ADAPTER_MAX_TURNS"
	VarModel    = "ADAPTER_MODEL"
)

// UsualTurns is the turn limit without another one.
const UsualTurns = 50

// Words of the result file.
const (
	Pass = "pass"
	Fail = "fail"
)

// Limits of what is read.
const (
	maxText  = 1 << 20
	maxFile  = 64 << 20
	maxFiles = 10000
)

// Declared is a file, folder (with a slash at the end) or pattern that a task may change.
type Declared struct {
	Path   string `json:"path"`
	Action string `json:"action,omitempty"` // such as create, modify or delete
}

// Scope is what a task may change. An empty one allows nothing.
type Scope []Declared

var (
	filesLine = lazy.Regexp(`(?im)^[ \t]*(?:[-*][ \t]+)?\**files\**[ \t]*:\**[ \t]*(.*)$`)
	quoted    = lazy.Regexp("`([^`]+)`(?:[ \\t]*\\(([^)]*)\\))?")
	bulleted  = lazy.Regexp(`^[ \t]*[-*][ \t]+(.*)$`)
)

// ScopeOf returns the files that a task declares: in lines "**Files**: `path` (action), ...", or in the list below such a line.
func ScopeOf(task string) (scope Scope) {
	text := strings.ReplaceAll(task, "\r\n", "\n")
	for _, m := range filesLine().FindAllStringSubmatchIndex(text, -1) {
		rest := text[m[2]:m[3]]
		if strings.TrimSpace(rest) != "" {
			scope = append(scope, declared(rest)...)
			continue
		}
		for line := range strings.SplitSeq(strings.TrimPrefix(text[m[1]:], "\n"), "\n") {
			item := bulleted().FindStringSubmatch(line)
			if item == nil {
				break
			}
			scope = append(scope, declared(item[1])...)
		}
	}
	return scope
}

// declared reads paths between backticks, or else separated by commas.
func declared(text string) (list []Declared) {
	if all := quoted().FindAllStringSubmatch(text, -1); all != nil {
		for _, m := range all {
			list = append(list, Declared{strings.TrimSpace(m[1]), strings.TrimSpace(m[2])})
		}
		return list
	}
	for item := range strings.SplitSeq(text, ",") {
		name, action, _ := strings.Cut(item, "(")
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, Declared{name, strings.TrimSuffix(strings.TrimSpace(action), ")")})
		}
	}
	return list
}

// Faults lists what is wrong with the paths.
func (s Scope) Faults() (faults []string) {
	for _, d := range s {
		switch {
		case !filepath.IsLocal(filepath.FromSlash(strings.TrimSuffix(d.Path, "/"))) || strings.Contains(d.Path, `\`):
			faults = append(faults, fmt.Sprintf("%q is not a path inside the project", d.Path))
		case !doublestar.ValidatePattern(d.Path):
			faults = append(faults, fmt.Sprintf("%q is not a valid pattern", d.Path))
		}
	}
	return faults
}

// Allows reports whether a path, relative with slashes, is declared.
func (s Scope) Allows(name string) bool {
	return slices.ContainsFunc(s, func(d Declared) bool {
		if d.Path == name || strings.HasSuffix(d.Path, "/") && strings.HasPrefix(name, path.Clean(d.Path)+"/") {
			return true
		}
		ok, err := doublestar.Match(d.Path, name)
		return err == nil && ok
	})
}

// Outside returns the paths that are not declared.
func (s Scope) Outside(names []string) (out []string) {
	for _, name := range names {
		if !s.Allows(name) {
			out = append(out, name)
		}
	}
	return out
}

// Existing returns the declared files that exist below root, with slashes.
func (s Scope) Existing(root string) []string {
	var found []string
	dir := os.DirFS(root)
	for _, d := range s {
		pattern := path.Clean(d.Path)
		if strings.HasSuffix(d.Path, "/") {
			pattern += "/**"
		}
		names, _ := doublestar.Glob(dir, pattern, doublestar.WithFilesOnly(), doublestar.WithNoFollow()) // a bad pattern finds nothing
		found = append(found, names...)
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found[:min(len(found), maxFiles)]
}

// Missing returns what is declared to be created, and is not there below root.
func (s Scope) Missing(root string) (out []string) {
	for _, d := range s {
		if strings.EqualFold(d.Action, "create") && len(Scope{d}.Existing(root)) == 0 {
			out = append(out, d.Path)
		}
	}
	return out
}

// Output is what a script left.
type Output struct {
	Result string // pass, fail, or what else its file has; empty if there is none
	Report string
	Test   string
	Files  []string // of FilesDir, relative to it, with slashes, sorted
}

// ReadOutput reads an output directory. Texts are cut off at 1 MiB; a link in it is an error.
func ReadOutput(dir string) (out Output, err error) {
	for name, into := range map[string]*string{ResultFile: &out.Result, ReportFile: &out.Report, TestFile: &out.Test} {
		text, err := head(dir, name)
		if err != nil {
			return out, err
		}
		*into = strings.ToValidUTF8(text, "\uFFFD")
	}
	out.Result = strings.TrimSpace(out.Result)
	files := filepath.Join(dir, FilesDir)
	err = filepath.WalkDir(files, func(file string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && file == files:
			return nil
		case err != nil || d.IsDir():
			return err
		}
		rel, err := filepath.Rel(files, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s/%s is not a regular file", FilesDir, rel)
		}
		if out.Files = append(out.Files, rel); len(out.Files) > maxFiles {
			return fmt.Errorf("%s has more than %d files", FilesDir, maxFiles)
		}
		return nil
	})
	slices.Sort(out.Files)
	return out, err
}

// head reads the beginning of a regular file; a missing one is empty.
func head(dir, name string) (string, error) {
	info, err := os.Lstat(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	var f *os.File
	if err == nil {
		f, err = os.Open(filepath.Join(dir, name))
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, maxText))
	return string(b), err
}

// Apply copies files of one directory into another: all of them or none. No link leads out of either.
func Apply(source, target string, names []string) error {
	from, err := os.OpenRoot(source)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenRoot(target)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	type file struct {
		name          string
		content, was  []byte
		mode, wasMode fs.FileMode // wasMode 0: there was none
	}
	var files []file
	for _, name := range names {
		f := file{name: filepath.FromSlash(name)}
		in, info, err := repofile.OpenPlain(from, f.name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		f.mode = 0o644 | info.Mode().Perm()&0o111
		f.content, err = io.ReadAll(io.LimitReader(in, maxFile+1))
		if err = errors.Join(err, in.Close()); err == nil && len(f.content) > maxFile {
			err = fmt.Errorf("it is larger than %d bytes", maxFile)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		switch now, err := to.Lstat(f.name); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("write %s: %w", name, err)
		case !now.Mode().IsRegular():
			return fmt.Errorf("write %s: it is not a regular file", name)
		default:
			f.wasMode = now.Mode().Perm()
			if f.was, err = to.ReadFile(f.name); err != nil {
				return fmt.Errorf("write %s: %w", name, err)
			}
		}
		files = append(files, f)
	}
	for i, f := range files {
		if f.wasMode != 0 && bytes.Equal(f.was, f.content) && f.wasMode&0o111 == f.mode&0o111 {
			continue
		}
		err := to.MkdirAll(filepath.Dir(f.name), 0o755)
		if err == nil {
			err = atomicfile.WriteIn(to, f.name, f.content, f.mode, true)
		}
		if err == nil {
			continue
		}
		for _, done := range files[:i] { // undo
			if done.wasMode == 0 {
				err = errors.Join(err, to.Remove(done.name))
			} else {
				err = errors.Join(err, atomicfile.WriteIn(to, done.name, done.was, done.wasMode, true))
			}
		}
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	return nil
}

// Verdict says why an execution failed; empty if it passed: exit code and result have to agree.
func (o Output) Verdict(exitCode int) string {
	switch {
	case o.Result != Pass && o.Result != Fail && o.Result != "":
		return fmt.Sprintf("the file %s says %.40q, neither %s nor %s", ResultFile, o.Result, Pass, Fail)
	case exitCode == 0 && o.Result == "":
		return fmt.Sprintf("the script ended with exit code 0 and wrote no %s", ResultFile)
	case exitCode == 0 && o.Result == Fail, exitCode != 0 && o.Result == Pass:
		return fmt.Sprintf("the script contradicts itself: exit code %d, but %s says %s", exitCode, ResultFile, o.Result)
	case exitCode != 0:
		return fmt.Sprintf("the script failed with exit code %d", exitCode)
	}
	return ""
}
