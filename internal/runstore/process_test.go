package runstore

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/pid"
)

// Another process records while this one lists, follows and waits.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	const pieces = 150
	dir := stateDir(t)
	id := newID()
	cmd := another(t, dir, "record", string(id), fmt.Sprint(pieces), "1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{})
	sawLive := false
	for deadline := time.Now().Add(20 * time.Second); !sawLive && time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		runs, err := s.List(Filter{Live: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			pid, alive := r.Process()
			sawLive = r.State == execution.OutcomeRunning && r.ID == id && pid == cmd.Process.Pid && alive
		}
	}
	if !sawLive {
		t.Error("the live run was not listed with its process")
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = in.Close() }) // while it is being followed
	got, errs := events(t, s, string(id), 0, true)
	if len(got) != pieces+5 || len(errs) > 0 {
		t.Errorf("followed %d events, %v", len(got), errs)
	}
	r, err := s.Wait(t.Context(), string(id))
	if err != nil || r.RunID != id || r.Text != "done" {
		t.Errorf("result %+v, %v", r, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	run, err := s.Get(string(id))
	if err != nil || run.State != execution.OutcomeCompleted || run.Live {
		t.Errorf("got %+v, %v", run, err)
	}
}

func TestManyProcessesWriteAtOnce(t *testing.T) {
	t.Parallel()
	const processes, runs = 4, 10
	dir := stateDir(t)
	var cmds []*exec.Cmd
	for range processes {
		cmd := another(t, dir, "many", fmt.Sprint(runs), "30")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	s := open(t, dir, Options{})
	for range 10 {
		if _, err := s.List(Filter{}); err != nil {
			t.Error(err)
		}
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	report, err := s.Cost(Filter{State: execution.OutcomeCompleted}, GroupNone)
	if err != nil || report.Total.Runs != processes*runs || report.Total.TotalUSD != processes*runs*0.25 {
		t.Errorf("got %+v, %v", report, err)
	}
}

// killed records a run in another process and kills that in the middle of it.
func killed(t *testing.T, dir string, pieces int) execution.RunID {
	t.Helper()
	id := newID()
	cmd := another(t, dir, "hang", string(id), fmt.Sprint(pieces))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, runsName, string(id), segmentName(1))
	_, err = bufio.NewReader(out).ReadString('\n')
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if b, _ := os.ReadFile(path); strings.Contains(string(b), fmt.Sprintf("piece %d;", pieces-1)) {
			break
		}
	}
	if e := cmd.Process.Kill(); e != nil || err != nil {
		t.Fatal(e, err)
	}
	_ = cmd.Wait()
	return id
}

func TestKilledWriter(t *testing.T) {
	t.Parallel()
	const pieces = 40
	dir := stateDir(t)
	s := open(t, dir, Options{})
	// A follower from before the kill learns of it.
	id := killed(t, dir, pieces)
	got, errs := events(t, s, string(id), 0, true)
	if len(got) != pieces+4 || len(errs) != 1 || !errors.Is(errs[0], ErrLost) {
		t.Errorf("followed %d events, %v", len(got), errs)
	}
	if got, errs := events(t, s, string(id), 0, false); len(got) != pieces+4 || len(errs) > 0 {
		t.Errorf("read %d events, %v", len(got), errs)
	}
	if _, err := s.Wait(t.Context(), string(id)); !errors.Is(err, ErrLost) {
		t.Errorf("wait: %v", err)
	}
	check := func(name string, r Run, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.State != execution.OutcomeLost || r.Live || r.SessionID != "s-"+string(id) || r.Model != "m1" || r.TurnCount != 1 || r.ExitReason != execution.ExitCrash || r.EndedAt.IsZero() {
			t.Errorf("%s: got %+v", name, r)
		}
		if r.Cost == nil || *r.Cost.TotalUSD != 0.125 || r.Cost.InputTokens != 100 {
			t.Errorf("%s: what was spent is not counted: %+v", name, r.Cost)
		}
		if _, alive := r.Process(); alive {
			t.Errorf("%s: its process is alive", name)
		}
	}
	r, err := s.Get(string(id))
	check("get", r, err)
	first := func(runs []Run, err error) (Run, error) {
		if len(runs) != 1 {
			return Run{}, fmt.Errorf("%d runs, %w", len(runs), err)
		}
		return runs[0], err
	}
	r, err = first(s.List(Filter{}))
	check("list", r, err)
	if runs, err := s.List(Filter{Live: true}); err != nil || len(runs) != 0 {
		t.Errorf("live runs: %v, %v", runs, err)
	}
	report, err := s.Reindex()
	if err != nil || report.Runs != 1 {
		t.Errorf("reindex: %+v, %v", report, err)
	}
	r, err = first(s.List(Filter{State: execution.OutcomeLost}))
	check("list after reindex", r, err)
}

// A follower that is there when the writer is killed reads to the last whole line and says what happened.
func TestFollowerSeesTheKill(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	id := newID()
	cmd := another(t, dir, "record", string(id), "100000", "1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{})
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, err := s.Get(string(id)); err == nil {
			break
		}
	}
	var n int
	var errs []error
	for e, err := range s.Events(t.Context(), string(id), 0, true) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if n++; e.Seq != uint64(n) {
			t.Fatalf("event %d has seq %d", n, e.Seq)
		}
		if n == 50 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
		}
	}
	if n < 50 || len(errs) != 1 || !errors.Is(errs[0], ErrLost) {
		t.Errorf("%d events, %v", n, errs)
	}
}

// rewriteMeta changes meta.json of a run without a result and lets go of its lock, unless asked to keep it.
func rewriteMeta(t *testing.T, w *Writer, change func(*process)) {
	t.Helper()
	m := w.meta
	change(&m.Process)
	if err := atomicfile.Write(filepath.Join(w.dir, metaName), []byte(toJSON(t, m)), 0o600, false); err != nil {
		t.Fatal(err)
	}
}

func TestStaleRunning(t *testing.T) {
	t.Parallel()
	if self().Start == 0 {
		t.Skip("start times of processes are unknown here: the lock alone decides")
	}
	s := open(t, stateDir(t), Options{})
	for _, c := range []struct {
		name   string
		change func(*process)
		unlock bool
		want   execution.Outcome
	}{
		{"this process", func(*process) {}, true, execution.OutcomeRunning},
		{"pid reused", func(p *process) { p.Start++ }, false, execution.OutcomeLost},
		{"pid gone", func(p *process) { p.PID = 1 << 22 }, false, execution.OutcomeLost},
		{"earlier boot", func(p *process) { p.Boot = "earlier" }, true, execution.OutcomeLost},
		{"other boot, lock held", func(p *process) { p.Boot, p.Host = "other", "elsewhere" }, false, execution.OutcomeRunning},
		{"other boot, lock free", func(p *process) { p.Boot, p.Host = "other", "elsewhere" }, true, execution.OutcomeLost},
		{"other container, lock held", func(p *process) { p.Namespace = "other" }, false, execution.OutcomeRunning},
		{"other container, lock free", func(p *process) { p.Namespace = "other" }, true, execution.OutcomeLost},
	} {
		w := begin(t, s, Meta{})
		rewriteMeta(t, w, c.change)
		if c.unlock {
			w.release()
		}
		r, err := s.Get(string(w.meta.RunID))
		if err != nil || r.State != c.want || r.Live != (c.want == execution.OutcomeRunning) {
			t.Errorf("%s: got %s, %v, want %s", c.name, r.State, err, c.want)
		}
		if _, alive := r.Process(); alive && c.name != "this process" {
			t.Errorf("%s: the process may not be signalled, but is said to be alive", c.name)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if r, err := s.Get(string(w.meta.RunID)); err != nil || r.State != execution.OutcomeFailed {
			t.Errorf("%s: a result does not win: %s, %v", c.name, r.State, err)
		}
	}
	far := process{PID: 1, Host: "elsewhere", Boot: "other"}
	if !far.recording(t.TempDir()) {
		t.Error("a run of another machine is called lost although nothing is known of it")
	}
	far.Host = self().Host
	if far.recording(t.TempDir()) {
		t.Error("a run of this machine's earlier boot is called live")
	}
}

func TestCorpseIsNotAlive(t *testing.T) {
	t.Parallel()
	if self().Start == 0 {
		t.Skip("start times of processes are unknown here")
	}
	cmd := another(t, t.TempDir(), "exit")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child := cmd.Process.Pid
	gone := false
	for deadline := time.Now().Add(10 * time.Second); !gone && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		_, alive, err := pid.Start(child) // nobody has waited for it yet
		gone = !alive && err == nil
	}
	if !gone {
		t.Error("a process that ended and was not waited for is alive")
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
