//go:build !unix

package control

import "os"

// private cannot be told from the mode here: the profile directories of Windows are the user's own.
func private(os.FileInfo) bool { return true }
