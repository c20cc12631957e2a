//go:build e2e && !linux

package e2e

import "errors"

// loopbackUp fails: only Linux has network namespaces.
func loopbackUp() error { return errors.ErrUnsupported }
