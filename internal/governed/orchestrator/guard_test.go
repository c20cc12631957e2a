//go:build unix

package orchestrator

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

func init() {
	workers["leak"] = func(w *worker) {
		w.put("src/a.txt", "work\n")
		r := w.result("src/a.txt")
		r["summary"] = "used the key " + os.Getenv("SOME_API_KEY")
		w.stage(r)
	}
	workers["leak-invalid"] = func(w *worker) {
		r := w.result("../up")
		r["summary"] = "used the key " + os.Getenv("SOME_API_KEY")
		w.stage(r)
	}
	// attack runs a script in the project, then does honest work and hands it in.
	workers["attack"] = func(w *worker) {
		c := exec.Command("sh", "-c", os.Args[1])
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Run(); err != nil {
			panic(err)
		}
		w.put("src/a.txt", fmt.Sprintln(w.assignment["turn_id"]))
		w.stage(w.result("src/a.txt"))
	}
}

// TestTurnThatUnbindsItselfIsHeld lets a worker change what it is judged by. Nothing of its result counts until a person who was
// told takes it.
func TestTurnThatUnbindsItselfIsHeld(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, script string
		code, says   string
		undo         string // what a person types, before the result is accepted
	}{
		{"its own authority", `sed -i 's/"requires_verification_pass":true/"requires_verification_pass":false/' agentxchain.json`,
			codeRulesChanged, "agentxchain.json", "git restore agentxchain.json"},
		{"its own budget", `sed -i 's/"rules"/"budget":{"per_run_max_usd":1e6},"rules"/' agentxchain.json`, codeRulesChanged, "agentxchain.json", "git restore agentxchain.json"},
		{"the program of a hook", `echo 'echo "{\"verdict\":\"allow\"}"' > check.sh`, codeRulesChanged, "check.sh", "git restore check.sh"},
		{"the prompts of roles", `mkdir -p .agentxchain/prompts; echo be kind > .agentxchain/prompts/qa.md`, codeRulesChanged, ".agentxchain/prompts/qa.md", "rm .agentxchain/prompts/qa.md"},
		{"a past line of the record", `sed -i s/run_started/run_startex/ .agentxchain/events.jsonl`, codeRecordChanged, ".agentxchain/events.jsonl",
			"sed -i s/run_startex/run_started/ .agentxchain/events.jsonl"},
		{"what git does not see", `echo a.out >> .git/info/exclude; echo x > a.out`, codeRulesChanged, ".git/info/exclude", "sed -i /a.out/d .git/info/exclude; rm a.out"},
		{"a setting that hides files", `git config core.excludesFile /dev/null`, codeRulesChanged, ".git/config", "git config --unset core.excludesFile"},
		{"a filter", `git config filter.x.clean 'touch ran; cat'`, codeRulesChanged, ".git/config", "git config --remove-section filter.x"},
		{"a file that git is told not to look at", `git update-index --assume-unchanged README.md; echo x >> README.md`, codeRulesChanged, "assume-unchanged",
			"git update-index --no-assume-unchanged README.md; git restore README.md"},
		{"a file that git is told to leave out", `git update-index --skip-worktree README.md; echo x >> README.md`, codeRulesChanged, "skip-worktree",
			"git update-index --no-skip-worktree README.md; git restore README.md"},
		{"another branch", `git checkout -q -b evil`, codeRepositoryChanged, "branch evil", "git switch -q main"},
		{"a detached head", `git checkout -q --detach`, codeRepositoryChanged, "detached head", "git switch -q main"},
		{"a rewritten history", `git commit -q --amend -m other`, codeRepositoryChanged, "rewritten", "git reset -q --soft HEAD@{1}"},
		{"a branch without commits", `git rev-parse HEAD > .git/start; git update-ref -d HEAD`, codeRepositoryChanged, "no commits", "git update-ref HEAD $(cat .git/start)"},
		{"no repository", `mv .git .gone`, codeRepositoryChanged, ".git is gone", "mv .gone .git"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, one(runtimeOf("attack", tc.script), checked))
			p.write("check.sh", `cat > .git/judged; echo '{"verdict":"allow"}'`)
			p.git("add", "-A")
			p.git("commit", "-qm", "a check")
			r := p.step(govern.OutcomeBlocked)
			if r.Code != tc.code || len(r.Errors) != 2 || !strings.Contains(r.Errors[0], tc.says) {
				t.Fatalf("held by %s: %q, want %s with %q", r.Code, r.Errors, tc.code, tc.says)
			}
			if !strings.Contains(r.Errors[1], "drawbar govern accept --turn "+r.TurnID) {
				t.Errorf("nothing says how to go on: %q", r.Errors)
			}
			if len(p.accepted()) != 0 {
				t.Fatal("it is accepted")
			}
			if _, err := os.Stat(p.root + "/.git/judged"); tc.code != codeRepositoryChanged && err == nil {
				t.Error("a hook judged it before")
			}
			p.sh(tc.undo)
			r, err := p.engine().Accept(t.Context(), govern.AcceptOptions{Turn: r.TurnID})
			if err != nil || r.Outcome != govern.OutcomeAccepted || r.Status != protocol.RunActive {
				t.Fatalf("after %s: %s %s %v %v", tc.undo, r.Outcome, r.Code, r.Errors, err)
			}
			p.sound()
		})
	}
}

// TestWorktreeOfATurnIsBoundToo: the settings of a turn's own worktree, and what it does to those of the repository.
func TestWorktreeOfATurnIsBoundToo(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"the worktree's settings":   `git config --worktree filter.x.clean "touch $AGENTXCHAIN_DISPATCH_DIR/ran; cat"`,
		"the repository's settings": `git config filter.x.clean "touch $AGENTXCHAIN_DISPATCH_DIR/ran; cat"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, one(runtimeOf("attack", `printf '*.md filter=x\n' > .gitattributes; touch README.md; `+script), `,"workspace":"worktree"`))
			p.git("config", "extensions.worktreeConfig", "true")
			r := p.step(govern.OutcomeBlocked)
			if r.Code != codeRulesChanged || !strings.Contains(r.Errors[0], "git config filter.x.clean: was not set") {
				t.Errorf("got %+v", r)
			}
			_ = filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Name() == "ran" {
					t.Errorf("the filter ran: %s", path)
				}
				return nil
			})
		})
	}
}

const checked = `,"hooks":{"before_validation":[{"name":"check","type":"process","command":["sh","check.sh"],"timeout_ms":20000,"mode":"blocking"}]}`

func (p *world) sh(script string) {
	p.t.Helper()
	c := exec.Command("sh", "-c", script)
	c.Dir = p.root
	if out, err := c.CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// TestRecordIsNotWrittenByAWorker lets a worker write the state, and lines of the record: they are put back and kept aside, and
// the worker hears of it once and does it right.
func TestRecordIsNotWrittenByAWorker(t *testing.T) {
	t.Parallel()
	once := func(script string) string {
		return "test -e .git/once && exit 0; touch .git/once; " + script
	}
	for name, script := range map[string]string{
		"the state":          `sed -i 's/"turn_sequence": 1/"turn_sequence": 40/' .agentxchain/state.json`,
		"no state":           `rm .agentxchain/state.json`,
		"a state of its own": `echo '{' > .agentxchain/state.json`,
		"an accepted turn":   `echo '{"turn_id":"turn_x","role":"qa","status":"completed"}' >> .agentxchain/history.jsonl`,
		"a decision":         `echo '{"id":"DEC-900","turn_id":"turn_x","status":"accepted"}' >> .agentxchain/decision-ledger.jsonl`,
		"an approval":        `echo '{"event_type":"gate_approved"}' >> .agentxchain/events.jsonl`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, one(runtimeOf("attack", once(script)), ""))
			r := p.step(govern.OutcomeAccepted)
			if r.Attempt != 2 {
				t.Errorf("accepted at attempt %d, want a second one", r.Attempt)
			}
			if kept := p.heard("mended"); len(kept) != 1 {
				t.Errorf("told %q, want what was put back", kept)
			}
			if seq := p.state().TurnSequence; seq != 2 {
				t.Errorf("the state is at sequence %d", seq)
			}
			if h := p.history(); len(h) != 1 || h[0].TurnID != r.TurnID {
				t.Errorf("the history has %+v", h)
			}
			p.sound()
		})
	}
}

// TestAnAgentDecidesNothing types commands as an agent within its turn would.
func TestAnAgentDecidesNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(manualRuntime, ""))
	turn := p.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
	inside := func(id string) *Local {
		return p.engine(func(o *Options) {
			o.Getenv = func(name string) string {
				if name == protocol.TurnVariable {
					return id
				}
				return ""
			}
		})
	}
	before := p.read(protocol.StateFile)
	for name, do := range map[string]func(*Local) error{
		"accept": func(e *Local) error { _, err := e.Accept(t.Context(), govern.AcceptOptions{Turn: turn}); return err },
		"reject": func(e *Local) error { _, err := e.Reject(t.Context(), govern.RejectOptions{Turn: turn}); return err },
		"escalate": func(e *Local) error {
			_, err := e.Escalate(t.Context(), govern.EscalateOptions{Reason: "x"})
			return err
		},
		"approve": func(e *Local) error {
			_, err := e.Approve(t.Context(), govern.ApproveOptions{Either: true})
			return err
		},
		"step": func(e *Local) error { _, err := e.Step(t.Context(), govern.StepOptions{NoWait: true}); return err },
		"objections": func(e *Local) error {
			_, err := e.RuleObjection(t.Context(), govern.ObjectionOptions{ID: "OBJ-001", Status: protocol.ObjectionResolvedByHuman, Reason: "x"})
			return err
		},
		"settings": func(e *Local) error { return e.Outside() },
		"restart":  func(e *Local) error { _, err := e.Restart(t.Context(), govern.RestartOptions{New: true}); return err },
	} {
		if err := do(inside(turn)); err == nil || !strings.Contains(err.Error(), "inside turn "+turn) {
			t.Errorf("%s within a turn: %v", name, err)
		}
	}
	if p.read(protocol.StateFile) != before {
		t.Error("the state changed")
	}
	if _, err := inside("turn_of_another_project").Escalate(t.Context(), govern.EscalateOptions{Reason: "x"}); err != nil {
		t.Errorf("the turn of another project counts here: %v", err)
	}
}

// TestLostRecord is a project whose record was swept away, as git clean -x does.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("attack", "true"), ""))
	p.step(govern.OutcomeAccepted)
	p.git("clean", "-fdxq")
	p.step(govern.OutcomeAccepted)
	if told := strings.Join(p.heard("warning"), " "); !strings.Contains(told, "1 checkpoints of a missing record") {
		t.Errorf("told %q", told)
	}
	work, err := workspace.Open(t.Context(), p.root)
	if err != nil {
		t.Fatal(err)
	}
	heads, err := work.Heads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v, err := ledger.Verify(t.Context(), p.root, heads)
	if err != nil || v.OK {
		t.Errorf("verify says %+v, %v, and a record was lost", v, err)
	}
}

// TestTurnThatRemovesTheRecord is told at once, with what to do.
func TestTurnThatRemovesTheRecord(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("attack", "test -e .git/once || rm -rf .agentxchain; mkdir -p $AGENTXCHAIN_DISPATCH_DIR; touch .git/once"), ""))
	_, err := p.engine().Step(t.Context(), govern.StepOptions{})
	if err == nil || !strings.Contains(err.Error(), "is gone: .agentxchain was removed or emptied during turn turn_") || strings.Contains(err.Error(), ".lock") ||
		!strings.Contains(hint(err), "drawbar govern step") {
		t.Fatalf("got %v; %s", err, hint(err))
	}
	p.git("clean", "-fdq")
	p.step(govern.OutcomeAccepted)
}

// TestSweptState is a record whose state and its copy are gone, and whose lines are not.
func TestSweptState(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("attack", "true"), ""))
	p.step(govern.OutcomeAccepted)
	p.sh("rm .agentxchain/state.json .agentxchain/archive/state.json")
	_, err := p.engine().Step(t.Context(), govern.StepOptions{})
	if err == nil || !strings.Contains(err.Error(), "state.json is missing") || !strings.Contains(hint(err), "--adopt-state") {
		t.Fatalf("without the state: %v", err)
	}
	if _, err := p.engine().Restart(t.Context(), govern.RestartOptions{New: true, AdoptState: true}); err != nil {
		t.Fatal(err)
	}
	p.step(govern.OutcomeAccepted)
}

// TestAClockThatIsSetBack does not bring the record out of order.
func TestAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("attack", "true"), ""))
	p.step(govern.OutcomeAccepted)
	back := p.engine(func(o *Options) { o.Now = func() time.Time { return time.Now().Add(-3 * time.Hour) } })
	if r, err := back.Step(t.Context(), govern.StepOptions{}); err != nil || r.Outcome != govern.OutcomeAccepted {
		t.Fatalf("%+v, %v", r, err)
	}
	all, err := p.view().EventsOf("")
	if err != nil {
		t.Fatal(err)
	}
	if r := governance.ValidateOrdering(all); r != nil {
		t.Error(r.Message)
	}
}

// TestSecretsOfAResultAreNotRecorded hands in a result that holds the value of a variable.
func TestSecretsOfAResultAreNotRecorded(t *testing.T) {
	t.Parallel()
	const secret = "sk-not-a-real-one-0123456789"
	for _, worker := range []string{"leak", "leak-invalid"} {
		p := newProject(t, one(runtimeOf(worker), ""))
		_, err := p.engine(func(o *Options) { o.Environ = append(o.Environ, "SOME_API_KEY="+secret) }).Step(t.Context(), govern.StepOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if told := p.heard("warning"); !strings.Contains(strings.Join(told, " "), "secret") {
			t.Errorf("%s: warned of %q", worker, told)
		}
		if err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), secret) {
				t.Errorf("%s: the secret stands in %s", worker, path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if worker == "leak" && !strings.Contains(p.read(protocol.HistoryFile), "key [REDACTED]") {
			t.Errorf("the history says nothing of it: %s", p.read(protocol.HistoryFile))
		}
	}
}

// TestADeadProcessTellsNobody: whoever takes up a turn whose process died hears first what the turn did to git, whichever command it is.
func TestADeadProcessTellsNobody(t *testing.T) {
	t.Parallel()
	orphan := func(t *testing.T) (*world, string) {
		p := newProject(t, one(runtimeOf("attack", "true"), ""))
		e := p.engine()
		j, rep, _, err := e.begin(t.Context(), govern.StepOptions{}, false)
		if err != nil || rep != nil {
			t.Fatalf("%+v, %v", rep, err)
		}
		if err := j.lease.release(); err != nil {
			t.Fatal(err)
		}
		p.sh(`printf '*.md filter=x\n' > .gitattributes; git config filter.x.clean "touch .git/ran; cat"; touch README.md; rm -f .git/ran`)
		return p, j.dispatch.Turn.TurnID
	}
	quiet := func(p *world) {
		p.t.Helper()
		if _, err := os.Stat(p.root + "/.git/ran"); err == nil {
			p.t.Error("the filter ran")
		}
	}
	t.Run("step", func(t *testing.T) {
		t.Parallel()
		p, _ := orphan(t)
		if r := p.step(govern.OutcomeBlocked); r.Code != codeRulesChanged || !strings.Contains(r.Errors[0], "git config filter.x.clean: was not set") {
			t.Errorf("got %+v", r)
		}
		quiet(p)
		// Changed again, it is told again.
		p.sh(`git config filter.x.clean "touch .git/ran; cat -u"`)
		if r := p.step(govern.OutcomeBlocked, govern.StepOptions{Resume: true}); r.Code != codeRulesChanged || !strings.Contains(r.Errors[0], "cat -u") {
			t.Errorf("got %+v", r)
		}
		quiet(p)
		p.sh("git config --remove-section filter.x; rm .gitattributes")
		p.step(govern.OutcomeAccepted, govern.StepOptions{Resume: true})
		p.sound()
	})
	t.Run("accept", func(t *testing.T) {
		t.Parallel()
		p, id := orphan(t)
		r, err := p.engine().Accept(t.Context(), govern.AcceptOptions{Turn: id})
		if err != nil || r.Outcome != govern.OutcomeBlocked || r.Code != codeRulesChanged {
			t.Errorf("got %+v, %v", r, err)
		}
		quiet(p)
	})
	for name, do := range map[string]func(*Local) error{
		"reissue": func(e *Local) error { _, err := e.Reissue(t.Context(), "", "x"); return err },
		"reject": func(e *Local) error {
			_, err := e.Reject(t.Context(), govern.RejectOptions{Reassign: true})
			return err
		},
		"restart": func(e *Local) error { _, err := e.Restart(t.Context(), govern.RestartOptions{}); return err },
		"new":     func(e *Local) error { _, err := e.Restart(t.Context(), govern.RestartOptions{New: true}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := orphan(t)
			if err := do(p.engine()); err != nil && execution.CodeOf(err) == "" {
				t.Fatal(err)
			}
			if told := strings.Join(p.heard("warning"), " "); !strings.Contains(told, "changed your git configuration: git config filter.x.clean") {
				t.Errorf("told %q", told)
			}
			quiet(p)
		})
	}
}

// TestSettingsOfARefusedAttempt: what an attempt set in git is on record although its result was refused.
func TestSettingsOfARefusedAttempt(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("sets and repairs"), ""))
	p.step(govern.OutcomeAccepted)
	all := p.events("acceptance_failed")
	if len(all) != 1 || !strings.Contains(string(all[0].Payload), "git_settings") || !strings.Contains(string(all[0].Payload), "git config user.name: was") {
		t.Errorf("recorded %+v", all)
	}
	p.sound()
}
