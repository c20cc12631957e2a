package runstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

const (
	pollEvery  = 20 * time.Millisecond  // how often a follower looks for more
	checkEvery = 200 * time.Millisecond // how often it asks whether the writer still runs
)

// Events returns the recorded events of a run whose Seq is greater than after, without secrets, and with accumulated texts
// rebuilt. With follow it continues until the finished event; without, it ends with the last complete line written so far.
//
// A line that cannot be parsed yields an error that matches ErrBadLine, and the sequence continues. Any other error ends it: with
// follow, ErrLost if the writer's process is gone, ErrIncomplete if the run ended but its record stops earlier, or ctx's error with
// its cause. Each iteration reads from the start, independently.
func (s *Store) Events(ctx context.Context, idOrPrefix string, after uint64, follow bool) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		id, err := s.resolve(idOrPrefix)
		if err != nil {
			yield(execution.Event{}, err)
			return
		}
		f := follower{id: id, dir: s.runDir(id), tail: newTail(s.runDir(id)), texts: &deltas.Accumulator{}}
		f.ended = f.look
		defer f.tail.close()
		f.read(ctx, after, follow, yield)
	}
}

// Tail reads the events of one run while they are written, without waiting and without accumulated texts. It is not safe for
// concurrent use.
type Tail struct{ f follower }

// Tail begins with the first event. The caller closes it.
func (s *Store) Tail(run Run) *Tail {
	return &Tail{follower{id: run.ID, dir: run.dir, tail: newTail(run.dir)}}
}

// Next returns the next event; ok is false if there is none yet. An error that matches ErrBadLine is about one line: the next call
// continues after it.
func (t *Tail) Next() (e execution.Event, ok bool, err error) {
	if t.f.tail.idle() {
		return e, false, nil
	}
	line, err := t.f.tail.next()
	if line == nil || err != nil {
		t.f.tail.lines.release() // many are open at once, and few have news
		return e, false, err
	}
	t.f.lines++
	e, err = t.f.event(line)
	return e, err == nil, err
}

// Close ends reading.
func (t *Tail) Close() { t.f.tail.close() }

type follower struct {
	id    execution.RunID
	dir   string
	tail  *tail
	texts *deltas.Accumulator // nil if they are not needed
	lines int
	asked time.Time // when the writer was last checked
	over  error     // why no more lines will come
	ended func() error
}

func (f *follower) read(ctx context.Context, after uint64, follow bool, yield func(execution.Event, error) bool) {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	for {
		if f.lines%256 == 0 && ctx.Err() != nil {
			yield(execution.Event{}, cancelled(ctx))
			return
		}
		line, err := f.tail.next()
		if err != nil {
			yield(execution.Event{}, fmt.Errorf("run %s: %w", f.id, err))
			return
		}
		if line != nil {
			f.lines++
			e, err := f.event(line)
			if err != nil && !yield(execution.Event{}, err) {
				return
			}
			if err == nil && (e.Seq > after && !yield(e, nil) || e.Terminal()) {
				return
			}
			continue
		}
		if !follow {
			return
		}
		// The end of writing was noticed before the last read of the file, so nothing is missed.
		if f.over != nil {
			yield(execution.Event{}, f.over)
			return
		}
		if f.over = f.ended(); f.over != nil {
			continue
		}
		timer.Reset(pollEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			yield(execution.Event{}, cancelled(ctx))
			return
		}
	}
}

func (f *follower) event(line []byte) (execution.Event, error) {
	var e execution.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("run %s: %w: line %d of %s or before: %v", f.id, ErrBadLine, f.lines, segmentName(f.tail.segment), err)
	}
	if f.texts == nil {
		return e, nil
	}
	return f.texts.Rebuild(e), nil
}

// look returns why no more lines will come, nil while more may come.
func (f *follower) look() error {
	if exists(filepath.Join(f.dir, resultName)) {
		return fmt.Errorf("run %s: %w: it has a result, but its events stop before the last", f.id, ErrIncomplete)
	}
	if time.Since(f.asked) < checkEvery {
		return nil
	}
	f.asked = time.Now()
	m, err := readMeta(f.dir)
	if err != nil {
		return fmt.Errorf("run %s: %w", f.id, err)
	}
	if m.Process.recording(f.dir) {
		return nil
	}
	if exists(filepath.Join(f.dir, resultName)) {
		return nil // just written; the next call reports it
	}
	return lostError(f.id, m)
}

func lostError(id execution.RunID, m metaFile) error {
	return fmt.Errorf("run %s %w: process %d, which recorded it, is gone and left no result", id, ErrLost, m.Process.PID)
}

func cancelled(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))
}

// Wait waits for the end of a run and returns its result. For a lost run the error is ErrLost.
func (s *Store) Wait(ctx context.Context, idOrPrefix string) (execution.Result, error) {
	id, err := s.resolve(idOrPrefix)
	if err != nil {
		return execution.Result{}, err
	}
	dir := s.runDir(id)
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	var asked time.Time
	for gone := false; ; {
		r, err := readResult(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
		m, err := readMeta(dir)
		if err != nil {
			return execution.Result{}, fmt.Errorf("wait for run %s: %w", id, err)
		}
		if gone {
			return execution.Result{}, lostError(id, m)
		}
		if time.Since(asked) >= checkEvery {
			asked = time.Now()
			if gone = !m.Process.recording(dir); gone {
				continue // the result may have been written between the two checks
			}
		}
		timer.Reset(pollEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return execution.Result{}, cancelled(ctx)
		}
	}
}

func readResult(dir string) (execution.Result, error) {
	path := filepath.Join(dir, resultName)
	b, err := atomicfile.Read(path)
	if err != nil {
		return execution.Result{}, err
	}
	var r execution.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return execution.Result{}, fmt.Errorf("read %s: %w", path, err)
	}
	if err := execution.CheckSchemaVersion(r.SchemaVersion); err != nil {
		return execution.Result{}, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}
