package governance

import "strings"

// Decisions on a proposal.
const (
	ProposalApplied  = "applied"
	ProposalRejected = "rejected"
)

// ProposalNote is the type of the decision ledger's notes about proposals.
const ProposalNote = "proposal"

// apply records a person's decision on a proposal. The record has no state of proposals but these notes.
func (in DecideProposal) apply(s *step) *Refused {
	more := map[string]any{"status": in.Status}
	switch {
	case in.Status == ProposalApplied && len(in.Files) > 0:
		more["files"], more["forced"] = in.Files, in.Forced
	case in.Status == ProposalRejected && strings.TrimSpace(in.Reason) != "":
		more["reason"] = in.Reason
	case in.Status == ProposalRejected:
		return refuse(CodeInvalidInput, `drawbar govern proposal reject `+or(in.TurnID, "TURN")+` --reason "..."`, "rejecting a proposal needs a reason")
	default:
		return refuse(CodeInvalidInput, "drawbar govern proposal list", "a proposal is applied, with its files, or rejected")
	}
	s.signed(more, in.By)
	s.noteType(ProposalNote, in.TurnID, more)
	return nil
}
