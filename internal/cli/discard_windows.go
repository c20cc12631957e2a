package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// discardTyped discards unread input of the console, if that is possible.
func discardTyped(f *os.File) { _ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) }
