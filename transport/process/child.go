package process

import (
	"os"
	"time"
)

// child is the platform's part: one started process and the tree below it.
type child interface {
	pid() int
	// exited delivers the end of the process itself, once.
	exited() <-chan status
	// signal goes to the process group; ErrEnded after the process was reaped.
	signal(sig os.Signal) error
	// kill starts killing the whole tree. It does not wait, and may be called again.
	kill()
	// abandon is called if the process did not end in time after kill; exited must deliver its end all the same.
	abandon()
	// finish waits until the tree is gone, within its own limits, and frees what the child holds. It is called once,
	// after kill.
	finish() (survivors int, err error)
}

// status returns the end of the process itself.
type status struct {
	code   int
	signal string
	err    error
}

// launch is a Spec prepared for a platform: absolute paths, open files.
type launch struct {
	path    string
	argv    []string
	dir     string
	env     []string
	files   [3]*os.File // the process's ends: stdin, stdout, stderr
	pty     bool
	mark    string // identifies the run in the process table
	scratch []string

	killLimit time.Duration

	withoutKeeper, withoutGroup bool
}
