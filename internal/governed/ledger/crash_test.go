package ledger

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

// kinds are transactions of every sort, each upon one accepted turn.
func kinds(root string) map[string]func() Tx {
	now := clock.Add(time.Hour)
	return map[string]func() Tx{
		"accept": func() Tx { return accept(root, 2) },
		"accept without a checkpoint": func() Tx {
			tx := accept(root, 2)
			tx.Checkpoint, tx.After = nil, nil
			return tx
		},
		"assign": func() Tx {
			return Tx{Kind: "assign_turn", TurnID: turnID(2), Now: now, State: stateAt(5), Events: []protocol.Event{event(2, "turn_dispatched")}}
		},
		"start": func() Tx {
			return Tx{Kind: "start_run", Now: now, State: stateAt(0), Events: []protocol.Event{event(0, "run_started"), event(0, "phase_entered")},
				Session: &protocol.Session{SessionID: "session_2", RunID: "run_2"}}
		},
		"block": func() Tx {
			return Tx{Kind: "block", Now: now, State: stateAt(3), Ledger: []any{protocol.LedgerNote{Decision: "operator_escalated"}},
				Human: []json.RawMessage{json.RawMessage(`{"kind":"raised"}`)}, Runs: []protocol.RunSummary{{RunID: "run_1"}},
				Files: map[string][]byte{protocol.HumanTasksFile: []byte("# Tasks\n")}, Events: []protocol.Event{event(2, "run_blocked")}}
		},
		"reject": func() Tx {
			return Tx{Kind: "reject_turn", TurnID: turnID(2), Now: now, State: stateAt(4), Remove: []string{protocol.StagingDir + "/" + turnID(2)},
				Files: map[string][]byte{protocol.RejectedDir + "/" + turnID(2) + "-attempt-1.json": []byte("{}")}}
		},
		"proposal": func() Tx {
			return Tx{Kind: "proposal", TurnID: turnID(1), Now: now, State: stateAt(3), Ledger: []any{protocol.LedgerNote{Type: "proposal", TurnID: turnID(1)}},
				Files:  map[string][]byte{"src/deep/new.txt": []byte("new\n"), "src/changed.txt": []byte("after\n"), protocol.ProposedDir + "/" + turnID(1) + "/APPLIED.json": []byte("{}\n")},
				Delete: []string{userFile}}
		},
		"state": func() Tx { return Tx{Kind: "first_output", Now: now, State: stateAt(6)} },
	}
}

// template holds the files of a project with one accepted turn and the bundle of the next.
var template = sync.OnceValues(func() (map[string]string, error) {
	root, err := os.MkdirTemp("", "ledger")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	l, err := Open(context.Background(), root, options(root))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(l.Commit(context.Background(), accept(root, 1)), l.Close()); err != nil {
		return nil, err
	}
	accept(root, 2)
	for _, name := range []string{userFile, "src/changed.txt"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("before\n"), 0o644)); err != nil {
			return nil, err
		}
	}
	return filesOf(root)
})

// userFile is a file of the user's in the template.
const userFile = "src/old.txt"

// TestDeletedFileThatChangedIsKept: what somebody writes between a crash and the recovery is not lost.
func TestDeletedFileThatChangedIsKept(t *testing.T) {
	t.Parallel()
	whole := prepared(t)
	for n := 0; ; n++ {
		root := prepared(t)
		if crashAt(t, root, n, func(l *Ledger) error { return l.Commit(context.Background(), kinds(whole)["proposal"]()) }) == "" {
			t.Fatal("no point is between the journal and the deletion")
		}
		if !interrupted(t, root) {
			continue
		}
		write(t, root, userFile, "precious\n")
		l := open(t, root)
		defer closeLedger(t, l)
		if _, err := os.Stat(filepath.Join(root, userFile)); err == nil {
			t.Error("the file is not deleted")
		}
		for _, note := range l.Notes() {
			if note.What == "displaced" && note.Path == userFile {
				if b, _ := os.ReadFile(filepath.Join(root, note.Kept)); string(b) == "precious\n" {
					return
				}
			}
		}
		t.Fatalf("%+v", l.Notes())
	}
}

// TestDeleteIsForFilesOfTheUser: no part of the record is deleted, and nothing outside the project.
func TestDeleteIsForFilesOfTheUser(t *testing.T) {
	t.Parallel()
	for _, name := range []string{protocol.HistoryFile, protocol.Dir + "/archive/x", "../outside", "/etc/passwd", ""} {
		root := prepared(t)
		l := open(t, root)
		tx := kinds(root)["proposal"]()
		tx.Delete = []string{name}
		if err := l.Commit(t.Context(), tx); err == nil {
			t.Errorf("%q was deleted", name)
		}
		closeLedger(t, l)
	}
}

// prepared is a project with one accepted turn and the files of the next.
func prepared(t testing.TB) string {
	t.Helper()
	files, err := template()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for f, content := range files {
		write(t, root, f, content)
	}
	return root
}

type crashed struct{ point string }

// crashAt carries fn out until the point of that number and leaves everything as it is there. It answers with the name of the
// point, or with nothing when there are fewer.
func crashAt(t testing.TB, root string, number int, fn func(*Ledger) error) (point string) {
	t.Helper()
	o := options(root)
	left := number
	armed := false
	o.Crash = func(p string) {
		if !armed {
			return
		}
		if left--; left < 0 {
			armed = false
			panic(crashed{p})
		}
	}
	l, err := Open(t.Context(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		abandon(l)
		if p := recover(); p != nil {
			c, ok := p.(crashed)
			if !ok {
				panic(p)
			}
			point = c.point
		}
	}()
	armed = true
	if err := fn(l); err != nil {
		t.Fatal(err)
	}
	return ""
}

// crashOpen opens a project and dies at a point of that.
func crashOpen(t testing.TB, root string, n int) (died bool) {
	t.Helper()
	o := options(root)
	o.Crash = func(p string) {
		if n--; n < 0 {
			panic(crashed{p})
		}
	}
	l, err := lockProject(t.Context(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		died = recover() != nil
		abandon(l)
	}()
	if err := l.repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	return false
}

func TestCrashAtEveryPointOfEveryKind(t *testing.T) {
	t.Parallel()
	for name := range kinds("") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := prepared(t)
			before := snapshot(t, root)
			l := open(t, root)
			commit(t, l, kinds(root)[name]())
			closeLedger(t, l)
			after := snapshot(t, root)
			wantState := l.View().State

			decided := 0
			for n := 0; ; n++ {
				root := prepared(t)
				point := crashAt(t, root, n, func(l *Ledger) error { return l.Commit(context.Background(), kinds(root)[name]()) })
				if point == "" {
					if n < 6 {
						t.Errorf("there are only %d points", n)
					}
					break
				}
				happened := interrupted(t, root) || cmp.Equal(snapshot(t, root), after)
				want := before
				if happened {
					decided++
					want = after
					v, err := Read(root)
					if err != nil {
						t.Fatalf("%s: %v", point, err)
					}
					wantSame(t, point+": the state that a reader sees", marshal(t, v.State), marshal(t, wantState))
					wantVerified(t, root)
				}
				l := open(t, root)
				if got := snapshot(t, root); !cmp.Equal(got, want) {
					t.Errorf("%d, after %s: %s", n, point, cmp.Diff(want, got))
				}
				if interrupted(t, root) {
					t.Errorf("%s: the transaction stays interrupted", point)
				}
				closeLedger(t, l)
				if t.Failed() {
					return
				}
			}
			if decided < 4 {
				t.Errorf("only %d points lie behind the journal", decided)
			}
		})
	}
}

// interrupted reports whether the redo log ends with a transaction that was not carried out.
func interrupted(t testing.TB, root string) bool {
	t.Helper()
	d, err := openDisk(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.root.Close()
	r, err := readRedo(d)
	if err != nil {
		t.Fatal(err)
	}
	return r.pending != nil
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	b, err := protocol.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCrashWithinRecovery dies in a commit, again in the recovery from that, and recovers.
func TestCrashWithinRecovery(t *testing.T) {
	t.Parallel()
	whole := prepared(t)
	l := open(t, whole)
	commit(t, l, accept(whole, 2))
	closeLedger(t, l)
	after := snapshot(t, whole)
	pairs := 0
	for n := 3; ; n += 6 {
		root := prepared(t)
		if crashAt(t, root, n, func(l *Ledger) error { return l.Commit(context.Background(), accept(root, 2)) }) == "" {
			break
		}
		for m := 0; ; m += 3 {
			root := prepared(t)
			crashAt(t, root, n, func(l *Ledger) error { return l.Commit(context.Background(), accept(root, 2)) })
			died := crashOpen(t, root, m)
			l := open(t, root)
			if got := snapshot(t, root); !cmp.Equal(got, after) {
				t.Fatalf("points %d and %d: %s", n, m, cmp.Diff(after, got))
			}
			closeLedger(t, l)
			pairs++
			if !died {
				break
			}
		}
	}
	if pairs < 15 {
		t.Errorf("only %d pairs of points", pairs)
	}
}

// TestKilledAtEveryPoint is the same with a process that is really killed.
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	whole := prepared(t)
	l := open(t, whole)
	commit(t, l, accept(whole, 2))
	closeLedger(t, l)
	after := snapshot(t, whole)
	for n := 0; ; n++ {
		root := prepared(t)
		before := snapshot(t, root)
		if another(t, "crash", root, strconv.Itoa(n)).Run() == nil {
			if n < 20 {
				t.Errorf("there are only %d points", n)
			}
			return
		}
		l := open(t, root)
		if got := snapshot(t, root); !cmp.Equal(got, after) && !cmp.Equal(got, before) {
			t.Fatalf("killed at %d: %s", n, cmp.Diff(after, got))
		}
		closeLedger(t, l)
		wantVerified(t, root)
	}
}

func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	rounds := 50
	if s := os.Getenv("LEDGER_KILLS"); s != "" {
		rounds, _ = strconv.Atoi(s)
	}
	root := t.TempDir()
	told := 0 // the last turn that a process said it had accepted
	for round := range rounds {
		cmd := another(t, "write", root)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s := bufio.NewScanner(out)
		if !s.Scan() || s.Text() != "open" {
			t.Fatalf("a writer says %q", s.Text())
		}
		// On a loaded machine a writer may accept nothing in that time, so every second one is killed after its first turn.
		timer := time.AfterFunc(time.Hour, func() { _ = cmd.Process.Kill() })
		kill := func() { timer.Reset(time.Duration(rand.IntN(20_000)) * time.Microsecond) }
		if round%2 == 0 {
			kill()
		}
		for first := true; s.Scan(); first = false {
			if first {
				kill()
			}
			told++
			if s.Text() != turnID(told) {
				t.Fatalf("a writer accepted %s, want %s", s.Text(), turnID(told))
			}
		}
		_ = cmd.Wait()
		timer.Stop()

		check := func(v *View) int {
			h, err := v.History("")
			if err != nil {
				t.Fatal(err)
			}
			if len(h) < told || len(h) > told+1 || v.State.TurnSequence != len(h) {
				t.Fatalf("%d turns in the history, %d in the state, %d told", len(h), v.State.TurnSequence, told)
			}
			for i, e := range h {
				if e.TurnID != turnID(i+1) {
					t.Fatalf("turn %d is %s", i+1, e.TurnID)
				}
			}
			return len(h)
		}
		v, err := Read(root)
		if err != nil {
			t.Fatal(err)
		}
		seen := check(v)
		l := open(t, root)
		if told = check(l.View()); told != seen {
			t.Fatalf("a reader saw %d turns, recovery leaves %d", seen, told)
		}
		closeLedger(t, l)
	}
	wantVerified(t, root)
	if ref := load(t, root, refFile); told == 0 || len(ref) == 0 {
		t.Errorf("%d turns, ref %q", told, ref)
	}
	t.Logf("%d turns accepted by %d killed writers", told, rounds)
}

func TestNothingBeforeTheJournalEverythingBehindIt(t *testing.T) {
	t.Parallel()
	boom := errors.New("the ref does not move")
	root := prepared(t)
	before := snapshot(t, root)
	fail := true
	l := open(t, root, func(o *Options) {
		apply := o.ApplyCheckpoint
		o.ApplyCheckpoint = func(ctx context.Context, cp Checkpoint) error {
			if fail {
				return boom
			}
			return apply(ctx, cp)
		}
	})
	tx := accept(root, 2)
	tx.Checkpoint = func([]byte, string) (Checkpoint, error) { return Checkpoint{}, boom }
	if err := l.Commit(t.Context(), tx); !errors.Is(err, boom) || errors.Is(err, ErrUnfinished) {
		t.Errorf("a checkpoint that cannot be prepared: %v", err)
	}
	wantSame(t, "nothing is written", snapshot(t, root), before)

	if err := l.Commit(t.Context(), accept(root, 2)); !errors.Is(err, boom) || !errors.Is(err, ErrUnfinished) {
		t.Errorf("a ref that cannot be moved: %v", err)
	}
	if err := l.Commit(t.Context(), accept(root, 3)); !errors.Is(err, boom) {
		t.Errorf("the next commit goes over an unfinished one: %v", err)
	}
	fail = false
	commit(t, l, accept(root, 3))
	h, err := l.View().History("run_1")
	if err != nil || len(h) != 3 || load(t, root, refFile)[:9] != "commit-3-" {
		t.Errorf("history %d, %v, ref %s", len(h), err, load(t, root, refFile))
	}
	if w := whats(l.Notes()); len(w) != 1 || w[0] != "finished" {
		t.Errorf("notes %v", w)
	}
	wantVerified(t, root)
}

func TestStaleCheckpointEndsTheTransaction(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"commit", "open"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			root := prepared(t)
			if how == "open" {
				crashAt(t, root, 9, func(l *Ledger) error { return l.Commit(context.Background(), accept(root, 2)) })
			}
			l := open(t, root, func(o *Options) {
				o.ApplyCheckpoint = func(context.Context, Checkpoint) error { return ErrCheckpointStale }
			})
			if how == "commit" {
				if err := l.Commit(t.Context(), accept(root, 2)); !errors.Is(err, ErrCheckpointStale) {
					t.Errorf("got %v", err)
				}
			}
			if v := l.View(); v.Pending != "" || v.State.TurnSequence != 2 {
				t.Errorf("pending %q, sequence %d", v.Pending, v.State.TurnSequence)
			}
			tx := Tx{Kind: "assign", Now: clock, State: stateAt(2)}
			commit(t, l, tx)
			if w := whats(l.Notes()); !slices.Contains(w, "stale") {
				t.Errorf("notes %v", w)
			}
		})
	}
}

// TestOrderOfSteps writes down what is done in which order: the log is flushed before anything is touched, and nothing else.
func TestOrderOfSteps(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	var got []string
	l := open(t, root, func(o *Options) { o.noFlush = false })
	l.disk.crash = func(p string) { got = append(got, strings.ReplaceAll(p, protocol.Dir+"/", "")) }
	commit(t, l, accept(root, 2))
	wantSame(t, "steps", got, []string{
		"write transactions/redo.log", "sync transactions/redo.log", "sync transactions",
		"append history.jsonl", "append decision-ledger.jsonl", "append repo-decisions.jsonl", "append human-escalations.jsonl",
		"append run-history.jsonl", "append events.jsonl", "append chain.jsonl",
		"write TALK.md", "write session.json", "write archive/state.json", "write state.json",
		"rename TALK.md", "rename session.json", "rename archive/state.json", "rename state.json",
		"rename archive/turns/turn_0000000000000002", "rename archive/turns/turn_0000000000000002/staging",
		"checkpoint", "write transactions/redo.log"})
	got = nil
	if err := l.emptyLog(); err != nil {
		t.Fatal(err)
	}
	wantSame(t, "what is flushed before the log begins again", got, []string{
		"sync chain.jsonl", "sync decision-ledger.jsonl", "sync events.jsonl", "sync history.jsonl", "sync human-escalations.jsonl",
		"sync repo-decisions.jsonl", "sync run-history.jsonl", "sync archive/state.json", "sync dispatch/index.json", "sync session.json",
		"sync state.json", "sync TALK.md",
		"sync .agentxchain", "sync dispatch", "sync .", "sync archive", "sync dispatch/turns", "sync archive/turns", "sync staging",
		"sync archive/turns/turn_0000000000000002", "shorten transactions/redo.log"})
}
