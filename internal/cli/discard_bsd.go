//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped discards unread input of the terminal, if that is possible.
func discardTyped(f *os.File) {
	const input = 1 // FREAD of <sys/fcntl.h>
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, input)
}
