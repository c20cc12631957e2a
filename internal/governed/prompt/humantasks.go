package prompt

import (
	"encoding/json"
	"slices"
	"strings"
)

// The sections of HUMAN_TASKS.md that are rewritten lie between these marks; the rest of the file belongs to the user.
const (
	openStart      = "<!-- AGENTXCHAIN:HUMAN_ESCALATIONS:OPEN:START -->"
	openEnd        = "<!-- AGENTXCHAIN:HUMAN_ESCALATIONS:OPEN:END -->"
	completedStart = "<!-- AGENTXCHAIN:HUMAN_ESCALATIONS:COMPLETED:START -->"
	completedEnd   = "<!-- AGENTXCHAIN:HUMAN_ESCALATIONS:COMPLETED:END -->"

	maxCompletedTasks = 10
)

// escalation is one line of human-escalations.jsonl: raised, or resolved.
type escalation struct {
	Kind              string `json:"kind"`
	ID                string `json:"escalation_id"`
	CreatedAt         string `json:"created_at"`
	RunID             string `json:"run_id"`
	Phase             string `json:"phase"`
	BlockedOn         string `json:"blocked_on"`
	TypedReason       string `json:"typed_reason"`
	Type              string `json:"type"`
	Service           string `json:"service"`
	Action            string `json:"action"`
	RecoveryAction    string `json:"recovery_action"`
	ResolutionCommand string `json:"resolution_command"`
	Detail            string `json:"detail"`
	TurnID            string `json:"turn_id"`
	RoleID            string `json:"role_id"`

	ResolvedAt      string `json:"resolved_at"`
	ResolvedVia     string `json:"resolved_via"`
	ResolutionNotes string `json:"resolution_notes"`
}

// HumanTasks returns HUMAN_TASKS.md after the given lines of human-escalations.jsonl, oldest first: the open entries,
// and the last ten resolved ones. Text outside the marked sections is kept. Other lines are skipped.
func HumanTasks(existing string, lines []json.RawMessage) string {
	open, done := settle(lines)
	if strings.TrimSpace(existing) == "" {
		existing = "# Human Tasks\n\nDecisions and actions that governed runs need from a person.\n\n"
	}
	out := replaceSection(existing, openStart, openEnd, openTasks(open))
	return replaceSection(out, completedStart, completedEnd, completedTasks(done))
}

// settle separates open entries from resolved ones. Both lists have the newest first.
func settle(lines []json.RawMessage) (open, done []escalation) {
	var all []escalation
	for _, raw := range lines {
		var e escalation
		if json.Unmarshal(raw, &e) != nil || e.ID == "" {
			continue
		}
		at := slices.IndexFunc(all, func(x escalation) bool { return x.ID == e.ID })
		switch {
		case e.Kind == "raised" && at < 0:
			all = append(all, e)
		case e.Kind == "resolved" && at >= 0:
			x := &all[at]
			x.Kind, x.ResolvedAt, x.ResolvedVia, x.ResolutionNotes = "resolved", e.ResolvedAt, e.ResolvedVia, e.ResolutionNotes
		}
	}
	slices.Reverse(all)
	for _, e := range all {
		if e.Kind == "resolved" {
			done = append(done, e)
		} else {
			open = append(open, e)
		}
	}
	return open, done
}

func openTasks(list []escalation) string {
	d := &doc{}
	d.line("## Open")
	if len(list) == 0 {
		d.gap()
		d.line("Nothing.")
	}
	for _, e := range list {
		d.gap()
		d.linef("### %s — %s", inline(e.ID), inline(e.Type))
		d.gap()
		d.field("Since", e.CreatedAt)
		d.field("Run", e.RunID)
		d.field("Phase", e.Phase)
		d.field("Role", e.RoleID)
		d.field("Turn", e.TurnID)
		d.field("Blocked on", e.BlockedOn)
		d.field("Reason", e.TypedReason)
		d.field("Service", e.Service)
		d.field("Detail", e.Detail)
		d.field("To do", e.Action)
		if e.ResolutionCommand != "" {
			d.linef("- **Then:** %s", code(e.ResolutionCommand))
		}
		if e.RecoveryAction != "" && e.RecoveryAction != e.ResolutionCommand {
			d.linef("- **Continues with:** %s", code(e.RecoveryAction))
		}
	}
	return d.b.String()
}

func completedTasks(list []escalation) string {
	d := &doc{}
	d.line("## Completed")
	if len(list) == 0 {
		d.gap()
		d.line("Nothing yet.")
	}
	for _, e := range list[:min(len(list), maxCompletedTasks)] {
		d.gap()
		d.linef("### %s — resolved", inline(e.ID))
		d.gap()
		d.field("Since", e.CreatedAt)
		d.field("Resolved", e.ResolvedAt)
		d.field("By", e.ResolvedVia)
		d.field("Type", e.Type)
		d.field("Blocked on", e.BlockedOn)
		d.field("Detail", e.Detail)
		d.field("Notes", e.ResolutionNotes)
	}
	return d.b.String()
}

// replaceSection replaces the text between two marks, or appends it with the marks. The text cannot contain a mark.
func replaceSection(doc, start, end, section string) string {
	section = start + "\n" + strings.ReplaceAll(strings.TrimRight(section, "\n"), "<!--", "&lt;!--") + "\n" + end
	// Use the innermost pair, so that a mark without its partner does not remove what a person has written.
	for from := strings.LastIndex(doc, start); from >= 0; from = strings.LastIndex(doc[:from], start) {
		if to := strings.Index(doc[from:], end); to >= 0 {
			return doc[:from] + section + doc[from+to+len(end):]
		}
	}
	return strings.TrimRight(doc, "\n") + "\n\n" + section + "\n"
}
