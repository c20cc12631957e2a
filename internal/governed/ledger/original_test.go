package ledger

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

const (
	oldState  = `{"schema_version":"1.1","run_id":"run_1","project_id":"p","status":"active","phase":"qa","accepted_integration_ref":null,"active_turns":{"turn_b":{"turn_id":"turn_b","assigned_role":"dev","status":"running","attempt":1}},"turn_sequence":3,"odd":1}`
	nextState = `{"schema_version":"1.1","run_id":"run_1","project_id":"p","status":"active","phase":"qa","accepted_integration_ref":"git:abc","active_turns":{},"turn_sequence":4,"last_completed_turn_id":"turn_b","odd":1}`
	oldLine   = `{"turn_id":"turn_a","run_id":"run_1","accepted_sequence":2}`
	newLine   = `{"turn_id":"turn_b","run_id":"run_1","role":"dev","phase":"qa","decisions":[{"id":"DEC-002","category":"scope","statement":"<s>","rationale":"r","durability":"repo"}],"accepted_sequence":4,"zz":"kept as it is"}`
	oldDec    = `{"id":"DEC-001","turn_id":"turn_a"}`
	newDec    = `{"id":"DEC-001","turn_id":"turn_b","statement":"<s>"}`
	newNote   = `{"type":"gate_failure","turn_id":"turn_b"}`
)

// ofTheOriginal is a project of the original that died within the acceptance of turn_b. done is how far it had come: nothing,
// history, ledger, state, removed (its bundle as well).
func ofTheOriginal(t testing.TB, done int) string {
	t.Helper()
	root := t.TempDir()
	history, ledger, state := oldLine+"\n", oldDec+"\n", oldState
	if done >= 1 {
		history += newLine + "\n"
	}
	if done >= 2 {
		ledger += newDec + "\n" + newNote + "\n"
	}
	if done >= 3 {
		state = nextState
	}
	if done < 4 {
		write(t, root, protocol.BundleDir("turn_b")+"/PROMPT.md", "prompt")
		write(t, root, protocol.StagedFile("turn_b"), "{}")
	}
	write(t, root, protocol.HistoryFile, history)
	write(t, root, protocol.LedgerFile, ledger)
	write(t, root, protocol.StateFile, state)
	journal := `{"transaction_id":"txn_0123456789abcdef","kind":"accept_turn","run_id":"run_1","turn_id":"turn_b","phase":"qa","status":"prepared",` +
		`"prepared_at":"2026-06-01T10:00:00.000Z","accepted_sequence":4,"history_entry":` + newLine + `,"ledger_entries":[` + newDec + `,` + newNote + `],"next_state":` + nextState + `}`
	var pretty any
	if err := json.Unmarshal([]byte(journal), &pretty); err != nil {
		t.Fatal(err)
	}
	write(t, root, protocol.TransactionsDir+"/txn_0123456789abcdef.json", strings.ReplaceAll(journal, `","`, "\",\n  \""))
	return root
}

// TestJournalOfTheOriginalIsReplayedOnce: the original's own replay appends the history line a second time.
func TestJournalOfTheOriginalIsReplayedOnce(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, v *View) {
		t.Helper()
		h, err := v.History("")
		if err != nil || len(h) != 2 || h[1].TurnID != "turn_b" {
			t.Errorf("history %+v, %v", h, err)
		}
		ledger, err := v.Ledger("")
		if err != nil || len(ledger) != 3 {
			t.Errorf("ledger %+v, %v", ledger, err)
		}
		if d, err := v.RepoDecisions(); err != nil || len(d) != 1 || d[0].ID != "DEC-002" || d[0].TurnID != "turn_b" || d[0].Status != "active" {
			t.Errorf("repo decisions %+v, %v", d, err)
		}
		if v.State.ActiveTurns.Len() != 0 || v.State.TurnSequence != 4 || *v.State.LastCompletedTurnID != "turn_b" || !v.State.Extra.Has("odd") {
			t.Errorf("state %+v", v.State)
		}
		accepted := 0
		if _, err := v.Events(0, func(e protocol.Event) {
			if e.EventType == "turn_accepted" && e.Turn.TurnID == "turn_b" {
				accepted++
			}
		}); err != nil || accepted != 1 {
			t.Errorf("turn_accepted stands %d times, %v", accepted, err)
		}
	}
	for done, name := range []string{"nothing", "history", "ledger", "state", "bundle removed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := ofTheOriginal(t, done)
			v, err := Read(root)
			if err != nil || v.Pending != "txn_0123456789abcdef" {
				t.Fatalf("pending %q, %v", v.Pending, err)
			}
			check(t, v)
			for n := 0; ; n++ { // and a crash at every point of the replay
				root := ofTheOriginal(t, done)
				died := crashOpen(t, root, n)
				l := open(t, root)
				check(t, l.View())
				wantSame(t, "history", lines(t, root, protocol.HistoryFile), []string{oldLine, newLine})
				wantSame(t, "ledger", lines(t, root, protocol.LedgerFile), []string{oldDec, newDec, newNote})
				if all, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(protocol.TransactionsDir), "*.json")); len(all) != 0 {
					t.Errorf("journals stay: %v", all)
				}
				if done < 4 && load(t, root, protocol.ArchiveDir+"/turn_b/PROMPT.md") != "prompt" {
					t.Error("the bundle is not archived")
				}
				closeLedger(t, l)
				wantVerified(t, root)
				if !died || t.Failed() {
					return
				}
			}
		})
	}
}

func TestJournalsThatAskForNothing(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	before := snapshot(t, root)
	write(t, root, protocol.TransactionsDir+"/txn_1.json", `{"transaction_id":"txn_1","kind":"accept_turn","status":"committed"}`)
	write(t, root, protocol.TransactionsDir+"/txn_2.json", "")
	write(t, root, protocol.TransactionsDir+"/txn_3.json", `{"transaction_id":"txn_3","kind":"accept_turn","status":"prepared"}`)
	bad := redoText(`{"journal":{"format":"drawbar/1","transaction_id":"txn_4","appends":[{"file":"../x","offset":0,"content":"eAo="}],"files":[]}}`) +
		redoText(`{"journal":{"format":"drawbar/1","transaction_id":"txn_5","remove":["../x"],"files":[]}}`)
	write(t, root, redoFile, bad)
	if v, err := Read(root); err != nil || v.Pending != "" {
		t.Errorf("pending %q, %v", v.Pending, err)
	}
	l := open(t, root)
	if w := whats(l.Notes()); !cmp.Equal(w, []string{"dropped", "dropped", "dropped"}) {
		t.Errorf("notes %v", w)
	}
	after := snapshot(t, root)
	for _, n := range []string{"2", "3"} {
		if _, ok := after[keptDir+"/txn_"+n+".json"]; !ok {
			t.Errorf("txn_%s.json is lost", n)
		}
		delete(after, keptDir+"/txn_"+n+".json")
	}
	kept := keptDir + "/redo.log.0." + marker([]byte(bad))[:16]
	wantSame(t, "what the log had", after[kept], bad)
	delete(after, kept)
	wantSame(t, "the record", after, before)
	commit(t, l, accept(root, 2))
	closeLedger(t, l)

	write(t, root, protocol.TransactionsDir+"/txn_6.json", `{"format":"drawbar/9"}`)
	if _, err := Open(t.Context(), root, options(root)); err == nil || !strings.Contains(err.Error(), "another version of drawbar") {
		t.Errorf("got %v", err)
	}
}

// TestOtherProgramWritesBetweenCrashAndRecovery: what it wrote is kept, and so is the interrupted transaction.
func TestOtherProgramWritesBetweenCrashAndRecovery(t *testing.T) {
	t.Parallel()
	const foreign = `{"turn_id":"turn_x","run_id":"run_1","status":"completed"}`
	for n := 4; n < 18; n++ {
		root := prepared(t)
		point := crashAt(t, root, n, func(l *Ledger) error { return l.Commit(context.Background(), accept(root, 2)) })
		write(t, root, protocol.HistoryFile, load(t, root, protocol.HistoryFile)+foreign+"\n")
		write(t, root, protocol.StateFile, `{"status":"blocked","run_id":"run_1","phase":"qa"}`)
		l := open(t, root)
		h, err := l.View().History("")
		if err != nil || len(h) != 3 || h[1].TurnID != turnID(2) || h[2].TurnID != "turn_x" {
			t.Errorf("%s: history %v, %v", point, h, err)
		}
		if l.View().State.TurnSequence != 2 {
			t.Errorf("%s: state %+v", point, l.View().State)
		}
		kept := false
		for _, note := range l.Notes() {
			kept = kept || note.Path == protocol.StateFile && strings.Contains(load(t, root, note.Kept), "blocked")
		}
		if !kept {
			t.Errorf("%s: the other program's state is lost", point)
		}
		commit(t, l, accept(root, 3))
		closeLedger(t, l)
		if r := wantVerified(t, root); len(r.Adopted) != 1 {
			t.Errorf("%s: adopted %v", point, r.Adopted)
		}
	}
}

func TestHalfAnAppendIsFinished(t *testing.T) {
	t.Parallel()
	whole := prepared(t)
	l := open(t, whole)
	commit(t, l, accept(whole, 2))
	closeLedger(t, l)
	after := snapshot(t, whole)
	full := after[protocol.HistoryFile]
	begin := len(snapshot(t, prepared(t))[protocol.HistoryFile])
	for name, tail := range map[string]string{
		"one byte": full[begin : begin+1], "all but one": full[begin : len(full)-1], "blocks of zeros": strings.Repeat("\x00", len(full)-begin),
		"more zeros": strings.Repeat("\x00", 4096), "half and zeros": full[begin:begin+40] + strings.Repeat("\x00", 30),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := prepared(t)
			crashAt(t, root, 4, func(l *Ledger) error { return l.Commit(context.Background(), accept(root, 2)) })
			write(t, root, protocol.HistoryFile, full[:begin]+tail)
			if v, err := Read(root); err != nil {
				t.Error(err)
			} else if h, err := v.History(""); err != nil || len(h) != 2 {
				t.Errorf("a reader sees %d turns, %v", len(h), err)
			}
			l := open(t, root)
			got := snapshot(t, root)
			for f := range got {
				if strings.HasPrefix(f, keptDir) {
					delete(got, f)
				}
			}
			wantSame(t, "record", got, after)
			closeLedger(t, l)
			wantVerified(t, root)
		})
	}
}

func TestTornLastLines(t *testing.T) {
	t.Parallel()
	for _, file := range append(chained(), protocol.ChainFile) {
		for _, tc := range []struct{ name, tail, what string }{
			{"half a line", `{"turn_id":"turn_x`, "torn"},
			{"zeros", "\x00\x00\x00", "torn"},
			{"no object", `"text"`, "torn"},
			{"a whole object", `{"turn_id":"turn_x"}`, "completed"},
		} {
			if file == protocol.ChainFile && tc.what == "completed" {
				continue
			}
			t.Run(filepath.Base(file)+" "+tc.name, func(t *testing.T) {
				t.Parallel()
				root := prepared(t)
				before := load(t, root, file)
				write(t, root, file, before+tc.tail)
				if _, err := Read(root); err != nil {
					t.Errorf("a reader: %v", err)
				}
				for n := 0; n < 6 && file == protocol.HistoryFile; n++ { // dies while mending
					crashOpen(t, root, n)
				}
				l := open(t, root)
				if tc.what == "torn" {
					if load(t, root, file) != before {
						t.Errorf("the file is now %q", load(t, root, file))
					}
					kept, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(keptDir), "*"))
					if len(kept) != 1 {
						t.Fatalf("kept %v", kept)
					}
					if data, _ := os.ReadFile(kept[0]); string(data) != tc.tail {
						t.Errorf("kept %q", data)
					}
				} else if load(t, root, file) != before+tc.tail+"\n" {
					t.Errorf("the file is now %q", load(t, root, file))
				}
				commit(t, l, accept(root, 2))
				closeLedger(t, l)
				wantVerified(t, root)
			})
		}
	}
	root := prepared(t)
	write(t, root, protocol.EventsFile, load(t, root, protocol.EventsFile)+`{"event_`)
	l := open(t, root)
	notes := l.Notes()
	if len(notes) != 1 || notes[0].What != "torn" || notes[0].Path != protocol.EventsFile || load(t, root, notes[0].Kept) != `{"event_` {
		t.Errorf("notes %+v", notes)
	}
}

// TestFileCutBetweenCrashAndRecovery: the lines of the interrupted transaction are there once, whatever happened to those before.
func TestFileCutBetweenCrashAndRecovery(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(old string) string{
		"emptied": func(string) string { return "" },
		"half":    func(old string) string { return old[:len(old)/2] },
		"cut and grown": func(old string) string {
			return `{"turn_id":"turn_x"}` + "\n" + strings.Repeat(`{"turn_id":"y"}`+"\n", 90)
		},
		"cut after apply": func(old string) string { return old[strings.IndexByte(old, '\n')+1:] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := prepared(t)
			n := 1 // before the first line is appended
			if name == "cut after apply" {
				n = 12
			}
			crashAt(t, root, n, func(l *Ledger) error { return l.Commit(context.Background(), accept(root, 2)) })
			write(t, root, protocol.HistoryFile, change(load(t, root, protocol.HistoryFile)))
			v, err := Read(root)
			if err != nil {
				t.Fatal(err)
			}
			l := open(t, root)
			for who, v := range map[string]*View{"recovery": l.View(), "reader": v} {
				h, err := v.History("run_1")
				if err != nil && !isDamage(err) {
					t.Error(err)
				}
				count := 0
				for _, e := range h {
					if e.TurnID == turnID(2) {
						count++
					}
				}
				if count != 1 && (who == "recovery" || name != "cut after apply") {
					t.Errorf("%s: turn 2 stands %d times", who, count)
				}
			}
			if !slices.Contains(whats(l.Notes()), "shortened") && name != "cut after apply" {
				t.Errorf("no note")
			}
			commit(t, l, accept(root, 3))
			if r, err := Verify(t.Context(), root, nil); err != nil || r.OK {
				t.Errorf("verify does not see it: %v", err)
			}
		})
	}
}
