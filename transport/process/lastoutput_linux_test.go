package process

import (
	"context"
	"os"
	"testing"
	"time"
)

// LastOutput sees what comes in pieces and on either stream before a line is whole.
func TestLastOutput(t *testing.T) {
	t.Parallel()
	p, err := Start(t.Context(), Spec{Path: "/bin/sh", Args: []string{"-c", "printf a; read x; printf b >&2; read x; echo"}, KeepStdin: true,
		Env: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := p.Next(context.Background()); err != nil {
				return
			}
		}
	}()
	var last time.Time
	for i := range 3 {
		for deadline := time.Now().Add(20 * time.Second); !p.LastOutput().After(last); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("write %d of 3 is not seen", i+1)
			}
		}
		last = p.LastOutput()
		if err := p.Write([]byte("\n")); err != nil && i < 2 {
			t.Fatal(err)
		}
	}
	if age := time.Since(last); age > time.Minute {
		t.Errorf("the last output was %s ago", age)
	}
	p.CloseInput()
	p.Wait()
}
