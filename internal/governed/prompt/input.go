package prompt

import (
	"cmp"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
)

// Input is the content of a bundle. Config is normalized, State contains the turn, History is that of the run in its
// order. Other fields may be empty: a section without data is not rendered.
type Input struct {
	Config  *protocol.Config
	State   protocol.State
	TurnID  string
	History []protocol.HistoryEntry
	// Decisions are those of the decision ledger, oldest first, without notes.
	Decisions []protocol.LedgerDecision
	// Warnings become part of the assignment and do not stop the turn.
	Warnings []protocol.AdvisoryWarning

	// GateFiles are the contents of the existing files of gate.Paths, as passed to the evaluator.
	GateFiles map[string]string
	// Contract and WritePath are the capabilities of the runtime for this role.
	Contract  protocol.RuntimeCapabilities
	WritePath string

	// RolePrompt is the text of the role's prompt file, and RolePromptPath its path.
	RolePrompt     string
	RolePromptPath string
	// Files are the beginnings of the displayed files, by path.
	Files map[string]File
	// Log is the end of the last accepted turn's log, from its archived bundle.
	Log *Log
	// Proposals are those that nobody has decided, oldest first.
	Proposals []OpenProposal
	// Proposal is that of the last accepted turn, or else the newest of Proposals, for a reviewer.
	Proposal *Proposal
}

// File is the beginning of a file in the workspace. For a missing one, Present is false.
type File struct {
	Present  bool
	Text     string // bounded
	Cut      bool   // the file continues
	Binary   bool   // not a text file: not shown
	Withheld bool   // a file of that name contains secrets: not shown
}

// Log is the end of a log.
type Log struct {
	Lines []string
	Total int // lines in the whole log
}

// OpenProposal is a proposal that nobody has decided.
type OpenProposal struct {
	TurnID, Role, Ref, Summary string
	Files                      []string // not applied yet
	Reviews                    []ProposalReview
}

// ProposalReview is a review by a turn after the proposal.
type ProposalReview struct{ TurnID, Role, Summary, Ref string }

// Proposal is what a turn proposed instead of writing it.
type Proposal struct {
	Ref     string
	Summary string
	Files   []ProposedFile
}

// ProposedFile is one file of a proposal.
type ProposedFile struct {
	Path   string
	Action string
	File   File
}

// Limits for the displayed parts of files and records.
const (
	MaxPreviewFiles  = 5
	MaxPreviewLines  = 120
	MaxGateLines     = 60
	MaxLogLines      = 50
	MaxProposalLines = 80
	MaxDecisions     = 50
	maxObjections    = 50
	maxProposals     = 20
	maxFilesListed   = 200
	maxLineRunes     = 2000
	maxInlineRunes   = 4000
)

// turn is the dispatched turn; empty if the state does not contain it.
func (in *Input) turn() *protocol.Turn {
	if t, ok := in.State.ActiveTurns.Get(in.TurnID); ok && t != nil {
		return t
	}
	return &protocol.Turn{TurnID: in.TurnID}
}

func (in *Input) roleID() string { return in.turn().AssignedRole }

func (in *Input) role() protocol.Role { return in.Config.Roles.At(in.roleID()) }

// title is the role's title, or its id if a role of the first edition has none.
func (in *Input) title() string { return cmp.Or(in.role().Title, in.roleID()) }

func (in *Input) runtimeID() string { return cmp.Or(in.turn().RuntimeID, in.role().RuntimeID()) }

func (in *Input) runtime() protocol.Runtime { return in.Config.Runtimes.At(in.runtimeID()) }

func (in *Input) phase() protocol.Phase {
	p, _ := in.Config.Phase(in.State.Phase)
	return p
}

// next is the phase after the current one; empty for the last.
func (in *Input) next() string {
	phases := in.Config.Phases()
	i := slices.Index(phases, in.State.Phase)
	if i < 0 || i+1 >= len(phases) {
		return ""
	}
	return phases[i+1]
}

// final reports whether the phase is the last one.
func (in *Input) final() bool {
	phases := in.Config.Phases()
	return len(phases) > 0 && phases[len(phases)-1] == in.State.Phase
}

// allowed are the roles that the turn may propose as next.
func (in *Input) allowed() []string {
	roles := slices.Clone(in.phase().AllowedNextRoles)
	if roles == nil {
		roles = []string{}
	}
	return roles
}

// nextPhase is the phase after the current one, and the roles that may have its first turn but not the next one of this
// phase.
func (in *Input) nextPhase() (phase string, roles []string) {
	phases := in.Config.Phases()
	i := slices.Index(phases, in.State.Phase)
	if i < 0 || i+1 >= len(phases) {
		return "", nil
	}
	next, _ := in.Config.Phase(phases[i+1])
	for _, r := range append([]string{next.EntryRole}, next.AllowedNextRoles...) {
		if r != "" && r != protocol.Human && !slices.Contains(in.allowed(), r) && !slices.Contains(roles, r) {
			roles = append(roles, r)
		}
	}
	return phases[i+1], roles
}

// challenge reports whether the turn must raise an objection: a reviewer's unless the rules disable that, a role of the
// first edition always.
func (in *Input) challenge() bool {
	r := in.role()
	return r.FirstEdition() || r.WriteAuthority == protocol.ReviewOnly && in.Config.Rules.Challenge()
}

// last is the last accepted turn of the run.
func (in *Input) last() *protocol.HistoryEntry {
	for i := len(in.History) - 1; i >= 0; i-- {
		if in.History[i].Status != "reissued" {
			return &in.History[i]
		}
	}
	return nil
}

// reads reports whether the role gets previews of files: a reviewer does, and who proposes from afar, because they may be
// unable to open them.
func (in *Input) reads() bool { return in.role().WriteAuthority == protocol.ReviewOnly || in.remote() }

// remote reports whether the runtime cannot write files of the workspace, so that its result is answered and not staged
// by it.
func (in *Input) remote() bool {
	return protocol.Remote(in.runtime().Type)
}

// answers reports whether the result is the agent's answer, which the orchestrator stages, instead of a file.
func (in *Input) answers() bool {
	rt := in.runtime()
	return in.remote() || rt.Type == protocol.RuntimeMCP || rt.Type == protocol.RuntimeAgent && rt.ResultMode == "structured"
}

// artifacts are those of the phase's workflow kit, with those of its template.
func (in *Input) artifacts() []protocol.Artifact {
	if in.Config.WorkflowKit == nil {
		return nil
	}
	return gate.Artifacts(in.Config.WorkflowKit.Phases.At(in.State.Phase))
}

// owner is the role responsible for an artifact: its owned_by, else the phase's entry role.
func (in *Input) owner(a protocol.Artifact) string { return cmp.Or(a.OwnedBy, in.phase().EntryRole) }

func required(a protocol.Artifact) bool { return a.Required == nil || *a.Required }

// Paths are the files of the project that the bundle shows or reports as present, without duplicates.
func (in *Input) Paths() []string {
	var out []string
	add := func(p string) {
		if p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, a := range in.artifacts() {
		add(a.Path)
	}
	for _, r := range gate.Requirements(in.Config, in.State.Phase) {
		add(r.Path)
	}
	if h, ok := in.Reviewed(); ok {
		for _, p := range h.FilesChanged[:min(len(h.FilesChanged), 2*MaxPreviewFiles)] {
			add(p)
		}
	}
	return out
}

// Reviewed is the last accepted turn if the role gets its files and its log.
func (in *Input) Reviewed() (protocol.HistoryEntry, bool) {
	h := in.last()
	if h == nil || !in.reads() {
		return protocol.HistoryEntry{}, false
	}
	return *h, true
}
