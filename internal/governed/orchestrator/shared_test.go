//go:build unix

package orchestrator

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/testenv"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/team"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// newTeam makes a project, a bare remote and a second clone.
func newTeam(t testing.TB, config string) (alice, bob *world, hub string) {
	t.Helper()
	alice = newProject(t, config)
	hub = filepath.Join(t.TempDir(), "hub.git")
	alice.git("init", "-q", "--bare", "-b", "main", hub)
	alice.git("remote", "add", "origin", hub)
	alice.git("push", "-q", "origin", "main")
	return alice, cloned(t, hub), hub
}

func cloned(t testing.TB, hub string) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &world{t: t, root: root}
	p.git("clone", "-q", hub, ".")
	return p
}

func branched(runtime string) string { return one(runtime, `,"record":"branch"`) }

func (p *world) shared(change ...func(*Options)) Shared { return Shared{p.engine(change...)} }

// turn takes a turn together with the team.
func (p *world) turn(want govern.Outcome, change ...func(*Options)) govern.Report {
	p.t.Helper()
	r, err := p.shared(change...).Step(p.t.Context(), govern.StepOptions{})
	if err != nil || r.Outcome != want {
		p.t.Fatalf("step: %s %v %v (%s)", r.Outcome, r.Errors, err, hint(err))
	}
	if w := p.heard(govern.NoticeWarning); len(w) > 0 {
		p.t.Errorf("warned: %v", w)
	}
	return r
}

func (p *world) sync(o govern.SyncOptions) govern.Synced {
	p.t.Helper()
	s, err := p.shared().Sync(p.t.Context(), o)
	if err != nil {
		p.t.Fatalf("sync: %v (%s)", err, hint(err))
	}
	return s
}

func (p *world) syncFails(o govern.SyncOptions, text, next string) {
	p.t.Helper()
	head, lines := p.git("rev-parse", "HEAD"), len(p.history())
	if _, err := p.shared().Sync(p.t.Context(), o); err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(hint(err), next) {
		p.t.Errorf("sync: %v (%s), want %q (%q)", err, hint(err), text, next)
	}
	if p.git("rev-parse", "HEAD") != head || len(p.history()) != lines {
		p.t.Error("a sync that fails changes something")
	}
}

// same wants clones to have one record, which is sound, and one branch.
func same(t *testing.T, all ...*world) {
	t.Helper()
	for _, p := range all {
		p.sound()
		if got, want := p.read(protocol.ChainFile), all[0].read(protocol.ChainFile); got != want {
			t.Errorf("the records differ: %d and %d bytes of chain", len(got), len(want))
		}
		if p.git("rev-parse", "HEAD") != all[0].git("rev-parse", "HEAD") {
			t.Error("the branches differ")
		}
		if left, _ := filepath.Glob(filepath.Join(p.root, ".agentxchain", "locks", "*")); slices.ContainsFunc(left, func(name string) bool {
			return strings.HasSuffix(name, ".git")
		}) {
			t.Errorf("left behind: %v", left)
		}
	}
}

// Two clones take turns in one run, without a word in between; a third one reads it.
func TestTwoClonesCarryOneRun(t *testing.T) {
	t.Parallel()
	alice, bob, hub := newTeam(t, branched(runtimeOf("ok")))
	first := alice.turn(govern.OutcomeAccepted)
	second := bob.turn(govern.OutcomeAccepted)
	third := alice.turn(govern.OutcomeAccepted)
	s := bob.sync(govern.SyncOptions{})
	if !s.Pulled || s.Pushed || !slices.Equal(s.Turns, []string{third.TurnID}) || s.Moved == "" || s.Lease != nil || s.Run != first.RunID || s.Remote != "origin" {
		t.Errorf("%+v", s)
	}
	if got, want := bob.accepted(), []string{first.TurnID, second.TurnID, third.TurnID}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if s := bob.sync(govern.SyncOptions{}); s.Pulled || s.Pushed {
		t.Errorf("again: %+v", s)
	}
	carol := cloned(t, hub)
	carol.sync(govern.SyncOptions{})
	same(t, alice, bob, carol)
	if strings.Count(carol.read("work.txt"), "\n") != 3 {
		t.Errorf("work.txt: %q", carol.read("work.txt"))
	}
	if refs := bob.git("ls-remote", "origin"); strings.Count(refs, "\n") != 2 || !strings.Contains(refs, "refs/drawbar/runs/"+first.RunID) {
		t.Errorf("refs of the remote: %s", refs)
	}
	st, err := bob.shared().Status(t.Context())
	if err != nil || st.Share == nil || st.Share.Unpushed || st.Share.Lease != nil || st.Share.Commit != s.Commit {
		t.Errorf("%+v %v", st.Share, err)
	}
	// The run ends in one clone, and the next one begins in the other.
	bob.write("agentxchain.json", branched(runtimeOf("complete")))
	bob.git("commit", "-qam", "complete")
	bob.turn(govern.OutcomeAccepted)
	alice.sync(govern.SyncOptions{})
	if alice.state().Status != protocol.RunCompleted || alice.read("agentxchain.json") != bob.read("agentxchain.json") {
		t.Errorf("%s", alice.state().Status)
	}
	if _, err := alice.shared().Restart(t.Context(), govern.RestartOptions{}); err != nil {
		t.Fatalf("%v (%s)", err, hint(err))
	}
	if next := alice.turn(govern.OutcomeAccepted); next.RunID == first.RunID {
		t.Error("no new run")
	}
	bob.sync(govern.SyncOptions{})
	same(t, alice, bob)
}

// While a clone works, the others wait; one that is gone is waited for no longer than its lease, or not at all.
func TestOneCloneAtATime(t *testing.T) {
	t.Setenv("DRAWBAR_TEST_OUTSIDE", t.TempDir())
	alice, bob, _ := newTeam(t, branched(runtimeOf("waits for a file")))
	outside := os.Getenv("DRAWBAR_TEST_OUTSIDE")
	done := make(chan error, 1)
	at := time.Now()
	stopped := func(o *Options) { o.Now = func() time.Time { return at } } // a renewed lease is the same as before, but must be pushed
	go func() { _, err := alice.shared(stopped).Step(t.Context(), govern.StepOptions{}); done <- err }()
	until(t, "the worker works", func() bool { _, err := os.Stat(filepath.Join(outside, "pids")); return err == nil })
	_, err := bob.shared().Step(t.Context(), govern.StepOptions{})
	if !errors.Is(err, team.ErrHeld) || !strings.Contains(err.Error(), "Tester <tester@localhost>") || !strings.Contains(hint(err), "--take-over") {
		t.Fatalf("%v (%s)", err, hint(err))
	}
	if s := bob.sync(govern.SyncOptions{}); s.Pushed || s.Lease == nil || s.LeaseHere {
		t.Errorf("sync beside a turn: %+v", s)
	}
	if st, err := bob.shared().Status(t.Context()); err != nil || len(st.Turns) != 1 || st.Share.Lease == nil {
		t.Errorf("%+v %v", st.Share, err) // who works, and on what
	}
	// The clock of the other clone jumps: it takes the run and decides. What alice's turn brings is refused.
	ahead := func(o *Options) { o.Now = func() time.Time { return time.Now().Add(time.Hour) } }
	if _, err := bob.shared(ahead).Escalate(t.Context(), govern.EscalateOptions{Reason: "nobody is there"}); err != nil {
		t.Fatalf("%v (%s)", err, hint(err))
	}
	if err := os.WriteFile(filepath.Join(outside, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "has continued run") || hint(err) != "drawbar govern sync" {
		t.Errorf("the turn of the clone that lost the run: %v (%s)", err, hint(err))
	}
	if len(alice.accepted()) != 0 {
		t.Error("two clones decided")
	}
	alice.sync(govern.SyncOptions{})
	same(t, alice, bob)
}

// A clone that was killed in a turn holds the run until somebody takes it over; when it is back, it finds out.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	alice, bob, _ := newTeam(t, branched(runtimeOf("ok")))
	alice.turn(govern.OutcomeAccepted)
	te, err := alice.shared().team()
	if err != nil {
		t.Fatal(err)
	}
	h, err := te.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.Abandon() // as a killed process
	if _, err := bob.shared().Step(t.Context(), govern.StepOptions{}); !errors.Is(err, team.ErrHeld) {
		t.Errorf("%v", err)
	}
	if s := bob.sync(govern.SyncOptions{TakeOver: true}); s.Lease != nil {
		t.Errorf("%+v", s)
	}
	bob.turn(govern.OutcomeAccepted)
	alice.turn(govern.OutcomeAccepted)
	bob.sync(govern.SyncOptions{})
	same(t, alice, bob)
}

// A person who fetches the refs of records does not make this clone believe that it has seen them: what others decided is not overwritten.
func TestFetchedByAPerson(t *testing.T) {
	t.Parallel()
	alice, bob, _ := newTeam(t, branched(runtimeOf("ok")))
	alice.turn(govern.OutcomeAccepted)
	te, err := alice.shared().team()
	if err != nil {
		t.Fatal(err)
	}
	h, err := te.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bob.sync(govern.SyncOptions{TakeOver: true})
	bob.turn(govern.OutcomeAccepted)
	alice.git("fetch", "-q", "origin", "+refs/drawbar/*:refs/drawbar/*")
	if err := h.Fence(t.Context(), true); err == nil || !strings.Contains(err.Error(), "has continued run") {
		t.Errorf("a clone that lost the run may decide: %v", err)
	}
	h.Abandon()
	alice.sync(govern.SyncOptions{})
	same(t, alice, bob)
	if len(alice.accepted()) != 2 {
		t.Errorf("%v", alice.accepted())
	}
}

// The remote and its refs have the names that the project gives them, and of several runs in progress a person chooses one.
func TestNamesAndRuns(t *testing.T) {
	t.Parallel()
	alice, bob, hub := newTeam(t, one(runtimeOf("ok"), `,"record":"branch","record_remote":"team","record_refs":"refs/heads/runs/"`))
	alice.syncFails(govern.SyncOptions{}, `has no remote "team"`, "git remote add team URL")
	for _, p := range []*world{alice, bob} {
		p.git("remote", "rename", "origin", "team")
	}
	first := alice.turn(govern.OutcomeAccepted).RunID
	if got := alice.git("-C", hub, "for-each-ref", "--format=%(refname)"); got != "refs/heads/main\nrefs/heads/runs/"+first {
		t.Errorf("%s", got)
	}
	bob.step(govern.OutcomeAccepted) // another run, begun without the remote
	second := bob.sync(govern.SyncOptions{}).Run
	carol := cloned(t, hub)
	carol.git("remote", "rename", "origin", "team")
	carol.syncFails(govern.SyncOptions{}, "has 2 runs in progress", "drawbar govern sync --run ")
	if s := carol.sync(govern.SyncOptions{Run: second}); s.Run != second || carol.state().ID() != second || s.Ref != "refs/heads/runs/"+second {
		t.Errorf("%+v", s)
	}
	carol.syncFails(govern.SyncOptions{Run: first}, "have both continued", "--theirs")
	same(t, bob, carol)
	carol.syncFails(govern.SyncOptions{Run: "run_none"}, "has no run run_none", "drawbar govern sync")
}

// A command of many turns pushes each decision when it is made.
func TestRunPushes(t *testing.T) {
	t.Parallel()
	alice, bob, _ := newTeam(t, branched(runtimeOf("ok")))
	seen := make(chan int, 8)
	e := alice.shared(func(o *Options) {
		o.Notice = func(n govern.Notice) {
			if n.Kind == govern.NoticeAssigned {
				bob.sync(govern.SyncOptions{})
				seen <- len(bob.accepted())
			}
		}
	})
	if r, err := e.Run(t.Context(), govern.RunOptions{MaxTurns: 3}); err != nil || len(r.Turns) != 3 {
		t.Fatal(r.Stop, err)
	}
	if a, b, c := <-seen, <-seen, <-seen; a != 0 || b != 1 || c != 2 {
		t.Errorf("the other clone saw %d, %d and %d accepted turns", a, b, c)
	}
	bob.sync(govern.SyncOptions{})
	same(t, alice, bob)
}

// Clones that both went on without the remote: a person says which record counts, and the other one is kept.
func TestDiverged(t *testing.T) {
	t.Parallel()
	for _, theirs := range []bool{true, false} {
		alice, bob, _ := newTeam(t, branched(runtimeOf("ok")))
		alice.turn(govern.OutcomeAccepted)
		bob.sync(govern.SyncOptions{})
		alice.step(govern.OutcomeAccepted) // as if the remote were out of reach
		bob.step(govern.OutcomeAccepted)
		alice.sync(govern.SyncOptions{})
		lost := bob.accepted()[1]
		bob.syncFails(govern.SyncOptions{}, "have both continued run", "--theirs")
		if _, err := bob.shared().Step(t.Context(), govern.StepOptions{}); err == nil {
			t.Error("a clone that differs takes a turn")
		}
		if !theirs {
			s := bob.sync(govern.SyncOptions{Ours: true})
			if !s.Pushed || len(s.Kept) != 1 || bob.git("rev-parse", s.Kept[0]) == "" {
				t.Errorf("%+v", s)
			}
			alice.syncFails(govern.SyncOptions{}, "have both continued", "--theirs")
			alice, bob = bob, alice
			lost = bob.accepted()[1]
		}
		s := bob.sync(govern.SyncOptions{Theirs: true})
		if len(s.Kept) != 2 || !s.Pulled {
			t.Fatalf("%+v", s)
		}
		for _, where := range s.Kept {
			if strings.HasPrefix(where, "refs/") {
				if !strings.Contains(bob.git("log", "-1", "--format=%B", where), lost) {
					t.Errorf("%s is not the turn that was given up", where)
				}
			} else if !strings.Contains(bob.read(where+"/"+protocol.HistoryFile), lost) {
				t.Errorf("%s has no turn %s", where, lost)
			}
		}
		same(t, alice, bob)
		bob.turn(govern.OutcomeAccepted)
	}
}

// What happens to a ref that anybody may push.
func TestRecordOfTheRemote(t *testing.T) {
	t.Parallel()
	alice, bob, hub := newTeam(t, branched(runtimeOf("ok")))
	run := alice.turn(govern.OutcomeAccepted).RunID
	ref := "refs/drawbar/runs/" + run
	bob.turn(govern.OutcomeAccepted)
	alice.sync(govern.SyncOptions{})
	good := alice.git("-C", hub, "rev-parse", ref)
	push := func(commit string) { alice.git("-C", hub, "update-ref", ref, commit) }

	push(good + "~2")
	bob.syncFails(govern.SyncOptions{}, "was moved back on origin", "--ours")
	alice.git("-C", hub, "update-ref", "-d", ref)
	bob.syncFails(govern.SyncOptions{}, "was deleted on origin", "drawbar govern sync --ours")
	if s := bob.sync(govern.SyncOptions{Ours: true}); !s.Pushed {
		t.Errorf("%+v", s)
	}
	push(good)
	alice.sync(govern.SyncOptions{Theirs: true})

	forged := func(change string) string {
		c := exec.Command("sh", "-ec", `export GIT_INDEX_FILE=$(mktemp -u); git read-tree `+good+`; git cat-file blob `+good+`:$FILE > f; `+change+`
			git update-index --add --cacheinfo 100644,$(git hash-object -w f),${TO:-$FILE}
			git commit-tree -p `+good+` -m forged $(git write-tree); rm -f $GIT_INDEX_FILE f`)
		c.Dir, c.Env = hub, append(os.Environ(), "FILE=.agentxchain/history.jsonl")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	carol := func() *world { return cloned(t, hub) }
	push(forged(`sed -i s/did/DID/ f`))
	carol().syncFails(govern.SyncOptions{}, "the record of origin is broken: .agentxchain/history.jsonl line 1", "--ours")
	push(good)
	bob.sync(govern.SyncOptions{Theirs: true})
	bob.turn(govern.OutcomeAccepted)
	good = bob.git("-C", hub, "rev-parse", ref)
	archived := " FILE=.agentxchain/archive/turns/" + alice.accepted()[0] + "/ASSIGNMENT.json; "
	push(forged(archived + `git cat-file blob ` + good + `:$FILE > f; echo >> f`))
	alice.syncFails(govern.SyncOptions{}, "the record of origin is broken: .agentxchain/archive", "--ours")
	push(forged(`TO=.agentxchain/prompts/dev.md`))
	carol().syncFails(govern.SyncOptions{}, `contains ".agentxchain/prompts/dev.md", which does not belong to a record`, "")
	push(forged(`FILE=drawbar-record.json; echo '{"format":1,"run_id":"run_other"}' > f`))
	carol().syncFails(govern.SyncOptions{}, "contains run run_other", "git push --force")
	push(forged(`FILE=drawbar-record.json; echo '{"format":1,"run_id":"` + run + `","code":"--output=evil"}' > f`))
	carol().syncFails(govern.SyncOptions{}, `names the commit "--output=evil"`, "")
	push(forged(`FILE=drawbar-record.json; echo '{"format":9,"run_id":"run_other"}' > f`))
	carol().syncFails(govern.SyncOptions{}, "has format 9", "update drawbar")
	push(alice.git("rev-parse", "HEAD"))
	carol().syncFails(govern.SyncOptions{}, "is not the record of a run", "")
	push(good)
	carol().sync(govern.SyncOptions{})

	alice.git("remote", "set-url", "origin", filepath.Join(hub, "nowhere"))
	alice.syncFails(govern.SyncOptions{}, "list the records of origin", "git ls-remote origin")
	if _, err := alice.shared().Step(t.Context(), govern.StepOptions{}); err == nil || len(alice.accepted()) != 2 {
		t.Errorf("a turn without the remote: %v", err)
	}
	alice.git("remote", "remove", "origin")
	alice.syncFails(govern.SyncOptions{}, `has no remote "origin"`, "git remote add")
}

// A clone that is behind, with work of its own: nothing of it is lost.
func TestBehindWithWork(t *testing.T) {
	t.Parallel()
	alice, bob, hub := newTeam(t, branched(runtimeOf("ok")))
	bob.write("work.txt", "mine\n")
	run := alice.turn(govern.OutcomeAccepted)
	bob.syncFails(govern.SyncOptions{}, "the branch cannot move", "git stash -u")
	if bob.read("work.txt") != "mine\n" {
		t.Error("a file that git does not know was overwritten")
	}
	bob.write("other.txt", "mine too\n")
	bob.git("add", "other.txt")
	bob.git("commit", "-qm", "mine", "other.txt")
	bob.syncFails(govern.SyncOptions{}, "have diverged", "git merge")
	if err := os.Remove(filepath.Join(bob.root, "work.txt")); err != nil {
		t.Fatal(err)
	}
	bob.git("fetch", "-q", "origin", "+refs/drawbar/*:refs/drawbar/*")
	bob.git("merge", "-q", "--no-edit", bob.git("rev-parse", "refs/drawbar/runs/"+run.RunID+"^2"))
	bob.turn(govern.OutcomeAccepted)
	alice.sync(govern.SyncOptions{})
	if alice.read("other.txt") != "mine too\n" {
		t.Error("a commit of the other clone did not come")
	}
	same(t, alice, bob)
	_ = hub
}

// A person's turn that one clone assigned is done and submitted in another; what was changed in the files of the first does not count.
func TestAPersonElsewhere(t *testing.T) {
	t.Parallel()
	alice, bob, _ := newTeam(t, strings.Replace(branched(manualRuntime), "authoritative", "review_only", 1))
	alice.write("README.md", "only here\n")
	r, err := alice.shared().Step(t.Context(), govern.StepOptions{NoWait: true})
	if err != nil || r.Outcome != govern.OutcomeAssigned {
		t.Fatal(r.Outcome, err)
	}
	bob.sync(govern.SyncOptions{})
	alice.sync(govern.SyncOptions{})
	if r, err := bob.shared().Submit(t.Context(), govern.SubmitOptions{Form: govern.Submission{Summary: "done"}}); err != nil || len(r.Errors) > 0 {
		t.Fatalf("%v %v (%s)", r.Errors, err, hint(err))
	}
	r = bob.turn(govern.OutcomeAccepted)
	if len(r.Files) > 0 {
		t.Errorf("%v", r.Files)
	}
	alice.sync(govern.SyncOptions{})
	same(t, alice, bob)
	if alice.read("README.md") != "only here\n" {
		t.Error("a person's change is lost")
	}
}

// A turn with a worktree that one clone assigned is done in another, which makes its own.
func TestWorktreeElsewhere(t *testing.T) {
	t.Parallel()
	alice, bob, _ := newTeam(t, one(runtimeOf("ok"), `,"record":"branch","workspace":"worktree"`))
	r, err := alice.shared().Resume(t.Context(), govern.StepOptions{})
	if err != nil || r.Outcome != govern.OutcomeAssigned {
		t.Fatal(r.Outcome, err)
	}
	if got := bob.turn(govern.OutcomeAccepted); got.TurnID != r.TurnID || !slices.Equal(got.Files, []string{"work.txt"}) {
		t.Errorf("%s %v", got.TurnID, got.Files)
	}
	alice.sync(govern.SyncOptions{})
	same(t, alice, bob)
}

// A state whose turns would be at work somewhere else is refused, although its chain fits.
func TestStrangeState(t *testing.T) {
	t.Parallel()
	alice, bob, _ := newTeam(t, branched(manualRuntime))
	turn := alice.step(govern.OutcomeAssigned, govern.StepOptions{NoWait: true}).TurnID
	l, err := ledger.Open(t.Context(), alice.root, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st := l.View().State.Clone()
	strange := *st.ActiveTurns.At(turn)
	strange.Worktree = "../../elsewhere"
	st.ActiveTurns.Set(turn, &strange)
	if err := errors.Join(l.Commit(t.Context(), ledger.Tx{Now: time.Now(), State: st}), l.Close()); err != nil {
		t.Fatal(err)
	}
	alice.sync(govern.SyncOptions{})
	bob.syncFails(govern.SyncOptions{}, "contains the invalid turn", "--ours")
}

// Files outside the hash chain move in both directions without a transaction: a result that one clone submits is accepted in the other, and intents of
// both are in both.
func TestLooseFiles(t *testing.T) {
	t.Parallel()
	alice, bob, _ := newTeam(t, strings.Replace(branched(manualRuntime), "authoritative", "review_only", 1))
	r, err := alice.shared().Step(t.Context(), govern.StepOptions{NoWait: true})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := bob.shared().Submit(t.Context(), govern.SubmitOptions{Form: govern.Submission{Summary: "by bob"}}); err != nil || len(r.Errors) > 0 {
		t.Fatalf("%v %v (%s)", r.Errors, err, hint(err))
	}
	const mine, theirs, common = protocol.IntakeDir + "/intents/mine.json", protocol.IntakeDir + "/intents/theirs.json", protocol.IntakeDir + "/intents/common.json"
	alice.write(mine, "{}")
	bob.write(theirs, "{}")
	bob.write(common, "1")
	bob.sync(govern.SyncOptions{})
	if s := alice.sync(govern.SyncOptions{}); !s.Pulled || !s.Pushed || len(s.Turns) > 0 {
		t.Errorf("%+v", s)
	}
	bob.sync(govern.SyncOptions{})
	for _, p := range []*world{alice, bob} {
		if p.read(mine) != "{}" || p.read(theirs) != "{}" || p.read(common) != "1" {
			t.Errorf("intents: %q %q %q", p.read(mine), p.read(theirs), p.read(common))
		}
	}
	if r := alice.turn(govern.OutcomeAccepted); r.TurnID == "" || !strings.Contains(r.Summary, "by bob") {
		t.Errorf("%+v", r)
	}
	// One side removes a file, one changes another, and both change a third: the remote's version stays, the other one is kept.
	alice.write(common, "2")
	if err := os.Remove(filepath.Join(alice.root, mine)); err != nil {
		t.Fatal(err)
	}
	bob.write(common, "3")
	bob.write(theirs, "[]")
	alice.sync(govern.SyncOptions{})
	bob.sync(govern.SyncOptions{})
	alice.sync(govern.SyncOptions{})
	for _, p := range []*world{alice, bob} {
		if p.read(mine) != "" || p.read(theirs) != "[]" || p.read(common) != "2" {
			t.Errorf("intents: %q %q %q", p.read(mine), p.read(theirs), p.read(common))
		}
	}
	kept, _ := filepath.Glob(filepath.Join(bob.root, ".agentxchain/archive/kept/common.json.*"))
	if len(kept) != 1 {
		t.Errorf("kept: %v", kept)
	}
	same(t, alice, bob)
	_ = r
}

// A staged result that another clone's replaces is kept.
func TestStagedWorkIsKept(t *testing.T) {
	t.Parallel()
	alice, bob, _ := newTeam(t, branched(manualRuntime))
	r, err := alice.shared().Step(t.Context(), govern.StepOptions{NoWait: true})
	if err != nil {
		t.Fatal(err)
	}
	bob.sync(govern.SyncOptions{})
	bob.stage(r.TurnID, `{"mine": true}`)
	alice.write("new.txt", "by alice\n")
	if _, err := alice.shared().Submit(t.Context(), govern.SubmitOptions{Form: govern.Submission{Summary: "done"}}); err != nil {
		t.Fatal(err)
	}
	alice.turn(govern.OutcomeAccepted)
	bob.sync(govern.SyncOptions{})
	same(t, alice, bob)
	kept, _ := filepath.Glob(filepath.Join(bob.root, ".agentxchain/archive/kept/turn-result.json.*"))
	if len(kept) != 1 || !strings.Contains(strings.Join(bob.heard(govern.NoticeMended), " "), "is kept in") {
		t.Errorf("%v %v", kept, bob.heard(govern.NoticeMended))
	}
}

// A clone is killed at every step of an import; the next sync goes on.
func TestKilledInSync(t *testing.T) {
	t.Parallel()
	alice, bob, _ := newTeam(t, branched(runtimeOf("ok")))
	self, err := testenv.Self()
	if err != nil {
		t.Fatal(err)
	}
	points := 0
	for n := 0; ; n++ {
		alice.turn(govern.OutcomeAccepted)
		c := exec.Command(self)
		c.Env = append(os.Environ(), workerEnv+"=crashing engine", "DRAWBAR_TEST_COMMAND=sync", "DRAWBAR_TEST_ROOT="+bob.root, "DRAWBAR_TEST_CRASH="+strconv.Itoa(3*n))
		out, err := c.CombinedOutput()
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%v %s", err, out)
		}
		points++
		bob.sync(govern.SyncOptions{})
		same(t, alice, bob)
	}
	if points < 3 {
		t.Errorf("only %d points", points)
	}
	same(t, alice, bob)
}

// An export continues in another folder; one of another run only if that is asked for.
func TestImport(t *testing.T) {
	t.Parallel()
	alice := newProject(t, one(runtimeOf("ok"), ""))
	alice.step(govern.OutcomeAccepted)
	files := func() map[string][]byte {
		all := map[string][]byte{}
		if err := ledger.Files(t.Context(), alice.root, func(f ledger.File) (err error) { all[f.Name], err = f.Read(); return err }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	bob := cloned(t, alice.root)
	one := files()
	got, err := bob.shared().Import(t.Context(), govern.ImportOptions{Files: one})
	if err != nil || got.Turns != 1 || got.Run != alice.state().ID() || got.Kept != "" {
		t.Fatalf("%+v %v", got, err)
	}
	same(t, alice, bob)
	bob.step(govern.OutcomeAccepted)
	if _, err := bob.shared().Import(t.Context(), govern.ImportOptions{Files: one}); err == nil || !strings.Contains(hint(err), "--replace") || len(bob.accepted()) != 2 {
		t.Errorf("an older record replaces a newer one: %v", err)
	}
	got, err = bob.shared().Import(t.Context(), govern.ImportOptions{Files: one, Replace: true})
	if err != nil || got.Turns != 1 || !strings.Contains(bob.read(got.Kept+"/"+protocol.HistoryFile), bob.git("log", "-1", "--format=%(trailers:key=AgentXchain-Turn,valueonly)")) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := bob.shared().Import(t.Context(), govern.ImportOptions{Files: map[string][]byte{protocol.StateFile: one[protocol.StateFile], "README.md": []byte("x")}, Replace: true}); err == nil {
		t.Error("an import writes other files")
	}
}

// Without "record": "branch" nothing leaves the machine.
func TestRecordStays(t *testing.T) {
	t.Parallel()
	alice, _, _ := newTeam(t, one(runtimeOf("ok"), ""))
	alice.turn(govern.OutcomeAccepted)
	if refs := alice.git("ls-remote", "origin"); strings.Contains(refs, "drawbar") {
		t.Error(refs)
	}
	if _, err := alice.shared().Sync(t.Context(), govern.SyncOptions{}); err == nil || !strings.Contains(hint(err), "record branch") {
		t.Errorf("%v", err)
	}
	if st, err := alice.shared().Status(t.Context()); err != nil || st.Share != nil {
		t.Errorf("%+v %v", st.Share, err)
	}
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 6000 {
		if is() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("never: " + what)
}

// The command of anchor gets the head of the chain after each decision; what it fails to keep is made good by the next one, and no turn waits for it.
func TestAnchor(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept")
	config := func(command string) string {
		return one(runtimeOf("ok"), `,"anchor":["sh","-c",`+strconv.Quote(command)+`]`)
	}
	keep := `echo "$DRAWBAR_CHAIN_HEAD $DRAWBAR_CHAIN_ENTRIES $DRAWBAR_RUN_ID $DRAWBAR_CHECKPOINT" >> ` + kept
	p := newProject(t, config(keep))
	r := p.step(govern.OutcomeAccepted)
	lines := func() []string {
		b, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	head, entries := p.view().Head()
	if all := lines(); all[len(all)-1] != fmt.Sprintf("%s %d %s %s", head, entries, r.RunID, r.Commit) || strings.Count(p.read(protocol.ChainFile), "\n") != int(entries) {
		t.Errorf("%q", all)
	}
	n := len(lines())
	p.write("agentxchain.json", config("echo no network; exit 4"))
	p.git("commit", "-qam", "broken")
	p.step(govern.OutcomeAccepted)
	if w := strings.Join(p.heard(govern.NoticeWarning), " "); !strings.Contains(w, "was not anchored") || !strings.Contains(w, "exit code 4 no network") {
		t.Errorf("%s", w)
	}
	anchorLimit = 200 * time.Millisecond
	defer func() { anchorLimit = 30 * time.Second }()
	p.write("agentxchain.json", config("sleep 60"))
	p.git("commit", "-qam", "hangs")
	p.step(govern.OutcomeAccepted)
	if w := strings.Join(p.heard(govern.NoticeWarning), " "); !strings.Contains(w, "timed out after 200ms") {
		t.Errorf("%s", w)
	}
	if len(lines()) != n {
		t.Error("a failed command kept something")
	}
	var asked []string
	refuse := func(_ string, items []trust.Item) error {
		for _, i := range items {
			asked = append(asked, i.Place)
		}
		return errors.New("not trusted")
	}
	if _, err := p.engine(func(o *Options) { o.Trust = refuse }).Step(t.Context(), govern.StepOptions{}); err == nil || !slices.Contains(asked, "anchor") {
		t.Errorf("%v %v", err, asked)
	}
	p.sound()
}

// A checkpoint that has to be signed and cannot be is not made, and nothing is accepted; the result waits.
func TestSignedCheckpoint(t *testing.T) {
	t.Parallel()
	p := newProject(t, one(runtimeOf("ok"), `,"checkpoint":{"sign":true}`))
	_, err := p.engine().Step(t.Context(), govern.StepOptions{})
	if err == nil || !strings.Contains(err.Error(), "cannot be signed") || !strings.Contains(hint(err), "checkpoint.sign false") || len(p.accepted()) != 0 {
		t.Fatalf("%v (%s)", err, hint(err))
	}
	p.write("agentxchain.json", one(runtimeOf("ok"), `,"checkpoint":{"sign":false}`))
	p.git("commit", "-qm", "unsigned", "agentxchain.json")
	p.step(govern.OutcomeAccepted)
	p.sound()
}
