package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/sessions"
	"github.com/fsnotify/fsnotify"
)

// pollEvery is how often a watched file is checked without a notification: notifications do not work on network
// file systems, and may be lost.
const pollEvery = 250 * time.Millisecond

// maxPending limits an unfinished line.
const maxPending = 64 << 20

// Watch yields the events of a session from now on, numbered from 1. It ends when the agent's records end the
// session, its file is removed, or ctx is done; none of these is an error. An unfinished line is read when it
// is complete. If the file was truncated or replaced, the watch reports it and reads the file from the
// beginning, without repeating events.
func (s *Store) Watch(ctx context.Context, id string, o sessions.WatchOptions) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		r, err := s.find(ctx, id)
		if err != nil {
			yield(execution.Event{}, err)
			return
		}
		w := &watcher{host: s.opts.Host, row: r, yield: yield, quiet: o.Quiet}
		if err := w.run(ctx, o.Replay); err != nil && ctx.Err() == nil {
			yield(execution.Event{}, err)
		}
	}
}

// errEnough ends a watch without an error.
var errEnough = errors.New("the watch has ended")

type watcher struct {
	host     adapter.Host
	row      row
	yield    func(execution.Event, error) bool
	quiet    time.Duration
	follower adapter.SessionFollower
	silent   bool // what is read existed before
	seq      uint64

	name    string
	file    fs.File
	info    fs.FileInfo
	offset  int64
	pending []byte
}

func (w *watcher) run(ctx context.Context, replay bool) (err error) {
	if w.name, err = w.host.Name(w.row.Path); err != nil {
		return err
	}
	if err := w.reset(); err != nil {
		return err
	}
	defer func() {
		if w.file != nil {
			_ = w.file.Close()
		}
	}()
	w.silent = !replay
	changed, stop := notify(w.row.Path)
	defer stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		read, err := w.read(ctx)
		switch {
		case errors.Is(err, errEnough):
			return nil
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed: nothing left to watch
		case err != nil:
			return execution.Errorf(execution.CodeConfig, "watch %s: %w", w.row.Path, err)
		}
		w.silent = false
		if read {
			last = time.Now()
		} else if w.quiet > 0 && time.Since(last) >= w.quiet {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-tick.C:
		}
	}
}

// reset restarts at the file's first line.
func (w *watcher) reset() error {
	f, err := w.row.store.FollowSession(w.host, w.row.File)
	if err != nil {
		return err
	}
	w.follower, w.offset, w.pending = f, 0, nil
	if w.file != nil {
		_ = w.file.Close()
		w.file = nil
	}
	return nil
}

// read reads what was added to the file and reports whether there was anything.
func (w *watcher) read(ctx context.Context) (bool, error) {
	info, err := fs.Stat(w.host.FS, w.name)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, errors.New("it is no longer a regular file")
	}
	replaced := w.info != nil && !sameFile(w.info, info)
	if replaced || info.Size() < w.offset {
		what := "the session's file was truncated; it is read from the beginning"
		if replaced {
			what = "the session's file was replaced; the new one is read from the beginning"
		}
		if err := w.emit(execution.Event{Body: execution.Debug{Level: execution.DebugWarn, Message: what}}); err != nil {
			return false, err
		}
		if err := w.reset(); err != nil {
			return false, err
		}
		w.silent = true // its current content is the state, not news
	}
	w.info = info
	if info.Size() == w.offset {
		return false, nil
	}
	if w.file == nil {
		if w.file, err = w.host.FS.Open(w.name); err != nil {
			return false, err
		}
	}
	at, ok := w.file.(io.ReaderAt)
	if !ok {
		return false, errors.New("this file system cannot read from the middle of a file")
	}
	buf := make([]byte, 256<<10)
	for w.offset < info.Size() {
		if ctx.Err() != nil {
			return true, errEnough
		}
		n, err := at.ReadAt(buf[:min(int64(len(buf)), info.Size()-w.offset)], w.offset)
		w.offset += int64(n)
		if lineErr := w.lines(buf[:n]); lineErr != nil {
			return true, lineErr
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return true, err
		}
		if n == 0 {
			break
		}
	}
	return true, nil
}

// lines passes on the complete lines.
func (w *watcher) lines(data []byte) error {
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			if len(w.pending)+len(data) <= maxPending {
				w.pending = append(w.pending, data...)
			}
			return nil
		}
		line := data[:end]
		if len(w.pending) > 0 {
			line = append(w.pending, line...)
			w.pending = nil
		}
		data = data[end+1:]
		for _, e := range w.follower.Line(bytes.TrimRight(line, "\r")) {
			if err := w.emit(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// emit numbers and yields an event, unless it was there before.
func (w *watcher) emit(e execution.Event) error {
	_, ended := e.Body.(execution.SessionEnd)
	if w.silent {
		return nil // an ended session may have been resumed
	}
	w.seq++
	e.Seq, e.Time = w.seq, time.Now().UTC()
	if !w.yield(e, nil) || ended {
		return errEnough
	}
	return nil
}

// notify reports changes of a file if the system can; polling finds them anyway.
func notify(path string) (<-chan struct{}, func()) {
	changed := make(chan struct{}, 1)
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return changed, func() {}
	}
	if err := n.Add(path); err != nil {
		_ = n.Close()
		return changed, func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case _, ok := <-n.Events:
				if !ok {
					return
				}
				select {
				case changed <- struct{}{}:
				default:
				}
			case _, ok := <-n.Errors:
				if !ok {
					return
				}
			}
		}
	}()
	return changed, func() {
		_ = n.Close()
		<-done
	}
}
