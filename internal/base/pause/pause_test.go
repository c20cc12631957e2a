package pause

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	for _, tc := range []struct {
		name     string
		wait     time.Duration
		deadline time.Duration
		took     time.Duration
		want     error
	}{
		{"all of it", time.Minute, time.Hour, time.Minute, nil},
		{"cut short", time.Hour, time.Minute, time.Minute, context.DeadlineExceeded},
		{"nothing to wait for", 0, time.Hour, 0, nil},
		{"less than nothing", -time.Second, time.Hour, 0, nil},
		{"over before", 0, 0, 0, context.DeadlineExceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.deadline)
				defer cancel()
				began := time.Now()
				if err := For(ctx, tc.wait); !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if took := time.Since(began); took != tc.took {
					t.Errorf("it took %s of this test's clock, want %s", took, tc.took)
				}
			})
		})
	}
}
