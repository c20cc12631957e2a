//go:build unix

package coordinator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/testenv"
)

// stream is a workstream of both repositories.
func stream(id, phase, barrier, more string) string {
	return fmt.Sprintf(`%q:{"phase":%q,"repos":["api","web"],"entry_repo":"api","depends_on":[%s],"completion_barrier":%q%s}`, id, phase, "%s", barrier, more)
}

const routing = `"routing":{"build":{},"ship":{}}`

// everything has a workstream of every kind of barrier, in two phases.
var everything = `"workstreams":{` +
	strings.Replace(stream("all", "build", "all_repos_accepted", ""), "%s", "", 1) + "," +
	strings.Replace(stream("order", "build", "ordered_repo_sequence", ""), "%s", `"all"`, 1) + "," +
	strings.Replace(stream("person", "build", "shared_human_gate", ""), "%s", `"order"`, 1) + "," +
	strings.Replace(stream("align", "build", "interface_alignment", `,"interface_alignment":{"decision_ids_by_repo":{"api":["DEC-101"],"web":["DEC-201","DEC-202"]}}`), "%s", `"person"`, 1) + "," +
	strings.Replace(stream("named", "ship", "named_decisions", `,"named_decisions":{"decision_ids_by_repo":{"api":["DEC-301"],"web":["DEC-401"]}}`), "%s", `"align"`, 1) +
	`},` + routing + `,"gates":{"initiative_ship":{"requires_human_approval":false}}`

// single is one workstream in one phase.
func single(barrier string) string {
	return `"workstreams":{` + strings.Replace(stream("core", "build", barrier, ""), "%s", "", 1) + `},` + routing
}

// plans are the turns that bring a run of everything to its end.
func (w *world) plans() {
	w.plan("api", "", "", "", "decide=DEC-101 phase=ship", "decide=DEC-301 complete")
	w.plan("web", "", "", "", "decide=DEC-201", "decide=DEC-202 phase=ship", "decide=DEC-401 complete")
}

// drive takes a run of everything to its end, from wherever it is.
func drive(ctx context.Context, c *Coordinator) error {
	for range 60 {
		st, err := c.Status(ctx)
		switch {
		case err != nil:
			return err
		case !st.Begun:
			_, err = c.Init(ctx)
		case st.State.Status == protocol.CoordinatorCompleted:
			return nil
		case st.State.PendingGate != nil:
			_, err = c.ApproveGate(ctx, govern.MultiApproveOptions{})
		default:
			var r govern.MultiReport
			r, err = c.Step(ctx, govern.MultiStepOptions{})
			if r.Action == govern.MultiWaiting || r.Action == govern.MultiBlocked {
				return fmt.Errorf("%s: %+v %s", r.Action, r.Blockers, r.BlockedReason)
			}
		}
		if err != nil {
			return err
		}
	}
	return errors.New("the run does not end")
}

func TestEveryBarrier(t *testing.T) {
	t.Parallel()
	w := newWorld(t, everything)
	w.plans()
	w.init()
	for _, repo := range []string{"api", "web", "api", "web", "api", "web"} {
		w.step(govern.MultiTurn, repo)
	}
	// the workstream align waits for a person, though the phase is not over
	if r := w.step(govern.MultiGate, ""); r.Gate.Type != protocol.GateBarrier || r.Gate.Gate != "person_completion" {
		t.Fatalf("gate: %+v", r.Gate)
	}
	w.approve(govern.MultiApproved)
	w.step(govern.MultiTurn, "api")
	w.step(govern.MultiTurn, "web") // records one of two decisions
	if b := w.barrier("align"); b.Status != protocol.BarrierPartly || !slices.Equal(b.SatisfiedRepos, []string{"api"}) {
		t.Errorf("align: %+v", b)
	}
	r := w.step(govern.MultiTurn, "web")
	if want := []govern.BarrierEffect{{BarrierID: "align_completion", Previous: protocol.BarrierPartly, New: protocol.BarrierSatisfied}}; !slices.Equal(r.Effects, want) {
		t.Errorf("effects: %+v", r.Effects)
	}
	if r := w.step(govern.MultiGate, ""); r.Gate.Gate != "phase_transition:build->ship" {
		t.Fatalf("gate: %+v", r.Gate)
	}
	w.approve(govern.MultiApproved)
	w.step(govern.MultiTurn, "api")
	w.step(govern.MultiTurn, "web")
	w.step(govern.MultiCompleted, "") // its gate needs no person
	w.sound()
	if st := w.status(); st.State.GateStatus.At(protocol.InitiativeGate) != "passed" || st.State.CompletedAt.IsZero() {
		t.Errorf("state: %+v", st.State)
	}
}

// TestKilled kills a process at points of a run, and continues.
func TestKilled(t *testing.T) {
	t.Parallel()
	step := 40 // a few of them
	if os.Getenv("DRAWBAR_TEST_KILLS") != "" {
		step = 1
	}
	self, err := testenv.Self()
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n += step {
		w := newWorld(t, everything)
		w.plans()
		c := exec.Command(self)
		c.Env = append(os.Environ(), driverEnv+"="+w.root, "DRAWBAR_TEST_POINT="+strconv.Itoa(n))
		out, err := c.CombinedOutput()
		if err == nil {
			t.Logf("%d points", n-1)
			return
		}
		if c.ProcessState.ExitCode() != -1 {
			t.Fatalf("the %d. point: %v\n%s", n, err, out)
		}
		if err := drive(t.Context(), w.open()); err != nil {
			t.Fatalf("after %s, the %d. point: %v", out, n, err)
		}
		if w.sound(); t.Failed() {
			t.Fatalf("after %s, the %d. point", out, n)
		}
	}
}

// driverEnv makes this binary drive the run in a workspace, and kill itself at a point of it.
const driverEnv = "DRAWBAR_TEST_DRIVE"

func asDriver(root string) error {
	at, err := strconv.Atoi(os.Getenv("DRAWBAR_TEST_POINT"))
	if err != nil {
		return err
	}
	w := &world{root: root}
	w.crash = func(point string) {
		if at--; at == 0 {
			fmt.Print(point)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	return drive(context.Background(), w.open())
}

// A turn that writes to another repository blocks the run, and counts only if a person undoes that.
func TestCrossRepoWrite(t *testing.T) {
	t.Parallel()
	for _, undo := range []bool{true, false} {
		t.Run(fmt.Sprint("undone ", undo), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, single("all_repos_accepted"))
			w.plan("api", "write="+w.path("web/new.txt"))
			w.init()
			r := w.step(govern.MultiBlocked, "api")
			if !strings.Contains(r.BlockedReason, "web/new.txt") || r.Status != protocol.CoordinatorBlocked {
				t.Errorf("reason: %q", r.BlockedReason)
			}
			w.step(govern.MultiBlocked, "")
			if n := w.count(protocol.SuperProjection); n != 0 {
				t.Errorf("%d turns were recorded", n)
			}
			if n := w.count(protocol.SuperResynced); n != 1 {
				t.Errorf("the block is there %d times", n)
			}
			if undo {
				if err := os.Remove(w.path("web/new.txt")); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.open().Resume(t.Context(), protocol.Person{Name: "Ann"}, "seen"); err != nil {
				t.Fatal(err)
			}
			if !undo {
				w.git("web", "add", "-A")
				w.git("web", "commit", "-qm", "keep it")
				w.step(govern.MultiTurn, "api") // again
			}
			w.step(govern.MultiTurn, "web")
			if b := w.barrier("core"); b.Status != protocol.BarrierSatisfied {
				t.Errorf("barrier: %+v", b)
			}
			if _, err := w.open().Resume(t.Context(), protocol.Person{}, ""); err == nil || hint(err) != "drawbar govern multi step" {
				t.Errorf("resume of an active run: %v (%s)", err, hint(err))
			}
		})
	}
}

// A repository's run that was replaced blocks the run over several repositories until a person says so.
func TestRunReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, single("all_repos_accepted"))
	w.init()
	w.step(govern.MultiTurn, "api")
	e, err := w.engine(w.path("web"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Escalate(t.Context(), govern.EscalateOptions{Reason: "stuck"}); err != nil {
		t.Fatal(err)
	}
	if r := w.step(govern.MultiWaiting, ""); r.Blockers[0].Code != "repo_blocked" || r.Blockers[0].Next != "drawbar govern --cwd ./web status" {
		t.Errorf("blockers: %+v", r.Blockers)
	}
	if _, err := e.Restart(t.Context(), govern.RestartOptions{New: true}); err != nil {
		t.Fatal(err)
	}
	r := w.step(govern.MultiBlocked, "")
	if !strings.Contains(r.BlockedReason, "web has run run_") || r.Next != "drawbar govern multi resume" {
		t.Errorf("%q, %q", r.BlockedReason, r.Next)
	}
	if rep, err := w.open().Resume(t.Context(), protocol.Person{}, ""); err != nil || rep.Action != govern.MultiResumed {
		t.Fatalf("%+v, %v", rep, err)
	}
	w.step(govern.MultiTurn, "web")
	if b := w.barrier("core"); b.Status != protocol.BarrierSatisfied {
		t.Errorf("barrier: %+v", b)
	}
	w.sound()
}

// Two commands at once work in two repositories.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `"workstreams":{"a":{"phase":"build","repos":["api"],"entry_repo":"api","depends_on":[],"completion_barrier":"all_repos_accepted"},
		"b":{"phase":"build","repos":["web"],"entry_repo":"web","depends_on":[],"completion_barrier":"all_repos_accepted"}},`+routing)
	w.plan("api", "wait="+w.path("api.go"))
	w.plan("web", "wait="+w.path("api.go"))
	w.init()
	var all sync.WaitGroup
	reports := make([]govern.MultiReport, 2)
	for i := range reports {
		all.Go(func() {
			var err error
			if reports[i], err = w.open().Step(t.Context(), govern.MultiStepOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	for begun := time.Now(); w.count(protocol.SuperTurnDispatched) < 2; time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatal("the second turn does not begin")
		}
	}
	if r, err := w.open().Step(t.Context(), govern.MultiStepOptions{}); err != nil || r.Action != govern.MultiWaiting {
		t.Errorf("a third one: %+v, %v", r, err)
	}
	w.write("api.go", "")
	all.Wait()
	if reports[0].RepoID == reports[1].RepoID {
		t.Errorf("both worked in %s", reports[0].RepoID)
	}
	w.step(govern.MultiGate, "")
	w.sound()
}

// Turns that the original's coordinator began are known from its history.
func TestOriginalHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, single("all_repos_accepted"))
	ids := map[string]string{}
	for _, repo := range []string{"api", "web"} {
		e, err := w.engine(w.path(repo))
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Step(t.Context(), govern.StepOptions{})
		if err != nil || r.Outcome != govern.OutcomeAccepted {
			t.Fatal(r, err)
		}
		ids[repo+" run"], ids[repo] = r.RunID, r.TurnID
	}
	lines := fmt.Sprintf(`{"type":"run_initialized","super_run_id":"srun_1_x","project_id":"p","repo_runs":{"api":{"run_id":%q,"initialized_by_coordinator":true},"web":{"run_id":%q,"initialized_by_coordinator":false}},"timestamp":"2026-01-01T00:00:00.000Z"}
{"type":"context_generated","timestamp":"2026-01-01T00:00:01.000Z","super_run_id":"srun_1_x","context_ref":"ctx_core_api_1","workstream_id":"core","target_repo_id":"api","relevant_workstream_ids":["core"],"upstream_repo_ids":[]}
{"type":"turn_dispatched","timestamp":"2026-01-01T00:00:01.000Z","super_run_id":"srun_1_x","workstream_id":"core","repo_id":"api","repo_run_id":%q,"repo_turn_id":%q,"role":"dev","context_ref":"ctx_core_api_1"}
`, ids["api run"], ids["web run"], ids["api run"], ids["api"])
	w.write(protocol.CoordinatorHistoryFile, lines)
	w.write(protocol.CoordinatorLedgerFile, "{\"id\":\"DEC-COORD-001\"}\n{\"id\":\"DEC-COORD-002\"}\n")
	w.step(govern.MultiTurn, "web") // web's own turn is of no workstream
	if b := w.barrier("core"); b.Status != protocol.BarrierSatisfied {
		t.Errorf("barrier: %+v", b)
	}
	if got := w.read(protocol.CoordinatorHistoryFile); !strings.HasPrefix(got, lines) {
		t.Errorf("the history was rewritten: %s", got)
	}
	if got := w.read(protocol.CoordinatorLedgerFile); !strings.HasPrefix(got, "{\"id\":\"DEC-COORD-001\"}\n{\"id\":\"DEC-COORD-002\"}\n{\"id\":\"DEC-COORD-003\"") {
		t.Errorf("the ledger was rewritten: %s", got)
	}
}

// What a killed command left, and what an agent could have put there.
func TestDamagedHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, single("all_repos_accepted"))
	w.init()
	whole := w.read(protocol.CoordinatorHistoryFile)
	w.write(protocol.CoordinatorHistoryFile, whole+`{"type":"acceptance_proj`)
	w.step(govern.MultiTurn, "api")
	w.sound()
	full := w.read(protocol.CoordinatorHistoryFile)

	w.write(protocol.CoordinatorHistoryFile, whole+"not JSON\n"+whole)
	before := w.read(protocol.CoordinatorHistoryFile)
	if _, err := w.open().Step(t.Context(), govern.MultiStepOptions{}); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("damaged: %v", err)
	}
	if w.read(protocol.CoordinatorHistoryFile) != before {
		t.Error("the damaged history was changed")
	}

	lines := strings.SplitAfter(full, "\n")
	last := len(lines) - 2 // a newline ends each
	for name, changed := range map[string][]string{
		"a line changed":          append([]string{strings.Replace(lines[0], "run_initialized", "run_initialised", 1)}, lines[1:]...),
		"a line removed":          append([]string{lines[0]}, lines[2:]...),
		"a line inserted":         append([]string{lines[0], lines[0]}, lines[1:]...),
		"the last line removed":   lines[:last],
		"the last line changed":   append(slices.Clone(lines[:last]), strings.Replace(lines[last], "}", ` }`, 1)),
		"everything but one line": lines[:1],
	} {
		w.write(protocol.CoordinatorHistoryFile, strings.Join(changed, ""))
		_, readErr := w.open().Status(t.Context())
		_, stepErr := w.open().Step(t.Context(), govern.MultiStepOptions{})
		if readErr == nil || stepErr == nil || !strings.Contains(readErr.Error(), "changed") {
			t.Errorf("%s: %v, %v", name, readErr, stepErr)
		}
	}
	// What another program appends is not from Drawbar, and what comes after names it.
	w.write(protocol.CoordinatorHistoryFile, full+strings.Replace(lines[last], `"prev_sha256"`, `"other"`, 1))
	if _, err := w.open().Resync(t.Context(), govern.MultiResyncOptions{}); err != nil {
		t.Errorf("appended by another program: %v", err)
	}

	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.write(protocol.CoordinatorHistoryFile, full)
	for _, file := range []string{protocol.CoordinatorLedgerFile, protocol.BarriersFile} {
		if err := os.Remove(w.path(file)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, w.path(file)); err != nil {
			t.Fatal(err)
		}
		_, _ = w.open().Resync(t.Context(), govern.MultiResyncOptions{})
		if b, err := os.ReadFile(outside); err != nil || string(b) != "mine" {
			t.Errorf("%s led outside: %q", file, b)
		}
		_ = os.Remove(w.path(file))
	}
}

// A process that an agent started within a turn changes nothing.
func TestWithinATurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, single("all_repos_accepted"))
	w.init()
	r, err := w.open().Step(t.Context(), govern.MultiStepOptions{AssignOnly: true})
	if err != nil || r.Action != govern.MultiAssigned || r.Next != "drawbar govern --cwd ./api step" {
		t.Fatalf("%+v, %v", r, err)
	}
	w.env[protocol.TurnVariable] = r.TurnID
	before := w.read(protocol.CoordinatorHistoryFile)
	c := w.open()
	for name, do := range map[string]func() error{
		"step":    func() error { _, err := c.Step(t.Context(), govern.MultiStepOptions{}); return err },
		"approve": func() error { _, err := c.ApproveGate(t.Context(), govern.MultiApproveOptions{}); return err },
		"resume":  func() error { _, err := c.Resume(t.Context(), protocol.Person{}, ""); return err },
		"init":    func() error { _, err := c.Init(t.Context()); return err },
		"resync":  func() error { _, err := c.Resync(t.Context(), govern.MultiResyncOptions{}); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "inside turn "+r.TurnID) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w.read(protocol.CoordinatorHistoryFile) != before {
		t.Error("the history changed")
	}
	delete(w.env, protocol.TurnVariable)
	if again := w.step(govern.MultiTurn, "api"); again.TurnID != r.TurnID {
		t.Errorf("turn %s, want %s", again.TurnID, r.TurnID)
	}
}

// A gate does not pass if the repositories have moved on since it was requested.
func TestGateNoLongerReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, single("all_repos_accepted"))
	w.init()
	w.step(govern.MultiTurn, "api")
	w.step(govern.MultiTurn, "web")
	w.step(govern.MultiGate, "")
	e, err := w.engine(w.path("web"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Assign(t.Context(), govern.StepOptions{}); err != nil {
		t.Fatal(err)
	}
	r := w.approve(govern.MultiWaiting)
	if len(r.Blockers) != 1 || r.Blockers[0].Code != "repo_active_turns" {
		t.Errorf("blockers: %+v", r.Blockers)
	}
	if _, err := e.Step(t.Context(), govern.StepOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := w.approve(govern.MultiApproved); r.Phase != "ship" {
		t.Errorf("phase %s", r.Phase)
	}
	if by := w.history()[len(w.history())-1].By; by == nil || by.Name != "Tester" {
		t.Errorf("approved by %v", by)
	}
}
