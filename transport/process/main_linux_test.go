package process

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/internal/base/testenv"
)

// The first goroutine stays on the first thread, for the fake that ends it.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	MaybeKeeper()
	if name := os.Getenv(fakeEnv); name != "" {
		fake, ok := fakes[name]
		if !ok {
			os.Exit(99)
		}
		fake(os.Args[1:])
		os.Exit(0)
	}
	testenv.Setup(6)
	goleak.VerifyTestMain(m)
}

const fakeEnv = "DRAWBAR_TEST_FAKE"

// fake is a Spec that runs the test binary as the named fake.
func fake(t testing.TB, name string, args ...string) Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Path: self, Args: args, Dir: t.TempDir(), Env: fakeEnviron(name)}
}

func fakeEnviron(name string) []string {
	return []string{fakeEnv + "=" + name, "GORACE=atexit_sleep_ms=0", "HOME=/nonexistent"}
}

// start starts s and makes sure that nothing is left when the test ends, whatever it did.
func start(t testing.TB, s Spec) *Process {
	t.Helper()
	p, err := Start(context.Background(), s)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		p.Stop(-1)
		p.Wait()
	})
	return p
}

// unread holds the lines behind the one that first was looking for.
var unread sync.Map // *Process to []textLine

type textLine struct {
	stream Stream
	text   string
}

func takeUnread(p *Process) []textLine {
	v, _ := unread.LoadAndDelete(p)
	lines, _ := v.([]textLine)
	return lines
}

func batch(ctx context.Context, p *Process) ([]textLine, error) {
	if lines := takeUnread(p); len(lines) > 0 {
		return lines, nil
	}
	lines, err := p.Next(ctx)
	out := make([]textLine, len(lines))
	for i, l := range lines {
		out[i] = textLine{l.Stream, string(l.Data)}
	}
	return out, err
}

// all reads to the end and returns the lines of each stream.
func all(t testing.TB, p *Process) (out, errs []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		lines, err := batch(ctx, p)
		for _, l := range lines {
			if l.stream == Stderr {
				errs = append(errs, l.text)
			} else {
				out = append(out, l.text)
			}
		}
		if errors.Is(err, io.EOF) {
			return out, errs
		}
		if err != nil {
			t.Errorf("next: %v", err)
			return out, errs
		}
	}
}

// first reads until a line with the given beginning and returns the rest of that line.
func first(t testing.TB, p *Process, prefix string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		lines, err := batch(ctx, p)
		if err != nil {
			t.Fatalf("wait for the line %q: %v", prefix, err)
		}
		for i, l := range lines {
			if rest, ok := strings.CutPrefix(l.text, prefix); ok {
				unread.Store(p, lines[i+1:])
				return rest
			}
		}
	}
}
