//go:build unix

package process

import (
	"errors"
	"os"
	"testing"
	"time"
)

// TestLeftover: what lies in a pipe is there after the deadline, and nobody waits for more.
func TestLeftover(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.WriteString("ready\nmore"); err != nil {
		t.Fatal(err)
	}
	if err := r.SetDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 10)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d, %v", n, err)
	}
	for _, want := range []string{"ready\n", "more", ""} {
		limit := 6
		if got := string(leftover(r, limit)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
