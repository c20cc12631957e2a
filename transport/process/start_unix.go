//go:build unix && !linux

package process

import "context"

func startChild(_ context.Context, l launch) (child, error) { return startDirect(l) }
