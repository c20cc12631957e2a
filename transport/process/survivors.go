package process

import (
	"crypto/sha256"
	"encoding/hex"
)

// markOf is the mark of the processes of a named run.
func markOf(run string) string {
	sum := sha256.Sum256([]byte("run " + run))
	return hex.EncodeToString(sum[:16])
}
