package process

import (
	"os"
	"time"
)

// child is what the platforms implement: one started process and the tree below it.
type child interface {
	pid() int
	// exited yields the end of the process itself, once.
	exited() <-chan status
	// signal goes to the process group; ErrEnded after the process was reaped.
	signal(sig os.Signal) error
	// kill begins to kill the whole tree. It does not wait, and calling it again is harmless.
	kill()
	// abandon is called when the process did not end in time after kill; its end must then come from exited all the
	// same.
	abandon()
	// finish waits until the tree is gone, within limits of its own, and frees what the child holds. It is called
	// once, after kill.
	finish() (survivors int, err error)
}

// status is the end of the process itself.
type status struct {
	code   int
	signal string
	err    error
}

// launch is a Spec made ready for a platform: absolute paths, open files.
type launch struct {
	path    string
	argv    []string
	dir     string
	env     []string
	files   [3]*os.File // the ends of the process: stdin, stdout, stderr
	pty     bool
	mark    string // names the run in the process table
	scratch []string

	killLimit time.Duration

	withoutKeeper, withoutGroup bool
}

// defaultKillLimit bounds the killing of a tree; a process in an uninterruptible wait cannot be waited for.
const defaultKillLimit = 10 * time.Second
