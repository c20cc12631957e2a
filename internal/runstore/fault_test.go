package runstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// faulty is a file whose writes fail, or hang, when told to.
type faulty struct {
	file
	room  *atomic.Int64  // bytes until the disk is full; nil for no limit
	stall *chan struct{} // writes wait for it
}

func (f faulty) Write(p []byte) (int, error) {
	if f.stall != nil {
		<-*f.stall
	}
	if f.room != nil && f.room.Add(-int64(len(p))) < 0 {
		n, _ := f.file.Write(p[:len(p)/2])
		return n, syscall.ENOSPC
	}
	return f.file.Write(p)
}

// beginFaulty begins a run whose segments are wrapped.
func beginFaulty(t *testing.T, s *Store, wrap func(file) file) *Writer {
	t.Helper()
	m := Meta{RunID: newID(), Agent: "fake", StartedAt: time.Now()}
	w := &Writer{store: s, meta: m.file(&secret.Redactor{}), dir: s.runDir(m.RunID), done: make(chan struct{}), wake: make(chan struct{}, 1), space: make(chan struct{}, 1), stop: make(chan struct{})}
	if err := w.create(); err != nil {
		t.Fatal(err)
	}
	w.segment.wrap = wrap
	w.segment.file = wrap(w.segment.file)
	s.mu.Lock()
	s.writers[w] = struct{}{}
	s.mu.Unlock()
	go w.loop()
	return w
}

// A full disk costs the record, not the run: Append goes on, Finish says what is missing, readers read what is there.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	log, text := logger()
	s := open(t, stateDir(t), Options{Logger: log, FlushEvery: time.Millisecond})
	var room atomic.Int64
	room.Store(1000)
	w := beginFaulty(t, s, func(f file) file { return faulty{file: f, room: &room} })
	for range 100 {
		w.Append(execution.Event{Time: time.Now(), Body: execution.MessageStop{Text: "some words"}})
		time.Sleep(200 * time.Microsecond)
	}
	if err := w.Shortfall(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("before the end: %v", err)
	}
	err := w.Finish(resultOf(1))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "to 100") || !strings.Contains(err.Error(), "make room in "+s.dir) {
		t.Errorf("finish: %v", err)
	}
	if strings.Count(err.Error(), "no space") != 1 {
		t.Errorf("the first error only: %v", err)
	}
	if n := strings.Count(text.String(), "incomplete"); n != 1 {
		t.Errorf("%d warnings: %s", n, text)
	}
	got, errs := events(t, s, string(w.meta.RunID), 0, false)
	if len(got) == 0 || len(got) >= 100 || len(errs) > 0 {
		t.Errorf("%d events, %v", len(got), errs)
	}
	for i, e := range got {
		if e.Seq != uint64(i+1) {
			t.Errorf("event %d has seq %d", i, e.Seq)
		}
	}
	if r, err := s.Get(string(w.meta.RunID)); err != nil || r.State != execution.OutcomeCompleted {
		t.Errorf("the run: %+v, %v", r, err)
	}
}

// A disk that hangs holds up the run once and for a second; what is dropped after that is counted where it is missing.
func TestHangingDisk(t *testing.T) {
	t.Parallel()
	const extra = 500
	s := open(t, stateDir(t), Options{})
	stall := make(chan struct{})
	w := beginFaulty(t, s, func(f file) file { return faulty{file: f, stall: &stall} })
	at := time.Now()
	add := func() { w.Append(execution.Event{Time: at, Body: execution.Resumed{}}) }
	add()
	for taken := false; !taken; time.Sleep(time.Millisecond) { // now the writer hangs with the first event
		w.mu.Lock()
		taken = len(w.queue) == 0
		w.mu.Unlock()
	}
	for range queueLimit {
		add()
	}
	start := time.Now()
	for range extra {
		add()
	}
	if took := time.Since(start); took < stallLimit || took > 3*stallLimit {
		t.Errorf("%d events on a hanging disk held the run for %v", extra, took)
	}
	close(stall)
	for full := true; full; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		full = len(w.queue) >= queueLimit
		w.mu.Unlock()
	}
	add()
	if err := w.Finish(resultOf(1)); err == nil || !strings.Contains(err.Error(), "500 events were dropped") {
		t.Errorf("finish: %v", err)
	}
	got, errs := events(t, s, string(w.meta.RunID), 0, false)
	if len(got) != queueLimit+3 || len(errs) > 0 {
		t.Fatalf("%d events, %v", len(got), errs)
	}
	gap := got[queueLimit+1]
	want := execution.Gap{Count: extra, From: queueLimit + 2, To: queueLimit + 1 + extra}
	if gap.Body != want || gap.Seq != want.To || got[queueLimit+2].Seq != want.To+1 {
		t.Errorf("got %+v, want %+v", gap, want)
	}
}

// A place that cannot be written is an error of Begin, with what to do, and a writer that does nothing.
func TestUnwritablePlace(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	if err := os.WriteFile(dir, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{})
	w, err := s.Begin(Meta{RunID: newID(), Agent: "a"})
	if err == nil || w != nil || !strings.Contains(err.Error(), "DRAWBAR_STATE_DIR") {
		t.Errorf("begin: %v, %v", w, err)
	}
	w.Append(execution.Event{Body: execution.Aborted{}})
	if err := w.Finish(resultOf(1)); err != nil {
		t.Error(err)
	}
}

// A directory that vanishes under the run is an error of Finish and no panic.
func TestDirectoryVanishes(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{SegmentBytes: 300})
	w := begin(t, s, Meta{})
	if err := os.RemoveAll(w.dir); err != nil {
		t.Skip("this system keeps a directory that is in use:", err)
	}
	for range 50 {
		w.Append(execution.Event{Time: time.Now(), Body: execution.SessionStart{SessionID: "s"}})
	}
	if err := w.Finish(resultOf(1)); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("finish: %v", err)
	}
	if _, err := s.Get(string(w.meta.RunID)); !errors.Is(err, ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, runsName)); err != nil {
		t.Error(err)
	}
}

// TestResultWithoutRoom: a run whose result cannot be written in full is not lost, and its record says what is missing.
func TestResultWithoutRoom(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	s := open(t, dir, Options{})
	w := begin(t, s, Meta{})
	w.Append(execution.Event{Body: execution.Resumed{}})
	for range 1000 { // until the writer has written
		if info, err := os.Stat(filepath.Join(w.dir, reserveName)); err == nil && info.Size() == reserveBytes {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if info, err := os.Stat(filepath.Join(w.dir, reserveName)); err != nil || info.Size() != reserveBytes {
		t.Errorf("no room is kept: %v", err)
	}
	r := resultOf(1)
	r.Metadata = map[string]any{"cannot": make(chan int)} // stands for the full disk
	r.Error = execution.NewResultError(execution.CodeAuth, strings.Repeat("long ", 10_000))
	err := w.Finish(r)
	if err == nil || !strings.Contains(err.Error(), "text of the result") || strings.Contains(err.Error(), "whole") {
		t.Errorf("told %v", err)
	}
	run, err := s.Get(string(w.meta.RunID))
	if err != nil || run.State == execution.OutcomeLost || run.Live || run.Cost == nil {
		t.Errorf("got %+v, %v", run, err)
	}
	b, err := os.ReadFile(filepath.Join(w.dir, resultName))
	if err != nil || len(b) > reserveBytes/2 || !strings.Contains(string(b), "recordIncomplete") {
		t.Errorf("%d bytes, %v: %.200s", len(b), err, b)
	}
	if _, err := os.Stat(filepath.Join(w.dir, reserveName)); err == nil {
		t.Error("the room is kept after the end")
	}
}
