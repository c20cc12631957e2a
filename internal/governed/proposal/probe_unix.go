//go:build unix

package proposal

import (
	"os"
	"path/filepath"

	"github.com/drawbar/drawbar/govern/protocol"
	"golang.org/x/sys/unix"
)

// probe asks whether files can be moved from the record's folder to dir, as a transaction does. It writes nothing: a file
// of a process that is killed meanwhile would stay in the work tree.
func probe(top *os.Root, dir string) error {
	record, err := top.Open(protocol.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = record.Close() }()
	folder, err := top.Open(filepath.FromSlash(dir))
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	if err := unix.Faccessat(int(folder.Fd()), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "write to", Path: dir, Err: err}
	}
	from, err := mountOf(record)
	if err != nil {
		return err
	}
	to, err := mountOf(folder)
	if err == nil && from != to {
		err = &os.PathError{Op: "move to", Path: dir, Err: unix.EXDEV}
	}
	return err
}
