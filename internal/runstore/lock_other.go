//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package runstore

import (
	"errors"
	"os"
)

func tryLock(*os.File, bool) error { return errors.ErrUnsupported }
