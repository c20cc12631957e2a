package prompt

import (
	"github.com/drawbar/drawbar/govern/protocol"
)

// Review returns the document of an accepted review by a turn that writes no files itself.
func Review(h protocol.HistoryEntry) string {
	d := &doc{}
	d.para("# Review: %s", inline(h.Role))
	identity(d, h)
	d.para("## Summary")
	d.para("%s", quote(h.Summary))
	if len(h.Decisions) > 0 {
		d.para("## Decisions")
		for _, x := range h.Decisions {
			d.linef("- **%s** (%s): %s — %s", inline(x.ID), inline(x.Category), inline(x.Statement), inline(x.Rationale))
		}
		d.gap()
	}
	if len(h.Objections) > 0 {
		d.para("## Objections")
		for _, x := range h.Objections {
			d.linef("- **%s** (%s): %s", inline(x.ID), inline(x.Severity), inline(x.Statement))
		}
		d.gap()
	}
	d.para("## Verification")
	d.field("Status", verdict(h))
	d.field("Evidence", h.Verification.EvidenceSummary)
	return d.b.String()
}

// ProposalText returns PROPOSAL.md: what a turn proposes. The lines of files have a fixed form, which other programs
// read.
func ProposalText(h protocol.HistoryEntry, changes []protocol.ProposedChange) string {
	d := &doc{}
	d.para("# Proposal: %s", inline(h.Role))
	identity(d, h)
	d.para("## Summary")
	d.para("%s", quote(h.Summary))
	d.para("## Files")
	for _, c := range changes {
		d.linef("- `%s` — %s", c.Path, c.Action)
	}
	if len(h.Decisions) > 0 {
		d.gap()
		d.para("## Decisions")
		for _, x := range h.Decisions {
			d.linef("- **%s** (%s): %s — %s", inline(x.ID), inline(x.Category), inline(x.Statement), inline(x.Rationale))
		}
	}
	return d.b.String()
}

func identity(d *doc, h protocol.HistoryEntry) {
	d.field("Turn", h.TurnID)
	d.field("Run", h.RunID)
	d.field("Phase", h.Phase)
	d.field("Runtime", h.RuntimeID)
	d.field("Status", h.Status)
	d.field("Accepted", h.AcceptedAt.String())
	d.gap()
}
