//go:build !linux && !darwin && !windows

package pid

import "errors"

// Start is unknown on this platform.
func Start(int) (start uint64, ok bool, err error) { return 0, false, errors.ErrUnsupported }
