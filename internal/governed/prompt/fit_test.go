package prompt

import (
	"slices"
	"strings"
	"testing"
)

const fitContext = "# Execution Context\n\n## Current State\n\n- **Run:** `r`\n- **Budget spent:** $1.00\n- **Budget remaining:** $2.00\n\n" +
	"## Project Goal\n\nThe goal.\n\n## Last Accepted Turn\n\n- **Turn:** t\n- **Summary:** SUMMARY\n- **Decisions:**\n  - DEC-001: D\n- **Objections:**\n  - OBJ-001 (low): O\n\n" +
	"### Files Changed\n\n- `a.go`\n\n### Changed File Previews\n\n````\n## Decision History\n```\n- **Budget inside\n````\n\n### Verification\n\n- **Status:** pass\n\n" +
	"## Decision History\n\n| D |\n\n### Open Objections\n\n| O |\n\n## Blockers\n\n- **Blocked on:** b\n\n## Phase Gate Status\n\n- `g`: pending\n\n## Unknown To Us\n\nunknown\n"

func length(s string) int { return len(s) }

func action(list []Section, id string) string {
	for _, s := range list {
		if s.ID == id {
			return s.Action
		}
	}
	return "absent"
}

func TestFitKeepsWhatFits(t *testing.T) {
	t.Parallel()
	text, list, ok := Fit(fitContext, len(fitContext), length)
	if text != fitContext || !ok {
		t.Errorf("%t %q", ok, text)
	}
	sum := 0
	for _, s := range list {
		if sum += s.OriginalTokens; s.Action != "kept" || s.FinalTokens != s.OriginalTokens {
			t.Errorf("%+v", s)
		}
	}
	if sum != len(fitContext) {
		t.Errorf("the sections have %d of %d bytes", sum, len(fitContext))
	}
}

// TestFitOrder: the sections go in the protocol's order, one by one.
func TestFitOrder(t *testing.T) {
	t.Parallel()
	var order []string
	seen := map[string]bool{}
	for limit := len(fitContext); limit >= 0; limit-- {
		_, list, _ := Fit(fitContext, limit, length)
		for _, s := range list {
			if s.Action == "dropped" && !seen[s.ID] {
				seen[s.ID], order = true, append(order, s.ID)
			}
		}
	}
	if want := []string{"budget", "phase_gate_status", "decision_history", "last_turn_verification", "last_turn_objections", "last_turn_decisions", lastSummary, "last_turn_previews", "open_objections"}; !slices.IsSortedFunc(order, func(a, b string) int {
		return slices.Index(expendable, a) - slices.Index(expendable, b)
	}) || len(order) != len(want) {
		t.Errorf("%v, want %v", order, want)
	}
	text, list, ok := Fit(fitContext, 0, length)
	if ok {
		t.Error("it fits in nothing")
	}
	for _, must := range []string{"**Run:**", "The goal.", "**Turn:** t", "`a.go`", "Blocked on", "unknown", "Left out because"} {
		if !strings.Contains(text, must) {
			t.Errorf("%q is gone:\n%s", must, text)
		}
	}
	for _, gone := range []string{"$1.00", "SUMMARY", "DEC-001", "OBJ-001", "**Status:**", "pending", "Budget inside"} {
		if strings.Contains(text, gone) {
			t.Errorf("%q is left:\n%s", gone, text)
		}
	}
	if action(list, "current_state") != "kept" {
		t.Errorf("%+v", list)
	}
}

// TestFitFences: a heading in a quoted file begins no section.
func TestFitFences(t *testing.T) {
	t.Parallel()
	for _, p := range cutSections(fitContext) {
		if strings.Contains(p.text, "**Budget inside") && p.id != "last_turn_previews" {
			t.Errorf("%+v", p)
		}
	}
}

func TestFitShortensSummary(t *testing.T) {
	t.Parallel()
	long := "## Last Accepted Turn\n\n- **Turn:** t\n- **Summary:** " + strings.Repeat("ü", 500) + "\n"
	text, list, ok := Fit(long, len(long)-100, length)
	if !ok || action(list, lastSummary) != "truncated" || !strings.Contains(text, "üü") || !strings.HasSuffix(text, "…\n") {
		t.Errorf("%t %+v %s", ok, list, text)
	}
}

// TestFitKnowsEveryHeading: what Context writes is a section of its own, so that a new one cannot be lost in another.
func TestFitKnowsEveryHeading(t *testing.T) {
	t.Parallel()
	for name, in := range situations(t) {
		for _, p := range cutSections(Context(in)) {
			if p.id == "other" {
				t.Errorf("%s: %q", name, p.text)
			}
		}
	}
}

func FuzzFit(f *testing.F) {
	f.Add(fitContext, 100)
	f.Fuzz(func(t *testing.T, context string, limit int) {
		var b strings.Builder
		for _, p := range cutSections(context) {
			b.WriteString(p.text)
		}
		if b.String() != context {
			t.Error("cutting loses text")
		}
		if text, _, ok := Fit(context, limit, length); ok && len(text) > limit {
			t.Errorf("%d bytes for a limit of %d", len(text), limit)
		}
	})
}
