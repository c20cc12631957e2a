package session

import (
	"io/fs"
	"os"
)

// sameFile reports whether two stats of a name are of the same file. If the file system cannot say, it returns
// true.
func sameFile(a, b fs.FileInfo) bool {
	if a.Sys() == nil || b.Sys() == nil {
		return true
	}
	return os.SameFile(a, b)
}
