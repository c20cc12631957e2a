package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/testenv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

const modeVariable = "LEDGER_TEST_MODE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		if err := actAs(mode, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testenv.Setup(0)
	goleak.VerifyTestMain(m)
}

// actAs is the other process of the tests.
//
//	crash ROOT POINT  accepts the next turn and kills itself at that point
//	write ROOT        accepts turns until it is killed, and says which
//	hold ROOT         takes the lock, says so, and waits to be killed
func actAs(mode string, args []string) error {
	root := args[0]
	o := options(root)
	if mode == "crash" {
		point, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		o.Crash = func(string) {
			if point--; point < 0 {
				p, _ := os.FindProcess(os.Getpid())
				_ = p.Kill()
				time.Sleep(time.Hour)
			}
		}
	}
	l, err := Open(context.Background(), root, o)
	if err != nil {
		return err
	}
	fmt.Println("open")
	for mode == "write" {
		n := l.View().State.TurnSequence + 1
		tx := accept(root, n)
		if err := l.Commit(context.Background(), tx); err != nil {
			return err
		}
		fmt.Println(tx.TurnID)
	}
	if mode == "hold" {
		time.Sleep(time.Hour)
	}
	if err := l.Commit(context.Background(), accept(root, l.View().State.TurnSequence+1)); err != nil {
		return err
	}
	return l.Close()
}

// another starts this test binary as another process in the given mode.
func another(t *testing.T, mode string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), modeVariable+"="+mode, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	t.Cleanup(func() { // a test that failed half-way leaves no process behind
		if cmd.Process != nil && cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

// refFile plays the branch that a checkpoint moves.
const refFile = "ref"

func options(root string) Options {
	return Options{Owner: "drawbar govern step", noFlush: true, ApplyCheckpoint: func(_ context.Context, cp Checkpoint) error {
		return os.WriteFile(filepath.Join(root, refFile), []byte(cp.Commit), 0o600)
	}}
}

func open(t testing.TB, root string, change ...func(*Options)) *Ledger {
	t.Helper()
	o := options(root)
	for _, c := range change {
		c(&o)
	}
	l, err := Open(t.Context(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func commit(t testing.TB, l *Ledger, tx Tx) {
	t.Helper()
	if err := l.Commit(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
}

func closeLedger(t testing.TB, l *Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// abandon leaves a ledger as a killed process does: the files stay, the locks go.
func abandon(l *Ledger) {
	close(l.lock.stop)
	l.lock.done.Wait()
	_ = l.lock.flock.Close()
	_ = l.disk.root.Close()
	l.lock = nil
}

var clock = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

func turnID(n int) string { return fmt.Sprintf("turn_%016x", n) }

func stateAt(n int) protocol.State {
	s := protocol.State{RunID: new("run_1"), Status: protocol.RunActive, Phase: "implementation", TurnSequence: n}
	s.ActiveTurns.Set(turnID(n+1), &protocol.Turn{TurnID: turnID(n + 1), AssignedRole: "dev", Status: protocol.TurnRunning})
	if n > 0 {
		s.LastCompletedTurnID = new(turnID(n))
	}
	return s
}

func event(n int, kind string) protocol.Event {
	return protocol.Event{EventID: fmt.Sprintf("evt_%s_%d", kind, n), EventType: kind, RunID: "run_1", Phase: "implementation", Status: "active",
		Turn: &protocol.EventTurn{TurnID: turnID(n), RoleID: "dev"}, Payload: json.RawMessage(`{"n":"<` + strconv.Itoa(n) + `>"}`)}
}

// accept is an acceptance of turn n with everything an acceptance has.
func accept(root string, n int) Tx {
	id := turnID(n)
	for _, f := range []string{protocol.BundleDir(id) + "/PROMPT.md", protocol.BundleDir(id) + "/evidence/log", protocol.StagedFile(id)} {
		p := filepath.Join(root, filepath.FromSlash(f))
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(protocol.ArchiveDir), id)); err == nil {
			break // archived by an earlier try
		}
		_ = os.MkdirAll(filepath.Dir(p), 0o755)
		_ = os.WriteFile(p, []byte(f), 0o644)
	}
	now := clock.Add(time.Duration(n) * time.Minute)
	return Tx{Kind: "accept_turn", TurnID: id, Now: now, State: stateAt(n),
		History: []protocol.HistoryEntry{{TurnID: id, RunID: "run_1", Role: "dev", Phase: "implementation", Status: "completed", AcceptedSequence: n, Summary: "turn " + strconv.Itoa(n)}},
		Ledger: []any{
			protocol.LedgerDecision{ID: fmt.Sprintf("DEC-%03d", n), TurnID: id, RunID: "run_1", Role: "dev", Statement: "so", Status: "accepted", CreatedAt: protocol.At(now)},
			protocol.LedgerNote{Type: "approval_policy", TurnID: id, Timestamp: protocol.At(now)}},
		RepoDecisions: []protocol.RepoDecision{{ID: fmt.Sprintf("DEC-%03d", n), RunID: "run_1", TurnID: id, Statement: "so", Durability: "repo", Status: "active"}},
		Events:        []protocol.Event{event(n, "turn_accepted"), event(n, "phase_entered")},
		Runs:          []protocol.RunSummary{{SchemaVersion: "0.1", RunID: "run_1", Status: protocol.RunCompleted, TotalTurns: n}},
		Human:         []json.RawMessage{json.RawMessage(`{"kind":"raised","escalation_id":"hesc_` + strconv.Itoa(n) + `"}`)},
		Session:       &protocol.Session{SessionID: "session_1", RunID: "run_1", CheckpointReason: "turn_accepted", LastTurnID: new(id)},
		Files:         map[string][]byte{protocol.TalkFile: []byte(strings.Repeat("talk\n", n)), protocol.DispatchIndexFile: []byte("{}\n")},
		Archive:       []string{id},
		Checkpoint: func(chain []byte, head string) (Checkpoint, error) {
			return Checkpoint{Commit: "commit-" + strconv.Itoa(n) + "-" + head[:8], Ref: "refs/heads/main"}, nil
		},
		After: func(cp Checkpoint, t *Tx) {
			t.State.AcceptedIntegration = new("git:" + cp.Commit)
			t.Events = append(t.Events, event(n, "turn_checkpointed"))
		},
	}
}

// snapshot is every file of the project but locks and journals.
func snapshot(t testing.TB, root string) map[string]string {
	t.Helper()
	all, err := filesOf(root)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func filesOf(root string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if err != nil {
			return err
		}
		if rel == protocol.LocksDir || rel == protocol.Dir+"/transactions" {
			return fs.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		all[rel] = string(data)
		return err
	})
	return all, err
}

func wantSame(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantVerified(t testing.TB, root string, heads ...string) Report {
	t.Helper()
	r, err := Verify(t.Context(), root, heads)
	if err != nil || !r.OK {
		t.Errorf("verify: %+v, broken %+v, %v", r, r.Broken, err)
	}
	return r
}

// lines reads a JSONL file as it is on disk.
func lines(t testing.TB, root, file string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	if len(data) == 0 || data[len(data)-1] != '\n' {
		t.Errorf("%s has no newline at its end", file)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

func write(t testing.TB, root, file, content string) {
	t.Helper()
	p := filepath.Join(root, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, root, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// whats are the kinds of notes.
func whats(notes []Note) []string {
	var w []string
	for _, n := range notes {
		w = append(w, n.What)
	}
	return w
}
