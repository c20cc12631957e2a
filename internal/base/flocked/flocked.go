// Package flocked is for files that are locked as long as a process lives (github.com/gofrs/flock), where systems differ: Windows
// lets nobody read or write a locked file, and removes no open one.
package flocked

import (
	"errors"
	"io/fs"
	"os"
	"runtime"

	"github.com/gofrs/flock"
)

// Name is the file to lock for a file that others read or write meanwhile: itself, and on Windows one beside it.
func Name(path string) string {
	if runtime.GOOS == "windows" {
		return path + ".held"
	}
	return path
}

// Drop removes a file that the caller has locked, and frees it. A file that is gone already is not an error. On Windows it goes after
// it is free, unless somebody else has it by then.
func Drop(l *flock.Flock) error {
	err := os.Remove(l.Path())
	if errors.Is(err, fs.ErrNotExist) || runtime.GOOS == "windows" {
		err = nil
	}
	err = errors.Join(err, l.Close())
	if runtime.GOOS == "windows" {
		_ = os.Remove(l.Path())
	}
	return err
}
