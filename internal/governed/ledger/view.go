package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// View is the record at one moment. The state is in memory; everything else is read from disk on demand, up to where it
// ended at that moment. A View keeps no file open and stays valid while others write. It is safe for concurrent use.
type View struct {
	State protocol.State
	// Fresh reports that there is no state.json: no run has been governed here.
	Fresh bool
	// Pending is the id of a transaction that was in progress. The view shows its result: the new state and the added
	// lines.
	Pending string
	// Doubt says how state.json differs from what the last transaction wrote and what will happen to it; empty if it
	// does not differ.
	Doubt string
	// Holder is the holder of the lock; nil if it is free.
	Holder *govern.Holder

	root      string
	stateMark string // digest of state.json as it is on disk
	seenMark  string // and of the one that the view shows
	files     map[string]extent
	session   []byte // from a pending transaction; nil: as on disk
}

// extent is the content of a file at the moment of a view: a prefix of the file, followed by what a pending transaction
// appends.
type extent struct {
	size int64
	more []byte
}

// reader reads the file as the view sees it.
func (v *View) reader(file string) (io.ReadCloser, error) { return v.readerFrom(file, 0) }

// readerFrom reads the file from an offset, which must not be beyond its end.
func (v *View) readerFrom(file string, from int64) (io.ReadCloser, error) {
	e := v.files[file]
	if from >= e.size {
		return io.NopCloser(bytes.NewReader(e.more[from-e.size:])), nil
	}
	f, err := openIn(v.root, file)
	if err != nil {
		return nil, failed("read", v.path(file), err)
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		_ = f.Close()
		return nil, failed("read", v.path(file), err)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.NewSectionReader(f, from, e.size-from), bytes.NewReader(e.more)), f}, nil
}

func (v *View) path(file string) string { return filepath.Join(v.root, filepath.FromSlash(file)) }

// length is the length of the file as the view sees it.
func (v *View) length(file string) int64 {
	e := v.files[file]
	return e.size + int64(len(e.more))
}

// each calls fn for every non-empty line from an offset on. Lines that are not JSON objects or that fn refuses are reported
// together, at the end. next is the offset for the following call: after the last complete line.
func (v *View) each(file string, from int64, fn func(record) error) (next int64, err error) {
	if end := v.length(file); from > end || from < 0 {
		return end, nil // shorter than it was: there is nothing new
	}
	r, err := v.readerFrom(file, from)
	if err != nil {
		return from, err
	}
	defer r.Close()
	lines := newLineReader(r)
	lines.offset = from
	next = from
	var faults []LineFault
	for {
		rec, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return next, failed("read", v.path(file), err)
		}
		fault := ""
		switch {
		case rec.TooLong:
			fault = fmt.Sprintf("longer than %d MB", maxLine>>20)
		case len(bytes.TrimSpace(rec.Data)) == 0:
		case !rec.Complete && !json.Valid(rec.Data):
			fault = "it is incomplete"
		default:
			if err := fn(rec); err != nil {
				fault = err.Error()
			}
		}
		if fault != "" {
			if from > 0 {
				rec.Line = 0
			}
			faults = append(faults, LineFault{File: file, Line: rec.Line, Offset: rec.Offset, Message: fault})
		}
		if rec.Complete {
			next = lines.offset
		}
	}
	if faults != nil {
		return next, &DamagedError{faults}
	}
	return next, nil
}

// collect decodes the lines of a file. With a needle, only the lines that contain it.
func collect[T any](v *View, file string, needle []byte, keep func(*T) bool) ([]T, error) {
	all, _, err := collectFrom(v, file, 0, needle, keep)
	return all, err
}

// collectFrom is collect from an offset on; next is the offset after the last complete line.
func collectFrom[T any](v *View, file string, from int64, needle []byte, keep func(*T) bool) (all []T, next int64, err error) {
	next, err = v.each(file, from, func(rec record) error {
		if len(needle) > 0 && !bytes.Contains(rec.Data, needle) {
			return nil
		}
		var t T
		if err := json.Unmarshal(rec.Data, &t); err != nil {
			return err
		}
		if keep == nil || keep(&t) {
			all = append(all, t)
		}
		return nil
	})
	return all, next, err
}

// quoted is an id as a JSON string; nil for the empty one.
func quoted(id string) []byte {
	if id == "" {
		return nil
	}
	b, _ := protocol.Marshal(id) // a string
	return b
}

// Chained reports whether the record has a chain.
func (v *View) Chained() bool { return v.length(protocol.ChainFile) > 0 }

// History reads the accepted and reissued turns of a run in order; of all runs if the id is empty. With a DamagedError,
// the readable ones are returned.
func (v *View) History(runID string) ([]protocol.HistoryEntry, error) {
	return collect(v, protocol.HistoryFile, quoted(runID), func(h *protocol.HistoryEntry) bool { return runID == "" || h.RunID == runID })
}

// LedgerLine is a line of the decision ledger: a decision, or a note of the orchestrator.
type LedgerLine struct {
	Decision *protocol.LedgerDecision
	Note     *protocol.LedgerNote
}

// UnmarshalJSON distinguishes decisions, which have an id, from notes.
func (l *LedgerLine) UnmarshalJSON(data []byte) error {
	var has struct {
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal(data, &has); err != nil {
		return err
	}
	if protocol.Is(has.ID) {
		l.Decision = new(protocol.LedgerDecision)
		return json.Unmarshal(data, l.Decision)
	}
	l.Note = new(protocol.LedgerNote)
	return json.Unmarshal(data, l.Note)
}

// Ledger reads the decision ledger of a run, decisions and notes in order; of all runs if the id is empty. Lines of the
// original name only a turn.
func (v *View) Ledger(runID string) ([]LedgerLine, error) {
	if runID == "" {
		return collect[LedgerLine](v, protocol.LedgerFile, nil, nil)
	}
	entries, err := v.History(runID)
	if err != nil {
		return nil, err
	}
	turns := map[string]bool{}
	for _, h := range entries {
		turns[h.TurnID] = true
	}
	return collect(v, protocol.LedgerFile, nil, func(l *LedgerLine) bool {
		id, turn := "", ""
		if l.Decision != nil {
			id, turn = l.Decision.RunID, l.Decision.TurnID
		} else if l.Note != nil {
			id, turn = l.Note.RunID, l.Note.TurnID
		}
		return id == runID || id == "" && turns[turn]
	})
}

// Decisions reads the decisions of the decision ledger of a run, in order; of all runs if the id is empty.
func (v *View) Decisions(runID string) ([]protocol.LedgerDecision, error) {
	lines, err := v.Ledger(runID)
	var all []protocol.LedgerDecision
	for _, l := range lines {
		if l.Decision != nil {
			all = append(all, *l.Decision)
		}
	}
	return all, err
}

// RepoDecisions reads the current decisions that outlive their runs: the last line of an id counts.
func (v *View) RepoDecisions() ([]protocol.RepoDecision, error) {
	lines, err := collect[protocol.RepoDecision](v, protocol.RepoLedgerFile, nil, nil)
	var now protocol.Ordered[protocol.RepoDecision]
	for _, d := range lines {
		now.Set(d.ID, d)
	}
	all := make([]protocol.RepoDecision, 0, now.Len())
	for _, d := range now.All() {
		all = append(all, d)
	}
	return all, err
}

// Events calls fn for the events from an offset on, and returns the offset after the last one, for the next call. 0 is the
// beginning.
func (v *View) Events(since int64, fn func(protocol.Event)) (next int64, err error) {
	return v.each(protocol.EventsFile, since, func(rec record) error {
		var e protocol.Event
		if err := json.Unmarshal(rec.Data, &e); err != nil {
			return err
		}
		fn(e)
		return nil
	})
}

// EventsOf reads the events of a run in order; of all runs if the id is empty.
func (v *View) EventsOf(runID string) ([]protocol.Event, error) {
	return collect(v, protocol.EventsFile, quoted(runID), func(e *protocol.Event) bool { return runID == "" || e.RunID == runID })
}

// Runs reads the summaries of ended and blocked runs, in order.
func (v *View) Runs() ([]protocol.RunSummary, error) {
	return collect[protocol.RunSummary](v, protocol.RunHistoryFile, nil, nil)
}

// Human reads the lines of the human escalations, in order.
func (v *View) Human() ([]json.RawMessage, error) {
	return collect[json.RawMessage](v, protocol.EscalationsFile, nil, nil)
}

// Session reads session.json; nil if there is none.
func (v *View) Session() (*protocol.Session, error) {
	data := v.session
	if data == nil {
		f, err := openIn(v.root, protocol.SessionFile)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, failed("read", v.path(protocol.SessionFile), err)
		}
		defer f.Close()
		if data, err = io.ReadAll(io.LimitReader(f, maxState)); err != nil {
			return nil, failed("read", v.path(protocol.SessionFile), err)
		}
	}
	s := new(protocol.Session)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, damaged(v.path(protocol.SessionFile), err).WithHint("move it away: it is rebuilt from state.json")
	}
	return s, nil
}

// openIn opens a file below root without following links out of it.
func openIn(root, file string) (*os.File, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return r.Open(file)
}

// MarshalJSON writes the line as it is in the file.
func (l LedgerLine) MarshalJSON() ([]byte, error) {
	if l.Decision != nil {
		return protocol.Marshal(l.Decision)
	}
	return protocol.Marshal(l.Note)
}
