package process

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/drawbar/drawbar/transport/process/internal/supervisor"
	"github.com/drawbar/drawbar/transport/process/role"
)

const (
	// watcherWrite bounds the transfer of a run: a watcher that does not read is replaced.
	watcherWrite = 200 * time.Millisecond
	// watcherLives bounds how often a watcher that ends is replaced: if none survives, another one does not help.
	watcherLives = 10
	// watcherDelay is how long a run lasts before it gets a watcher: a short one ends sooner, and starts faster
	// without.
	watcherDelay = 100 * time.Millisecond
)

// watcher is the host's end of a second process that watches host and keepers: when the host is gone and its keepers
// are gone too or stopped, it ends their processes and removes private files. There is one for all runs of a host,
// and none without runs.
type watcher struct {
	mu   sync.Mutex
	runs map[string]supervisor.Watched
	proc *os.Process
	ctl  *os.File
	soon *time.Timer // starts it
	lost int         // watchers that were killed
}

var hostWatcher watcher

// add adds a process tree to the watched ones. A failure does not prevent the run: the keeper is the first to end it.
func (w *watcher) add(one supervisor.Watched) (id string) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	id = hex.EncodeToString(b[:])
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[string]supervisor.Watched{}
	}
	w.runs[id] = one
	switch {
	case w.proc == nil && w.soon == nil:
		w.soon = time.AfterFunc(watcherDelay, w.begin)
	case w.proc != nil && w.send(id, one) != nil:
		w.restart()
	}
	return id
}

// begin starts the watcher of runs that have lasted.
func (w *watcher) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.soon = nil
	if w.proc == nil && len(w.runs) > 0 {
		w.restart()
	}
}

// restart starts a new watcher of everything. It is called with the lock held.
func (w *watcher) restart() {
	w.stop()
	if !w.start() {
		return
	}
	for id, one := range w.runs {
		if w.send(id, one) != nil {
			w.stop()
			return
		}
	}
}

// revive replaces a killed watcher, whose end of ctl closes then: it sends nothing else.
func (w *watcher) revive(ctl *os.File) {
	_, _ = ctl.Read(make([]byte, 1))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctl == ctl && w.lost < watcherLives {
		w.lost++
		w.restart()
	}
}

// ended removes a finished tree from the watched ones, unless its folders still exist: those are removed with the
// host as well.
func (w *watcher) ended(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.runs[id].Scratch) == 0 {
		w.drop(id)
	}
}

// removed removes a deleted folder from the watched ones.
func (w *watcher) removed(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, one := range w.runs {
		if slices.Contains(one.Scratch, dir) {
			w.drop(id)
		}
	}
}

// drop is called with the lock held.
func (w *watcher) drop(id string) {
	delete(w.runs, id)
	switch {
	case len(w.runs) == 0:
		w.stop()
	case w.proc != nil:
		_ = w.send(id, supervisor.Watched{}) // at worst it looks for a tree that is gone
	}
}

func (w *watcher) start() (ok bool) {
	proc, ctl, err := role.Start(role.Watcher, "/")
	if err != nil {
		return false
	}
	w.proc, w.ctl = proc, ctl
	go w.revive(ctl)
	return true
}

// stop ends the watcher before it sees the end of its socket, which would mean the end of the host.
func (w *watcher) stop() {
	if w.soon != nil && w.soon.Stop() {
		w.soon = nil
	}
	if w.proc == nil {
		return
	}
	_ = w.proc.Kill()
	_, _ = w.proc.Wait()
	_ = w.ctl.Close()
	w.proc, w.ctl = nil, nil
}

// send transfers one entry; an entry without a mark is removed.
func (w *watcher) send(id string, one supervisor.Watched) error {
	_ = w.ctl.SetWriteDeadline(time.Now().Add(watcherWrite))
	_, err := w.ctl.Write(supervisor.Order{Path: id, Mark: one.Mark, Scratch: one.Scratch}.Encode())
	return err
}

// RemoveScratch removes a folder that was in Spec.Scratch.
func RemoveScratch(dir string) error {
	err := os.RemoveAll(dir)
	hostWatcher.removed(dir)
	return err
}
