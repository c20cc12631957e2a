package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAttached(t *testing.T) {
	t.Parallel()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if code, err := Attached(t.Context(), fake(t, "exit", "7"), null, null, null); code != 7 || err != nil {
		t.Errorf("got %d, %v; want 7", code, err)
	}
	var start *StartError
	if _, err := Attached(t.Context(), Spec{Path: filepath.Join(t.TempDir(), "missing")}, null, null, null); !errors.As(err, &start) {
		t.Errorf("got %v, want a StartError", err)
	}
	for _, name := range []string{"hang-silent", "stubborn"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		s := fake(t, name)
		s.Grace = 100 * time.Millisecond
		if _, err := Attached(ctx, s, null, null, null); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want the end of the context", name, err)
		}
		cancel()
	}
}
