package proposal

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/drawbar/drawbar/govern/protocol"
)

// probe moves an empty file from the record's folder to dir, as a transaction does, and removes it.
func probe(top *os.Root, dir string) error {
	name := ".drawbar-" + strconv.FormatUint(rand.Uint64(), 36) //nolint:gosec // a name that is free, not a secret
	from, to := filepath.Join(protocol.Dir, name), filepath.Join(filepath.FromSlash(dir), name)
	f, err := top.OpenFile(from, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := top.Rename(from, to); err != nil {
		return errors.Join(err, top.Remove(from))
	}
	return top.Remove(to)
}
