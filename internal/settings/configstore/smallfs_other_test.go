//go:build unix && !linux

package configstore

import "errors"

// mountSmall mounts a file system that is soon full.
func mountSmall(string) error { return errors.ErrUnsupported }
