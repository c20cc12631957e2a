package proposal

import (
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
	"github.com/drawbar/drawbar/internal/governed/ledger"
)

// Files of a proposal's folder, beside the proposed files.
const (
	SummaryFile  = protocol.ProposalFile
	snapshotFile = "SOURCE_SNAPSHOT.json"
	appliedFile  = "APPLIED.json"
	rejectedFile = "REJECTED.json"
)

// Actions of a change.
const (
	Create = "create"
	Modify = "modify"
	Delete = "delete"
)

// snapshot is SOURCE_SNAPSHOT.json.
type snapshot struct {
	CapturedAt protocol.Time         `json:"captured_at"`
	Files      []govern.ProposedFile `json:"files"`
}

// Proposal is a recorded proposal.
type Proposal struct{ govern.Proposal }

// Of returns the proposals of a project, as its record and its folders have them.
func Of(root string, v *ledger.View) ([]Proposal, error) {
	history, err := v.History("")
	if err != nil {
		return nil, err
	}
	lines, err := v.Ledger("")
	if err != nil {
		return nil, err
	}
	var notes []protocol.LedgerNote
	for _, l := range lines {
		if l.Note != nil && l.Note.Type == governance.ProposalNote {
			notes = append(notes, *l.Note)
		}
	}
	return List(root, history, notes)
}

// Waiting is a line for a person about the undecided proposals; empty if there is none. A project without proposals costs
// nothing.
func Waiting(root string, v *ledger.View) string {
	if list, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(protocol.ProposedDir))); err != nil || len(list) == 0 {
		return ""
	}
	all, err := Of(root, v)
	if err != nil {
		return "" // the commands about proposals say what is wrong
	}
	all = slices.DeleteFunc(all, func(p Proposal) bool { return !p.Undecided() })
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("proposals wait for a decision (%d): drawbar govern proposal list --open", len(all))
}

// List returns the proposals below root: those that the record names, in its order, then those that another program
// left.
func List(root string, history []protocol.HistoryEntry, notes []protocol.LedgerNote) ([]Proposal, error) {
	top, err := os.OpenRoot(root)
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "open the project %s: %v", root, err)
	}
	defer func() { _ = top.Close() }()
	entries, err := fs.ReadDir(top.FS(), protocol.ProposedDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, execution.Errorf(execution.CodeConfig, "read %s: %v", protocol.ProposedDir, err)
	}
	there := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() {
			there[e.Name()] = true
		}
	}
	var list []Proposal
	for _, h := range history {
		if h.Status == protocol.StatusReissued || !there[h.TurnID] && !recorded(h) {
			continue
		}
		delete(there, h.TurnID)
		if p, ok := read(top, h.TurnID, &h, notes); ok {
			list = append(list, p)
		}
	}
	for _, e := range entries {
		if there[e.Name()] {
			if p, ok := read(top, e.Name(), nil, notes); ok {
				list = append(list, p)
			}
		}
	}
	return list, nil
}

// recorded reports whether an accepted turn has a proposal of ours.
func recorded(h protocol.HistoryEntry) bool {
	_, is := h.DerivedFiles.Get(dirOf(h.TurnID) + "/" + SummaryFile)
	return is
}

func dirOf(turn string) string { return protocol.ProposedDir + "/" + turn }

// read reads one proposal; false if the folder has none.
func read(top *os.Root, turn string, h *protocol.HistoryEntry, notes []protocol.LedgerNote) (Proposal, bool) {
	p := Proposal{govern.Proposal{TurnID: turn, Status: govern.ProposalOpen, Dir: dirOf(turn), Files: []govern.ProposedFile{}}}
	ours := h != nil && recorded(*h)
	if h != nil {
		p.RunID, p.Role, p.Phase, p.Summary = h.RunID, h.Role, h.Phase, h.Summary
	}
	data, err := readFile(top, p.Dir+"/"+snapshotFile, mostJSON)
	switch {
	case err == nil:
		p.Files, p.Fault = parse(data)
	case !ours && errors.Is(err, fs.ErrNotExist):
		if _, err := top.Lstat(p.Dir + "/" + SummaryFile); err != nil {
			return p, false // a worker's own file
		}
		p.Fault = snapshotFile + " is missing, so the files that it would replace are unknown"
	default:
		p.Fault = err.Error()
	}
	if ours {
		if f := p.altered(top, h.DerivedFiles); f != "" {
			p.Fault = f
		}
		p.decidedBy(notes)
	} else {
		p.decidedElsewhere(top, notes)
	}
	return p, true
}

// parse reads SOURCE_SNAPSHOT.json. The fault says why the files cannot be applied: a path that leaves the project, is
// reserved or is there twice, or an unknown action. Without a fault every path is clean.
func parse(data []byte) (files []govern.ProposedFile, fault string) {
	var s snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return []govern.ProposedFile{}, fmt.Sprintf("%s: %v", snapshotFile, err)
	}
	files = append([]govern.ProposedFile{}, s.Files...)
	seen := map[string]bool{}
	for i, f := range files {
		clean, bad := turnresult.LexicalPath(f.Path)
		switch {
		case bad != nil:
			fault = bad.Message
			continue
		case seen[clean] || !slices.Contains([]string{Create, Modify, Delete}, f.Action):
			fault = fmt.Sprintf("%s names %s twice, or with an unknown action", snapshotFile, f.Path)
		}
		seen[clean], files[i].Path = true, clean
	}
	return files, fault
}

// altered says how the folder differs from what was recorded; empty if it does not.
func (p *Proposal) altered(top *os.Root, digests protocol.Ordered[string]) string {
	for name, want := range digests.All() {
		if !strings.HasPrefix(name, p.Dir+"/") {
			continue
		}
		got, err := Digest(top, name)
		if err != nil {
			return fmt.Sprintf("%s: %v", name, err)
		}
		if got != want {
			return name + " differs from what the turn proposed"
		}
	}
	for _, f := range p.Files {
		if f.Action != Delete && !digests.Has(p.Dir+"/"+f.Path) {
			return p.Dir + "/" + f.Path + " was not proposed by the turn"
		}
	}
	return ""
}

// decision is a person's decision on a proposal, in a note and in the folder.
type decision struct {
	Status govern.ProposalStatus `json:"status"`
	Files  []string              `json:"files"`
	By     string                `json:"by"`
	Reason string                `json:"reason"`
}

func (p *Proposal) decide(d decision) {
	p.By, p.Reason = d.By, d.Reason
	if d.Status == govern.ProposalRejected {
		p.Status = govern.ProposalRejected
		return
	}
	for _, f := range d.Files {
		if !slices.Contains(p.Applied, f) {
			p.Applied = append(p.Applied, f)
		}
	}
	p.Status = govern.ProposalPartly
	if !slices.ContainsFunc(p.Files, func(f govern.ProposedFile) bool { return !slices.Contains(p.Applied, f.Path) }) {
		p.Status = govern.ProposalApplied
	}
}

func (p *Proposal) decidedBy(notes []protocol.LedgerNote) (any bool) {
	for _, n := range notes {
		if n.Type != governance.ProposalNote || n.TurnID != p.TurnID {
			continue
		}
		var d decision
		b, err := protocol.Marshal(n.Extra)
		if err == nil && json.Unmarshal(b, &d) == nil {
			p.decide(d)
			any = true
		}
	}
	return any
}

// decidedElsewhere reads the decision that another program left in the folder.
func (p *Proposal) decidedElsewhere(top *os.Root, notes []protocol.LedgerNote) {
	if p.decidedBy(notes) {
		return
	}
	var d decision
	if readJSON(top, p.Dir+"/"+rejectedFile, &d) == nil {
		d.Status = govern.ProposalRejected
		p.decide(d)
	} else if readJSON(top, p.Dir+"/"+appliedFile, &d) == nil {
		d.Status = govern.ProposalApplied
		if len(d.Files) == 0 {
			for _, f := range p.Files {
				d.Files = append(d.Files, f.Path)
			}
		}
		p.decide(d)
	}
}

const mostJSON = 16 << 20

func readJSON(top *os.Root, name string, into any) error {
	data, err := readFile(top, name, mostJSON)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// readFile reads a regular file. No part of its path may be a link.
func readFile(top *os.Root, name string, most int64) ([]byte, error) {
	info, err := regular(top, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%s has %d bytes, more than the limit of %d", name, info.Size(), most)
	}
	return top.ReadFile(filepath.FromSlash(name))
}

// regular is the information about a file, which is fs.ErrNotExist if it or a folder above it is missing. Anything that
// is not a regular file in real folders is an error.
func regular(top *os.Root, name string) (fs.FileInfo, error) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := top.Lstat(filepath.FromSlash(dir))
		if err == nil && !info.IsDir() { // a folder below it is an error, too; the loop comes to this one
			return nil, fmt.Errorf("%s is not a folder", dir)
		}
	}
	info, err := top.Lstat(filepath.FromSlash(name))
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return info, err
}

// Digest is the digest of a file in the form of the record.
func Digest(top *os.Root, name string) (string, error) {
	if _, err := regular(top, name); err != nil {
		return "", err
	}
	f, err := top.Open(filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it is only read
	return digestOf(f)
}
