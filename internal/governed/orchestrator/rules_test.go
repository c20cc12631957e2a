//go:build unix

package orchestrator

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// shHook is a hook that runs a line of shell.
func shHook(name, mode, line string) string {
	return fmt.Sprintf(`{"name":%q,"type":"process","command":["sh","-c",%q],"timeout_ms":10000,"mode":%q}`, name, line, mode)
}

// Hooks of every phase: one that blocks stops the run where it stands, one that tampers too and what it changed is put back, and
// the run goes on when a person has dealt with it.
func TestHooksOfEveryPhase(t *testing.T) {
	t.Parallel()
	config := func(phase, hook string) string {
		return strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""), `,"workflow_kit"`, `,"hooks":{"`+phase+`":[`+hook+`]},"workflow_kit"`, 1)
	}
	for phase, c := range map[string]struct {
		advisory bool
		accepted int // turns when the hook stops the run
		turn     bool
	}{
		protocol.HookBeforeAssignment: {}, protocol.HookAfterDispatch: {turn: true}, protocol.HookBeforeValidation: {turn: true}, protocol.HookAfterValidation: {turn: true},
		protocol.HookBeforeAcceptance: {turn: true}, protocol.HookAfterAcceptance: {advisory: true, accepted: 1}, protocol.HookBeforeGate: {accepted: 1},
		protocol.HookOnEscalation: {advisory: true, accepted: 1},
	} {
		for _, kind := range []string{"block", "tamper"} {
			t.Run(phase+" "+kind, func(t *testing.T) {
				t.Parallel()
				line, code := `echo '{"verdict":"block","message":"not today"}'`, "hook_blocked"
				if kind == "tamper" {
					line, code = `echo tampered >> .agentxchain/state.json; echo '{"verdict":"allow"}'`, "hook_state_tamper"
				}
				mode := "blocking"
				if c.advisory {
					mode = "advisory"
				}
				p := newProject(t, config(phase, shHook("guard", mode, line)))
				e := p.engine()
				r, err := e.Step(t.Context(), govern.StepOptions{})
				if err == nil && phase == protocol.HookBeforeGate {
					r, err = e.Approve(t.Context(), govern.ApproveOptions{})
				}
				if err == nil && phase == protocol.HookOnEscalation {
					_, err = e.Escalate(t.Context(), govern.EscalateOptions{Reason: "look at this"})
				}
				if err != nil {
					t.Fatal(err)
				}
				audit := p.read(protocol.HookAuditFile)
				if !strings.Contains(audit, `"guard"`) || !strings.Contains(audit, phase) {
					t.Errorf("the audit does not name the hook: %s", audit)
				}
				if len(p.accepted()) != c.accepted {
					t.Errorf("accepted %v", p.accepted())
				}
				if strings.Contains(p.read(protocol.StateFile), "tampered") {
					t.Error("the state stays as the hook left it")
				}
				if c.advisory {
					if strings.HasPrefix(protocol.Deref(p.state().BlockedOn), "hook:") != (kind == "tamper") {
						t.Errorf("an advisory hook blocked: %s", protocol.Deref(p.state().BlockedOn))
					}
					p.sound()
					return
				}
				if phase == protocol.HookBeforeAssignment && kind == "block" {
					vetoed(t, p, r)
					return
				}
				if r.Outcome != govern.OutcomeBlocked || r.Code != code || protocol.Deref(p.state().BlockedOn) != "hook:"+phase+":guard" {
					t.Fatalf("%s %s, blocked on %s", r.Outcome, r.Code, protocol.Deref(p.state().BlockedOn))
				}
				if got := p.state().ActiveTurns.Len() == 1; got != c.turn {
					t.Errorf("a turn is active: %t", got)
				}
				p.sound()
				if kind == "tamper" {
					return
				}
				p.write("agentxchain.json", three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""))
				p.git("commit", "-qam", "without the hook")
				if run, err := e.Run(t.Context(), govern.RunOptions{Resume: true, AutoApprove: true}); err != nil || run.Stop != govern.StopCompleted {
					t.Errorf("afterwards: %s %+v %v", run.Stop, run.Last, err)
				}
				p.sound()
			})
		}
	}
}

// A hook that does not allow an assignment blocks nothing: the run is active, nobody is asked for, and a step works once the hook
// allows it.
func vetoed(t *testing.T, p *world, r govern.Report) {
	t.Helper()
	for range 2 { // the second time nothing is left to be recorded
		st := p.state()
		if r.Outcome != govern.OutcomeFailed || r.Code != "hook_blocked" || !slices.Equal(r.Errors, []string{"not today"}) || !strings.Contains(r.Hint, "hook guard") {
			t.Fatalf("%+v", r)
		}
		if st.Status != protocol.RunActive || st.BlockedOn != nil || st.ActiveTurns.Len() != 0 || len(st.OpenHuman) != 0 {
			t.Fatalf("%s, blocked on %s, turns %v, tasks %v", st.Status, protocol.Deref(st.BlockedOn), st.ActiveTurns.Keys(), st.OpenHuman)
		}
		p.sound()
		var err error
		if r, err = p.engine().Step(t.Context(), govern.StepOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if run, err := p.engine().Run(t.Context(), govern.RunOptions{}); err != nil || run.Stop != govern.StopBlocked || run.Last.Code != "hook_blocked" {
		t.Errorf("a run: %s %+v %v", run.Stop, run.Last, err)
	}
	p.write("agentxchain.json", three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""))
	p.git("commit", "-qam", "without the hook")
	p.step(govern.OutcomeAccepted)
	p.sound()
}

// The commands of a gate run when it is approved, in order; one that fails keeps the gate shut until it is approved again.
func TestGateActions(t *testing.T) {
	t.Parallel()
	config := func(second string) string {
		return strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""), `"requires_human_approval":true}`,
			`"requires_human_approval":true,"gate_actions":[{"run":"echo $AGENTXCHAIN_GATE_ID $AGENTXCHAIN_GATE_TYPE $AGENTXCHAIN_PHASE > ../actions.txt"},{"run":"`+second+`","label":"second"}]}`, 1)
	}
	p := newProject(t, config("echo no luck >&2; exit 4"))
	p.step(govern.OutcomeAccepted)
	e := p.engine()
	dry, err := e.Approve(t.Context(), govern.ApproveOptions{DryRun: true})
	if err != nil || !strings.Contains(dry.Summary, "exit 4") {
		t.Errorf("%q %v", dry.Summary, err)
	}
	actions := filepath.Join(filepath.Dir(p.root), "actions.txt")
	if _, err := os.Stat(actions); err == nil {
		t.Error("--dry-run ran an action")
	}
	r, err := e.Approve(t.Context(), govern.ApproveOptions{})
	if err != nil || r.Outcome != govern.OutcomeBlocked || r.Code != "gate_action_failed" || !strings.Contains(strings.Join(r.Errors, ""), "no luck") {
		t.Fatalf("%+v %v", r, err)
	}
	if b, _ := os.ReadFile(actions); string(b) != "planned phase_transition planning\n" {
		t.Errorf("the first action saw %q", b)
	}
	p.sound()
	p.write("agentxchain.json", config("true"))
	if r, err = e.Resume(t.Context(), govern.StepOptions{}); err != nil || r.Outcome != govern.OutcomePaused {
		t.Fatalf("%+v %v", r, err)
	}
	if r, err = e.Approve(t.Context(), govern.ApproveOptions{}); err != nil || r.EnteredPhase != "implementation" {
		t.Fatalf("%+v %v", r, err)
	}
	p.sound()
}

// Policies of turns, and what evidence is worth when it is run again.
func TestPolicies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		worker, policy string
		want           govern.Outcome
		code           string
		warns          bool
	}{
		"evidence holds":          {"ok", `{"id":"p","rule":"require_reproducible_verification","action":"block"}`, govern.OutcomeAccepted, "", false},
		"evidence does not":       {"lies", `{"id":"p","rule":"require_reproducible_verification","action":"block"}`, govern.OutcomeBlocked, "policy_violation", false},
		"evidence only warns":     {"lies", `{"id":"p","rule":"require_reproducible_verification","action":"warn"}`, govern.OutcomeAccepted, "", true},
		"evidence escalates":      {"lies", `{"id":"p","rule":"require_reproducible_verification","action":"escalate"}`, govern.OutcomeBlocked, "policy_escalation", false},
		"of another role":         {"lies", `{"id":"p","rule":"require_reproducible_verification","action":"block","scope":{"roles":["qa"]}}`, govern.OutcomeAccepted, "", false},
		"a status that is needed": {"ok", `{"id":"p","rule":"require_status","params":{"allowed":["blocked"]},"action":"escalate"}`, govern.OutcomeBlocked, "policy_escalation", false},
		"too dear":                {"dear", `{"id":"p","rule":"max_cost_per_turn","params":{"limit_usd":0.5},"action":"escalate"}`, govern.OutcomeBlocked, "policy_escalation", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, strings.Replace(three(manualRuntime, runtimeOf(c.worker), manualRuntime, `,"policies":[`+c.policy+`]`), `"entry_role":"pm","allowed_next_roles":["pm"`, `"entry_role":"dev","allowed_next_roles":["dev"`, 1))
			r := p.step(c.want)
			told := strings.Join(p.heard("warning"), "\n")
			if r.Code != c.code || c.warns != strings.Contains(told, "different results when rerun") {
				t.Errorf("%s %v, told %q", r.Code, r.Errors, told)
			}
			p.sound()
		})
	}
	p := newProject(t, one(runtimeOf("ok"), `,"policies":[{"id":"p","rule":"max_total_turns","params":{"limit":2},"action":"escalate"}]`))
	run, err := p.engine().Run(t.Context(), govern.RunOptions{})
	if err != nil || run.Stop != govern.StopBlocked || len(p.accepted()) != 2 {
		t.Errorf("%s after %d: %v", run.Stop, len(p.accepted()), err)
	}
	p.sound()
}

func TestBudget(t *testing.T) {
	t.Parallel()
	for action, accepted := range map[string]int{"pause_and_escalate": 2, "warn": 4} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, one(runtimeOf("dear"), `,"budget":{"per_run_max_usd":1.5,"per_turn_max_usd":0.75,"on_exceed":"`+action+`"}`))
			run, err := p.engine().Run(t.Context(), govern.RunOptions{MaxTurns: 4})
			if len(p.accepted()) != accepted {
				t.Errorf("%s after %d turns, accepted %d: %v", run.Stop, len(run.Turns), len(p.accepted()), err)
			}
			if st := p.state(); st.BudgetStatus.SpentUSD != 0.75*float64(accepted) || st.BudgetReservations.Len() != 0 {
				t.Errorf("%+v, reserved %v", st.BudgetStatus, st.BudgetReservations.Keys())
			}
			if accepted == 2 && err == nil && (run.Stop != govern.StopBlocked || run.Last.Next == "") {
				t.Errorf("%+v", run.Last)
			}
			p.sound()
		})
	}
}

func TestApprovalPolicy(t *testing.T) {
	t.Parallel()
	policy := `,"approval_policy":{"phase_transitions":{"default":"require_human","rules":[{"from_phase":"planning","to_phase":"implementation","action":"auto_approve","when":{"gate_passed":true}}]},"run_completion":{"action":"auto_approve","when":{"gate_passed":true,"all_phases_visited":true}}}`
	p := newProject(t, three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), policy))
	run, err := p.engine().Run(t.Context(), govern.RunOptions{})
	if err != nil || run.Stop != govern.StopCompleted || len(run.Turns) != 3 {
		t.Errorf("%s after %d: %v", run.Stop, len(run.Turns), err)
	}
	if !strings.Contains(p.read(protocol.LedgerFile), "approval_policy") {
		t.Error("the record does not say that a policy approved")
	}
	p.sound()
	// A gate that needs a person's credentials passes by no policy and no flag.
	p = newProject(t, strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), policy), `"requires_human_approval":true}`, `"requires_human_approval":true,"credentialed":true}`, 1))
	if run, err = p.engine().Run(t.Context(), govern.RunOptions{AutoApprove: true}); err != nil || run.Stop != govern.StopGateHeld || len(run.Turns) != 1 {
		t.Errorf("credentialed: %s after %d: %v", run.Stop, len(run.Turns), err)
	}
}

// Commits that a person makes in between, before, within and after turns, never stand in the way and are never a turn's.
func TestOperatorsCommits(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(manualRuntime, ""))
	for n := range 3 {
		p.write(fmt.Sprintf("by-hand-%d.txt", n), "x\n")
		p.git("add", "by-hand-*")
		p.git("commit", "-qm", "between")
		turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
		p.write("README.md", fmt.Sprintf("within %d\n", n))
		p.git("commit", "-qam", "within")
		p.write("work.txt", fmt.Sprintf("%d\n", n))
		p.stage(turn, handWritten(p, turn, "work.txt"))
		r, err := p.engine().Accept(t.Context(), govern.AcceptOptions{})
		if err != nil || r.Outcome != govern.OutcomeAccepted || !slices.Equal(r.Files, []string{"work.txt"}) {
			t.Fatalf("%d: %s %v %v %v", n, r.Outcome, r.Files, r.Errors, err)
		}
		if got := p.git("show", "--format=", "--name-only", "HEAD", "--", "README.md", "work.txt", "by-hand-*"); got != "work.txt" {
			t.Errorf("the checkpoint holds %q", got)
		}
	}
	if len(p.events("state_reconciled_operator_commits")) == 0 {
		t.Error("the record does not name the operator's commits")
	}
	p.sound()
}

// A person's uncommitted work is there after every way a turn can end, staged work staged.
func TestUncommittedWorkIsNeverLost(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world, *Local, string) error{
		"accept": func(p *world, e *Local, turn string) error {
			p.stage(turn, reviewResult(p, turn))
			r, err := e.Accept(p.t.Context(), govern.AcceptOptions{})
			if r.Outcome != govern.OutcomeAccepted {
				p.t.Errorf("%s %v", r.Outcome, r.Errors)
			}
			return err
		},
		"reject": func(p *world, e *Local, _ string) error {
			_, err := e.Reject(p.t.Context(), govern.RejectOptions{Reason: "x"})
			return err
		},
		"reissue": func(p *world, e *Local, turn string) error { _, err := e.Reissue(p.t.Context(), turn, ""); return err },
		"restart": func(p *world, e *Local, _ string) error {
			if _, err := e.Escalate(p.t.Context(), govern.EscalateOptions{Reason: "x"}); err != nil {
				return err
			}
			_, err := e.Restart(p.t.Context(), govern.RestartOptions{New: true})
			return err
		},
		"escalate": func(p *world, e *Local, _ string) error {
			_, err := e.Escalate(p.t.Context(), govern.EscalateOptions{Reason: "x"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, three(manualRuntime, runtimeOf("dev"), runtimeOf("qa"), ""))
			p.write("README.md", "edited and not committed\n")
			p.write("new.txt", "untracked\n")
			p.write("staged.txt", "staged\n")
			p.git("add", "staged.txt")
			p.write("staged.txt", "staged, and edited since\n")
			turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
			if err := end(p, p.engine(), turn); err != nil {
				t.Fatal(err)
			}
			want := " M README.md\nAM staged.txt\n?? new.txt"
			if got := p.git("status", "--porcelain", "README.md", "staged.txt", "new.txt"); got != strings.TrimSpace(want) {
				t.Errorf("got %q", got)
			}
			if p.read("README.md")+p.read("new.txt")+p.read("staged.txt") != "edited and not committed\nuntracked\nstaged, and edited since\n" {
				t.Error("the files are not what they were")
			}
		})
	}
	// A role that writes is not let loose on it.
	p := newProject(t, one(runtimeOf("ok"), ""))
	p.write("README.md", "edited\n")
	if _, err := p.engine().Step(t.Context(), govern.StepOptions{}); execution.CodeOf(err) != execution.CodeInvalidStateTransition || !strings.Contains(err.Error(), "README.md") || !strings.Contains(hint(err), "git commit") {
		t.Errorf("%v (%s)", err, hint(err))
	}
}

func reviewResult(p *world, turn string) string {
	s := handWritten(p, turn)
	s = strings.Replace(s, `"type":"workspace"`, `"type":"review"`, 1)
	return strings.Replace(s, `"objections":[]`, `"objections":[{"id":"OBJ-001","severity":"low","statement":"not much to see","status":"raised"}]`, 1)
}

// Repositories of every shape, and none.
func TestKindsOfRepositories(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T, string) *world{
		"no git": func(t *testing.T, config string) *world { return bare(t, config) },
		"unborn": func(t *testing.T, config string) *world {
			p := bare(t, config)
			p.git("init", "-q", "-b", "main")
			return p
		},
		"a branch": func(t *testing.T, config string) *world { return newProject(t, config) },
		"detached": func(t *testing.T, config string) *world {
			p := newProject(t, config)
			p.git("checkout", "-q", "--detach")
			return p
		},
		"below the top": func(t *testing.T, config string) *world {
			p := bare(t, config)
			top := &world{t: t, root: filepath.Dir(p.root)}
			top.git("init", "-q", "-b", "main")
			top.git("add", "-A")
			top.git("commit", "-qm", "start")
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := make(t, one(runtimeOf("ok"), ""))
			if name == "unborn" {
				// Nothing is committed, so everything is somebody's uncommitted work.
				if _, err := p.engine().Step(t.Context(), govern.StepOptions{}); err == nil || hint(err) == "" {
					t.Fatalf("%v", err)
				}
				p.write("agentxchain.json", one(manualRuntime, ""))
				p.git("add", "-A")
				p.git("commit", "-qm", "start")
				p.write("agentxchain.json", one(runtimeOf("ok"), ""))
				p.git("commit", "-qam", "more")
			}
			head := func() string {
				if name == "no git" {
					return ""
				}
				return p.git("rev-parse", "--symbolic-full-name", "HEAD")
			}
			before := head()
			p.step(govern.OutcomeAccepted)
			p.step(govern.OutcomeAccepted)
			if head() != before {
				t.Errorf("HEAD was %s and is %s", before, head())
			}
			p.sound()
		})
	}
}

// tree is the digest of every file of a project, git's included.
func tree(t testing.TB, root string) string {
	t.Helper()
	h := sha256.New()
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(h, path, info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			h.Write(b)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestDryRunAndStatusChangeNothing(t *testing.T) {
	t.Parallel()
	fresh := newProject(t, three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""))
	paused := newProject(t, three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""))
	paused.step(govern.OutcomeAccepted)
	active := newProject(t, one(manualRuntime, ""))
	active.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true})
	for name, p := range map[string]*world{"fresh": fresh, "paused": paused, "active": active} {
		before := tree(t, p.root)
		e := p.engine()
		run, err := e.Run(t.Context(), govern.RunOptions{DryRun: true})
		if err != nil || run.Stop != govern.StopPlan || run.Last.Summary == "" {
			t.Errorf("%s: %+v %v", name, run, err)
		}
		if _, err := e.Status(t.Context()); err != nil {
			t.Error(err)
		}
		if name == "paused" {
			if r, err := e.Approve(t.Context(), govern.ApproveOptions{DryRun: true, Either: true}); err != nil || !strings.Contains(r.Summary, "implementation") {
				t.Errorf("%+v %v", r, err)
			}
		}
		if tree(t, p.root) != before {
			t.Errorf("%s: something changed", name)
		}
	}
}

// Each turn has a worktree of its own, which is merged when the turn is accepted and gone afterwards.
func TestWorktrees(t *testing.T) {
	t.Parallel()
	config := func(rt string) string { return one(rt, `,"workspace":"worktree"`) }
	p := newProject(t, config(runtimeOf("ok")))
	p.write("README.md", "edited and not committed\n")
	for range 2 {
		p.step(govern.OutcomeAccepted)
	}
	if p.read("README.md") != "edited and not committed\n" || strings.Count(p.read("work.txt"), "turn_") != 2 {
		t.Errorf("README.md %q, work.txt %q", p.read("README.md"), p.read("work.txt"))
	}
	if left := p.git("worktree", "list"); strings.Count(left, "\n") != 0 {
		t.Errorf("left behind: %s", left)
	}
	if got := p.git("status", "--porcelain", "README.md", "work.txt"); got != "M README.md" {
		t.Errorf("git status: %q", got)
	}
	if logs, _ := filepath.Glob(filepath.Join(p.root, ".agentxchain/archive/turns/*/evidence/stdout.log")); len(logs) != 2 {
		t.Errorf("the logs of two turns are kept as %v", logs)
	}
	p.sound()

	// What a person changes meanwhile in the same file is a conflict, and nobody's work is lost.
	p = newProject(t, config(runtimeOf("conflicts")))
	p.write("README.md", "of the operator\n")
	r := p.step(govern.OutcomeFailed)
	if r.Code != "conflict" || !strings.Contains(strings.Join(r.Errors, " "), "README.md") || r.Next == "" {
		t.Errorf("%+v", r)
	}
	if p.read("README.md") != "of the operator\n" {
		t.Errorf("README.md is %q", p.read("README.md"))
	}
	turn := p.state().ActiveTurns.At(r.TurnID)
	if turn == nil || turn.Status != protocol.TurnConflicted {
		t.Fatalf("%+v", turn)
	}
	if b, err := os.ReadFile(filepath.Join(p.root, turn.Worktree, "README.md")); err != nil || string(b) != "of the turn\n" {
		t.Errorf("the turn's work: %q %v", b, err)
	}
	p.write("README.md", "of both\n")
	if r, err := p.engine().Accept(t.Context(), govern.AcceptOptions{HumanMerge: true}); err != nil || r.Outcome != govern.OutcomeAccepted {
		t.Errorf("merged by hand: %+v %v", r, err)
	}
	if p.read("README.md") != "of both\n" || p.git("show", "HEAD:README.md") != "of both" {
		t.Errorf("README.md is %q, committed %q", p.read("README.md"), p.git("show", "HEAD:README.md"))
	}
	p.sound()
}

// An engine outlives the repository that it began with.
func TestRepositoryComesAndGoes(t *testing.T) {
	t.Parallel()
	p := bare(t, one(manualRuntime, ""))
	e := p.engine()
	turn := func() govern.Report {
		t.Helper()
		r, err := e.Step(t.Context(), govern.StepOptions{NoWait: true})
		if err != nil {
			t.Fatal(err)
		}
		p.write("work.txt", r.TurnID)
		p.stage(r.TurnID, handWritten(p, r.TurnID, "work.txt"))
		if r, err = e.Accept(t.Context(), govern.AcceptOptions{}); err != nil || r.Outcome != govern.OutcomeAccepted {
			t.Fatalf("%+v %v", r, err)
		}
		return r
	}
	if r := turn(); r.Commit != "" {
		t.Errorf("a checkpoint without git: %s", r.Commit)
	}
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.git("commit", "-qm", "start")
	if r := turn(); r.Commit == "" {
		t.Error("no checkpoint in the new repository")
	}
	if err := os.RemoveAll(filepath.Join(p.root, ".git")); err != nil {
		t.Fatal(err)
	}
	if r := turn(); r.Commit != "" {
		t.Errorf("a checkpoint after git: %s", r.Commit)
	}
}

func init() {
	workers["conflicts and more"] = func(w *worker) {
		w.put("README.md", "of the turn\n")
		w.put("other.txt", "of the turn alone\n")
		w.stage(w.result("README.md", "other.txt"))
	}
}

// A conflict that a person has merged: what they left goes in, the rest of the turn too, the turn's version is kept, and all of it is said.
func TestAConflictMergedByHand(t *testing.T) {
	t.Parallel()
	for name, commits := range map[string]bool{"left in the work tree": false, "committed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, one(runtimeOf("conflicts and more"), `,"workspace":"worktree"`))
			p.write("README.md", "of the operator\n")
			r := p.step(govern.OutcomeFailed)
			if r.Next != "drawbar govern accept --turn "+r.TurnID+" --resolution human_merge" {
				t.Fatalf("%s: next %s", r.Code, r.Next)
			}
			p.write("README.md", "of both\n")
			if commits {
				p.git("commit", "-qam", "merged")
			}
			p.forget()
			r, err := p.engine().Accept(t.Context(), govern.AcceptOptions{HumanMerge: true})
			if err != nil || r.Outcome != govern.OutcomeAccepted {
				t.Fatalf("%+v %v", r, err)
			}
			p.agree(r)
			if p.read("README.md") != "of both\n" || p.read("other.txt") != "of the turn alone\n" || p.git("show", "HEAD:other.txt") != "of the turn alone" {
				t.Errorf("README.md %q, other.txt %q", p.read("README.md"), p.read("other.txt"))
			}
			if got := slices.Contains(r.Files, "README.md"); got == commits {
				t.Errorf("the turn is credited with %v", r.Files)
			}
			kept := protocol.ArchiveDir + "/" + r.TurnID + "/evidence/conflict/README.md"
			if p.read(kept) != "of the turn\n" || !strings.Contains(strings.Join(p.heard("warning"), "\n"), kept) {
				t.Errorf("the turn's version is %q; heard %q", p.read(kept), p.heard("warning"))
			}
			if left := p.git("worktree", "list"); strings.Count(left, "\n") != 0 {
				t.Errorf("left behind: %s", left)
			}
			p.sound()
		})
	}
	p := newProject(t, one(manualRuntime, ""))
	turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
	p.write("work.txt", "by hand\n")
	p.stage(turn, handWritten(p, turn, "work.txt"))
	if _, err := p.engine().Accept(t.Context(), govern.AcceptOptions{HumanMerge: true}); err == nil || !strings.Contains(hint(err), "accept --turn "+turn) {
		t.Errorf("a merge without a conflict: %v", err)
	}
}

func init() {
	workers["one version"] = func(w *worker) {
		own := w.assignment["role"].(string) + ".txt"
		w.put("README.md", "of the turn\n")
		w.put(own, "mine\n")
		w.stage(w.result("README.md", own))
	}
}

// A version that a person has merged is no conflict in a turn beside it, and what the person made of it stays; a turn that began after the merge is in
// conflict like any other.
func TestAMergeIsRemembered(t *testing.T) {
	t.Parallel()
	p := newProject(t, several(3, `,"workspace":"worktree"`, runtimeOf("one version"), runtimeOf("one version"), runtimeOf("one version")))
	p.write("README.md", "of the operator\n")
	first := p.step(govern.OutcomeFailed, govern.StepOptions{Role: "a"})
	second := p.step(govern.OutcomeFailed, govern.StepOptions{Role: "b"})
	p.write("README.md", "of both\n")
	accept := func(turn string, merge bool) govern.Report {
		t.Helper()
		p.forget()
		r, err := p.engine().Accept(t.Context(), govern.AcceptOptions{Turn: turn, HumanMerge: merge})
		if err != nil || r.Outcome != govern.OutcomeAccepted {
			t.Fatalf("%+v %v", r, err)
		}
		p.agree(r)
		return r
	}
	accept(first.TurnID, true)
	r := accept(second.TurnID, false)
	if p.read("README.md") != "of both\n" || p.read("b.txt") != "mine\n" || !slices.Equal(r.Files, []string{"b.txt"}) {
		t.Errorf("README.md is %q, the turn is credited with %v", p.read("README.md"), r.Files)
	}
	if said := strings.Join(p.heard("warning"), "\n"); !strings.Contains(said, "README.md stays as it is: you have merged this version of it in turn "+first.TurnID) {
		t.Errorf("heard %q", said)
	}
	p.write("README.md", "of the operator again\n")
	if r := p.step(govern.OutcomeFailed, govern.StepOptions{Role: "c"}); r.Code != "conflict" {
		t.Errorf("a turn that began after the merge: %+v", r)
	}
	p.sound()
}

// One attempt is dispatched once, however often its turn is made ready or waited for; a failed start and its hint name one command.
func TestOneDispatchPerAttempt(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(manualRuntime, ""))
	turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
	p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true})
	p.write("work.txt", "by hand\n")
	p.stage(turn, handWritten(p, turn, "work.txt"))
	p.step(govern.OutcomeAccepted)
	if n := len(p.events("turn_dispatched")); n != 1 {
		t.Errorf("%d events turn_dispatched", n)
	}
	p.sound()

	p = newProject(t, one(runtimeOf("ok"), ""))
	if _, err := p.engine().Resume(t.Context(), govern.StepOptions{}); err == nil {
		t.Log("nothing blocked, and a turn is ready")
	}
	p.step(govern.OutcomeAccepted)
	if n := len(p.events("turn_dispatched")); n != 1 {
		t.Errorf("%d events turn_dispatched of a program", n)
	}

	p = newProject(t, strings.Replace(one(runtimeOf("sleeps"), ""), `"rules"`, `"run_loop":{"startup_watchdog_ms":300},"rules"`, 1))
	r := p.step(govern.OutcomeBlocked)
	if !strings.Contains(r.Next, "reissue") {
		t.Errorf("next %s, do %s", r.Next, r.Hint)
	}
	if r, err := p.engine().Restart(t.Context(), govern.RestartOptions{}); err != nil {
		t.Error(err)
	} else {
		p.agree(r)
	}
}

// A turn whose worker gives no sign of life is reissued, as often as the configuration says.
func TestGhostRetries(t *testing.T) {
	t.Parallel()
	config := func(worker, ghosts string) string {
		watchdog := "300"
		if worker == "sleeps once" { // its second attempt has to be in time, also on a busy machine
			watchdog = "3000"
		}
		return strings.Replace(one(runtimeOf(worker), ""), `"rules"`, `"run_loop":{"startup_watchdog_ms":`+watchdog+`,"continuous":{"auto_retry_on_ghost":`+ghosts+`}},"rules"`, 1)
	}
	for name, tc := range map[string]struct {
		worker, ghosts    string
		retried, accepted int
		exhausted         bool
		flag              *bool
	}{
		"off":            {"sleeps", `{"enabled":false}`, 0, 0, false, nil},
		"one too many":   {"sleeps", `{"enabled":true,"max_retries_per_run":2,"cooldown_seconds":0}`, 2, 0, true, nil},
		"the second is":  {"sleeps once", `{"enabled":true,"cooldown_seconds":0}`, 1, 1, false, nil},
		"on by the flag": {"sleeps", `{"max_retries_per_run":2,"cooldown_seconds":0}`, 2, 0, true, new(true)},
		"off by it":      {"sleeps", `{"enabled":true,"cooldown_seconds":0}`, 0, 0, false, new(false)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, config(tc.worker, tc.ghosts))
			r, err := p.engine().Run(t.Context(), govern.RunOptions{MaxTurns: 1, RetryGhosts: tc.flag})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(p.events("auto_retried_ghost")); n != tc.retried {
				t.Errorf("retried %d times", n)
			}
			if n := len(p.accepted()); n != tc.accepted {
				t.Errorf("%d turns accepted: %+v", n, r.Last)
			}
			if got := len(p.events("ghost_retry_exhausted")) == 1; got != tc.exhausted {
				t.Errorf("exhausted: %v", got)
			}
			detail := ""
			if why := p.state().BlockedReason; why != nil {
				detail = why.Recovery.Detail
			}
			if strings.HasPrefix(detail, "Auto-retry exhausted after 2/2 attempts (stdout_attach_failed). ") != tc.exhausted {
				t.Errorf("detail: %s", detail)
			}
			if (r.Stop == govern.StopBlocked) != (tc.accepted == 0) {
				t.Errorf("stopped: %s", r.Stop)
			}
			p.sound()
		})
	}
}

// A submodule that cannot be checked out in the worktree of a turn is named: an agent would take its empty folder for what is there.
func TestAnEmptySubmoduleIsTold(t *testing.T) {
	t.Parallel()
	lib := newProject(t, one(manualRuntime, ""))
	p := newProject(t, one(runtimeOf("one version"), `,"workspace":"worktree"`))
	p.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.root, "lib")
	p.git("commit", "-qm", "with a submodule")
	if err := os.RemoveAll(filepath.Join(p.root, ".git", "modules", "lib")); err != nil {
		t.Fatal(err)
	}
	p.step(govern.OutcomeAccepted)
	if said := strings.Join(p.heard("warning"), "\n"); !strings.Contains(said, "has submodules without their files: lib;") {
		t.Errorf("heard %q", said)
	}
}
