package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped discards unread input of the terminal, if that is possible.
func discardTyped(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
