package ledger

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// TestStateIsWhatTheLastTransactionWrote changes state.json behind the ledger's back: it is named, put back and kept aside.
func TestStateIsWhatTheLastTransactionWrote(t *testing.T) {
	t.Parallel()
	richer := func(s string) string { return strings.Replace(s, `"turn_sequence": 4`, `"turn_sequence": 99`, 1) }
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, root string)
		what string // of the note; empty is a refusal
		seq  int    // of the state that counts
	}{
		{"edited", func(t *testing.T, root string) {
			write(t, root, protocol.StateFile, richer(load(t, root, protocol.StateFile)))
		}, "restored", 4},
		{"deleted", func(t *testing.T, root string) { remove(t, root, protocol.StateFile) }, "restored", 4},
		{"no JSON", func(t *testing.T, root string) { write(t, root, protocol.StateFile, "{") }, "restored", 4},
		{"edited with a line of its own, while a turn is active", func(t *testing.T, root string) {
			l := open(t, root)
			state := l.View().State.Clone()
			state.ActiveTurns.Set("turn_1", &protocol.Turn{TurnID: "turn_1"})
			commit(t, l, Tx{Kind: "assign_turn", Now: clock, State: state})
			closeLedger(t, l)
			write(t, root, protocol.StateFile, richer(load(t, root, protocol.StateFile)))
			write(t, root, protocol.HistoryFile, load(t, root, protocol.HistoryFile)+`{"turn_id":"turn_x"}`+"\n")
		}, "restored", 4},
		{"carried on by the original between two turns", func(t *testing.T, root string) {
			write(t, root, protocol.StateFile, richer(load(t, root, protocol.StateFile)))
			write(t, root, protocol.HistoryFile, load(t, root, protocol.HistoryFile)+`{"turn_id":"turn_x"}`+"\n")
		}, "adopted", 99},
		{"edited with its copy", func(t *testing.T, root string) {
			for _, f := range []string{protocol.StateFile, stateCopy} {
				write(t, root, f, richer(load(t, root, f)))
			}
		}, "", 99},
		{"gone with its copy", func(t *testing.T, root string) { remove(t, root, protocol.StateFile); remove(t, root, stateCopy) }, "", 0},
		{"the last entry of the chain cut as well", func(t *testing.T, root string) {
			write(t, root, protocol.StateFile, richer(load(t, root, protocol.StateFile)))
			edit(t, root, protocol.ChainFile, func(l []string) []string { return l[:len(l)-1] })
		}, "", 99},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := prepared(t)
			l := open(t, root)
			commit(t, l, accept(root, 2))
			tx := accept(root, 3)
			tx.State.TurnSequence, tx.State.ActiveTurns = 4, protocol.Ordered[*protocol.Turn]{}
			commit(t, l, tx)
			closeLedger(t, l)
			tc.do(t, root)
			changed, _ := os.ReadFile(filepath.Join(root, protocol.StateFile))
			if tc.what == "restored" {
				r, err := Verify(t.Context(), root, nil)
				if err == nil && (r.OK || r.Broken.File != protocol.StateFile && r.Broken.File != protocol.HistoryFile) {
					t.Errorf("verify says %+v, %v", r, err)
				}
				if v, err := Read(root); err == nil && v.Doubt == "" {
					t.Error("a reader is told nothing")
				}
			}
			o := options(root)
			l, err := Open(t.Context(), root, o)
			if tc.what == "" {
				if err == nil || !strings.Contains(err.Error(), "--adopt-state") {
					t.Fatalf("opening says %v, want how to go on", err)
				}
				if now, _ := os.ReadFile(filepath.Join(root, protocol.StateFile)); string(now) != string(changed) {
					t.Error("a refusal changed the state")
				}
				o.AdoptState = true
				if l, err = Open(t.Context(), root, o); err != nil {
					t.Fatal(err)
				}
				defer closeLedger(t, l)
				if got := l.View().State.TurnSequence; got != tc.seq {
					t.Errorf("adopted at turn %d, want %d", got, tc.seq)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer closeLedger(t, l)
			if got := l.View().State.TurnSequence; got != tc.seq {
				t.Errorf("the state is at turn %d, want %d", got, tc.seq)
			}
			notes := l.Notes()
			i := slices.IndexFunc(notes, func(n Note) bool { return n.What == tc.what && n.Path == protocol.StateFile })
			if i < 0 {
				t.Fatalf("notes %+v, want %s", notes, tc.what)
			}
			if tc.what == "restored" && changed != nil && load(t, root, notes[i].Kept) != string(changed) {
				t.Errorf("what stood there is not kept in %q", notes[i].Kept)
			}
			var st protocol.State
			if err := json.Unmarshal([]byte(load(t, root, protocol.StateFile)), &st); err != nil || st.TurnSequence != tc.seq {
				t.Errorf("on disk the state is at turn %d (%v), want %d", st.TurnSequence, err, tc.seq)
			}
		})
	}
}

func remove(t testing.TB, root, file string) {
	t.Helper()
	if err := os.Remove(filepath.Join(root, filepath.FromSlash(file))); err != nil {
		t.Fatal(err)
	}
}
