package govern

// ProposalStatus is what was decided on a proposal.
type ProposalStatus string

const (
	ProposalOpen     ProposalStatus = "open"
	ProposalPartly   ProposalStatus = "partly_applied" // some of its files; the rest is undecided
	ProposalApplied  ProposalStatus = "applied"
	ProposalRejected ProposalStatus = "rejected"
)

// Proposal is what an accepted turn proposes instead of changing files. Its files are in Dir until a person decides.
type Proposal struct {
	TurnID  string         `json:"turn_id"`
	RunID   string         `json:"run_id,omitempty"`
	Role    string         `json:"role,omitempty"`
	Phase   string         `json:"phase,omitempty"`
	Summary string         `json:"summary,omitempty"`
	Status  ProposalStatus `json:"status"`
	Dir     string         `json:"dir"` // relative to the project, with slashes
	Files   []ProposedFile `json:"files"`
	Applied []string       `json:"applied,omitempty"` // paths
	By      string         `json:"by,omitempty"`      // who decided last
	Reason  string         `json:"reason,omitempty"`  // of a rejection
	// Fault is why the proposal cannot be applied: its folder is not what was recorded.
	Fault string `json:"fault,omitempty"`
}

// Undecided reports whether files of the proposal can still be applied.
func (p *Proposal) Undecided() bool { return p.Status == ProposalOpen || p.Status == ProposalPartly }

// ProposedFile is a proposed file, and what was in its place when the proposal was accepted.
type ProposedFile struct {
	Path    string  `json:"path"`
	Action  string  `json:"action"` // create, modify or delete
	Existed bool    `json:"existed"`
	SHA256  *string `json:"sha256"` // "sha256:" and hex; null if it did not exist
}
