//go:build !unix

package cli

import (
	"errors"
	"os"

	"github.com/muesli/cancelreader"
)

// stopProcess does nothing: there is no such key on this system.
func stopProcess() {}

// stoppable fails: the console would have to leave the mode in which it edits lines.
func stoppable(*os.File) (cancelreader.CancelReader, error) { return nil, errors.ErrUnsupported }
