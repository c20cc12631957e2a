package orchestrator

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
)

// progressFile holds the progress of a running turn for other processes. It is not part of the record.
func progressFile(root, turn string) string {
	return filepath.Join(root, filepath.FromSlash(protocol.Dir), "dispatch-progress-"+turn+".json")
}

// watch receives what a runtime reports and forwards it to the caller and to the progress file.
type watch struct {
	e *Local
	j *job

	mu      sync.Mutex
	live    govern.Live
	written time.Time
	later   *time.Timer
	closed  bool
}

var _ turnruntime.Watch = (*watch)(nil)

func (w *watch) turn() *protocol.Turn { return &w.j.dispatch.Turn }

// Attached records the worker's process.
func (w *watch) Attached(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn().WorkerPID, w.turn().WorkerAttachedAt = pid, w.e.now()
	w.live.PID = pid
	w.write(true)
}

// FirstOutput records the first sign of life.
func (w *watch) FirstOutput(stream string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn().FirstOutputAt, w.turn().FirstOutputStream = w.e.now(), stream
	w.live.FirstOutput, w.live.Stream = w.turn().FirstOutputAt, stream
	w.write(true)
}

// Progress forwards progress.
func (w *watch) Progress(p govern.Progress) {
	w.mu.Lock()
	entered := w.live.Stage != string(p.Stage)
	w.live.Stage, w.live.Worker, w.live.Lines, w.live.Doing, w.live.CostUSD, w.live.Tokens = string(p.Stage), p.Worker, p.Lines, p.Doing, p.CostUSD, p.Tokens
	w.live.StartedAt, w.live.LastSign, w.live.Deadline = protocol.At(p.Since), zero(p.LastSign), zero(p.Deadline)
	w.write(entered)
	w.mu.Unlock()
	w.e.note(govern.Notice{Kind: govern.NoticeProgress, TurnID: w.turn().TurnID, Role: w.j.dispatch.RoleID, Progress: &p})
}

func zero(t time.Time) protocol.Time {
	if t.IsZero() {
		return protocol.Time{}
	}
	return protocol.At(t)
}

// Event forwards an agent's event.
func (w *watch) Event(ev execution.Event) {
	w.e.note(govern.Notice{Kind: govern.NoticeEvent, TurnID: w.turn().TurnID, Role: w.j.dispatch.RoleID, Event: &ev})
}

// write writes the file at most once per second: a change that comes sooner is written when the second is over. The
// file is only informative, so errors are ignored. The caller holds the lock.
func (w *watch) write(now bool) {
	at := w.e.o.Now()
	if wait := time.Second - at.Sub(w.written); !now && wait > 0 {
		if w.later == nil {
			w.later = time.AfterFunc(wait, w.flush)
		}
		return
	}
	w.written = at
	w.live.TurnID, w.live.Role, w.live.UpdatedAt = w.turn().TurnID, w.j.dispatch.RoleID, protocol.At(at)
	if w.live.StartedAt.IsZero() {
		w.live.StartedAt = protocol.At(w.j.started)
	}
	b, err := protocol.MarshalFile(w.live)
	if err != nil {
		return
	}
	_ = atomicfile.Write(progressFile(w.e.root, w.turn().TurnID), b, 0o644, false)
}

// flush writes the delayed change.
func (w *watch) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.later = nil
	if !w.closed {
		w.write(true)
	}
}

func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.later != nil {
		w.later.Stop()
	}
	_ = os.Remove(progressFile(w.e.root, w.turn().TurnID))
}

// live reads the progress of a turn; nil if no process runs it.
func live(root, turn string) *govern.Live {
	b, err := os.ReadFile(progressFile(root, turn))
	if err != nil {
		return nil
	}
	var l govern.Live
	if json.Unmarshal(b, &l) != nil {
		return nil
	}
	return &l
}
