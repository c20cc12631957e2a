package proposal

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/rogpeppe/go-internal/diff"
)

// mostContent bounds a proposed file, and one that is compared with it.
const mostContent = 16 << 20

// Change is a file of a proposal compared with the work tree.
type Change struct {
	govern.ProposedFile
	Old, New []byte // nil for a missing file
	// Diverged says that the work tree's file is neither what the proposal replaces nor what it proposes.
	Diverged bool
}

// Done reports whether the work tree already has what the change proposes.
func (c Change) Done() bool {
	return (c.Old == nil) == (c.New == nil) && string(c.Old) == string(c.New)
}

// Changes compares the files of a proposal with the work tree: all that are not applied, or those of the given paths.
// Nothing is read outside the project, and no link is followed.
func (p *Proposal) Changes(root string, only []string) ([]Change, error) {
	for _, want := range only {
		if !slices.ContainsFunc(p.Files, func(f govern.ProposedFile) bool { return f.Path == want }) {
			return nil, execution.Errorf(execution.CodeValidation, "the proposal of turn %s has no file %s", p.TurnID, want).
				WithHint("one of: %s", strings.Join(p.paths(), ", "))
		}
	}
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "open the project %s: %v", root, err)
	}
	defer func() { _ = top.Close() }()
	list := []Change{}
	for _, f := range p.Files {
		if len(only) > 0 && !slices.Contains(only, f.Path) || len(only) == 0 && slices.Contains(p.Applied, f.Path) {
			continue
		}
		c := Change{ProposedFile: f}
		if c.Old, err = present(top, f.Path); err == nil && f.Action != Delete {
			c.New, err = readFile(top, p.Dir+"/"+f.Path, mostContent)
		}
		if err != nil {
			return nil, execution.Errorf(execution.CodeValidation, "the proposal of turn %s: %v", p.TurnID, err).
				WithHint("see it: drawbar govern proposal show %s", p.TurnID)
		}
		if !c.Done() {
			c.Diverged = f.Existed != (c.Old != nil)
			if c.Old != nil && f.Existed {
				sum, err := Digest(top, f.Path)
				c.Diverged = err != nil || f.SHA256 == nil || sum != *f.SHA256
			}
		}
		list = append(list, c)
	}
	return list, nil
}

// Writable reports whether the changes can be written, before anything of them is: a transaction that has begun has to be
// finished, and this one would not be while a folder is read-only or on another file system than the record.
func Writable(root string, changes []Change) error {
	top, err := os.OpenRoot(root)
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "open the project %s: %v", root, err)
	}
	defer func() { _ = top.Close() }()
	seen := map[string]bool{}
	for _, c := range changes {
		dir := path.Dir(c.Path)
		for dir != "." {
			if info, err := top.Lstat(filepath.FromSlash(dir)); err == nil && info.IsDir() {
				break
			}
			dir = path.Dir(dir)
		}
		if seen[dir] || c.Done() {
			continue
		}
		seen[dir] = true
		if err := probe(top, dir); err != nil {
			return execution.Errorf(execution.CodeConfig, "%s cannot be written: %v; nothing was written", c.Path, err).
				WithHint("make the folder %s writable, or choose other files: --file PATH", dir)
		}
	}
	return nil
}

func (p *Proposal) paths() []string {
	all := make([]string, len(p.Files))
	for i, f := range p.Files {
		all[i] = f.Path
	}
	return all
}

// present reads a file of the work tree; nil if there is none.
func present(top *os.Root, name string) ([]byte, error) {
	data, err := readFile(top, name, mostContent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if data == nil && err == nil {
		data = []byte{}
	}
	return data, err
}

// Diff is the change as a unified diff of the work tree's file; empty if there is nothing to change.
func (c Change) Diff() string {
	if c.Done() {
		return ""
	}
	old, now := "a/"+c.Path, "b/"+c.Path
	if c.Old == nil {
		old = "/dev/null"
	}
	if c.New == nil {
		now = "/dev/null"
	}
	text := string(diff.Diff(old, c.Old, now, c.New))
	if text == "" { // an empty file is created or deleted
		return "--- " + old + "\n+++ " + now + "\n"
	}
	_, text, _ = strings.Cut(text, "\n") // its own heading
	return text
}

// Applicable says why files of the proposal cannot be applied, if they cannot.
func (p *Proposal) Applicable() error {
	switch {
	case p.Fault != "":
		return execution.Errorf(execution.CodeValidation, "the proposal of turn %s cannot be applied: %s", p.TurnID, p.Fault).
			WithHint("the result as it was accepted is in %s/%s/staging; reject the proposal: drawbar govern proposal reject %s --reason TEXT", protocol.ArchiveDir, p.TurnID, p.TurnID)
	case !p.Undecided():
		return execution.Errorf(execution.CodeInvalidStateTransition, "the proposal of turn %s is already %s", p.TurnID, p.Status).
			WithHint("list the others: drawbar govern proposal list --open")
	}
	return nil
}

// Choose returns the proposal of a turn, or the only undecided one.
func Choose(all []Proposal, turn string) (*Proposal, error) {
	var open []string
	for i, p := range all {
		if p.TurnID == turn {
			return &all[i], nil
		}
		if p.Undecided() {
			open = append(open, p.TurnID)
		}
	}
	switch {
	case turn != "":
		return nil, execution.Errorf(execution.CodeValidation, "turn %s has no proposal", turn).WithHint("drawbar govern proposal list")
	case len(open) == 1:
		return Choose(all, open[0])
	case len(open) == 0:
		return nil, execution.Errorf(execution.CodeValidation, "no proposal is undecided").WithHint("drawbar govern proposal list")
	}
	return nil, execution.Errorf(execution.CodeValidation, "%d proposals are undecided: %s", len(open), strings.Join(open, ", ")).
		WithHint("name the turn: drawbar govern proposal show %s", open[0])
}

// DecisionFile is the file that says in the proposal's folder what was decided, and its content. An earlier partial
// application is part of it.
func DecisionFile(p *Proposal, in governance.DecideProposal, at protocol.Time) (name string, content []byte, err error) {
	name = p.Dir + "/" + appliedFile
	v := map[string]any{"turn_id": p.TurnID, "status": in.Status, "by": in.By.String()}
	if in.Status == governance.ProposalRejected {
		name = p.Dir + "/" + rejectedFile
		v["rejected_at"], v["reason"] = at, in.Reason
	} else {
		files := slices.Clone(p.Applied)
		for _, f := range in.Files {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
		v["applied_at"], v["files"], v["forced"] = at, files, in.Forced
	}
	content, err = protocol.MarshalFile(v)
	return name, content, err
}
