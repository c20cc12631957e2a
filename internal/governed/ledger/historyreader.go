package ledger

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"github.com/drawbar/drawbar/govern/protocol"
)

// HistoryReader reads the history of a run repeatedly and decodes each line once, so that the cost of a command does
// not grow with the number of earlier turns. The zero value is ready to use. It is safe for concurrent use.
type HistoryReader struct {
	mu      sync.Mutex
	runID   string
	next    int64  // after the last line that was read
	tail    []byte // the bytes before it: other bytes there mean another file
	entries []protocol.HistoryEntry
}

// historyTail is the number of bytes that are compared.
const historyTail = 1 << 10

// Read returns what v.History returns. The caller may append to the slice but not change its elements.
func (r *HistoryReader) Read(v *View, runID string) ([]protocol.HistoryEntry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runID != runID || r.next == 0 || !r.continues(v) {
		r.runID, r.next, r.tail, r.entries = runID, 0, nil, nil
	}
	more, next, err := collectFrom(v, protocol.HistoryFile, r.next, quoted(runID), func(h *protocol.HistoryEntry) bool { return runID == "" || h.RunID == runID })
	if err != nil {
		r.next = 0
		return v.History(runID) // which numbers unreadable lines from the start of the file
	}
	r.entries = append(r.entries, more...)
	if next != r.next {
		r.next = next
		if r.tail, err = v.before(protocol.HistoryFile, next, historyTail); err != nil {
			r.next = 0
		}
	}
	return slices.Clip(r.entries), nil
}

// continues reports whether the file still begins with what was read.
func (r *HistoryReader) continues(v *View) bool {
	if v.length(protocol.HistoryFile) < r.next {
		return false
	}
	now, err := v.before(protocol.HistoryFile, r.next, historyTail)
	return err == nil && bytes.Equal(now, r.tail)
}

// before returns up to n bytes of a file before an offset.
func (v *View) before(file string, offset int64, n int64) ([]byte, error) {
	begin := max(offset-n, 0)
	r, err := v.readerFrom(file, begin)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out := make([]byte, offset-begin)
	_, err = io.ReadFull(r, out)
	return out, err
}
