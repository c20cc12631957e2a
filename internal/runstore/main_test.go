package runstore

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"go.uber.org/goleak"
)

const modeVariable = "RUNSTORE_TEST_MODE"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(modeVariable); mode {
	case "":
		goleak.VerifyTestMain(m)
	default:
		if err := actAs(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// actAs is the other process of the tests: it records runs.
//
//	record ID EVENTS DELAY  a run of that many text deltas, finished at the end of stdin
//	hang ID EVENTS          the same, then it waits to be killed
//	many COUNT EVENTS       that many runs at once, finished
func actAs(mode string) error {
	args := os.Args[1:]
	s, err := Open(os.Getenv("RUNSTORE_TEST_DIR"), Options{})
	if err != nil {
		return err
	}
	number := func(i int) int { n, _ := strconv.Atoi(args[i]); return n }
	switch mode {
	case "record", "hang":
		w, err := s.Begin(Meta{RunID: execution.RunID(args[0]), Agent: "fake", Cwd: "/work/there", Prompt: "do it"})
		if err != nil {
			return err
		}
		delay := time.Duration(0)
		if mode == "record" {
			delay = time.Duration(number(2)) * time.Millisecond
		}
		say(w, number(1), delay)
		if mode == "hang" {
			time.Sleep(2 * w.store.opts.FlushEvery)
			fmt.Println("written")
			time.Sleep(time.Hour)
		}
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
		w.Append(execution.Event{Time: time.Now(), Body: execution.Finished{Result: resultOf(0.5)}})
		if err := w.Finish(resultOf(0.5)); err != nil {
			return err
		}
	case "many":
		errs := make(chan error)
		for i := range number(0) {
			go func() {
				w, err := s.Begin(Meta{RunID: testID(time.Now(), os.Getpid()*1000+i), Agent: "fake"})
				if err == nil {
					say(w, number(1), 0)
					err = w.Finish(resultOf(0.25))
				}
				errs <- err
			}()
		}
		for range number(0) {
			if err := <-errs; err != nil {
				return err
			}
		}
	}
	return s.Close()
}

// say records a session and a message in pieces.
func say(w *Writer, pieces int, delay time.Duration) {
	now := time.Now
	w.Append(execution.Event{Time: now(), Body: execution.SessionStart{SessionID: "s-" + string(w.meta.RunID), Model: "m1"}})
	w.Append(execution.Event{Time: now(), Body: execution.TurnStart{}})
	w.Append(execution.Event{Time: now(), Body: execution.CostEvent{Cost: costOf(0.125)}})
	w.Append(execution.Event{Time: now(), Body: execution.MessageStart{}})
	var all strings.Builder
	for i := range pieces {
		piece := fmt.Sprintf("piece %d;", i)
		all.WriteString(piece)
		w.Append(execution.Event{Time: now(), Body: execution.TextDelta{Delta: piece, Accumulated: all.String()}})
		time.Sleep(delay)
	}
}

// another starts this test binary as another process in the given mode.
func another(t *testing.T, dir, mode string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), modeVariable+"="+mode, "RUNSTORE_TEST_DIR="+dir, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	t.Cleanup(func() { // a test that failed half-way leaves no process behind
		if cmd.Process != nil && cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

func costOf(usd float64) execution.Cost {
	return execution.CostOf(execution.Usage{Input: 100, Output: 20, Cached: 7}, &usd, execution.CostFromAgent)
}

func resultOf(usd float64) execution.Result {
	c := costOf(usd)
	now := time.Now().UTC()
	return execution.Result{SchemaVersion: execution.SchemaVersion, BackendID: "fake", Status: execution.StatusCompleted, ExitReason: execution.ExitCompleted,
		Text: "done", SessionID: "s1", Model: "m1", Cost: &c, DurationMs: 1234, TurnCount: 2,
		Trace: &execution.Trace{Summary: execution.TraceSummary{StartedAt: now, CompletedAt: now}}}
}

// testID makes a run id of a time and a number.
func testID(at time.Time, n int) execution.RunID {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var b [26]byte
	ms := uint64(at.UnixMilli())
	for i := 9; i >= 0; i-- {
		b[i] = digits[ms&31]
		ms >>= 5
	}
	v := uint64(n)
	for i := 25; i >= 10; i-- {
		b[i] = digits[v&31]
		v >>= 5
	}
	return execution.RunID(b[:])
}

var counter atomic.Int64

func newID() execution.RunID { return testID(time.Now(), int(counter.Add(1))) }

func open(t testing.TB, dir string, opts Options) *Store {
	t.Helper()
	s, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return s
}

// stateDir is a private state directory with a short path.
func stateDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "state")
}

func begin(t testing.TB, s *Store, m Meta) *Writer {
	t.Helper()
	if m.RunID == "" {
		m.RunID = newID()
	}
	if m.Agent == "" {
		m.Agent = "fake"
	}
	w, err := s.Begin(m)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// record makes a finished run.
func record(t testing.TB, s *Store, m Meta, r execution.Result) execution.RunID {
	t.Helper()
	w := begin(t, s, m)
	w.Append(execution.Event{Time: time.Now(), Body: execution.MessageStop{Text: "hello"}})
	w.Append(execution.Event{Time: time.Now(), Body: execution.Finished{Result: r}})
	if err := w.Finish(r); err != nil {
		t.Fatal(err)
	}
	return w.meta.RunID
}

func events(t testing.TB, s *Store, id string, after uint64, follow bool) ([]execution.Event, []error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out []execution.Event
	var errs []error
	for e, err := range s.Events(ctx, id, after, follow) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, e)
	}
	return out, errs
}

// written is everything in the files of a run, and of its row.
func written(t testing.TB, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
