package process

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
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
	return named[:supervisor.StartFrom] + mark[supervisor.StartFrom:supervisor.StartTo] + named[supervisor.StartTo:]
}
