//go:build unix

package workspace

import (
	"fmt"
	"os"
	"syscall"
)

// folderID is the file system's identity of a folder; it survives a rename, and a copy has another.
func folderID(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return noFile
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("device %d, file %d", s.Dev, s.Ino)
	}
	return "unknown"
}
