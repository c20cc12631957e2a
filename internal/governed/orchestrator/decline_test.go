//go:build unix

package orchestrator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

var (
	ann = protocol.Person{Name: "Ann", Email: "ann@x"}
	bob = protocol.Person{Name: "Bob", Email: "bob@x"}
	eve = protocol.Person{Name: "Eve", Email: "eve@x"}
)

// planned is a project of three phases by hand whose planning gate waits for a person.
func planned(t *testing.T, gate string) *world {
	t.Helper()
	p := newProject(t, strings.Replace(three(manualRuntime, manualRuntime, manualRuntime, ""),
		`"planned":{"requires_files":[".planning/PLAN.md"],"requires_human_approval":true}`, `"planned":`+gate, 1))
	p.plan()
	return p
}

// plan hands in the planning turn.
func (p *world) plan() govern.Report {
	p.t.Helper()
	r := p.byHand(govern.OutcomeAccepted, func(r map[string]any) {
		r["objections"] = []any{objection("OBJ-001", "low", "it may grow")}
		r["phase_transition_request"], r["proposed_next_role"] = "implementation", "dev"
	})
	if r.Pending != "planned" {
		p.t.Fatalf("%+v %+v", r, r.Gate)
	}
	return r
}

// A person's no: the gate's turn goes back with the reason, which the next prompt and the record have; another turn asks again.
func TestDecline(t *testing.T) {
	t.Parallel()
	p := planned(t, `{"requires_human_approval":true}`)
	r, err := p.engine().Decline(t.Context(), govern.DeclineOptions{Gate: "planned", Reason: "the plan names no tests", By: ann})
	if err != nil || r.Status != protocol.RunActive || r.Phase != "planning" || r.Next != "drawbar govern step" {
		t.Fatalf("%+v %v", r, err)
	}
	p.agree(r)
	s, err := p.engine().Status(t.Context())
	if err != nil || s.NextRole != "pm" || s.Pending != "" || s.Gate == nil || !strings.Contains(s.Gate.Reasons[0], "the plan names no tests") {
		t.Fatalf("next %s, %+v, %v", s.NextRole, s.Gate, err)
	}
	turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
	if text := p.read(protocol.BundleDir(turn) + "/PROMPT.md"); !strings.Contains(text, "the plan names no tests") || !strings.Contains(text, "Ann <ann@x>") {
		t.Errorf("PROMPT.md does not say why:\n%s", text)
	}
	if n := p.events("gate_declined"); len(n) != 1 || !strings.Contains(string(n[0].Payload), `"by":"Ann <ann@x>"`) || !strings.Contains(string(n[0].Payload), "the plan names no tests") {
		t.Errorf("%+v", n)
	}
	p.plan()
	if r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, By: ann, Comment: "now it does"}); err != nil || r.EnteredPhase != "implementation" {
		t.Fatalf("%+v %v", r, err)
	}
	if n := p.events("gate_approved"); len(n) != 1 || !strings.Contains(string(n[0].Payload), `"comment":"now it does"`) {
		t.Errorf("%+v", n)
	}
	if p.state().LastDecline != nil {
		t.Error("the decline still stands")
	}
	p.sound()
}

func TestDeclineToARoleOrPhase(t *testing.T) {
	t.Parallel()
	p := planned(t, `{"requires_human_approval":true}`)
	approve := func(want string) {
		t.Helper()
		if r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true}); err != nil || r.Phase != want {
			t.Fatalf("%+v %v", r, err)
		}
	}
	decline := func(o govern.DeclineOptions) error {
		o.Reason = "no"
		_, err := p.engine().Decline(t.Context(), o)
		return err
	}
	for what, o := range map[string]govern.DeclineOptions{
		"a later phase": {Phase: "implementation"}, "no phase": {Phase: "moon"}, "no role": {Role: "cook"}, "a role of another phase": {Role: "dev"},
		"another gate": {Gate: "built"}, "no gate": {Gate: "moon"},
	} {
		if err := decline(o); err == nil || hint(err) == "" {
			t.Errorf("%s: %v, hint %q", what, err, hint(err))
		}
	}
	if _, err := p.engine().Decline(t.Context(), govern.DeclineOptions{Reason: " "}); err == nil || !strings.Contains(hint(err), "--reason") {
		t.Errorf("without a reason: %v", err)
	}
	approve("implementation")
	p.byHand(govern.OutcomeAccepted, func(r map[string]any) {
		p.write("app.txt", "x\n")
		r["files_changed"], r["artifact"] = []string{"app.txt"}, map[string]any{"type": "workspace"}
		r["phase_transition_request"] = "qa"
	})
	p.byHand(govern.OutcomeAccepted, func(r map[string]any) {
		r["objections"] = []any{objection("OBJ-002", "low", "slow")}
		r["run_completion_request"], r["proposed_next_role"] = true, "human"
	})
	if err := decline(govern.DeclineOptions{Phase: "implementation", Role: "dev"}); err != nil {
		t.Fatal(err)
	}
	st := p.state()
	s, _ := p.engine().Status(t.Context())
	if st.Phase != "implementation" || st.Status != protocol.RunActive || s.NextRole != "dev" || strings.Contains(s.NextWhy, "last turn") || st.PhaseGateStatus.At("built") != protocol.GatePending {
		t.Errorf("phase %s, next %s (%s), gates %v", st.Phase, s.NextRole, s.NextWhy, st.PhaseGateStatus)
	}
	// What was approved before is taken back by name, and said.
	if err := decline(govern.DeclineOptions{Gate: "planned"}); err != nil || p.state().Phase != "planning" {
		t.Errorf("an approval taken back: %v, phase %s", err, p.state().Phase)
	}
	if n := p.events("gate_declined"); len(n) != 2 || !strings.Contains(string(n[1].Payload), `"undoes":"gate_approved"`) {
		t.Errorf("%+v", n)
	}
	p.sound()
}

// A decline that nobody has acted on is taken back by an approval, on the record.
func TestADeclineTakenBack(t *testing.T) {
	t.Parallel()
	p := planned(t, `{"requires_human_approval":true}`)
	if _, err := p.engine().Decline(t.Context(), govern.DeclineOptions{Reason: "too early", By: ann}); err != nil {
		t.Fatal(err)
	}
	if r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, DryRun: true}); err != nil || !strings.Contains(r.Summary, "would pass") {
		t.Fatalf("%+v %v", r, err)
	}
	if r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, By: ann}); err != nil || r.EnteredPhase != "implementation" {
		t.Fatalf("%+v %v", r, err)
	}
	if n := p.events("gate_approved"); len(n) != 1 || !strings.Contains(string(n[0].Payload), `"undoes":"gate_declined"`) {
		t.Errorf("%+v", n)
	}
	p.sound()

	p = planned(t, `{"requires_human_approval":true}`)
	if _, err := p.engine().Decline(t.Context(), govern.DeclineOptions{Reason: "too early", By: ann}); err != nil {
		t.Fatal(err)
	}
	p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true})
	if _, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, By: ann}); err == nil {
		t.Error("approved while the turn that answers the decline is under way")
	}
}

// Only approvers decide on a gate that names them; no policy and no flag does so in their place.
func TestApprovers(t *testing.T) {
	t.Parallel()
	p := planned(t, `{"requires_human_approval":true,"approvers":["ann@x","Bob"]}`)
	for _, dry := range []bool{true, false} {
		if _, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, By: eve, DryRun: dry}); err == nil || !strings.Contains(err.Error(), "Eve <eve@x>") || !strings.Contains(err.Error(), "ann@x") {
			t.Errorf("dry %v: %v", dry, err)
		}
	}
	if _, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true}); err == nil {
		t.Error("whom git knows here is no approver")
	}
	if _, err := p.engine().Decline(t.Context(), govern.DeclineOptions{Reason: "no", By: eve}); err == nil {
		t.Error("Eve declined")
	}
	if r, err := p.engine().Run(t.Context(), govern.RunOptions{AutoApprove: true}); err != nil || r.Stop != govern.StopGateHeld {
		t.Errorf("%+v %v", r, err)
	}
	if s, err := p.engine().Status(t.Context()); err != nil || len(s.Approvers) != 2 {
		t.Errorf("%v %v", s.Approvers, err)
	}
	if r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, By: bob}); err != nil || r.EnteredPhase != "implementation" {
		t.Errorf("%+v %v", r, err)
	}

	// A gate with approvers asks for a person, whatever else it says, and no policy answers.
	p = newProject(t, strings.Replace(three(manualRuntime, manualRuntime, manualRuntime, `,"approval_policy":{"phase_transitions":{"default":"auto_approve"}}`),
		`"planned":{"requires_files":[".planning/PLAN.md"],"requires_human_approval":true}`, `"planned":{"approvers":["ann@x"]}`, 1))
	p.plan()
}

// Where two people have to agree, one approval waits for another's; the same person counts once, and the first may be taken back.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	p := planned(t, `{"requires_human_approval":true,"min_approvals":2,"gate_actions":[{"run":"touch ran"}]}`)
	r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, By: ann})
	if err != nil || r.Pending != "planned" || r.Phase != "planning" || !strings.Contains(r.Summary, "1 of 2") {
		t.Fatalf("%+v %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(p.root, "ran")); err == nil || len(p.state().PendingTransition.Approvals) != 1 {
		t.Errorf("after one approval: %+v", p.state().PendingTransition)
	}
	if _, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, By: protocol.Person{Name: "Ann B.", Email: "ANN@x"}}); err == nil || !strings.Contains(err.Error(), "at least one more") {
		t.Errorf("twice by one person: %v", err)
	}
	if _, err := p.engine().Decline(t.Context(), govern.DeclineOptions{Reason: "I was wrong", By: ann}); err != nil {
		t.Fatal(err)
	}
	p.plan()
	if n := len(p.state().PendingTransition.Approvals); n != 0 {
		t.Errorf("%d approvals outlive the decline", n)
	}
	for _, who := range []protocol.Person{bob, ann} {
		if r, err = p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, By: who}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.root, "ran")); err != nil || r.EnteredPhase != "implementation" {
		t.Errorf("%+v %v", r, err)
	}
	if n := len(p.events("gate_approval")); n != 2 {
		t.Errorf("%d first approvals", n)
	}
	p.sound()
}
