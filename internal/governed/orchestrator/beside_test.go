//go:build unix

package orchestrator

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/transport/process"
)

// besideProject is a project whose .gitignore names what the original's does, and nothing of ours.
func besideProject(t testing.TB, config string) *world {
	t.Helper()
	p := bare(t, config)
	var lines []string
	for _, name := range []string{"state.json", "session.json", "history.jsonl", "decision-ledger.jsonl", "events.jsonl", "run-history.jsonl", "staging/", "dispatch/"} {
		lines = append(lines, protocol.Dir+"/"+name)
	}
	p.write(".gitignore", strings.Join(lines, "\n")+"\nTALK.md\nHUMAN_TASKS.md\n")
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.git("commit", "-qm", "start")
	return p
}

// TestOwnFilesAreHiddenFromGit: the original refuses to assign a turn beside untracked files that it does not know, and deletes
// them when it accepts one.
func TestOwnFilesAreHiddenFromGit(t *testing.T) {
	p := besideProject(t, one(runtimeOf("ok"), ""))
	p.step(govern.OutcomeAccepted)
	if out := p.git("status", "--porcelain", "--untracked-files=all"); out != "" {
		t.Errorf("git status says:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(p.root, filepath.FromSlash(protocol.ChainFile))); err != nil {
		t.Error(err)
	}
	p.sound()
}

// TestIgnoreFileOfTheUserStays: what a user wrote there is not ours to change.
func TestIgnoreFileOfTheUserStays(t *testing.T) {
	p := newProject(t, one(runtimeOf("ok"), ""))
	p.write(protocol.IgnoreFile, "mine\n")
	p.step(govern.OutcomeAccepted)
	if got := p.read(protocol.IgnoreFile); got != "mine\n" {
		t.Errorf("it is %q", got)
	}
}

// TestHumanQueueIsTheFile: a task of the original stands in human-escalations.jsonl and nowhere else.
func TestHumanQueueIsTheFile(t *testing.T) {
	const raised = `{"kind":"raised","escalation_id":"hesc_00000000000000aa","run_id":"RUN","phase":"implementation","type":"needs_decision","blocked_on":"escalation:operator:stop","created_at":"2026-06-01T10:00:00.000Z"}` + "\n"
	p := newProject(t, one(runtimeOf("ok"), ""))
	p.step(govern.OutcomeAccepted)
	p.write(protocol.EscalationsFile, strings.ReplaceAll(raised, "RUN", p.state().ID()))
	if _, err := p.engine().Unblock(t.Context(), "hesc_00000000000000bb"); err == nil || hint(err) == "" {
		t.Errorf("an unknown task: %v", err)
	}
	if _, err := p.engine().Unblock(t.Context(), "hesc_00000000000000aa"); err != nil {
		t.Fatalf("a task of a run that goes on: %v", err)
	}
	lines, err := p.view().Human()
	if err != nil || len(lines) != 2 || !strings.Contains(string(lines[1]), `"kind":"resolved"`) {
		t.Errorf("the queue is %s, %v", lines, err)
	}
	if strings.Contains(p.read(protocol.HumanTasksFile), "hesc_00000000000000aa — needs_decision") {
		t.Error("the task stands open in the file for people")
	}
	// And one that blocks.
	e, err := p.engine().Escalate(t.Context(), govern.EscalateOptions{Reason: "stop here"})
	if err != nil || e.Outcome != govern.OutcomeBlocked {
		t.Fatal(e, err)
	}
	p.write(protocol.EscalationsFile, p.read(protocol.EscalationsFile)+strings.NewReplacer("RUN", p.state().ID(), "00aa", "00cc").Replace(raised))
	if _, err := p.engine().Unblock(t.Context(), "hesc_00000000000000cc"); err != nil {
		t.Fatal(err)
	}
	if p.state().Status != protocol.RunActive || len(p.state().OpenHuman) != 0 {
		t.Errorf("the state is %+v", p.state())
	}
}

// TestGeneratedReportsAreNobodysWork: the original writes reports by itself, also within a turn.
func TestGeneratedReportsAreNobodysWork(t *testing.T) {
	p := besideProject(t, one(runtimeOf("ok and a report"), ""))
	p.step(govern.OutcomeAccepted)
	if files := p.history()[0].FilesChanged; len(files) != 1 || files[0] != "work.txt" {
		t.Errorf("the turn has the files %v", files)
	}
}

func init() {
	workers["ok and a report"] = func(w *worker) {
		w.append("work.txt")
		w.put(".agentxchain/reports/report-run_1.md", "# Report\n")
		w.put(".agentxchain/reports/export-run_1.json", "{}\n")
		w.stage(w.result("work.txt"))
	}
}

// TestForgedStateIsNotAdopted: what the original leaves behind is easily written, so that it decides nothing that is a person's.
func TestForgedStateIsNotAdopted(t *testing.T) {
	const config = `,"budget":{"per_turn_max_usd":2,"per_run_max_usd":50}`
	whole := newProject(t, three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), config))
	whole.step(govern.OutcomeAccepted)
	event := `{"event_id":"evt_1","event_type":"gate_approved","timestamp":"2026-06-01T10:00:00.000Z","run_id":"` + whole.state().ID() + `","phase":"qa","status":"active","turn":null,"payload":{"gate_id":"planned"}}` + "\n"
	edited := func(p *world, change func(*protocol.State)) string {
		st := p.state().Clone()
		change(&st)
		b, err := protocol.MarshalFile(st)
		if err != nil {
			t.Fatal(err)
		}
		p.write(protocol.StateFile, string(b))
		return string(b)
	}
	approve := func(s *protocol.State) {
		s.Status, s.Phase, s.PendingTransition, s.BlockedOn = protocol.RunActive, "implementation", nil, nil
		s.PhaseGateStatus.Set("planned", "passed")
	}
	for _, tc := range []struct {
		name   string
		change func(*protocol.State)
		event  bool
		want   string // of the refusal; empty: what the last transaction wrote is put back
	}{
		{"a gate and a made-up event", approve, true, "gate planned"},
		{"a gate without an event", approve, false, ""},
		{"a phase without its gate", func(s *protocol.State) { approve(s); s.PhaseGateStatus.Set("planned", "pending") }, true, "gate planned"},
		{"the end", func(s *protocol.State) {
			approve(s)
			s.Status, s.Phase = protocol.RunCompleted, "qa"
			s.PhaseGateStatus = protocol.Ordered[string]{}
		}, true, "gate "},
		{"another run", func(s *protocol.State) { approve(s); s.RunID = new(string("run_forged")) }, true, "gate planned"},
		{"a budget", func(s *protocol.State) { s.BudgetStatus.RemainingUSD = new(float64(1e6)) }, true, "more budget"},
		{"no budget", func(s *protocol.State) { s.BudgetStatus.RemainingUSD = nil }, true, "more budget"},
		{"an accepted turn without its line", func(s *protocol.State) { s.LastCompletedTurnID = new(string("turn_forged")) }, true, ""},
		{"a turn that nobody assigned", func(s *protocol.State) { s.ActiveTurns.Set("turn_forged", &protocol.Turn{TurnID: "turn_forged"}) }, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := whole.copy(t)
			was := p.read(protocol.StateFile)
			now := edited(p, tc.change)
			if tc.event {
				p.write(protocol.EventsFile, p.read(protocol.EventsFile)+event)
			}
			rep, err := p.engine().Step(t.Context(), govern.StepOptions{})
			if tc.want == "" {
				if err != nil || rep.Outcome != govern.OutcomePaused || p.read(protocol.StateFile) != was {
					t.Errorf("%+v, %v", rep, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(hint(err), "--adopt-state") {
				t.Fatalf("%v, try %s", err, hint(err))
			}
			if p.read(protocol.StateFile) != now {
				t.Error("a refusal changed the state")
			}
			if tc.name == "a gate and a made-up event" { // a person says so
				if _, err := p.engine().Restart(t.Context(), govern.RestartOptions{AdoptState: true}); err != nil {
					t.Fatal(err)
				}
				p.step(govern.OutcomeAccepted)
				if r := verified(t, p); !r.OK || !strings.Contains(told(r), "adopted .agentxchain/state.json") {
					t.Errorf("verify: %s", told(r))
				}
			}
		})
	}
}

// TestTamperingAfterAcceptanceBlocks: a hook that comes too late to object may not lay hand on the record either.
func TestTamperingAfterAcceptanceBlocks(t *testing.T) {
	p := newProject(t, one(runtimeOf("ok"), `,"hooks":{"after_acceptance":[{"name":"bad","type":"process","command":["sh","-c","echo x >> .agentxchain/state.json"],"mode":"advisory","timeout_ms":30000}]}`))
	r := p.step(govern.OutcomeAccepted)
	if r.Status != protocol.RunBlocked || r.Reason == nil || r.Reason.Category != "hook_tamper" || len(p.accepted()) != 1 {
		t.Errorf("the run is %s: %+v", r.Status, r.Reason)
	}
	if open := p.state().OpenHuman; len(open) != 1 {
		t.Errorf("the human queue is %+v", open)
	}
	p.sound()
}

// TestLivingWorkerOfAnotherProgramIsSeen: the original's worker outlives it, and a second one beside it would do the same work.
func TestLivingWorkerOfAnotherProgramIsSeen(t *testing.T) {
	p := newProject(t, one(runtimeOf("ok"), ""))
	worker := exec.Command(os.Args[0])
	worker.Env = append(os.Environ(), workerEnv+"=sleeps")
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() { _ = worker.Process.Kill(); _ = worker.Wait() })
	defer stop()
	left := func(p *world, more string) {
		p.write(protocol.StateFile, fmt.Sprintf(`{"schema_version":"1.1","run_id":"run_1","project_id":"p","status":"active","phase":"implementation","turn_sequence":1,
"active_turns":{"turn_1":{"turn_id":"turn_1","assigned_role":"dev","status":"running","attempt":1,"runtime_id":"dev-rt","assigned_sequence":1,"worker_pid":%d%s,
"baseline":{"kind":"git_worktree","head_ref":%q,"clean":true,"captured_at":"2026-06-01T10:00:00.000Z","dirty_snapshot":{}}}}}`, worker.Process.Pid, more, p.git("rev-parse", "HEAD")))
	}
	if _, known := process.Started(worker.Process.Pid); known { // the number was given to another program since
		p := newProject(t, one(runtimeOf("ok"), ""))
		left(p, `,"worker_attached_at":"2026-06-01T10:00:00.000Z"`)
		p.step(govern.OutcomeAccepted)
		p.sound()
	}
	left(p, fmt.Sprintf(`,"worker_attached_at":%q`, protocol.At(time.Now())))
	_, err := p.engine().Step(t.Context(), govern.StepOptions{})
	if err == nil || !strings.Contains(err.Error(), "is still running") || !strings.Contains(hint(err), "kill ") {
		t.Fatalf("%v, try %s", err, hint(err))
	}
	s, err := p.engine().Status(t.Context())
	if err != nil || !strings.Contains(strings.Join(s.Notes, "\n"), "is still running") {
		t.Errorf("status warns of %q, %v", s.Notes, err)
	}
	stop()
	p.step(govern.OutcomeAccepted)
	p.sound()
}

// TestWaitingIntentsAreShown: work that the original took in is not left undone in silence.
func TestWaitingIntentsAreShown(t *testing.T) {
	p := newProject(t, one(runtimeOf("ok"), ""))
	for id, in := range map[string]string{"intent_2": `{"intent_id":"intent_2","status":"approved","priority":"p1","charter":"add login"}`,
		"intent_1": `{"intent_id":"intent_1","status":"completed","priority":"p0","charter":"done"}`, "intent_3": `{"intent_id":`} {
		p.write(protocol.IntentFile(id), in)
	}
	s, err := p.engine().Status(t.Context())
	if err != nil || !strings.Contains(strings.Join(s.Notes, "\n"), "intents wait for a turn (1)") || !strings.Contains(strings.Join(s.Notes, "\n"), "intent_2 (p1) add login") {
		t.Errorf("status warns of %q, %v", s.Notes, err)
	}
}

// TestAdoptionPassesNoGateWithApprovers: who may type restart may not be who decides.
func TestAdoptionPassesNoGateWithApprovers(t *testing.T) {
	p := newProject(t, strings.Replace(three(runtimeOf("pm"), runtimeOf("dev"), runtimeOf("qa"), ""), `"requires_human_approval":true}`, `"requires_human_approval":true,"approvers":["Ann"]}`, 1))
	p.step(govern.OutcomeAccepted)
	st := p.state().Clone()
	st.Status, st.Phase, st.PendingTransition, st.BlockedOn = protocol.RunActive, "implementation", nil, nil
	st.PhaseGateStatus.Set("planned", "passed")
	b, err := protocol.MarshalFile(st)
	if err != nil {
		t.Fatal(err)
	}
	p.write(protocol.StateFile, string(b))
	p.write(protocol.EventsFile, p.read(protocol.EventsFile)+`{"event_type":"gate_approved","run_id":"`+st.ID()+`"}`+"\n")
	if _, err := p.engine().Restart(t.Context(), govern.RestartOptions{AdoptState: true}); err == nil || !strings.Contains(err.Error(), "only its approvers can decide") || !strings.Contains(hint(err), "cp ") {
		t.Errorf("%v, try %s", err, hint(err))
	}
	if p.read(protocol.StateFile) != string(b) {
		t.Error("a refusal changed the state")
	}
}
