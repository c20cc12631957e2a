package process

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// A mark identifies one start of a run: 32 hexadecimal digits, of which those from startFrom to startTo belong to the
// start and the others to the run. The remains of one start are ended by its mark, and the next start of the same
// run, which may be running, has another.
const (
	startFrom = 9
	startTo   = 15 // also the end of what fits into a tag
)

// markOf returns a new mark for a start of a named run; nothing is ever looked up for an unnamed run.
func markOf(run string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	mark := hex.EncodeToString(b[:])
	if run == "" {
		return mark
	}
	sum := sha256.Sum256([]byte("run " + run))
	named := hex.EncodeToString(sum[:16])
	return named[:startFrom] + mark[startFrom:startTo] + named[startTo:]
}

// runOf returns the common part of all marks of a run.
func runOf(mark string) string {
	if len(mark) < startTo {
		return mark
	}
	return mark[:startFrom] + mark[startTo:]
}
