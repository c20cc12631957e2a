package usagescan

import (
	"bytes"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/history"
)

// Whole is a scanner for files that consist of one JSON value, possibly over many lines. It requests the whole file;
// it keeps nothing between scans, because such a file is rewritten rather than appended to.
type Whole struct {
	format Format
	bad    int
}

var _ adapter.UsageScanner = (*Whole)(nil)

// NewWhole returns a scanner of a format whose Line gets the whole file.
func NewWhole(f Format) *Whole { return &Whole{format: f} }

// Scan implements adapter.UsageScanner.
func (w *Whole) Scan(data []byte, end bool, give func(*history.UsageRecord)) int {
	if !end {
		return 0
	}
	if value := bytes.TrimSpace(data); len(value) > 0 && !w.format.Line(value, give) {
		w.bad = 1
	}
	return len(data)
}

// Boundary implements adapter.UsageScanner.
func (w *Whole) Boundary() int64 { return 0 }

// Bad implements adapter.UsageScanner.
func (w *Whole) Bad() (int, int64) { return w.bad, 0 }

// State implements adapter.UsageScanner.
func (w *Whole) State() []byte { return nil }

// Restore implements adapter.UsageScanner.
func (w *Whole) Restore(state []byte) bool { return len(state) == 0 }
