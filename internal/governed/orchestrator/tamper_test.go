//go:build unix

package orchestrator

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/audit"
)

// recorded is a project with three accepted turns, an escalation and an audited hook. It is copied for every test.
func recorded(t *testing.T) *world {
	t.Helper()
	p := newProject(t, one(runtimeOf("own file"), `,"hooks":{"before_assignment":[{"name":"look","type":"process","command":["true"],"mode":"advisory","timeout_ms":30000}],"after_acceptance":[{"name":"see","type":"process","command":["true"],"mode":"advisory","timeout_ms":30000}]}`))
	for range 2 {
		p.step(govern.OutcomeAccepted)
	}
	if _, err := p.engine().Escalate(t.Context(), govern.EscalateOptions{Reason: "look"}); err != nil {
		t.Fatal(err)
	}
	p.step(govern.OutcomeAccepted, govern.StepOptions{Resume: true})
	return p
}

func (p *world) copy(t *testing.T) *world {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(p.root)); err != nil {
		t.Fatal(err)
	}
	return &world{t: t, root: root}
}

// change edits a file of the record by its lines.
func (p *world) change(name string, fn func([]string) []string) {
	p.t.Helper()
	lines := strings.Split(strings.TrimSuffix(p.read(name), "\n"), "\n")
	p.write(name, strings.Join(fn(lines), "\n")+"\n")
}

func (p *world) remove(name string) {
	p.t.Helper()
	if err := os.RemoveAll(filepath.Join(p.root, filepath.FromSlash(name))); err != nil {
		p.t.Fatal(err)
	}
}

func init() {
	workers["own file"] = func(w *worker) {
		name := fmt.Sprint("src/", w.assignment["turn_id"], ".txt")
		w.put(name, "of this turn\n")
		w.stage(w.result(name))
	}
}

// told is everything that verify says.
func told(r audit.Report) string {
	var b strings.Builder
	if r.Broken != nil {
		fmt.Fprintf(&b, "%s %s line %d: %s\n", r.Broken.Kind, r.Broken.File, r.Broken.Line, r.Broken.Message)
	}
	for _, f := range r.Git.Findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Kind, f.Message)
	}
	for _, a := range r.Adopted {
		fmt.Fprintf(&b, "adopted %s\n", a.File)
	}
	for _, a := range r.Uncovered {
		fmt.Fprintf(&b, "uncovered %s\n", a.File)
	}
	return b.String()
}

func verified(t *testing.T, p *world) audit.Report {
	t.Helper()
	r, err := audit.Verify(t.Context(), p.root)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestManipulationsAreNamed: every way to change the record, or the commits that it names, is named or reported.
func TestManipulationsAreNamed(t *testing.T) {
	whole := recorded(t)
	if r := verified(t, whole); !r.OK || told(r) != "" || r.Git.Turns != 3 {
		t.Fatalf("before: %+v\n%s", r, told(r))
	}
	foreign := newProject(t, one(runtimeOf("own file"), ""))
	foreign.step(govern.OutcomeAccepted)
	last := func(p *world) string { ids := p.accepted(); return ids[len(ids)-1] }
	upper := func(at int) func([]string) []string {
		return func(l []string) []string { l[at] = strings.ToUpper(l[at]); return l }
	}
	archived := func(name string) func(*world) {
		return func(p *world) { p.write(protocol.ArchiveDir+"/"+last(p)+"/"+name, "forged\n") }
	}
	swap := func(p *world, names ...string) {
		for _, n := range names {
			p.write(n, foreign.read(n))
		}
	}
	for _, tc := range []struct {
		name string
		do   func(*world)
		want string // part of what verify says
		fine bool   // it is reported and no fault
	}{
		{"a line edited", func(p *world) { p.change(protocol.HistoryFile, upper(1)) }, "edited .agentxchain/history.jsonl line 2", false},
		{"a line removed", func(p *world) {
			p.change(protocol.HistoryFile, func(l []string) []string { return append(l[:1:1], l[2:]...) })
		}, "removed .agentxchain/history.jsonl line 2", false},
		{"the last line removed", func(p *world) {
			p.change(protocol.HistoryFile, func(l []string) []string { return l[:2] })
		}, "cut .agentxchain/history.jsonl line 3", false},
		{"two lines swapped", func(p *world) {
			p.change(protocol.EventsFile, func(l []string) []string { l[2], l[3] = l[3], l[2]; return l })
		}, ".agentxchain/events.jsonl line 3", false},
		{"a line twice", func(p *world) {
			p.change(protocol.HistoryFile, func(l []string) []string { return append(l[:1:1], l...) })
		}, "inserted .agentxchain/history.jsonl line 2", false},
		{"a line appended", func(p *world) {
			p.change(protocol.EventsFile, func(l []string) []string { return append(l, `{"event_type":"gate_approved"}`) })
		}, "inserted .agentxchain/events.jsonl", false},
		{"white space", func(p *world) {
			p.change(protocol.LedgerFile, func(l []string) []string { l[0] += " "; return l })
		}, "edited .agentxchain/decision-ledger.jsonl line 1", false},
		{"a torn end", func(p *world) { p.write(protocol.HistoryFile, p.read(protocol.HistoryFile)+`{"turn`) }, "torn .agentxchain/history.jsonl", false},
		{"an event edited", func(p *world) { p.change(protocol.EventsFile, upper(0)) }, "edited .agentxchain/events.jsonl line 1", false},
		{"an event removed", func(p *world) {
			p.change(protocol.EventsFile, func(l []string) []string { return l[1:] })
		}, "removed .agentxchain/events.jsonl line 1", false},
		{"the escalations forged", func(p *world) {
			p.change(protocol.EscalationsFile, func([]string) []string { return []string{`{}`} })
		}, ".agentxchain/human-escalations.jsonl", false},
		{"the runs forged", func(p *world) { p.write(protocol.RunHistoryFile, "{}\n") }, ".agentxchain/run-history.jsonl", false},
		{"durable decisions forged", func(p *world) { p.write(protocol.RepoLedgerFile, "{}\n") }, ".agentxchain/repo-decisions.jsonl", false},
		{"a file of the record gone", func(p *world) { p.remove(protocol.HistoryFile) }, "missing .agentxchain/history.jsonl", false},
		{"the chain cut", func(p *world) {
			p.change(protocol.ChainFile, func(l []string) []string { return l[:len(l)-12] })
		}, "cut .agentxchain/chain.jsonl", false},
		{"the chain edited", func(p *world) { p.change(protocol.ChainFile, upper(4)) }, "chain .agentxchain/chain.jsonl line 5", false},
		{"an entry of the chain gone", func(p *world) {
			p.change(protocol.ChainFile, func(l []string) []string { return append(l[:4:4], l[5:]...) })
		}, "chain .agentxchain/chain.jsonl line 5", false},
		{"the chain gone", func(p *world) { p.remove(protocol.ChainFile) }, "missing .agentxchain/chain.jsonl", false},
		{"the chain of another project", func(p *world) { swap(p, protocol.ChainFile) }, ".agentxchain/", false},
		{"the whole record of another project", func(p *world) {
			p.remove(protocol.Dir)
			if err := os.CopyFS(filepath.Join(p.root, protocol.Dir), os.DirFS(filepath.Join(foreign.root, protocol.Dir))); err != nil {
				p.t.Fatal(err)
			}
		}, "is not in this repository", false},
		{"an older copy of the record", func(p *world) {
			p.step(govern.OutcomeAccepted)
			p.remove(protocol.Dir)
			if err := os.CopyFS(filepath.Join(p.root, protocol.Dir), os.DirFS(filepath.Join(whole.root, protocol.Dir))); err != nil {
				p.t.Fatal(err)
			}
		}, "unrecorded: ", false},
		{"the state edited", func(p *world) {
			p.write(protocol.StateFile, strings.Replace(p.read(protocol.StateFile), `"status"`, ` "status"`, 1))
		}, "edited .agentxchain/state.json", false},
		{"the state gone", func(p *world) { p.remove(protocol.StateFile) }, "missing .agentxchain/state.json", false},
		{"the session edited", func(p *world) { p.write(protocol.SessionFile, "{}\n") }, "edited .agentxchain/session.json", false},
		{"the talk edited", func(p *world) { p.write(protocol.TalkFile, p.read(protocol.TalkFile)+"QA agreed.\n") }, "edited TALK.md", false},
		{"the audit of hooks edited", func(p *world) { p.change(protocol.HookAuditFile, upper(0)) }, "edited .agentxchain/hook-audit.jsonl", false},
		{"the audit of hooks forged", func(p *world) {
			p.change(protocol.HookAuditFile, func(l []string) []string { return append(l, l[0]) })
		}, "uncovered .agentxchain/hook-audit.jsonl", true},
		{"a prompt in the archive", archived("PROMPT.md"), "edited .agentxchain/archive/turns/", false},
		{"a result in the archive", archived("staging/turn-result.json"), "staging/turn-result.json", false},
		{"a log in the archive", archived("evidence.log"), "inserted .agentxchain/archive/turns/", false},
		{"an archived turn gone", func(p *world) { p.remove(protocol.ArchiveDir + "/" + last(p)) }, "missing .agentxchain/archive/turns/", false},
		{"commits dropped", func(p *world) { p.git("reset", "-q", "--hard", "HEAD~2") }, "its work is missing", false},
		{"a commit amended in content", func(p *world) {
			p.write("src/"+last(p)+".txt", "forged\n")
			p.git("commit", "-qa", "--amend", "--no-edit")
		}, "its files differ from the accepted ones", false},
		{"a commit amended in its message", func(p *world) { p.git("commit", "-q", "--amend", "-m", "work") }, "rewritten: ", true},
		{"the trailers removed", func(p *world) {
			p.git("-c", "core.commentChar=;", "filter-branch", "-f", "--msg-filter", "grep -v ^Drawbar-Chain-Head: | grep -v ^AgentXchain-", "HEAD")
		}, "rewritten: ", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := whole.copy(t)
			tc.do(p)
			r := verified(t, p)
			if !strings.Contains(told(r), tc.want) || r.OK != tc.fine {
				t.Errorf("verify says (ok %v):\n%swant %q", r.OK, told(r), tc.want)
			}
		})
	}
}

// TestHonestHistoriesAreNoFault: what people do with a branch leaves nothing to complain about.
func TestHonestHistoriesAreNoFault(t *testing.T) {
	whole := recorded(t)
	other := func(p *world) {
		p.git("switch", "-qc", "other", "HEAD~3")
		p.write("other.txt", "theirs\n")
		p.git("add", "-A")
		p.git("commit", "-qm", "theirs")
	}
	for _, tc := range []struct {
		name string
		do   func(*world)
		want string
		step bool // the next turn is carried
	}{
		{"a commit on top", func(p *world) { p.write("x", "x\n"); p.git("add", "x"); p.git("commit", "-qm", "mine") }, "", true},
		{"accepted work edited later", func(p *world) {
			p.write("src/"+p.accepted()[1]+".txt", "better\n")
			p.git("commit", "-qam", "mine")
		}, "", true},
		{"reverted", func(p *world) { p.git("revert", "--no-edit", "HEAD") }, "", true},
		{"merged", func(p *world) { other(p); p.git("merge", "-q", "--no-edit", "main") }, "", true},
		{"merged from elsewhere", func(p *world) { other(p); p.git("switch", "-q", "main"); p.git("merge", "-q", "--no-edit", "other") }, "", true},
		{"rebased", func(p *world) { other(p); p.git("switch", "-q", "main"); p.git("rebase", "-q", "other") }, "moved: ", true},
		{"squashed", func(p *world) {
			other(p)
			p.git("merge", "-q", "--squash", "main")
			p.git("commit", "-qm", "all of it")
		}, "rewritten: ", true},
		{"cherry-picked", func(p *world) { other(p); p.git("cherry-pick", "--allow-empty", "main~3..main") }, "moved: ", true},
		{"another branch", func(p *world) { other(p) }, "elsewhere: ", false},
		{"another branch with another start", func(p *world) { p.git("switch", "-q", "--detach", "HEAD~1") }, "elsewhere: ", false},
		{"a message amended", func(p *world) { p.git("commit", "-q", "--amend", "-m", "work") }, "rewritten: ", true},
		{"renamed branch", func(p *world) { p.git("branch", "-m", "trunk") }, "", true},
		{"collected garbage", func(p *world) { p.git("gc", "-q", "--prune=now") }, "", true},
		{"shallow", func(p *world) {
			p.git("fetch", "-q", "--depth=1", "file://"+whole.root, "main")
			p.git("gc", "-q", "--prune=now")
		}, "unknown: ", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := whole.copy(t)
			tc.do(p)
			r := verified(t, p)
			if !r.OK || tc.want == "" && told(r) != "" || !strings.Contains(told(r), tc.want) {
				t.Errorf("verify says (ok %v):\n%swant %q", r.OK, told(r), tc.want)
			}
			rep, err := p.engine().Step(t.Context(), govern.StepOptions{})
			if tc.step && (err != nil || rep.Outcome != govern.OutcomeAccepted) {
				t.Errorf("step: %v %v, %v", rep.Outcome, rep.Errors, err)
			}
			if !tc.step && (err == nil || !strings.Contains(hint(err), "git switch main")) {
				t.Errorf("step: %v, try %s", err, hint(err))
			}
			if r := verified(t, p); tc.step && !r.OK {
				t.Errorf("after the next turn:\n%s", told(r))
			}
		})
	}
}

// TestLostWorkStopsDecisions: nothing is decided over work that the branch has lost before a person says how to go on.
func TestLostWorkStopsDecisions(t *testing.T) {
	whole := recorded(t)
	t.Run("brought back", func(t *testing.T) {
		p := whole.copy(t)
		was := p.git("rev-parse", "HEAD")
		p.git("reset", "-q", "--hard", "HEAD~2")
		_, err := p.engine().Step(t.Context(), govern.StepOptions{})
		if err == nil || !strings.Contains(err.Error(), "work is missing") || !strings.Contains(hint(err), "git merge "+was[:12]) && !strings.Contains(hint(err), "git merge ") {
			t.Fatalf("%v, try %s", err, hint(err))
		}
		p.git("merge", "-q", was)
		p.step(govern.OutcomeAccepted)
		p.sound()
	})
	t.Run("given up", func(t *testing.T) {
		p := whole.copy(t)
		p.git("reset", "-q", "--hard", "HEAD~2")
		lost := p.accepted()[1:]
		if _, err := p.engine().Restart(t.Context(), govern.RestartOptions{AdoptState: true}); err != nil {
			t.Fatal(err)
		}
		p.step(govern.OutcomeAccepted)
		r := verified(t, p)
		for _, id := range lost {
			if !strings.Contains(told(r), id) {
				t.Errorf("verify no longer speaks of %s:\n%s", id, told(r))
			}
		}
		if !r.OK {
			t.Errorf("verify: %s", told(r))
		}
	})
	t.Run("a chain that is gone", func(t *testing.T) {
		p := whole.copy(t)
		p.remove(protocol.ChainFile)
		p.remove(protocol.Dir + "/archive")
		e := p.engine()
		for name, do := range map[string]func() error{
			"step":     func() error { _, err := e.Step(t.Context(), govern.StepOptions{}); return err },
			"approve":  func() error { _, err := e.Approve(t.Context(), govern.ApproveOptions{Either: true}); return err },
			"accept":   func() error { _, err := e.Accept(t.Context(), govern.AcceptOptions{}); return err },
			"escalate": func() error { _, err := e.Escalate(t.Context(), govern.EscalateOptions{Reason: "x"}); return err },
			"restart":  func() error { _, err := e.Restart(t.Context(), govern.RestartOptions{}); return err },
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), "chain.jsonl is missing") || !strings.Contains(hint(err), "--adopt-state") {
				t.Errorf("%s: %v, try %s", name, err, hint(err))
			}
		}
		if _, err := e.Restart(t.Context(), govern.RestartOptions{AdoptState: true}); err != nil {
			t.Fatal(err)
		}
		p.step(govern.OutcomeAccepted)
		if r := verified(t, p); !r.OK || r.Prior != 3 {
			t.Errorf("verify: %+v\n%s", r, told(r))
		}
	})
}

// TestRecordsOfTwoClones: each has its own record, and one history.
func TestRecordsOfTwoClones(t *testing.T) {
	a := newProject(t, one(runtimeOf("own file"), ""))
	b := a.copy(t)
	a.step(govern.OutcomeAccepted)
	b.step(govern.OutcomeAccepted)
	a.git("pull", "-q", "--no-rebase", "--no-edit", b.root, "main")
	r := verified(t, a)
	if !r.OK || !strings.Contains(told(r), "foreign: 1 checkpoints below HEAD belong to run "+b.state().ID()) {
		t.Errorf("verify (ok %v):\n%s", r.OK, told(r))
	}
	a.step(govern.OutcomeAccepted)
	if r := verified(t, a); !r.OK {
		t.Errorf("verify:\n%s", told(r))
	}
}

// TestClockThatWasSetBack: the record's times never go back, and a person hears why they stand still.
func TestClockThatWasSetBack(t *testing.T) {
	p := newProject(t, one(runtimeOf("ok"), ""))
	p.step(govern.OutcomeAccepted)
	back := p.engine(func(o *Options) { o.Now = func() time.Time { return time.Now().Add(-48 * time.Hour) } })
	if r, err := back.Step(t.Context(), govern.StepOptions{}); err != nil || r.Outcome != govern.OutcomeAccepted {
		t.Fatalf("%+v, %v", r, err)
	}
	if all := strings.Join(p.heard("warning"), "\n"); !strings.Contains(all, "this machine's clock says") {
		t.Errorf("warnings: %s", all)
	}
	var last protocol.Time
	if _, err := p.view().Events(0, func(e protocol.Event) {
		if e.Timestamp.Before(last.Time) {
			t.Errorf("the event %s is before the one before it", e.EventType)
		}
		last = e.Timestamp
	}); err != nil {
		t.Fatal(err)
	}
	if r := verified(t, p); !r.OK {
		t.Errorf("verify: %s", told(r))
	}
}
