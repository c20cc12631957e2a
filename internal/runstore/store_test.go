package runstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/google/go-cmp/cmp"
)

func TestOpenTouchesNothing(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	s := open(t, dir, Options{})
	if runs, err := s.List(Filter{}); err != nil || len(runs) != 0 {
		t.Errorf("list of nothing: %v, %v", runs, err)
	}
	if _, err := s.Get("01"); !errors.Is(err, ErrNotFound) {
		t.Errorf("get of nothing: %v", err)
	}
	if r, err := s.Cost(Filter{}, GroupDay); err != nil || r.Total.Runs != 0 {
		t.Errorf("cost of nothing: %v, %v", r, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made the directory: %v", err)
	}
	if _, err := Open("relative", Options{}); err == nil {
		t.Error("a relative directory was taken")
	}
}

// Starting a run must not open the database: it is slow, and the agent waits.
func TestBeginOpensNoDatabase(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	s := open(t, dir, Options{})
	w := begin(t, s, Meta{})
	if _, err := os.Stat(filepath.Join(dir, databaseName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("database after Begin: %v", err)
	}
	for _, name := range []string{metaName, segmentName(1)} {
		if _, err := os.Stat(filepath.Join(w.dir, name)); err != nil {
			t.Error(err)
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) { // the row follows by itself
		if _, err := os.Stat(filepath.Join(dir, databaseName)); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := os.Stat(filepath.Join(dir, databaseName)); err != nil {
		t.Error("no database in the background:", err)
	}
	if err := w.Finish(resultOf(1)); err != nil {
		t.Error(err)
	}
}

func TestRunIsTold(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	s := open(t, dir, Options{})
	at := time.Date(2026, 3, 4, 5, 6, 7, 8_000_000, time.UTC)
	id := newID()
	w := begin(t, s, Meta{RunID: id, Agent: "claude", Model: "m0", Cwd: "/work/x/", Prompt: strings.Repeat("ä", 300), Tags: []string{"b", "a"}, ProjectID: "p",
		StartedAt: at, Parent: testID(at, 1), Detached: true, ApprovalMode: execution.ApprovalDeny})
	pid, alive := w.Run().Process()
	if pid != os.Getpid() || !alive {
		t.Errorf("process of the live run: %d, %v", pid, alive)
	}
	live, err := s.Get(string(id))
	if err != nil {
		t.Fatal(err)
	}
	want := Run{ID: id, Agent: "claude", Model: "m0", ProjectID: "p", Parent: testID(at, 1), Cwd: "/work/x", Prompt: strings.Repeat("ä", 200), Tags: []string{"b", "a"},
		ApprovalMode: execution.ApprovalDeny, Detached: true, State: execution.OutcomeRunning, Live: true, StartedAt: at}
	if runtime.GOOS == "windows" {
		want.Cwd = filepath.Clean("/work/x")
	}
	ignore := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".dir" || p.Last().String() == ".process" }, cmp.Ignore())
	if d := cmp.Diff(want, live, ignore, cmp.AllowUnexported(Run{})); d != "" {
		t.Errorf("live run (-want +got):\n%s", d)
	}
	r := resultOf(0.5)
	r.Error = execution.NewResultError(execution.CodeTimeout, "too long")
	r.Status, r.ExitReason = execution.StatusFailed, execution.ExitByTimeout
	r.Events = []execution.Event{{Body: execution.MessageStop{Text: "must not be stored twice"}}}
	if err := w.Finish(r); err != nil {
		t.Fatal(err)
	}
	c := costOf(0.5)
	want.State, want.Live, want.Status, want.ExitReason, want.ErrorCode = execution.OutcomeTimedOut, false, execution.StatusFailed, execution.ExitByTimeout, execution.CodeTimeout
	want.Model, want.SessionID, want.DurationMs, want.TurnCount, want.Cost = "m1", "s1", 1234, 2, &c
	ignoreEnd := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".EndedAt" }, cmp.Comparer(func(a, b time.Time) bool {
		return time.Since(a) < time.Minute || time.Since(b) < time.Minute
	}))
	got, err := s.Get(string(id))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, ignore, ignoreEnd, cmp.AllowUnexported(Run{})); d != "" {
		t.Errorf("ended run, from its directory (-want +got):\n%s", d)
	}
	runs, err := s.List(Filter{})
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	if d := cmp.Diff(want, runs[0], ignore, ignoreEnd, cmp.AllowUnexported(Run{})); d != "" {
		t.Errorf("ended run, from its row (-want +got):\n%s", d)
	}
	result, err := s.Wait(t.Context(), string(id))
	if err != nil {
		t.Fatal(err)
	}
	r.Events, r.RunID, r.Agent = nil, id, "claude"
	if d := cmp.Diff(toJSON(t, r), toJSON(t, result)); d != "" {
		t.Errorf("result (-want +got):\n%s", d)
	}
	if strings.Contains(written(t, dir), "must not be stored twice") {
		t.Error("result.json repeats the events")
	}
	if err := w.Finish(resultOf(9)); err != nil {
		t.Error("second Finish:", err)
	}
	if again, _ := s.Get(string(id)); again.Cost == nil || *again.Cost.TotalUSD != 0.5 {
		t.Error("a second Finish changed the record")
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes are not those of unix")
	}
	dir := stateDir(t)
	s := open(t, dir, Options{})
	record(t, s, Meta{}, resultOf(1))
	w := begin(t, s, Meta{})
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %v, want %v", path, got, want)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestBeginRefuses(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	s := open(t, dir, Options{})
	id := newID()
	w := begin(t, s, Meta{RunID: id})
	for _, c := range []struct {
		name string
		meta Meta
		want error
	}{
		{"no id", Meta{Agent: "a"}, ErrBadID},
		{"path", Meta{RunID: "../../../../../../victim000", Agent: "a"}, ErrBadID},
		{"no agent", Meta{RunID: newID()}, nil},
		{"exists", Meta{RunID: id, Agent: "a"}, ErrExists},
	} {
		w, err := s.Begin(c.meta)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if w != nil {
			t.Errorf("%s: got a writer", c.name)
		}
		if err != nil && strings.Contains(err.Error(), "make room") {
			t.Errorf("%s: room would not help: %v", c.name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, metaName)); err != nil {
		t.Error("the refused second run damaged the first:", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestNilWriter(t *testing.T) {
	t.Parallel()
	var w *Writer
	w.Append(execution.Event{Body: execution.Aborted{}})
	if err := errors.Join(w.Finish(resultOf(1)), w.Close()); err != nil {
		t.Error(err)
	}
	if w.Run().ID != "" {
		t.Error("the nil writer has a run")
	}
}

func TestCloseEndsWhatNobodyEnded(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := begin(t, s, Meta{})
	w.Append(execution.Event{Time: time.Now(), Body: execution.SessionStart{SessionID: "s9"}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error("second close:", err)
	}
	if _, err := s.Begin(Meta{RunID: newID(), Agent: "a"}); !errors.Is(err, ErrClosed) {
		t.Errorf("begin after close: %v", err)
	}
	if _, err := s.List(Filter{}); !errors.Is(err, ErrClosed) {
		t.Errorf("list after close: %v", err)
	}
	w.Append(execution.Event{Body: execution.Aborted{}})
	got, err := open(t, dir, Options{}).Get(string(w.meta.RunID))
	if err != nil || got.State != execution.OutcomeFailed || got.ErrorCode != execution.CodeInternal || got.SessionID != "s9" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestManyRunsInOneProcess(t *testing.T) {
	t.Parallel()
	const runs, pieces = 200, 100
	dir := stateDir(t)
	s := open(t, dir, Options{})
	ids := make([]execution.RunID, runs)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			ids[i] = newID()
			w, err := s.Begin(Meta{RunID: ids[i], Agent: "fake"})
			if err != nil {
				t.Error(err)
				return
			}
			say(w, pieces, 0)
			w.Append(execution.Event{Time: time.Now(), Body: execution.Finished{Result: resultOf(0.25)}})
			if err := w.Finish(resultOf(0.25)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if got, errs := events(t, s, string(id), 0, true); len(got) != pieces+5 || len(errs) > 0 {
			t.Errorf("run %s: %d events, %v", id, len(got), errs)
		}
	}
	report, err := s.Cost(Filter{}, GroupNone)
	if err != nil || report.Total.Runs != runs || report.Total.TotalUSD != runs*0.25 {
		t.Errorf("got %+v, %v", report, err)
	}
}

func TestControlPath(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the paths of this table are those of unix")
	}
	long := "/" + strings.Repeat("d", 120)
	for _, c := range []struct{ name, dir, temp, prefix string }{
		{"short", "/state/runs/01", "/tmp", "/state/runs/01/control.sock"},
		{"long", long, "/tmp", "/tmp/drawbar-7/"},
		{"long temporary directory", long, long, "/tmp/drawbar-7/"},
	} {
		got := controlPath(c.dir, c.temp, 7, "linux")
		if !strings.HasPrefix(got, c.prefix) || len(got) > socketLimit {
			t.Errorf("%s: got %s", c.name, got)
		}
	}
	if controlPath(long, "/tmp", 7, "linux") == controlPath(long+"x", "/tmp", 7, "linux") {
		t.Error("two runs share a socket")
	}
}

func TestWaitIsCancelled(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{})
	w := begin(t, s, Meta{})
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(30*time.Millisecond, func() { cancel(cause) })
	if _, err := s.Wait(ctx, string(w.meta.RunID)); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("wait: got %v", err)
	}
	_, errs := func() (n int, errs []error) {
		for _, err := range s.Events(ctx, string(w.meta.RunID), 0, true) {
			errs = append(errs, err)
		}
		return
	}()
	if len(errs) != 1 || !errors.Is(errs[0], cause) {
		t.Errorf("events: got %v", errs)
	}
	go func() { time.Sleep(30 * time.Millisecond); _ = w.Finish(resultOf(1)) }()
	if r, err := s.Wait(t.Context(), string(w.meta.RunID)); err != nil || r.Text != "done" {
		t.Errorf("wait for the end: %v, %v", r, err)
	}
}

// TestShort: a short id finds its run, also among runs of the same moment.
func TestShort(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), Options{})
	ids := []execution.RunID{"01K9Z3AAAAAAAAAAAAAAAAAAA0", "01K9Z3BBBBBBBBBBBBBBBBBBB0", "01K9Z3BBBBBC00000000000000"}
	for _, id := range ids {
		w, err := s.Begin(Meta{RunID: id, Agent: "x", Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
	}
	short, err := s.Short()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"01K9Z3AA", "01K9Z3BBBBBB", "01K9Z3BBBBBC"} {
		got := short(ids[i])
		if r, err := s.Get(got); got != want || err != nil || r.ID != ids[i] {
			t.Errorf("%s: %s, which finds %s: %v", ids[i], got, r.ID, err)
		}
	}
}
