package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// discardTyped drops what the console holds and nobody has read. Where it fails the line stays, as it does without a terminal.
func discardTyped(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
