package ledger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// journalFormat identifies our journals and their version. The original ignores a journal whose status is not
// "prepared".
const (
	journalFormat   = "drawbar/1"
	journalStatus   = "committing"
	originalStatus  = "prepared"
	originalKind    = "accept_turn"
	journalPrefix   = "txn_"
	journalSuffix   = ".json"
	maxJournalBytes = 1 << 30
)

// journal lists all steps of a transaction, in the order in which they are carried out.
type journal struct {
	Format        string        `json:"format"`
	TransactionID string        `json:"transaction_id"`
	Kind          string        `json:"kind"`
	RunID         string        `json:"run_id,omitempty"`
	TurnID        string        `json:"turn_id,omitempty"`
	Status        string        `json:"status"`
	PreparedAt    protocol.Time `json:"prepared_at"`
	Appends       []appendStep  `json:"appends,omitempty"`
	Files         []fileStep    `json:"files"` // state.json is the last
	Moves         []moveStep    `json:"moves,omitempty"`
	Remove        []string      `json:"remove,omitempty"`
	Checkpoint    *Checkpoint   `json:"checkpoint,omitempty"`
}

// appendStep writes content at an offset: the end of the file when the transaction was prepared.
type appendStep struct {
	File    string `json:"file"`
	Offset  int64  `json:"offset"`
	Content []byte `json:"content"`
}

// fileStep replaces a file, or deletes it if Gone. Before is the digest of the content until then; empty if there was no
// file.
type fileStep struct {
	File    string `json:"file"`
	Before  string `json:"before,omitempty"`
	Content []byte `json:"content"`
	Gone    bool   `json:"gone,omitempty"`
}

// moveStep moves a file or a folder; a file at the destination is kept.
type moveStep struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// marker is the digest of a file's content; empty for no file.
func marker(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// after returns the content that the journal gives a file; nil if it does not replace it.
func (j *journal) after(file string) []byte {
	for _, s := range j.Files {
		if s.File == file {
			return s.Content
		}
	}
	return nil
}

// check refuses a journal that writes to a path that our transactions never write.
func (j *journal) check(d *disk) error {
	var paths []string
	for _, s := range j.Appends {
		if !slices.Contains(append(chained(), protocol.ChainFile), s.File) || s.Offset < 0 || !bytes.HasSuffix(s.Content, []byte{'\n'}) {
			return fmt.Errorf("it appends to %q at %d", s.File, s.Offset)
		}
	}
	for _, s := range j.Files {
		paths = append(paths, s.File)
	}
	for _, s := range j.Moves {
		paths = append(paths, s.From, s.To)
	}
	for _, p := range append(paths, j.Remove...) {
		if err := d.local(p); err != nil {
			return err
		}
	}
	return nil
}

// originalJournal is the journal that the original leaves when it dies while it accepts a turn.
type originalJournal struct {
	TransactionID    string            `json:"transaction_id"`
	Kind             string            `json:"kind"`
	RunID            string            `json:"run_id"`
	TurnID           string            `json:"turn_id"`
	Status           string            `json:"status"`
	PreparedAt       protocol.Time     `json:"prepared_at"`
	AcceptedSequence int               `json:"accepted_sequence"`
	HistoryEntry     json.RawMessage   `json:"history_entry"`
	LedgerEntries    []json.RawMessage `json:"ledger_entries"`
	NextState        *protocol.State   `json:"next_state"`
}

// found is one file of the original's journals' folder.
type found struct {
	file     string
	original *originalJournal
	other    bool  // a journal with nothing to do: committed, or of another status
	err      error // it cannot be read
}

// parseJournal reads a journal of the original.
func parseJournal(file string, data []byte) found {
	f := found{file: file}
	var head struct {
		Format string `json:"format"`
		Status string `json:"status"`
		Kind   string `json:"kind"`
	}
	if f.err = json.Unmarshal(data, &head); f.err != nil {
		return f
	}
	switch {
	case head.Format != "":
		f.err = &newerJournal{head.Format}
	case head.Status == originalStatus && (head.Kind == originalKind || head.Kind == ""):
		j := new(originalJournal)
		f.err = json.Unmarshal(data, j)
		if f.err == nil && (j.TurnID == "" || j.NextState == nil || protocol.Kind(j.HistoryEntry) != "object") {
			f.err = errors.New("turn_id, next_state or history_entry is missing")
		}
		f.original = j
	default:
		f.other = true
	}
	return f
}

// newerJournal is a journal that only another version can carry out.
type newerJournal struct{ format string }

func (e *newerJournal) Error() string { return "it has the format " + e.format }

// journalNames lists the folder of journals in order.
func journalNames(d *disk) ([]string, error) {
	dir, err := d.root.Open(protocol.TransactionsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("read", d.at(protocol.TransactionsDir), err)
	}
	defer dir.Close()
	all, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, failed("read", d.at(protocol.TransactionsDir), err)
	}
	names := slices.DeleteFunc(all, func(n string) bool { return !strings.HasSuffix(n, journalSuffix) || strings.HasPrefix(n, ".") })
	slices.Sort(names)
	return names, nil
}

// journals reads the journals of the original in the order of their acceptance. One that has gone meanwhile is left out.
func journals(d *disk, names []string) ([]found, error) {
	var all []found
	for _, name := range names {
		file := protocol.TransactionsDir + "/" + name
		if info, err := d.root.Stat(file); err == nil && (!info.Mode().IsRegular() || info.Size() > maxJournalBytes) {
			all = append(all, found{file: file, err: errors.New("it is not a regular file of up to 1 GiB")})
			continue
		}
		data, err := d.read(file)
		if err != nil {
			return nil, err
		}
		if data != nil {
			all = append(all, parseJournal(file, data))
		}
	}
	sequence := func(f found) int {
		if f.err != nil || f.other {
			return math.MaxInt
		}
		return f.original.AcceptedSequence
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(sequence(a), sequence(b)) })
	return all, nil
}
