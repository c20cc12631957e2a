//go:build !unix

package adaptertest

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
