//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardTyped drops what the terminal holds and nobody has read. Where it fails the line stays, as it does without a terminal.
func discardTyped(f *os.File) {
	const input = 1 // FREAD of <sys/fcntl.h>
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, input)
}
