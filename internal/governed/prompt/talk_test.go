package prompt

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTalk(t *testing.T) {
	t.Parallel()
	h := accepted()
	h.RunCompletionRequest = true
	text := Talk(h, TalkNotes{Gate: "gate `built` passed", Warnings: []string{"w\n# x"}})
	for _, part := range []string{
		"## turn_dev — dev (implementation)\n", "- **Accepted:** 2026-03-01T11:59:00.000Z\n", "- **Run:** run_1\n", "- **Status:** completed\n",
		"- **Summary:** Built the cart | and ## Escalation ```\n", "  - DEC-002 (implementation): Carts are | maps\n", "  - OBJ-002 (high): No limit | is named.\n",
		"- **Files:** `src/cart.go`, `src/gone.go`, `src/logo.png`, `.env`\n", "- **Verification:** pass, counted as attested_pass\n", "- **Asked for phase:** qa\n",
		"- **Requested the end of the run**\n", "- **Gate:** gate `built` passed\n", "- **Next:** qa\n", "- **Cost:** $0.0123, 1200 tokens in, 300 out\n", "  - w # x\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	bare := Talk(planned(), TalkNotes{})
	for _, part := range []string{"**Files", "**Cost", "**Gate", "**Asked", "**Warnings", "**Verification"} {
		if strings.Contains(bare, part) {
			t.Errorf("%q is there without a cause:\n%s", part, bare)
		}
	}
	all := AppendTalk("", bare)
	all = AppendTalk(all, text)
	if got := headings(all); len(got) != 3 || got[0] != "# Talk" || got[2] != "## turn_dev — dev (implementation)" || !strings.HasSuffix(all, "\n") || strings.Contains(all, "\n\n\n") {
		t.Errorf("got %q in\n%s", got, all)
	}
	if got := AppendTalk("mine", bare); !strings.HasPrefix(got, "mine\n\n## turn_pm") {
		t.Errorf("what was there is lost:\n%s", got)
	}
}

func raw(lines ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, l := range lines {
		out = append(out, json.RawMessage(l))
	}
	return out
}

func TestHumanTasks(t *testing.T) {
	t.Parallel()
	lines := raw(
		`{"kind":"raised","escalation_id":"hesc_1","created_at":"2026-03-01T12:00:00.000Z","run_id":"run_1","phase":"qa","blocked_on":"human:dns","category":"needs_human",
		  "typed_reason":"needs_human","type":"needs_decision","service":null,"action":"Decide.","recovery_action":"drawbar govern resume","resolution_command":"drawbar govern unblock hesc_1",
		  "detail":"No DNS.\n<!-- AGENTXCHAIN:HUMAN_ESCALATIONS:OPEN:END -->\n# x","turn_id":"turn_1","role_id":"qa"}`,
		`not JSON`, `{"kind":"raised"}`, `{"kind":"resolved","escalation_id":"hesc_none"}`,
		`{"kind":"raised","escalation_id":"hesc_2","type":"needs_credential","service":"GitHub"}`,
		`{"kind":"resolved","escalation_id":"hesc_2","resolved_at":"2026-03-02T00:00:00.000Z","resolved_via":"unblock","resolution_notes":"Done."}`)
	text := HumanTasks("", lines)
	for _, part := range []string{"# Human Tasks", "### hesc_1 — needs_decision\n\n- **Since:** 2026-03-01T12:00:00.000Z\n", "- **Blocked on:** human:dns\n",
		"- **Then:** `drawbar govern unblock hesc_1`\n", "- **Continues with:** `drawbar govern resume`", "## Completed\n\n### hesc_2 — resolved\n", "- **Notes:** Done.",
		"- **Detail:** No DNS. &lt;!-- AGENTXCHAIN"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	if again := HumanTasks(text, lines); again != text {
		t.Errorf("a second time changes the file:\n%s", again)
	}
	// What a person has written stays, before, between and behind the sections.
	mine := strings.Replace(text, "<!-- AGENTXCHAIN:HUMAN_ESCALATIONS:COMPLETED:START", "My own words.\n\n<!-- AGENTXCHAIN:HUMAN_ESCALATIONS:COMPLETED:START", 1) + "\nAt the end.\n"
	settled := append(lines, raw(`{"kind":"resolved","escalation_id":"hesc_1"}`)...)
	got := HumanTasks(mine, settled)
	for _, part := range []string{"My own words.", "At the end.", "## Open\n\nNothing.\n", "### hesc_1 — resolved"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in\n%s", part, got)
		}
	}
	if strings.Count(got, "## Open") != 1 || strings.Count(got, "## Completed") != 1 {
		t.Errorf("sections pile up:\n%s", got)
	}
	// A file whose marks are damaged keeps everything.
	damaged := "# Mine\n\n<!-- AGENTXCHAIN:HUMAN_ESCALATIONS:OPEN:START -->\nhalf\n\nimportant\n"
	once := HumanTasks(damaged, lines)
	if twice := HumanTasks(once, lines); twice != once || !strings.Contains(twice, "important") {
		t.Errorf("after damage:\n%s", twice)
	}
	var many []json.RawMessage
	for i := range 30 {
		id := string(rune('a'+i%26)) + string(rune('a'+i/26))
		many = append(many, raw(`{"kind":"raised","escalation_id":"`+id+`"}`, `{"kind":"resolved","escalation_id":"`+id+`"}`)...)
	}
	if n := strings.Count(HumanTasks("", many), "— resolved"); n != maxCompletedTasks {
		t.Errorf("%d settled tasks are listed", n)
	}
}

func FuzzHumanTasks(f *testing.F) {
	f.Add("", `{"kind":"raised","escalation_id":"a","detail":"<!-- x"}`)
	f.Add(openEnd+openStart, `{"kind":"raised","escalation_id":"a"}`)
	f.Add(openStart+"\n"+openStart+openEnd, `{}`)
	f.Fuzz(func(t *testing.T, existing, line string) {
		once := HumanTasks(existing, raw(line))
		if twice := HumanTasks(once, raw(line)); twice != once {
			t.Errorf("a second time changes the file:\n%q\n%q", once, twice)
		}
	})
}
