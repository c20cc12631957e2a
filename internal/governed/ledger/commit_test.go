package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

func TestCommitWritesEverything(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := open(t, root)
	if v := l.View(); !v.Fresh || v.State.Status != protocol.RunIdle {
		t.Errorf("a new project: %+v", v.State)
	}
	tx := accept(root, 1)
	var chainThen, headThen string
	make := tx.Checkpoint
	tx.Checkpoint = func(chain []byte, head string) (Checkpoint, error) {
		chainThen, headThen = string(chain), head
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(protocol.HistoryFile))); err == nil {
			t.Error("the record is written before the checkpoint is prepared")
		}
		return make(chain, head)
	}
	tx.Events = append(tx.Events, protocol.Event{EventType: "gate_pending"})
	write(t, root, flatStaged, `{"turn_id":"`+turnID(1)+`"}`)
	commit(t, l, tx)

	v := l.View()
	h, err := v.History("run_1")
	if err != nil || len(h) != 1 || h[0].Summary != "turn 1" {
		t.Errorf("history %+v, %v", h, err)
	}
	if h, err := v.History("run_2"); err != nil || len(h) != 0 {
		t.Errorf("history of another run %+v, %v", h, err)
	}
	d, err := v.Decisions("run_1")
	all, err2 := v.Ledger("run_1")
	if err != nil || err2 != nil || len(d) != 1 || d[0].ID != "DEC-001" || len(all) != 2 || all[1].Note.Type != "approval_policy" {
		t.Errorf("decisions %+v, ledger %+v, %v %v", d, all, err, err2)
	}
	if r, err := v.RepoDecisions(); err != nil || len(r) != 1 {
		t.Errorf("repo decisions %+v, %v", r, err)
	}
	if r, err := v.Runs(); err != nil || len(r) != 1 || r[0].TotalTurns != 1 {
		t.Errorf("runs %+v, %v", r, err)
	}
	if r, err := v.Human(); err != nil || len(r) != 1 || !strings.Contains(string(r[0]), "hesc_1") {
		t.Errorf("human %s, %v", r, err)
	}
	if s, err := v.Session(); err != nil || s.SessionID != "session_1" {
		t.Errorf("session %+v, %v", s, err)
	}
	var types []string
	var given protocol.Event
	next, err := v.Events(0, func(e protocol.Event) {
		types = append(types, e.EventType)
		if e.EventType == "gate_pending" {
			given = e
		}
	})
	if err != nil || !slices.Equal(types, []string{"turn_accepted", "phase_entered", "gate_pending", "turn_checkpointed"}) {
		t.Errorf("events %v, %v", types, err)
	}
	if !regexp.MustCompile(`^evt_[0-9a-f]{16}$`).MatchString(given.EventID) || !given.Timestamp.Equal(tx.Now) {
		t.Errorf("an event without id and time became %+v", given)
	}
	if *v.State.AcceptedIntegration != "git:"+load(t, root, refFile) || !strings.HasPrefix(load(t, root, refFile), "commit-1-"+headThen[:8]) {
		t.Errorf("state %v, ref %s", *v.State.AcceptedIntegration, load(t, root, refFile))
	}
	// The checkpoint has the chain up to its head, and the chain on disk begins with that.
	if !strings.HasSuffix(chainThen, headThen+"\"}\n") || !strings.HasPrefix(load(t, root, protocol.ChainFile), chainThen) {
		t.Error("the checkpoint's chain is not the beginning of the chain")
	}
	wantVerified(t, root, headThen)
	archive := protocol.ArchiveDir + "/" + turnID(1)
	for _, f := range []string{"/PROMPT.md", "/evidence/log", "/staging/turn-result.json", "/staging/turn-result.flat.json"} {
		load(t, root, archive+f)
	}
	for _, f := range []string{protocol.BundleDir(turnID(1)), protocol.StagingDir + "/" + turnID(1), flatStaged} {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(f))); err == nil {
			t.Errorf("%s is still there", f)
		}
	}
	if load(t, root, protocol.TalkFile) != "talk\n" {
		t.Error("TALK.md is not written")
	}
	if raw := load(t, root, protocol.StateFile); !strings.HasPrefix(raw, "{\n  \"schema_version\": \"1.1\"") || !strings.HasSuffix(raw, "}\n") {
		t.Errorf("state.json has the form %.60q", raw)
	}
	// What comes later is read from where the reader was.
	commit(t, l, accept(root, 2))
	types = nil
	if _, err := l.View().Events(next, func(e protocol.Event) { types = append(types, e.EventType) }); err != nil || len(types) != 3 {
		t.Errorf("later events %v, %v", types, err)
	}
	// An old view stays what it was.
	if h, err := v.History(""); err != nil || len(h) != 1 {
		t.Errorf("an old view has %d turns, %v", len(h), err)
	}
	if l.Notes() != nil {
		t.Errorf("notes %v", l.Notes())
	}
}

func TestRepoDecisionIsOverridden(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	l := open(t, root)
	commit(t, l, Tx{Now: clock, State: stateAt(1), RepoDecisions: []protocol.RepoDecision{
		{ID: "DEC-002", Status: "active", Overrides: new("DEC-001")}, {ID: "DEC-001", Status: "overridden", OverriddenBy: new("DEC-002")}}})
	got, err := l.View().RepoDecisions()
	if err != nil || len(got) != 2 || got[0].ID != "DEC-001" || got[0].Status != "overridden" || got[1].Status != "active" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRefusedTransactionsWriteNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(root string, tx *Tx)
		is     error
		says   string
	}{
		{"a turn that is in the history", func(_ string, tx *Tx) { tx.History[0].TurnID = turnID(1) }, ErrDuplicate, turnID(1)},
		{"a turn twice", func(_ string, tx *Tx) { tx.History = append(tx.History, tx.History[0]) }, ErrDuplicate, turnID(2)},
		{"a decision of the run", func(_ string, tx *Tx) {
			tx.Ledger = []any{protocol.LedgerDecision{ID: "DEC-001", RunID: "run_1", TurnID: turnID(2)}}
		}, ErrDuplicate, "DEC-001"},
		{"a decision twice", func(_ string, tx *Tx) { tx.Ledger = append(tx.Ledger, tx.Ledger[0]) }, ErrDuplicate, "DEC-002"},
		{"no time", func(_ string, tx *Tx) { tx.Now = time.Time{} }, nil, "no time"},
		{"a line that is no object", func(_ string, tx *Tx) { tx.Human = []json.RawMessage{[]byte(`"text"`)} }, nil, "not a JSON object"},
		{"a line that is no JSON", func(_ string, tx *Tx) { tx.Ledger = []any{json.RawMessage(`{"a":`)} }, nil, "encode"},
		{"a file that climbs out", func(_ string, tx *Tx) { tx.Files["../x"] = nil }, nil, "is outside"},
		{"an absolute file", func(_ string, tx *Tx) { tx.Files["/tmp/x"] = nil }, nil, "is outside"},
		{"a backslash", func(_ string, tx *Tx) { tx.Files[`a\..\x`] = nil }, nil, "is outside"},
		{"the state as a file", func(_ string, tx *Tx) { tx.Files[protocol.StateFile] = nil }, nil, "part of the record"},
		{"removing the history", func(_ string, tx *Tx) { tx.Remove = []string{protocol.HistoryFile} }, nil, "part of the record"},
		{"removing what climbs out", func(_ string, tx *Tx) { tx.Remove = []string{"a/../../x"} }, nil, "is outside"},
		{"a turn id that climbs out", func(_ string, tx *Tx) { tx.Archive = []string{"../.."} }, nil, "name of a folder"},
		{"lines changed behind the checkpoint", func(_ string, tx *Tx) {
			tx.After = func(_ Checkpoint, t *Tx) { t.History[0].CheckpointSHA = "abc" }
		}, nil, "were changed after the checkpoint"},
		{"lines taken away behind the checkpoint", func(_ string, tx *Tx) {
			tx.After = func(_ Checkpoint, t *Tx) { t.Events = nil }
		}, nil, "were changed after the checkpoint"},
		{"a state that another program changed", func(root string, _ *Tx) {
			_ = os.WriteFile(filepath.Join(root, filepath.FromSlash(protocol.StateFile)), []byte(`{"status":"blocked"}`), 0o600)
		}, ErrConflict, "state.json"},
		{"a folder in the place of a file", func(root string, tx *Tx) {
			_ = os.Mkdir(filepath.Join(root, "HUMAN_TASKS.md"), 0o700)
			tx.Files["HUMAN_TASKS.md"] = []byte("x")
		}, nil, "not a regular file"},
		{"a link in the place of a file", func(root string, tx *Tx) {
			_ = os.Symlink("README.md", filepath.Join(root, "HUMAN_TASKS.md"))
			tx.Files["HUMAN_TASKS.md"] = []byte("x")
		}, nil, "not a regular file"},
		{"a link out in the place of a folder", func(root string, tx *Tx) {
			_ = os.Symlink(os.TempDir(), filepath.Join(root, "docs"))
			tx.Files["docs/x.md"] = []byte("x")
		}, nil, "docs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := prepared(t)
			l := open(t, root)
			tx := accept(root, 2)
			tc.change(root, &tx)
			before := map[string]string{}
			for _, f := range append(chained(), protocol.ChainFile, protocol.StateFile, protocol.SessionFile, protocol.TalkFile, refFile) {
				before[f] = load(t, root, f)
			}
			err := l.Commit(t.Context(), tx)
			if err == nil || tc.is != nil && !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %v with %q", err, tc.is, tc.says)
			}
			for f, want := range before {
				if load(t, root, f) != want {
					t.Errorf("%s was changed", f)
				}
			}
			if names, _ := journalNames(l.disk); len(names) > 0 {
				t.Errorf("journals %v", names)
			}
		})
	}
}

func TestSameDecisionInAnotherRun(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	l := open(t, root)
	commit(t, l, Tx{Now: clock, State: stateAt(1), Ledger: []any{protocol.LedgerDecision{ID: "DEC-001", RunID: "run_2", TurnID: turnID(2)}}})
	tx := accept(root, 2)
	tx.History[0].TurnID, tx.History[0].Status = turnID(1), "reissued"
	commit(t, l, tx)
}

func TestCancelledCommitWritesNothing(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	l := open(t, root)
	before := snapshot(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	tx := accept(root, 2)
	make := tx.Checkpoint
	tx.Checkpoint = func(chain []byte, head string) (Checkpoint, error) { cancel(); return make(chain, head) }
	if err := l.Commit(ctx, tx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantSame(t, "record", snapshot(t, root), before)
}

func TestUnwritableFolderIsAnErrorThatLosesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("SKIPPED: permissions do not bind this user")
	}
	root := prepared(t)
	l := open(t, root)
	dir := filepath.Join(root, filepath.FromSlash(protocol.TransactionsDir))
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, root)
	if err := l.Commit(t.Context(), accept(root, 2)); err == nil {
		t.Error("no error")
	}
	wantSame(t, "record", snapshot(t, root), before)
	_ = os.Chmod(dir, 0o700)
	commit(t, l, accept(root, 2))
}

func TestArchiveKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	root := prepared(t)
	l := open(t, root)
	id := turnID(2)
	write(t, root, protocol.ArchiveDir+"/"+id+"/PROMPT.md", "of an earlier attempt")
	write(t, root, protocol.BundleDir(id)+"/sub/x", "x")
	write(t, root, protocol.ArchiveDir+"/"+id+"/sub/y", "y")
	write(t, root, protocol.BundleDir(id)+"/PROMPT.md", "prompt")
	write(t, root, flatStaged, `{"turn_id":"`+turnID(9)+`"}`)
	commit(t, l, Tx{Now: clock, State: stateAt(2), Archive: []string{id}})
	for f, want := range map[string]string{"PROMPT.md": "of an earlier attempt", "PROMPT.md.2": "prompt", "sub/x": "x", "sub/y": "y"} {
		if got := load(t, root, protocol.ArchiveDir+"/"+id+"/"+f); got != want {
			t.Errorf("%s holds %q", f, got)
		}
	}
	load(t, root, flatStaged) // of another turn: it stays
	if runtime.GOOS != "windows" {
		if err := os.Chmod(filepath.Join(root, protocol.TalkFile), 0o640); err != nil {
			t.Fatal(err)
		}
		commit(t, l, accept(root, 3))
		if info, err := os.Stat(filepath.Join(root, protocol.TalkFile)); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("the mode of a replaced file is %v, %v", info.Mode(), err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if _, err := Open(t.Context(), filepath.Join(root, "nowhere"), Options{}); err == nil || !strings.Contains(err.Error(), "drawbar govern init") {
		t.Errorf("a folder that is not there: %v", err)
	}
	write(t, root, protocol.StateFile, `{"status":`)
	if _, err := Open(t.Context(), root, Options{}); err == nil || !strings.Contains(err.Error(), "cannot read "+filepath.Join(root, protocol.StateFile)) {
		t.Errorf("half a state: %v", err)
	}
	if _, err := Read(root); err == nil {
		t.Error("half a state is read")
	}
	if h, err := Holding(root); h != nil || err != nil {
		t.Errorf("a refused Open keeps the lock: %+v %v", h, err)
	}
	out := t.TempDir()
	linked := t.TempDir()
	if err := os.Symlink(out, filepath.Join(linked, protocol.Dir)); err != nil {
		t.Skip("SKIPPED: no links here")
	}
	if _, err := Open(t.Context(), linked, Options{}); err == nil {
		t.Error("the record goes through a link")
	}
	if all, _ := os.ReadDir(out); len(all) > 0 {
		t.Errorf("files on the other side of the link: %v", all)
	}
}
