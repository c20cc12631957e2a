package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/governed/prompt"
)

// Bundle is a turn's dispatch bundle: files by name, all in one folder.
type Bundle struct {
	TurnID string
	Files  map[string][]byte
}

// Names in a bundle's folder.
const (
	manifestFile = "MANIFEST.json"
	// EvidenceDir contains what is written after the bundle was sealed: logs and traces of the runtime, and the
	// bundles of earlier attempts. Verification ignores it.
	EvidenceDir = "evidence"
)

// BuildBundle returns the files of a turn's bundle. The warnings do not stop the turn.
func BuildBundle(in prompt.Input) (map[string][]byte, []string, error) {
	turn, ok := in.State.ActiveTurns.Get(in.TurnID)
	if !ok || turn == nil {
		return nil, nil, execution.Errorf(execution.CodeConfig, "the state has no active turn %s", in.TurnID).
			WithHint("list the active turns: drawbar govern status")
	}
	if !in.Config.Roles.Has(turn.AssignedRole) {
		return nil, nil, execution.Errorf(execution.CodeConfig, "turn %s is assigned to the role %q, which is not declared in %s", in.TurnID,
			turn.AssignedRole, protocol.ConfigFile).WithHint("declare the role again, or reject the turn: drawbar govern reject --turn %s", in.TurnID)
	}
	assignment, err := prompt.Assignment(in)
	if err != nil {
		return nil, nil, execution.Errorf(execution.CodeConfig, "%s: %v", protocol.ConfigFile, err).WithHint("drawbar govern validate")
	}
	raw, err := protocol.MarshalFile(assignment)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the assignment of turn %s: %w", in.TurnID, err)
	}
	files := map[string][]byte{
		prompt.AssignmentFile: raw,
		prompt.PromptFile:     []byte(prompt.Prompt(in)),
		prompt.ContextFile:    []byte(prompt.Context(in)),
	}
	if c := prompt.Coordinator(in); c != nil {
		if raw, err = protocol.MarshalFile(c); err != nil {
			return nil, nil, fmt.Errorf("encode the context of turn %s: %w", in.TurnID, err)
		}
		files[protocol.CoordinatorContextName+".json"], files[protocol.CoordinatorContextName+".md"] = raw, []byte(prompt.CoordinatorText(*c))
	}
	return files, prompt.Warnings(in), nil
}

// WriteBundle writes a turn's bundle and creates the folder for its result. A bundle of an earlier attempt is
// first moved to the evidence folder, manifest first, so that a partial bundle never counts as sealed. Each
// file is replaced atomically.
func WriteBundle(root string, b Bundle) error {
	for name := range b.Files {
		if !fileName(name) || !filepath.IsLocal(name) || name == manifestFile || name == EvidenceDir {
			return fmt.Errorf("write bundle of turn %s: %q is not a valid file name in a bundle", b.TurnID, name)
		}
	}
	dir, err := makeBundleDir(root, b.TurnID)
	if err != nil {
		return bundleError("write", b.TurnID, err)
	}
	defer func() { _ = dir.Close() }()
	if err := setAside(dir, attemptOf(b.Files[prompt.AssignmentFile])); err != nil {
		return bundleError("write", b.TurnID, err)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Files)) {
		if err := atomicfile.WriteIn(dir, name, b.Files[name], 0o644, false); err != nil {
			return bundleError("write", b.TurnID, err)
		}
	}
	return nil
}

// EvidencePath creates the evidence folder of a turn's bundle and returns its path, for files written after
// sealing.
func EvidencePath(root, turn string) (string, error) {
	dir, err := openBundleDir(root, turn)
	if err != nil {
		return "", bundleError("open", turn, err)
	}
	defer func() { _ = dir.Close() }()
	if err := realDir(dir, EvidenceDir); err != nil {
		return "", bundleError("open", turn, err)
	}
	return filepath.Join(root, filepath.FromSlash(protocol.BundleDir(turn)), EvidenceDir), nil
}

func bundleError(doing, turn string, err error) error {
	return execution.Errorf(execution.CodeConfig, "%s the dispatch bundle of turn %s in %s: %v", doing, turn, protocol.BundleDir(turn), err).
		WithHint("check the folder and its permissions, then: drawbar govern resume")
}

var turnName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// plainName reports whether the name is that of a file directly in a folder.
func plainName(name string) bool {
	return turnName().MatchString(name) && filepath.IsLocal(name) && path.Base(name) == name
}

// makeBundleDir creates and opens a turn's folder, and creates the one for its result. A link or a file in its
// place is removed: its contents belong to the orchestrator.
func makeBundleDir(root, turn string) (*os.Root, error) {
	if !plainName(turn) {
		return nil, fmt.Errorf("%q is not a valid turn id", turn)
	}
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = top.Close() }()
	for _, parent := range []string{protocol.DispatchDir, protocol.StagingDir} {
		if err := top.MkdirAll(parent, 0o755); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{protocol.BundleDir(turn), path.Dir(protocol.StagedFile(turn))} {
		if err := realDir(top, dir); err != nil {
			return nil, err
		}
	}
	return top.OpenRoot(protocol.BundleDir(turn))
}

// openBundleDir opens a turn's existing folder, which must not be a link.
func openBundleDir(root, turn string) (*os.Root, error) {
	if !plainName(turn) {
		return nil, fmt.Errorf("%q is not a valid turn id", turn)
	}
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = top.Close() }()
	fi, err := top.Lstat(protocol.BundleDir(turn))
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", protocol.BundleDir(turn))
	}
	return top.OpenRoot(protocol.BundleDir(turn))
}

// realDir ensures that a folder exists and is not a link.
func realDir(r *os.Root, name string) error {
	fi, err := r.Lstat(name)
	if err == nil && !fi.IsDir() {
		if err := r.Remove(name); err != nil {
			return err
		}
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		return r.Mkdir(name, 0o755)
	}
	return err
}

// setAside empties the folder of a bundle before it is rewritten. The input and the evidence of an earlier
// attempt are kept as evidence/attempt-N; the unsent bundle of the same attempt is deleted.
func setAside(dir *os.Root, attempt int) error {
	entries, err := readDir(dir, ".")
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	if err := realDir(dir, EvidenceDir); err != nil {
		return err
	}
	old, _ := dir.ReadFile(prompt.AssignmentFile)
	keep, before := "", attemptOf(old)
	if before > 0 && before != attempt {
		keep = freeName(dir, path.Join(EvidenceDir, "attempt-"+strconv.Itoa(before)))
		if err := dir.Mkdir(keep, 0o755); err != nil {
			return err
		}
	}
	// The manifest is moved first, and the assignment, which states the attempt, last.
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return rank(a.Name()) - rank(b.Name()) })
	for _, e := range entries {
		switch {
		case e.Name() == EvidenceDir:
			err = setEvidenceAside(dir, keep)
		case keep == "" || e.Type()&^fs.ModeDir != 0:
			err = dir.RemoveAll(e.Name())
		default:
			err = dir.Rename(e.Name(), path.Join(keep, e.Name()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func rank(name string) int {
	switch name {
	case manifestFile:
		return 0
	case prompt.AssignmentFile:
		return 2
	}
	return 1
}

var attemptDir = lazy.Regexp(`^attempt-\d+(-\d+)?$`)

// setEvidenceAside moves an attempt's evidence to its own folder.
func setEvidenceAside(dir *os.Root, keep string) error {
	if keep == "" {
		return nil
	}
	entries, err := readDir(dir, EvidenceDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if attemptDir().MatchString(e.Name()) {
			continue
		}
		to := freeName(dir, path.Join(keep, e.Name()))
		if err := dir.Rename(path.Join(EvidenceDir, e.Name()), to); err != nil {
			return err
		}
	}
	return nil
}

// freeName returns the name, or the first unused one of name-2, name-3 ...
func freeName(dir *os.Root, name string) string {
	for n, free := 2, name; ; n++ {
		if _, err := dir.Lstat(free); errors.Is(err, fs.ErrNotExist) || n > 1000 {
			return free
		}
		free = name + "-" + strconv.Itoa(n)
	}
}

func readDir(r *os.Root, name string) ([]fs.DirEntry, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, err
}
