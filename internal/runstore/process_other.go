//go:build !linux && !darwin && !windows

package runstore

import "errors"

// processStart is unknown on this platform: the lock in the run directory shows whether a run is alive.
func processStart(int) (start uint64, ok bool, err error) { return 0, false, errors.ErrUnsupported }

func pidNamespace() string { return "" }
