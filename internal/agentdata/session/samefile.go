package session

import (
	"io/fs"
	"os"
)

// sameFile reports whether two looks at a name saw one file. Where the file system cannot tell, it is taken for one.
func sameFile(a, b fs.FileInfo) bool {
	if a.Sys() == nil || b.Sys() == nil {
		return true
	}
	return os.SameFile(a, b)
}
