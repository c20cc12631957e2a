//go:build !windows

package runstore

import "os"

func rename(from, to string) error { return os.Rename(from, to) }

// syncDir makes the names in a directory survive a power failure.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
