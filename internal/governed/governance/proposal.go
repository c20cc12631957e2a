package governance

import (
	"path"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Actions of a proposed change.
const (
	ProposalCreate = "create"
	ProposalModify = "modify"
	ProposalDelete = "delete"
)

// Snapshot is SOURCE_SNAPSHOT.json: the files of a proposal as they were when it was accepted.
type Snapshot struct {
	CapturedAt protocol.Time  `json:"captured_at"`
	Files      []SnapshotFile `json:"files"`
}

// SnapshotFile is one file: SHA256 is "sha256:<hex>", null for one that did not exist.
type SnapshotFile struct {
	Path    string  `json:"path"`
	Action  string  `json:"action"`
	Existed bool    `json:"existed"`
	SHA256  *string `json:"sha256"`
}

// Proposal is a proposal that somebody wants to apply or reject.
type Proposal struct {
	TurnID   string
	Snapshot Snapshot
	// Decided is "applied" or "rejected" when that has happened.
	Decided string
	// Current are the markers of those files that exist now.
	Current map[string]string
	// Select limits an application to some files; nil is all.
	Select []string
	Force  bool
}

// ProposalFaults says what a proposal may not hold: paths that are absolute, climb out, are not plain, belong to git or to the
// orchestrator, or stand twice, also in another case; unknown actions; a missing content.
func ProposalFaults(changes []protocol.ProposedChange) []string {
	var faults []string
	seen := map[string]bool{}
	for _, c := range changes {
		if why := badPath(c.Path); why != "" {
			faults = append(faults, c.Path+" "+why)
			continue
		}
		if key := strings.ToLower(c.Path); seen[key] {
			faults = append(faults, c.Path+" stands twice")
		} else {
			seen[key] = true
		}
		switch c.Action {
		case ProposalCreate, ProposalModify:
			if c.Content == nil {
				faults = append(faults, c.Path+" is to be written and has no content")
			}
		case ProposalDelete:
		default:
			faults = append(faults, c.Path+" has the unknown action "+c.Action)
		}
	}
	return faults
}

// badPath says why a path of an agent is not used; empty when it is one inside the project.
func badPath(p string) string {
	switch {
	case strings.TrimSpace(p) == "":
		return "is empty"
	case strings.ContainsAny(p, "\\\x00:"):
		return "is not a plain path with slashes"
	case strings.HasPrefix(p, "/"):
		return "is absolute"
	case path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../") || p == ".":
		return "does not name a file inside the project"
	case strings.EqualFold(p, ".git") || strings.HasPrefix(strings.ToLower(p), ".git/"):
		return "belongs to git"
	case protocol.Reserved(p):
		return "belongs to the orchestrator"
	}
	return ""
}

// ApplyProposal says which files of a proposal are to be written now. A proposal is decided once, and a file that has changed since
// the snapshot is only overwritten with Force.
func ApplyProposal(p Proposal) ([]SnapshotFile, *Refused) {
	if r := undecided(p); r != nil {
		return nil, r
	}
	var plan []SnapshotFile
	var stale []string
	for _, f := range p.Snapshot.Files {
		if why := badPath(f.Path); why != "" {
			return nil, refuse("path_escape", NextStatus, "the proposal of the turn %s writes %s, which %s", p.TurnID, f.Path, why).with("path", f.Path)
		}
		if p.Select != nil && !slices.Contains(p.Select, f.Path) {
			continue
		}
		plan = append(plan, f)
		now, exists := p.Current[f.Path]
		if exists != f.Existed || exists && (f.SHA256 == nil || *f.SHA256 != now) {
			stale = append(stale, f.Path)
		}
	}
	for _, want := range p.Select {
		if !slices.ContainsFunc(plan, func(f SnapshotFile) bool { return f.Path == want }) {
			return nil, refuse(CodeInvalidInput, NextStatus, "the proposal of the turn %s has no file %s", p.TurnID, want).with("path", want)
		}
	}
	if len(stale) > 0 && !p.Force {
		return nil, refuse(CodeConflict, "drawbar govern turn show "+p.TurnID, "changed since the turn %s proposed: %s", p.TurnID, strings.Join(stale, ", ")).
			with("files", stale)
	}
	return plan, nil
}

// RejectProposal says whether a proposal may be rejected; a reason is needed.
func RejectProposal(p Proposal, reason string) *Refused {
	if strings.TrimSpace(reason) == "" {
		return refuse(CodeInvalidInput, "drawbar govern turn show "+p.TurnID, "rejecting the proposal of the turn %s needs a reason", p.TurnID)
	}
	return undecided(p)
}

func undecided(p Proposal) *Refused {
	if p.Decided == "" {
		return nil
	}
	return refuse(CodeInvalidTransition, "drawbar govern turn show "+p.TurnID, "the proposal of the turn %s is %s already", p.TurnID, p.Decided)
}
