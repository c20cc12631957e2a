package process

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/transport/process/role"
)

const (
	// watcherArg does not contain the program's name, so that the watcher survives a kill by that name and can clean
	// up.
	watcherArg = "agent-watcher"
	// watcherWrite bounds the transfer of a run: a watcher that does not read is replaced.
	watcherWrite = 200 * time.Millisecond
	// watcherLives bounds how often a watcher that ends is replaced: if none survives, another one does not help.
	watcherLives = 10
	// watcherDelay is how long a run lasts before it gets a watcher: a short one ends sooner, and starts faster
	// without.
	watcherDelay = 100 * time.Millisecond
	// keeperPatience is how long the keepers of a dead host may take to finish.
	keeperPatience = 300 * time.Millisecond
)

// watcher is the host's end of a second process that watches host and keepers: when the host is gone and its keepers
// are gone too or stopped, it ends their processes and removes private files. There is one for all runs of a host,
// and none without runs.
type watcher struct {
	mu   sync.Mutex
	runs map[string]watched
	proc *os.Process
	ctl  *os.File
	soon *time.Timer // starts it
	lost int         // watchers that were killed
}

// watched is one process tree and its folders.
type watched struct {
	mark    string
	scratch []string
}

var hostWatcher watcher

// add adds a process tree to the watched ones. A failure does not prevent the run: the keeper is the first to end it.
func (w *watcher) add(one watched) (id string) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	id = hex.EncodeToString(b[:])
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[string]watched{}
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
	if len(w.runs[id].scratch) == 0 {
		w.drop(id)
	}
}

// removed removes a deleted folder from the watched ones.
func (w *watcher) removed(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, one := range w.runs {
		if slices.Contains(one.scratch, dir) {
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
		_ = w.send(id, watched{}) // at worst it looks for a tree that is gone
	}
}

func (w *watcher) start() (ok bool) {
	proc, ctl, err := role.Start(watcherArg, "/")
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
func (w *watcher) send(id string, one watched) error {
	_ = w.ctl.SetWriteDeadline(time.Now().Add(watcherWrite))
	_, err := w.ctl.Write(encodeOrder(order{path: id, mark: one.mark, scratch: one.scratch}))
	return err
}

// runWatcher is the watcher process.
func runWatcher() {
	syscall.CloseOnExec(controlFD)
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP)
	runs := map[string]watched{}
	for {
		o, ok := receiveOrder()
		if !ok {
			break
		}
		if len(runs) == 0 {
			writeSmall("/proc/self/comm", watcherArg) // from now on it has something to watch
		}
		if o.mark == "" {
			delete(runs, o.path)
		} else {
			runs[o.path] = watched{o.mark, o.scratch}
		}
	}
	var work sync.WaitGroup
	for _, one := range runs {
		work.Go(func() { one.end() })
	}
	work.Wait()
	os.Exit(0)
}

// end waits for the keeper to end the tree, and ends it itself after keeperPatience.
func (one watched) end() {
	t := newTreeOf(one.mark, 0, 0)
	for deadline := time.Now().Add(keeperPatience); time.Now().Before(deadline) && len(t.find()) > 0; {
		time.Sleep(30 * time.Millisecond)
	}
	_, _ = t.kill(defaultKillLimit)
	ownGroup(one.mark).removeSoon()
	removeAll(one.scratch)
}

// RemoveScratch removes a folder that was in Spec.Scratch.
func RemoveScratch(dir string) error {
	err := os.RemoveAll(dir)
	hostWatcher.removed(dir)
	return err
}

// removeAll removes the folders of a run whose host is gone.
func removeAll(scratch []string) {
	for _, dir := range scratch {
		_ = os.RemoveAll(dir)
	}
}
