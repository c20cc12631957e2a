//go:build unix

package orchestrator

import (
	"os"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// An approval, and its dry run, look at the gate as it is now: what has gone since it began to wait keeps it shut, and nothing runs.
func TestApproveLooksAgain(t *testing.T) {
	t.Parallel()
	config := func(planned string) string {
		return strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""), `"planned":{"requires_files":[".planning/PLAN.md"],"requires_human_approval":true}`, planned, 1)
	}
	gate := `"planned":{"requires_files":[".planning/PLAN.md"],"requires_human_approval":true,"gate_actions":[{"run":"echo yes > ran"}]}`
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
			if r := p.step(govern.OutcomeAccepted); r.Pending != "planned" {
				t.Fatalf("%+v", r)
			}
			if r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, DryRun: true}); err != nil || !strings.Contains(r.Summary, "would pass") {
				t.Fatalf("dry run before: %+v %v", r, err)
			}
			c.change(p)
			for _, dry := range []bool{true, false} {
				_, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, DryRun: dry})
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(hint(err), "drawbar govern gates ") {
					t.Errorf("dry %v: %v, hint %q", dry, err, hint(err))
				}
			}
			if p.read("ran") != "" || p.state().Phase != "planning" || p.state().Status != protocol.RunPaused {
				t.Errorf("%s in phase %s", p.state().Status, p.state().Phase)
			}
			c.undo(p)
			if r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true}); err != nil || r.EnteredPhase != "implementation" {
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
	p.step(govern.OutcomeAccepted)
	if _, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true}); err == nil || !strings.Contains(err.Error(), "PLAN.md") {
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
	if r := p.byHand(govern.OutcomeAccepted, objecting("the end")); r.Status != protocol.RunCompleted {
		t.Fatalf("the first run: %+v", r.Gate)
	}
	if _, err := p.engine().Restart(t.Context(), govern.RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	r := p.byHand(govern.OutcomeAccepted, objecting("the end"))
	if r.Gate == nil || len(r.Gate.Reasons) != 1 || !strings.Contains(r.Gate.Reasons[0], "PM_SIGNOFF.md was signed in an earlier run") {
		t.Fatalf("the second run: %s %+v", r.Status, r.Gate)
	}
	turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
	if text := p.read(protocol.BundleDir(turn) + "/PROMPT.md"); !strings.Contains(text, "signed in an earlier run") {
		t.Error("PROMPT.md does not say so")
	}
	p.write(".planning/PM_SIGNOFF.md", "Approved: YES\n\nOf the second run.\n")
	p.stage(turn, strings.Replace(handWritten(p, turn, ".planning/PM_SIGNOFF.md"), `"objections":[]`, `"objections":[],"run_completion_request":true`, 1))
	if r := p.step(govern.OutcomeAccepted); r.Status != protocol.RunCompleted {
		t.Errorf("signed anew: %+v", r.Gate)
	}
	p.sound()
}

// What a gate tells its hook and its actions, and what is told of an approval.
func TestWhatAnApprovalTells(t *testing.T) {
	t.Parallel()
	gate := func(actions string) string {
		return `{"requires_human_approval":true,"gate_actions":[` + actions + `]}`
	}
	const first = `{"run":"env | grep ^AGENTXCHAIN_ > ../env"}`
	p := planned(t, gate(first+`,{"run":"kill -9 $$"}`))
	turn := p.accepted()[0]
	approve := func() govern.Report {
		t.Helper()
		r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	failed := func(want string) {
		t.Helper()
		if r := approve(); r.Outcome != govern.OutcomeBlocked || len(r.Errors) != 1 || r.Errors[0] != want {
			t.Errorf("%s %q, want %q", r.Outcome, r.Errors, want)
		}
	}
	failed("action 2: kill -9 $$ (killed by SIGKILL)")
	for _, want := range []string{"GATE_ID=planned\n", "GATE_TYPE=phase_transition\n", "PHASE=planning\n", "REQUESTED_BY_TURN=" + turn + "\n", "TRIGGER_COMMAND=drawbar govern approve\n"} {
		if env := p.read("../env"); !strings.Contains(env, "AGENTXCHAIN_"+want) {
			t.Errorf("the action was not told %s:\n%s", want, env)
		}
	}
	config := func(actions, more string) string {
		return strings.Replace(three(manualRuntime, manualRuntime, manualRuntime, more), `"planned":{"requires_files":[".planning/PLAN.md"],"requires_human_approval":true}`, `"planned":`+gate(actions), 1)
	}
	p.write("agentxchain.json", config(`{"run":"sleep 60","label":"slow","timeout_ms":1000}`, ""))
	failed("slow: sleep 60 (timed out after 1s)")
	p.write("agentxchain.json", config(`{"run":"echo key $DEMO_API_KEY; exit 3","label":"leak"}`, ""))
	const key = "sk-demo-0123456789abcdef0123"
	r, err := p.engine(func(o *Options) { o.Environ = append(os.Environ(), "DEMO_API_KEY="+key) }).Approve(t.Context(), govern.ApproveOptions{Either: true})
	if err != nil || r.Outcome != govern.OutcomeBlocked || !strings.Contains(r.Errors[0], "leak: ") || strings.Contains(strings.Join(r.Errors, "")+p.read(protocol.StateFile), key) {
		t.Errorf("%q %v, or a secret is shown or kept", r.Errors, err)
	}
	p.write("agentxchain.json", config(first, `,"hooks":{"before_gate":[`+shHook("look", "blocking", `cat > ../told; echo '{"verdict":"allow"}'`)+`]}`))
	if r := approve(); r.Outcome != govern.OutcomeDone || r.EnteredPhase != "implementation" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{`"gate":"planned"`, `"from":"planning"`, `"to":"implementation"`, `"requested_by_turn":"` + turn + `"`} {
		if told := strings.ReplaceAll(p.read("../told"), `": "`, `":"`); !strings.Contains(told, want) {
			t.Errorf("the hook was not told %s:\n%s", want, told)
		}
	}
	if got := p.heard("approved"); len(got) != 1 || got[0] != "gate planned is approved" {
		t.Errorf("told %q", got)
	}
	p.sound()

	p = newProject(t, review(""))
	if r := p.byHand(govern.OutcomeAccepted, objecting("the end")); r.Pending != "shipped" {
		t.Fatalf("%+v", r)
	}
	if r := approve(); r.Outcome != govern.OutcomeCompleted {
		t.Errorf("the end: %s", r.Outcome)
	}
}

// A dry run asks whom git knows, and counts the approvals that are missing; one of two is on the record.
func TestApprovalsOfTwoPeople(t *testing.T) {
	t.Parallel()
	p := planned(t, `{"approvers":["tester@localhost","bob@x"],"min_approvals":2}`)
	bob := protocol.Person{Name: "Bob", Email: "bob@x"}
	dry := func(want string, by protocol.Person) {
		t.Helper()
		if r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, DryRun: true, By: by}); err != nil || !strings.Contains(r.Summary, want) {
			t.Errorf("%q %v, want %q", r.Summary, err, want)
		}
	}
	dry("gate planned would have 1 of 2 approvals", protocol.Person{})
	r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true})
	if err != nil || !strings.Contains(r.Summary, "1 of 2 approvals of gate planned") || r.Pending != "planned" {
		t.Fatalf("%+v %v", r, err)
	}
	if got := approvals(p.state()); len(got) != 1 || got[0].By.Email != "tester@localhost" {
		t.Errorf("on the record: %+v", got)
	}
	dry("gate planned would pass", bob)
	if r, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true, By: bob}); err != nil || r.EnteredPhase != "implementation" {
		t.Errorf("%+v %v", r, err)
	}
	p.sound()
}
