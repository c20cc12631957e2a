package process

import (
	"context"
	"os"
	"testing"
	"time"
)

// TestLastOutput sees bytes of a line that has not ended.
func TestLastOutput(t *testing.T) {
	t.Parallel()
	p, err := Start(t.Context(), Spec{Path: "/bin/sh", Args: []string{"-c", "printf a; sleep 0.2; printf b >&2; sleep 0.2; echo"}, Env: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	if first := p.LastOutput(); !first.IsZero() && time.Since(first) > time.Minute {
		t.Errorf("output before the start: %v", first)
	}
	seen := map[time.Time]bool{}
	go func() {
		for {
			if _, err := p.Next(context.Background()); err != nil {
				return
			}
		}
	}()
	done := make(chan struct{})
	go func() { defer close(done); p.Wait() }()
	for {
		select {
		case <-done:
			seen[p.LastOutput()] = true
			delete(seen, time.Time{})
			if len(seen) < 3 {
				t.Errorf("%d times of output, want one for each of the three writes", len(seen))
			}
			return
		case <-time.After(5 * time.Millisecond):
			seen[p.LastOutput()] = true
		}
	}
}
