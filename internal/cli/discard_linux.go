package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped drops what the terminal holds and nobody has read. Where it fails the line stays, as it does without a terminal.
func discardTyped(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
