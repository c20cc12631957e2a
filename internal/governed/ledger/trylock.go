package ledger

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/drawbar/drawbar/govern/protocol"
)

// TryLock takes a named lock of the project at root, beside that of the record. The end of the process frees it. taken is false while another
// process has it.
func TryLock(root, name string) (unlock func(), taken bool, err error) {
	file := filepath.Join(root, filepath.FromSlash(protocol.Dir), "locks", name+".lock")
	err = os.MkdirAll(filepath.Dir(file), 0o755) //nolint:gosec // as the other folders of the record
	if err == nil {
		if info, e := os.Lstat(file); e == nil && !info.Mode().IsRegular() { // what a link leads to is not ours to touch
			err = fmt.Errorf("%s is not a file", file)
		}
	}
	l := flock.New(file)
	if err == nil {
		taken, err = l.TryLock()
	}
	if err != nil {
		return nil, false, fmt.Errorf("lock %s: %w", name, err)
	}
	return func() { _ = l.Unlock() }, taken, nil // the end of the process frees it, too
}
