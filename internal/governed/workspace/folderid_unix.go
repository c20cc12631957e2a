//go:build unix

package workspace

import (
	"fmt"
	"os"
	"syscall"
)

// folderID is what the file system knows a folder as; it stays when the folder is renamed, and is another for a copy.
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
