package prompt

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// config is a project with a role for every kind of authority and runtime.
const config = `{
  "schema_version": "1.0",
  "project": {"id": "shop", "name": "Shop", "goal": "Sell | buy things\nwithout surprises.", "default_branch": "main"},
  "roles": {
    "pm":   {"title": "Product Manager", "mandate": "Protect user value.", "write_authority": "review_only", "runtime": "manual-pm"},
    "dev":  {"title": "Developer", "mandate": "Write code that works.", "write_authority": "authoritative", "runtime": "cli", "declared_file_scope": ["src/"]},
    "qa":   {"title": "QA", "mandate": "Challenge correctness.", "write_authority": "review_only", "runtime": "claude"},
    "arch": {"title": "Architect", "mandate": "Keep it simple.", "write_authority": "proposed", "runtime": "api"},
    "rev":  {"title": "Reviewer", "mandate": "Read everything.", "write_authority": "review_only", "runtime": "api"},
    "old":  {"title": "Old Dev", "write_authority": "authoritative", "runtime": "local_cli-old", "adapter": "local_cli",
             "adapter_config": {"command": "claude", "timeout_ms": 600000, "prompt_transport": "stdin",
               "env": {"KEY": "${KEY}", "TOKEN": "sk-secret-1", "MIXED": "x-${KEY}"}, "nested": [{"headers": {"Authorization": "Bearer sk-secret-2"}}]}}
  },
  "runtimes": {
    "manual-pm": {"type": "manual"},
    "cli": {"type": "local_cli", "command": ["agent"], "env": {"TOKEN": "sk-secret-3"}},
    "claude": {"type": "agent", "agent": "claude"},
    "api": {"type": "api_proxy", "provider": "anthropic", "model": "m"},
    "local_cli-old": {"type": "local_cli", "command": "claude"}
  },
  "routing": {
    "planning": {"entry_role": "pm", "allowed_next_roles": ["pm", "dev", "human"], "exit_gate": "signoff"},
    "implementation": {"entry_role": "dev", "allowed_next_roles": ["dev", "qa", "arch", "human"], "exit_gate": "built"},
    "qa": {"entry_role": "qa", "allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "ship"}
  },
  "gates": {
    "signoff": {"requires_files": [".planning/PM_SIGNOFF.md", ".planning/ROADMAP.md"], "requires_human_approval": true},
    "built": {"requires_files": [".planning/IMPLEMENTATION_NOTES.md"], "requires_verification_pass": true},
    "ship": {"requires_human_approval": true, "requires_verification_pass": true}
  },
  "approval_policy": {"phase_transitions": {"default": "require_human"}, "run_completion": {"action": "auto_approve", "when": {"gate_passed": true}}},
  "workflow_kit": {"phases": {
    "planning": {"template": "planning-default"},
    "implementation": {"artifacts": [
      {"path": ".planning/IMPLEMENTATION_NOTES.md", "semantics": "implementation_notes"},
      {"path": "docs/api.md", "semantics": "section_check", "semantics_config": {"required_sections": ["Calls", "Errors"]}, "owned_by": "arch", "required": false}]},
    "qa": {"template": "qa-default"}
  }},
  "rules": {"max_turn_retries": 3}
}`

var assigned = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// given is the input of a turn of the role in the phase, with nothing before it.
func given(t testing.TB, role, phase string) Input {
	t.Helper()
	var c protocol.Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		t.Fatal(err)
	}
	run, id := "run_1", "turn_now"
	in := Input{Config: &c, TurnID: id, State: protocol.State{RunID: &run, Status: protocol.RunActive, Phase: phase},
		Files: map[string]File{}, GateFiles: map[string]string{}}
	in.State.ActiveTurns.Set(id, &protocol.Turn{TurnID: id, RunID: run, AssignedRole: role, Status: protocol.TurnAssigned, Attempt: 1,
		AssignedAt: protocol.At(assigned), DeadlineAt: protocol.At(assigned.Add(2 * time.Hour)), RuntimeID: c.Roles.At(role).Runtime, AssignedSequence: 7})
	return in
}

func (in *Input) now() *protocol.Turn { return in.State.ActiveTurns.At(in.TurnID) }

// file puts a file into the workspace.
func (in *Input) file(path, text string) {
	in.Files[path] = File{Present: true, Text: text}
	in.GateFiles[path] = text
}

// accepted is a turn of the dev that changed files, with all there is to show of it.
func accepted() protocol.HistoryEntry {
	to, ref := "qa", "git:dirty"
	return protocol.HistoryEntry{TurnID: "turn_dev", RunID: "run_1", Role: "dev", Phase: "implementation", RuntimeID: "cli", Status: "completed",
		Summary:   "Built the cart | and\n## Escalation\n```",
		Decisions: []protocol.Decision{{ID: "DEC-002", Category: "implementation", Statement: "Carts are | maps", Rationale: "Fast."}},
		Objections: []protocol.Objection{{ID: "OBJ-002", Severity: "high", AgainstTurnID: "turn_pm", Statement: "No limit | is named."},
			{ID: "OBJ-001", Severity: "low", Statement: "Names are vague.", Status: "resolved"}},
		FilesChanged: []string{"src/cart.go", "src/gone.go", "src/logo.png", ".env"},
		Verification: protocol.Verification{Status: "pass", Commands: []string{"go test ./..."}, EvidenceSummary: "All tests pass.",
			MachineEvidence: []protocol.Evidence{{Command: "go test ./... | tail", ExitCode: 0}, {Command: "grep -q TODO .", ExitCode: 1, ExpectedExitCode: new(1)}}},
		NormalizedVerification: protocol.NormalizedCheck{Status: "attested_pass", Reason: "nobody has run it again"},
		Artifact:               protocol.ResultArtifact{Type: "workspace", Ref: &ref},
		ObservedArtifact:       &protocol.Observed{DerivedBy: "orchestrator", AcceptedRef: "git:abc", FilesChanged: []string{"src/cart.go"}, DiffSummary: " src/cart.go | 12 ++++\n"},
		ProposedNextRole:       "qa", PhaseTransitionRequest: &to, AcceptedAt: protocol.At(assigned.Add(-time.Minute)),
		Cost: &protocol.Cost{InputTokens: 1200, OutputTokens: 300, USD: 0.0123}}
}

// open is an objection of a turn as the state has it.
func open(h protocol.HistoryEntry) protocol.OpenObjection {
	o := h.Objections[0]
	o.Status = "raised"
	return protocol.OpenObjection{Objection: o, TurnID: h.TurnID, Role: h.Role, Phase: h.Phase}
}

// planned is a turn of the pm that came before it.
func planned() protocol.HistoryEntry {
	return protocol.HistoryEntry{TurnID: "turn_pm", RunID: "run_1", Role: "pm", Phase: "planning", Status: "completed", Summary: "Wrote the plan.",
		Decisions:  []protocol.Decision{{ID: "DEC-001", Category: "scope", Statement: "No guests", Rationale: "Later."}},
		Objections: []protocol.Objection{{ID: "OBJ-001", Severity: "low", Statement: "Names are vague.", Status: "raised"}}}
}
