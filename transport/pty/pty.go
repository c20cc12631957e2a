package pty

import (
	"errors"
	"os"
)

// The default size of a pseudo-terminal.
const (
	DefaultColumns = 120
	DefaultRows    = 40
)

// ErrUnsupported is returned by Open on a platform without pseudo-terminals.
var ErrUnsupported = errors.New("pseudo-terminals are not supported on this platform; run the program without one")

// Terminal is an open pseudo-terminal. The caller owns the files and closes each.
type Terminal struct {
	// Master is our end: it reads the program's output and writes its input. After the program and all holders of its
	// end are gone a read fails with EIO on Linux; it means the end.
	Master *os.File
	// Keys is a second handle of the same end, whose writes do not wait for those of Master.
	Keys *os.File
	// Slave is the end of the program: its standard input, output and error.
	Slave *os.File
}

func (t *Terminal) close() {
	for _, f := range []*os.File{t.Master, t.Keys, t.Slave} {
		if f != nil {
			_ = f.Close()
		}
	}
}
