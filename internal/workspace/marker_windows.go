package workspace

import "os"

// isNotDir recognizes a path whose folder has become a file: Windows says that it does not exist.
func isNotDir(error) bool { return false }

// running reports whether a process is there.
func running(pid int) bool {
	p, err := os.FindProcess(pid)
	if err == nil {
		_ = p.Release()
	}
	return err == nil
}
