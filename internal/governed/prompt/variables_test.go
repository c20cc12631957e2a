package prompt

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

// TestVariables holds every variable against a value that only its own source has.
func TestVariables(t *testing.T) {
	t.Parallel()
	in := given(t, "dev", "implementation")
	in.now().Attempt = 2
	in.History = []protocol.HistoryEntry{planned()}
	in.State.BudgetReservations.Set("turn_now", protocol.Reservation{ReservedUSD: 1.5})
	want := map[string]string{
		"role": "dev", "role_id": "dev", "role_title": "Developer", "mandate": "Write code that works.", "write_authority": "authoritative",
		"runtime_id": "cli", "runtime_type": "local_cli", "project_id": "shop", "project_name": "Shop",
		"project_goal": "Sell | buy things\nwithout surprises.", "default_branch": "main", "run_id": "run_1", "turn_id": "turn_now",
		"attempt": "2", "max_attempts": "3", "phase": "implementation", "next_phase": "qa", "phases": "planning, implementation, qa",
		"exit_gate": "built", "gate_files": ".planning/IMPLEMENTATION_NOTES.md", "allowed_next_roles": "dev, qa, arch, human",
		"last_turn_id": "turn_pm", "last_role": "pm", "deadline_at": "2026-03-01T14:00:00.000Z", "budget_usd": "1.5",
		"staging_result_path": ".agentxchain/staging/turn_now/turn-result.json",
		"assignment_path":     ".agentxchain/dispatch/turns/turn_now/ASSIGNMENT.json",
		"prompt_path":         ".agentxchain/dispatch/turns/turn_now/PROMPT.md",
		"context_path":        ".agentxchain/dispatch/turns/turn_now/CONTEXT.md",
		"date":                "2026-03-01",
	}
	got := map[string]string{}
	for _, v := range Variables {
		if v.Doc == "" {
			t.Errorf("%s is not documented", v.Name)
		}
		text, unknown := in.expand("{{" + v.Name + "}}")
		if len(unknown) > 0 {
			t.Errorf("%s is unknown", v.Name)
		}
		got[v.Name] = text
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	first := given(t, "dev", "qa")
	for _, name := range []string{"last_turn_id", "last_role", "budget_usd", "next_phase"} {
		if text, _ := first.expand("{{" + name + "}}"); text != "" {
			t.Errorf("%s without a cause is %q", name, text)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	in := given(t, "dev", "implementation")
	in.Config.Project.Name = "{{role}}"
	for text, want := range map[string]string{
		"I am {{role}} of {{ phase }}.":    "I am dev of implementation.",
		"{{\trun_id }}":                    "run_1",
		"{{project_name}}":                 "{{role}}", // a value is not expanded again
		"${{ secrets.KEY }} ${{ role }}":   "${{ secrets.KEY }} ${{ role }}",
		"{{unknown}} {{Role}} {{ROLE_ID}}": "{{unknown}} {{Role}} {{ROLE_ID}}",
		"{{}} {role} {{role":               "{{}} {role} {{role",
		"{{ro\nle}}":                       "{{ro\nle}}",
		"a {{role}}{{role}} b":             "a devdev b",
	} {
		if got, _ := in.expand(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	in := given(t, "dev", "implementation")
	if got := Warnings(in); len(got) > 0 {
		t.Errorf("warned of nothing: %q", got)
	}
	in.RolePromptPath = ".agentxchain/prompts/dev.md"
	in.RolePrompt = "{{role}} {{project_nam}} {{project_nam}} {{zzzzzzzz}}\n```sh\nls\n"
	want := []string{
		".agentxchain/prompts/dev.md: {{project_nam}} is not a variable and is kept as it is; did you mean {{project_name}}?",
		".agentxchain/prompts/dev.md: {{zzzzzzzz}} is not a variable and is kept as it is",
		".agentxchain/prompts/dev.md: a code fence is not closed; it is closed at the end of the text",
	}
	if diff := cmp.Diff(want, Warnings(in)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	text := Prompt(in)
	if !strings.Contains(text, "{{project_nam}}") || !strings.Contains(text, "```sh\nls\n```\n\n## Unattended Turn") {
		t.Errorf("the prompt:\n%s", text)
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"{{role}}", "${{role}}", "{{{{role}}}}", "{{ a b }}", "}}{{", "{{role"} {
		f.Add(s)
	}
	in := given(f, "dev", "implementation")
	f.Fuzz(func(t *testing.T, s string) {
		got, unknown := in.expand(s)
		if !strings.Contains(s, "{{") && (got != s || len(unknown) > 0) {
			t.Errorf("%q became %q", s, got)
		}
		for _, name := range unknown {
			if !strings.Contains(got, name) {
				t.Errorf("%s did not stay", name)
			}
		}
	})
}
