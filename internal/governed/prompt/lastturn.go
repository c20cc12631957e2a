package prompt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// lastTurn shows the last accepted turn of the run; a reviewer also gets the files, the proposal and the log.
func (in *Input) lastTurn(d *doc) {
	h := in.last()
	if h == nil {
		return
	}
	d.para("## Last Accepted Turn")
	d.field("Turn", h.TurnID)
	d.field("Role", h.Role)
	d.field("Phase", h.Phase)
	d.field("Summary", h.Summary)
	if len(h.Decisions) > 0 {
		d.line("- **Decisions:**")
		for _, x := range h.Decisions {
			d.linef("  - %s: %s", inline(x.ID), inline(x.Statement))
		}
	}
	if len(h.Objections) > 0 {
		d.line("- **Objections:**")
		for _, x := range h.Objections {
			d.linef("  - %s (%s): %s", inline(x.ID), inline(x.Severity), inline(x.Statement))
		}
	}
	d.gap()
	in.filesChanged(d, h)
	if in.reads() {
		in.changedPreviews(d, h)
		in.proposal(d)
	}
	in.verification(d, h)
	if in.reads() {
		in.log(d)
	}
	if o := h.ObservedArtifact; o != nil && len(o.FilesChanged) > 0 {
		d.para("### Observed Artifact")
		d.field("Files observed", strconv.Itoa(len(o.FilesChanged)))
		d.field("Accepted as", o.AcceptedRef)
		if s := strings.TrimSpace(o.DiffSummary); s != "" {
			d.gap()
			summary, cutOff := head(s, MaxGateLines)
			d.fenced("", summary)
			if cutOff {
				d.gap()
				d.line("_Only the beginning is shown._")
			}
		}
		d.gap()
	}
}

func (in *Input) filesChanged(d *doc, h *protocol.HistoryEntry) {
	if len(h.FilesChanged) == 0 {
		return
	}
	d.para("### Files Changed")
	for i, f := range h.FilesChanged {
		if i == maxFilesListed {
			d.linef("- … and %d more", len(h.FilesChanged)-i)
			break
		}
		d.linef("- %s", code(f))
	}
	d.gap()
}

func (in *Input) changedPreviews(d *doc, h *protocol.HistoryEntry) {
	shown := 0
	for _, p := range h.FilesChanged {
		f := in.Files[p]
		if !f.Present {
			continue
		}
		if shown == MaxPreviewFiles {
			break
		}
		if shown == 0 {
			d.para("### Changed File Previews")
		}
		shown++
		d.para("#### %s", code(p))
		d.preview(f, MaxPreviewLines)
	}
}

func (in *Input) proposal(d *doc) {
	p := in.Proposal
	if p == nil {
		return
	}
	d.para("### Proposed Artifact")
	d.linef("- **Artifact ref:** %s", code(p.Ref))
	d.linef("- **Proposed files:** %d", len(p.Files))
	d.gap()
	if p.Summary != "" {
		d.preview(File{Present: true, Text: p.Summary}, MaxProposalLines)
	}
	if len(p.Files) == 0 {
		return
	}
	d.para("### Proposed File Previews")
	for i, f := range p.Files {
		if i == MaxPreviewFiles {
			d.para("_%d more are not shown._", len(p.Files)-i)
			break
		}
		d.para("#### %s (%s)", code(f.Path), inline(f.Action))
		if f.File.Present {
			d.preview(f.File, MaxPreviewLines)
		}
	}
}

func (in *Input) verification(d *doc, h *protocol.HistoryEntry) {
	v, n := h.Verification, h.NormalizedVerification
	if v.Status == "" && len(v.Commands) == 0 && v.EvidenceSummary == "" && len(v.MachineEvidence) == 0 {
		return
	}
	d.para("### Verification")
	d.field("Status", v.Status)
	if n.Status != "" && n.Status != v.Status {
		d.linef("- **Normalized status:** %s — %s", inline(n.Status), inline(n.Reason))
	}
	if len(v.Commands) > 0 {
		d.line("- **Commands:**")
		for _, c := range v.Commands {
			d.linef("  - %s", code(c))
		}
	}
	d.field("Evidence summary", v.EvidenceSummary)
	if len(v.MachineEvidence) > 0 {
		d.gap()
		rows := make([][]string, 0, len(v.MachineEvidence))
		for _, e := range v.MachineEvidence {
			exit := strconv.Itoa(e.ExitCode)
			if e.ExpectedExitCode != nil && *e.ExpectedExitCode != 0 {
				exit += fmt.Sprintf(" (expected %d)", *e.ExpectedExitCode)
			}
			rows = append(rows, []string{code(e.Command), exit})
		}
		d.table([]string{"Command", "Exit Code"}, rows)
	}
	d.gap()
}

func (in *Input) log(d *doc) {
	if in.Log == nil || len(in.Log.Lines) == 0 {
		return
	}
	lines := in.Log.Lines
	if len(lines) > MaxLogLines {
		lines = lines[len(lines)-MaxLogLines:]
	}
	d.para("### Dispatch Log Excerpt")
	if in.Log.Total > len(lines) {
		d.para("_The last %d of %d lines._", len(lines), in.Log.Total)
	}
	excerpt, _ := head(strings.Join(lines, "\n"), MaxLogLines)
	d.fenced("", excerpt)
	d.gap()
}

// decisionHistory shows the record's decisions, and the open objections of this run.
func (in *Input) decisionHistory(d *doc) {
	open := in.State.OpenObjections
	if len(in.Decisions) == 0 && len(open) == 0 {
		return
	}
	d.para("## Decision History")
	if n := len(in.Decisions); n > 0 {
		shown := in.Decisions[max(0, n-MaxDecisions):]
		rows := make([][]string, 0, len(shown))
		for _, x := range shown {
			rows = append(rows, []string{x.ID, x.Phase, x.Role, x.Statement})
		}
		d.table([]string{"ID", "Phase", "Role", "Statement"}, rows)
		d.gap()
		if n > len(shown) {
			d.para("_The last %d of %d decisions; all are in %s._", len(shown), n, code(protocol.LedgerFile))
		}
	}
	if len(open) == 0 {
		return
	}
	d.para("### Open Objections")
	total := len(open)
	open = open[max(0, total-maxObjections):]
	rows := make([][]string, 0, len(open))
	for _, o := range open {
		rows = append(rows, []string{o.ID, o.Severity, o.Status, o.Role, o.AgainstTurnID, o.Statement})
	}
	d.table([]string{"ID", "Severity", "Status", "Raised by", "Against", "Statement"}, rows)
	d.gap()
	if total > len(open) {
		d.para("_The last %d of %d open objections._", len(open), total)
	}
}
