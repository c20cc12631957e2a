package orchestrator

import (
	"crypto/rand"
	"encoding/hex"
)

// newID generates an id of the protocol: a prefix, an underscore, 16 hexadecimal digits.
func newID(prefix string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return prefix + "_" + hex.EncodeToString(b[:])
}
