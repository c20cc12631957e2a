package process

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// A mark names one start of a run: 32 hexadecimal digits, of which those from startFrom to startTo are of the start and the others of
// the run. What is left of one start is ended by its mark, and the next start of the same run, which may have begun, has another.
const (
	startFrom = 9
	startTo   = 15 // also the end of what fits into a tag
)

// markOf is a new mark for a start of a named run; of a run without a name nothing is ever looked for.
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

// runOf is what all marks of a run have in common.
func runOf(mark string) string {
	if len(mark) < startTo {
		return mark
	}
	return mark[:startFrom] + mark[startTo:]
}
