//go:build unix

package cli

import (
	"os"
	"syscall"

	"github.com/muesli/cancelreader"
)

// stopProcess stops this program and what runs with it in the foreground until the shell continues it.
func stopProcess() { _ = syscall.Kill(0, syscall.SIGTSTP) } // its own group exists

// stoppable reads a terminal until it is told to stop.
func stoppable(f *os.File) (cancelreader.CancelReader, error) { return cancelreader.NewReader(f) }
