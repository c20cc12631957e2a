// Package pause waits for a time that can be cut short.
package pause

import (
	"context"
	"time"
)

// For waits for d, which may be 0 or less. It returns the error of a context that ends before.
func For(ctx context.Context, d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	return ctx.Err()
}
