//go:build unix

package orchestrator

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/internal/governance/protocol"
)

// An approval, and its dry run, look at the gate as it is now: what has gone since it began to wait keeps it shut, and nothing runs.
func TestApproveLooksAgain(t *testing.T) {
	t.Parallel()
	config := func(planned string) string {
		return strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""), `"planned":{"requires_files":[".planning/PLAN.md"],"requires_human_approval":true}`, planned, 1)
	}
	gate := `"planned":{"requires_files":[".planning/PLAN.md"],"requires_human_approval":true,"gate_actions":[{"run":"touch ran"}]}`
	for name, c := range map[string]struct {
		change func(p *world)
		want   string
		undo   func(p *world)
	}{
		"a file is gone": {
			change: func(p *world) { p.git("rm", "-q", ".planning/PLAN.md"); p.git("commit", "-qm", "no plan") },
			want:   "Required file missing: .planning/PLAN.md",
			undo:   func(p *world) { p.git("revert", "--no-edit", "HEAD") },
		},
		"a file is asked for": {
			change: func(p *world) {
				p.write("agentxchain.json", config(strings.Replace(gate, `.planning/PLAN.md"`, `.planning/PLAN.md","more.md"`, 1)))
			},
			want: "more.md",
			undo: func(p *world) { p.write("more.md", "more\n") },
		},
		"another gate": {
			change: func(p *world) {
				p.write("agentxchain.json", strings.Replace(config(gate), `"exit_gate":"planned"`, `"exit_gate":"shipped"`, 1))
			},
			want: "shipped",
			undo: func(p *world) { p.write("agentxchain.json", config(gate)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, config(gate))
			if r := p.step(OutcomeAccepted); r.Pending != "planned" {
				t.Fatalf("%+v", r)
			}
			if r, err := p.engine().Approve(t.Context(), ApproveOptions{Either: true, DryRun: true}); err != nil || !strings.Contains(r.Summary, "would pass") {
				t.Fatalf("dry run before: %+v %v", r, err)
			}
			c.change(p)
			for _, dry := range []bool{true, false} {
				_, err := p.engine().Approve(t.Context(), ApproveOptions{Either: true, DryRun: dry})
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(hint(err), "drawbar govern gates ") {
					t.Errorf("dry %v: %v, hint %q", dry, err, hint(err))
				}
			}
			if p.read("ran") != "" || p.state().Phase != "planning" || p.state().Status != protocol.RunPaused {
				t.Errorf("%s in phase %s", p.state().Status, p.state().Phase)
			}
			c.undo(p)
			if r, err := p.engine().Approve(t.Context(), ApproveOptions{Either: true}); err != nil || r.EnteredPhase != "implementation" {
				t.Errorf("%+v %v", r, err)
			}
			p.sound()
		})
	}
}

// An action of the gate that takes away what the gate asks for keeps it shut.
func TestAnActionThatUndoesItsGate(t *testing.T) {
	t.Parallel()
	p := newProject(t, strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""), `"requires_human_approval":true},`,
		`"requires_human_approval":true,"gate_actions":[{"run":"rm .planning/PLAN.md"}]},`, 1))
	p.step(OutcomeAccepted)
	if _, err := p.engine().Approve(t.Context(), ApproveOptions{Either: true}); err == nil || !strings.Contains(err.Error(), "PLAN.md") {
		t.Errorf("%v", err)
	}
	if p.state().Phase != "planning" {
		t.Errorf("phase %s", p.state().Phase)
	}
}

// What somebody signed in one run is not signed in the next: the file counts when it was changed since that run began.
func TestASignOffHoldsForOneRun(t *testing.T) {
	t.Parallel()
	config := strings.Replace(review(""), `"gates":{"shipped":{"requires_human_approval":true}}`, `"gates":{"shipped":{"requires_files":[".planning/PM_SIGNOFF.md",".planning/ROADMAP.md"]}}`, 1)
	p := newProject(t, config)
	p.write(".planning/PM_SIGNOFF.md", "Approved: YES\n")
	p.write(".planning/ROADMAP.md", "# Roadmap\n")
	p.git("add", "-A")
	p.git("commit", "-qm", "signed")
	if r := p.byHand(OutcomeAccepted, objecting("the end")); r.Status != protocol.RunCompleted {
		t.Fatalf("the first run: %+v", r.Gate)
	}
	if _, err := p.engine().Restart(t.Context(), RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	r := p.byHand(OutcomeAccepted, objecting("the end"))
	if r.Gate == nil || len(r.Gate.Reasons) != 1 || !strings.Contains(r.Gate.Reasons[0], "PM_SIGNOFF.md was signed in an earlier run") {
		t.Fatalf("the second run: %s %+v", r.Status, r.Gate)
	}
	turn := p.step(OutcomeAssigned, StepOptions{NoWait: true}).TurnID
	if text := p.read(protocol.BundleDir(turn) + "/PROMPT.md"); !strings.Contains(text, "signed in an earlier run") {
		t.Error("PROMPT.md does not say so")
	}
	p.write(".planning/PM_SIGNOFF.md", "Approved: YES\n\nOf the second run.\n")
	p.stage(turn, strings.Replace(handWritten(p, turn, ".planning/PM_SIGNOFF.md"), `"objections":[]`, `"objections":[],"run_completion_request":true`, 1))
	if r := p.step(OutcomeAccepted); r.Status != protocol.RunCompleted {
		t.Errorf("signed anew: %+v", r.Gate)
	}
	p.sound()
}
