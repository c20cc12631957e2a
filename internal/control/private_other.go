//go:build !unix

package control

import "os"

// private cannot be determined from the mode here: the profile directories of Windows belong to the user.
func private(os.FileInfo) bool { return true }
