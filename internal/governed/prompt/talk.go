package prompt

import (
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

const talkHead = "# Talk\n\nReports of the turns of governed runs, oldest first. Written by the orchestrator; the record is `" +
	protocol.HistoryFile + "`.\n"

// TalkNotes are events of an acceptance that the turn's result does not contain.
type TalkNotes struct {
	// Gate is how the gate decided on the turn's request; empty without one.
	Gate string
	// Warnings of the acceptance.
	Warnings []string
}

// Talk returns the section of TALK.md for an accepted turn.
func Talk(h protocol.HistoryEntry, n TalkNotes) string {
	d := &doc{}
	d.para("## %s — %s (%s)", inline(h.TurnID), inline(h.Role), inline(h.Phase))
	d.field("Accepted", h.AcceptedAt.String())
	d.field("Run", h.RunID)
	d.field("Status", h.Status)
	d.field("Summary", h.Summary)
	if len(h.Decisions) > 0 {
		d.line("- **Decisions:**")
		for _, x := range h.Decisions {
			d.linef("  - %s (%s): %s", inline(x.ID), inline(x.Category), inline(x.Statement))
		}
	}
	if len(h.Objections) > 0 {
		d.line("- **Objections:**")
		for _, x := range h.Objections {
			d.linef("  - %s (%s): %s", inline(x.ID), inline(x.Severity), inline(x.Statement))
		}
	}
	if files := h.FilesChanged; len(files) > 0 {
		more := ""
		if len(files) > maxFilesListed {
			more = fmt.Sprintf(" and %d more", len(files)-maxFilesListed)
			files = files[:maxFilesListed]
		}
		d.linef("- **Files:** %s%s", codes(files), more)
	}
	d.field("Verification", verdict(h))
	if h.PhaseTransitionRequest != nil {
		d.field("Asked for phase", *h.PhaseTransitionRequest)
	}
	if h.RunCompletionRequest {
		d.line("- **Requested the end of the run**")
	}
	d.field("Gate", n.Gate)
	d.field("Next", h.ProposedNextRole)
	if c := h.Cost; c != nil && (c.USD > 0 || c.InputTokens+c.OutputTokens > 0) {
		d.linef("- **Cost:** $%.4f, %d tokens in, %d out", c.USD, c.InputTokens, c.OutputTokens)
	}
	d.items("Warnings", n.Warnings)
	return d.b.String()
}

// verdict is the turn's account of its checks, and their classification.
func verdict(h protocol.HistoryEntry) string {
	s := h.Verification.Status
	if n := h.NormalizedVerification.Status; n != "" && n != s {
		s = strings.TrimPrefix(s+", counted as "+n, ", ")
	}
	return s
}

// AppendTalk adds a section to the text of TALK.md, which may be empty.
func AppendTalk(existing, section string) string {
	if strings.TrimSpace(existing) == "" {
		existing = talkHead
	}
	return strings.TrimRight(existing, "\n") + "\n\n" + strings.TrimRight(section, "\n") + "\n"
}
