package prompt

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Section is a part of CONTEXT.md after Fit.
type Section struct {
	ID             string `json:"id"`
	Required       bool   `json:"required"`
	OriginalTokens int    `json:"original_tokens"`
	FinalTokens    int    `json:"final_tokens"`
	Action         string `json:"action"` // kept, dropped or truncated
}

// contextHeadings returns the sections of CONTEXT.md, by heading.
var contextHeadings = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"## Current State": "current_state", "## Project Goal": "project_goal", "## Intake Intent": "intake_intent",
		"## Coordinator Context": "coordinator_context", "## Delegation Context": "delegation_context", "## Delegation Review": "delegation_review",
		"## Runtime Capability Contract": "capability_contract", "## Active Repo Decisions": "repo_decisions",
		"## Inherited Run Context": "inherited_context", "## Open Proposals": "open_proposals",
		"## Last Accepted Turn": "last_turn_header", "### Files Changed": "last_turn_files",
		"### Changed File Previews": "last_turn_previews", "### Proposed Artifact": "last_turn_proposal",
		"### Proposed File Previews": "last_turn_proposal_files", "### Verification": "last_turn_verification",
		"### Dispatch Log Excerpt": "last_turn_log", "### Observed Artifact": "last_turn_observed",
		"## Decision History": "decision_history", "### Open Objections": "open_objections",
		"## Blockers": "blockers", "## Escalation": "escalation", "## Workflow Artifacts": "workflow_artifacts",
		"## Gate Required Files": "gate_required_files", "## Phase Gate Status": "phase_gate_status",
	}
})

// contextFields are lists and lines within a section that are sections of their own, by the beginning of their line.
var contextFields = []struct{ in, line, id string }{
	{"current_state", "- **Budget ", "budget"},
	{"last_turn_header", "- **Summary:**", lastSummary},
	{"last_turn_header", "- **Decisions:**", "last_turn_decisions"},
	{"last_turn_header", "- **Objections:**", "last_turn_objections"},
}

const lastSummary = "last_turn_summary"

// summaryKept is what is left of the last turn's summary before it is dropped, in characters.
const summaryKept = 240

// expendable are the sections that may be left out, the first ones first. The order is the protocol's; sections that it
// does not know are among them where a reviewer misses them least. Every other section is required.
var expendable = []string{"budget", "phase_gate_status", "decision_history", "last_turn_log", "last_turn_observed", "workflow_artifacts",
	"last_turn_verification", "gate_required_files", "last_turn_objections", "last_turn_decisions", lastSummary,
	"last_turn_previews", "last_turn_proposal_files", "open_proposals", "open_objections"}

// Fit shortens CONTEXT.md to at most limit tokens by leaving out whole sections, least important first, and says in the
// text which. ok is false if the required sections alone are too long; the text is then the shortest possible. It does
// not change a text that fits.
func Fit(context string, limit int, tokens func(string) int) (text string, sections []Section, ok bool) {
	parts := cutSections(context)
	list := make([]Section, 0, len(parts))
	index := map[string]int{} // sections that occur in several places count as one
	for _, p := range parts {
		i, seen := index[p.id]
		if !seen {
			i = len(list)
			index[p.id] = i
			list = append(list, Section{ID: p.id, Required: !slices.Contains(expendable, p.id), Action: "kept"})
		}
		list[i].OriginalTokens += tokens(p.text)
		list[i].FinalTokens = list[i].OriginalTokens
	}
	render := func() string {
		var b strings.Builder
		var gone []string
		for _, p := range parts {
			b.WriteString(p.text)
		}
		for _, s := range list {
			if s.Action == "dropped" {
				gone = append(gone, s.ID)
			}
		}
		if len(gone) > 0 {
			b.WriteString("\n_Left out because the context window is too small: " + strings.Join(gone, ", ") + "._\n")
		}
		return b.String()
	}
	change := func(id, action string, to func(string) string) {
		i, there := index[id]
		if !there {
			return
		}
		list[i].FinalTokens, list[i].Action = 0, action
		for k := range parts {
			if parts[k].id == id {
				parts[k].text = to(parts[k].text)
				if parts[k].text != "" {
					list[i].FinalTokens += tokens(parts[k].text)
				}
			}
		}
	}
	text = context
	for _, id := range expendable {
		if tokens(text) <= limit {
			return text, list, true
		}
		if id == lastSummary {
			change(id, "truncated", shorten)
			if text = render(); tokens(text) <= limit {
				return text, list, true
			}
		}
		change(id, "dropped", func(string) string { return "" })
		text = render()
	}
	return text, list, tokens(text) <= limit
}

func shorten(line string) string {
	if utf8.RuneCountInString(line) <= summaryKept {
		return line
	}
	return strings.TrimSpace(string([]rune(line)[:summaryKept])) + "…\n"
}

type contextPart struct{ id, text string }

// cutSections cuts CONTEXT.md at its contextHeadings and contextFields. Quoted files are within fences and are not cut.
func cutSections(context string) []contextPart {
	parts := []contextPart{{id: "heading"}}
	section, fence := "heading", ""
	for line := range strings.SplitAfterSeq(context, "\n") {
		id := parts[len(parts)-1].id
		trimmed := strings.TrimRight(line, "\r\n")
		ticks := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
		switch {
		case fence != "":
			if ticks >= len(fence) && ticks == len(trimmed) {
				fence = ""
			}
		case ticks >= 3:
			fence = trimmed[:ticks]
		case contextHeadings()[trimmed] != "":
			section = contextHeadings()[trimmed]
			id = section
		case strings.HasPrefix(trimmed, "## "):
			section = "other"
			id = section
		case strings.HasPrefix(line, "- "):
			id = section
			for _, f := range contextFields {
				if f.in == section && strings.HasPrefix(trimmed, f.line) {
					id = f.id
				}
			}
		case trimmed == "":
			id = section // a field ends with its list
		}
		if id != parts[len(parts)-1].id {
			parts = append(parts, contextPart{id: id})
		}
		parts[len(parts)-1].text += line
	}
	return parts
}
