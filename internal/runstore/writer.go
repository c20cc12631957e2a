package runstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

const (
	// queueLimit is the maximum number of events waiting to be written. Beyond it, Append waits for at most stallLimit once; after
	// that, events are dropped and counted in a gap event until there is room again.
	queueLimit = 1 << 16
	stallLimit = time.Second
	// urgent is the number of waiting events that are written immediately.
	urgent = 512
)

// Writer records one run. It is safe for concurrent use; events are recorded in the order of the calls. A nil Writer records
// nothing.
type Writer struct {
	store *Store
	dir   string
	lock  *os.File

	wake, space chan struct{} // one token each: events are waiting; there is room
	stop        chan struct{} // closed after the last event
	done        chan struct{} // closed when the goroutine has ended

	finish sync.Once
	result error // of Finish

	mu       sync.Mutex
	meta     metaFile
	queue    []execution.Event
	seq      uint64 // of the last event taken
	stopped  bool
	stalled  bool
	gap      execution.Gap
	dropped  uint64
	failure  error // the first
	failedAt uint64

	// of the goroutine
	reserved bool
	segment  segment
	slimmer  deltas.Slimmer
	text     []byte            // the memory of the last line
	spare    []execution.Event // the memory of the last batch
	written  uint64            // the last event that was given to the file system
}

// create creates the run's directory and its first files.
func (w *Writer) create() (err error) {
	err = os.Mkdir(w.dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err = w.store.mkdirs(); err == nil {
			err = os.Mkdir(w.dir, 0o700)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s", ErrExists, w.dir)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.discard()
		}
	}()
	w.segment = segment{dir: w.dir, limit: w.store.opts.SegmentBytes}
	if err = w.segment.open(1); err != nil {
		return err
	}
	// Without locks only readers on other machines are affected; see process.recording.
	if w.lock, err = acquire(filepath.Join(w.dir, lockName), 0); err != nil && !isNoLock(err) {
		return err
	}
	return w.writeMeta(w.meta)
}

// discard removes the files that create created.
func (w *Writer) discard() {
	w.release()
	_ = w.segment.close(false)
	_ = os.RemoveAll(w.dir)
}

// isNoLock reports an error of the lock itself, not of its file.
func isNoLock(err error) bool {
	var p *fs.PathError
	return !errors.As(err, &p)
}

func (w *Writer) writeMeta(m metaFile) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(w.dir, metaName), append(b, '\n'), 0o600, false)
}

func (w *Writer) release() {
	if w.lock != nil {
		_ = w.lock.Close()
		w.lock = nil
	}
}

// Append records an event. It usually returns immediately; with 65,536 unwritten events it waits for up to a second, once. An event
// without Seq gets the next number. After Finish it does nothing. Finish reports errors.
func (w *Writer) Append(e execution.Event) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if e.Seq == 0 {
		e.Seq = w.seq + 1
	}
	w.seq = e.Seq
	if w.failure != nil {
		return
	}
	if len(w.queue) >= queueLimit && !w.stalled {
		w.waitForRoom()
		if w.stopped {
			return
		}
	}
	if len(w.queue) >= queueLimit {
		w.stalled = true
		if w.gap.Count == 0 {
			w.gap.From = e.Seq
		}
		w.gap.Count, w.gap.To = w.gap.Count+1, e.Seq
		w.dropped++
		return
	}
	w.closeGap(e)
	w.queue = append(w.queue, e)
	if n := len(w.queue); n <= 2 || n == urgent {
		poke(w.wake)
	}
}

// closeGap queues a gap event for dropped events. The caller holds w.mu.
func (w *Writer) closeGap(next execution.Event) {
	w.stalled = false
	if w.gap.Count == 0 {
		return
	}
	w.queue = append(w.queue, execution.Event{Seq: w.gap.To, Time: next.Time, Turn: next.Turn, RunID: w.meta.RunID, Agent: w.meta.Agent, Body: w.gap})
	w.gap = execution.Gap{}
}

func (w *Writer) waitForRoom() {
	timer := time.NewTimer(stallLimit)
	defer timer.Stop()
	for len(w.queue) >= queueLimit && w.failure == nil && !w.stopped {
		w.mu.Unlock()
		select {
		case <-w.space:
			w.mu.Lock()
		case <-timer.C:
			w.mu.Lock()
			return
		}
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// loop writes queued events.
func (w *Writer) loop() {
	defer close(w.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-w.wake:
			w.gather(timer)
		case <-w.stop:
			w.write(w.take())
			return
		}
		w.write(w.take())
	}
}

// gather waits for more events, so that a stream of small events needs few writes.
func (w *Writer) gather(timer *time.Timer) {
	w.mu.Lock()
	n := len(w.queue)
	w.mu.Unlock()
	if n >= urgent {
		return
	}
	timer.Reset(w.store.opts.FlushEvery)
	select {
	case <-w.wake: // urgent
	case <-timer.C:
	case <-w.stop:
	}
}

func (w *Writer) take() []execution.Event {
	clear(w.spare)
	w.mu.Lock()
	batch := w.queue
	w.queue, w.spare = w.spare[:0], batch
	w.mu.Unlock()
	poke(w.space)
	return batch
}

// write appends a batch to the file.
func (w *Writer) write(batch []execution.Event) {
	if len(batch) == 0 || w.failed() {
		return
	}
	w.reserve()
	for _, e := range batch {
		if start, ok := e.Body.(execution.SessionStart); ok && e.Parent == "" {
			w.noteSession(start)
		}
		if f, ok := e.Body.(execution.Finished); ok {
			f.Result.Events = nil // recorded already
			e.Body = f
		}
		if err := w.segment.append(w.line(w.slimmer.Slim(e))); err != nil {
			w.fail(err)
			return
		}
	}
	if err := w.segment.flush(); err != nil {
		w.fail(err)
		return
	}
	w.written = batch[len(batch)-1].Seq
}

// line encodes an event, valid until the next call. An event that cannot be encoded is replaced with a debug event.
func (w *Writer) line(e execution.Event) []byte {
	b, err := e.AppendJSON(w.text[:0])
	if err != nil {
		kind := execution.EventType("empty")
		if e.Body != nil {
			kind = e.Body.Type()
		}
		e.Raw = nil
		e.Body = execution.Debug{Level: execution.DebugWarn, Message: fmt.Sprintf("a %s event could not be recorded: %v", kind, err)}
		if b, err = e.AppendJSON(b); err != nil {
			return nil
		}
	}
	b = append(b, '\n')
	if cap(b) <= segmentBuffer {
		w.text = b
	}
	return b
}

// noteSession writes the session to meta.json, so that the session of a lost run can be resumed.
func (w *Writer) noteSession(s execution.SessionStart) {
	w.mu.Lock()
	w.meta.SessionID = s.SessionID
	if s.Model != "" {
		w.meta.Model = s.Model
	}
	m := w.meta
	w.mu.Unlock()
	if err := w.writeMeta(m); err != nil {
		w.fail(err)
		return
	}
	if w.store.opts.LazyIndex == 0 {
		w.store.index.put(m.run(w.dir))
	}
}

func (w *Writer) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure != nil
}

func (w *Writer) fail(err error) {
	w.mu.Lock()
	first := w.failure == nil
	if first {
		w.failure, w.failedAt = err, w.written+1
	}
	w.mu.Unlock()
	if first {
		w.store.opts.Logger.Warn("the record of a run is incomplete", "run_id", w.meta.RunID, "error", err)
	}
	poke(w.space)
}

// Finish ends the record with the run's result. When it returns, the events, result.json, the row and the line of the run index are
// written. Result.Events are not stored again. It returns all errors of the record, the first of each kind. Further calls return
// the same error.
func (w *Writer) Finish(r execution.Result) error {
	if w == nil {
		return nil
	}
	w.finish.Do(func() { w.result = w.end(r) })
	return w.result
}

// Close ends the record of a run that was not finished, as a crash. After Finish it returns the error of Finish.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.finish.Do(func() {
		w.mu.Lock()
		m := w.meta
		w.mu.Unlock()
		started, now := time.UnixMilli(m.StartedAt).UTC(), time.Now().UTC()
		w.result = w.end(execution.Result{SchemaVersion: execution.SchemaVersion, BackendID: m.Agent, Status: execution.StatusFailed,
			ExitReason: execution.ExitCrash, Error: execution.NewResultError(execution.CodeInternal, "the run ended without reporting a result"),
			Model: m.Model, SessionID: m.SessionID, DurationMs: now.Sub(started).Milliseconds(), Tags: m.Tags,
			Trace: &execution.Trace{Summary: execution.TraceSummary{StartedAt: started, CompletedAt: now}}})
	})
	return w.result
}

func (w *Writer) end(r execution.Result) error {
	defer w.store.forget(w)
	ended := time.Now()
	// Short runs are not synced: repeating one is faster than syncing its record.
	durable := ended.Sub(time.UnixMilli(w.meta.StartedAt)) >= w.store.opts.LazyIndex
	if durable {
		var warm sync.WaitGroup
		defer warm.Wait()
		warm.Go(w.store.index.warm) // opens the database while the files are synced
	}
	w.mu.Lock()
	w.stopped = true
	w.closeGap(execution.Event{Time: time.Now()})
	w.mu.Unlock()
	close(w.stop)
	<-w.done

	var errs []error
	room := "make room in " + w.store.dir + " or set DRAWBAR_STATE_DIR"
	note := func(what string, err error, whole string) {
		if err == nil {
			return
		}
		hint := room
		if whole != "" && len(errs) == 0 {
			hint = whole
		}
		errs = append(errs, fmt.Errorf("record run %s: %s: %w; %s", w.meta.RunID, what, err, hint))
	}
	if err := w.Shortfall(); err != nil {
		errs = append(errs, err)
	}
	note("end of the events", w.segment.close(durable), "")
	r.Events = nil
	r.RunID, r.SchemaVersion = w.meta.RunID, execution.SchemaVersion
	if r.Agent == "" {
		r.Agent = w.meta.Agent
	}
	if len(errs) > 0 {
		r.Metadata = maps.Clone(r.Metadata)
		if r.Metadata == nil {
			r.Metadata = map[string]any{}
		}
		r.Metadata[Incomplete] = errors.Join(errs...).Error()
	}
	_ = os.Remove(filepath.Join(w.dir, reserveName))
	err := w.writeResult(r, durable)
	if err != nil {
		// The reserve has room for the most important fields.
		short := slimResult(r, errors.Join(append(errs[:len(errs):len(errs)], fmt.Errorf("the text and trace of the result: %w", err))...))
		if w.writeResult(short, durable) == nil {
			note("text of the result", err, "")
			err = nil
		}
	}
	note("result", err, "")
	run := w.meta.run(w.dir).ended(headOf(r), ended)
	w.release()
	if err == nil && durable {
		note("row", w.store.index.putAndWait(run), "the record itself is complete; the next drawbar ps writes its row")
	}
	note("run index", w.store.appendRunIndex(run), "the record itself is complete")
	return errors.Join(errs...)
}

// Incomplete is the key in a result's metadata for the errors of its record.
const Incomplete = "recordIncomplete"

const (
	reserveName  = "reserve"
	reserveBytes = 8 << 10
)

// reserve reserves disk space for the result before events use it: a full disk must not turn an ended run into a lost one. Without
// space, nothing is reserved.
func (w *Writer) reserve() {
	if !w.reserved {
		w.reserved = true
		_ = os.WriteFile(filepath.Join(w.dir, reserveName), make([]byte, reserveBytes), 0o600)
	}
}

// writeResult writes result.json.
func (w *Writer) writeResult(r execution.Result, durable bool) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(w.dir, resultName), append(b, '\n'), 0o600, durable)
}

// slimResult returns the essential part of a result, for a full disk.
func slimResult(r execution.Result, why error) execution.Result {
	if r.Error != nil {
		e := *r.Error
		e.Message, e.Metadata = e.Message[:min(len(e.Message), 1000)], nil
		r.Error = &e
	}
	return execution.Result{SchemaVersion: r.SchemaVersion, BackendID: r.BackendID, RunID: r.RunID, Agent: r.Agent, Model: r.Model, SessionID: r.SessionID,
		Status: r.Status, ExitReason: r.ExitReason, ExitCode: r.ExitCode, Signal: r.Signal, Error: r.Error, Cost: r.Cost, Usage: r.Usage, DurationMs: r.DurationMs,
		TurnCount: r.TurnCount, Metadata: map[string]any{Incomplete: why.Error()}}
}

// Shortfall returns an error about events that are missing in the record, nil if it is complete.
func (w *Writer) Shortfall() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	if w.failure != nil {
		errs = append(errs, fmt.Errorf("record run %s: events from %d to %d: %w; make room in %s or set DRAWBAR_STATE_DIR", w.meta.RunID, w.failedAt, w.seq, w.failure, w.store.dir))
	}
	if w.dropped > 0 {
		errs = append(errs, fmt.Errorf("record run %s: %d events were dropped because %s took them too slowly", w.meta.RunID, w.dropped, w.store.dir))
	}
	return errors.Join(errs...)
}

// Run returns the run as of its start, with its control path and process.
func (w *Writer) Run() Run {
	if w == nil {
		return Run{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.meta
	m.Tags = slices.Clone(m.Tags)
	return m.run(w.dir)
}
