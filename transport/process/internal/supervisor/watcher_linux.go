package supervisor

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/transport/process/role"
)

// keeperPatience is how long the keepers of a dead host may take to finish.
const keeperPatience = 300 * time.Millisecond

// Watched is one process tree and its folders.
type Watched struct {
	Mark    string
	Scratch []string
}

// runWatcher is the watcher process.
func runWatcher() {
	syscall.CloseOnExec(controlFD)
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP)
	runs := map[string]Watched{}
	for {
		o, ok := receiveOrder()
		if !ok {
			break
		}
		if len(runs) == 0 {
			writeSmall("/proc/self/comm", role.Watcher) // from now on it has something to watch
		}
		if o.Mark == "" {
			delete(runs, o.Path)
		} else {
			runs[o.Path] = Watched{o.Mark, o.Scratch}
		}
	}
	var work sync.WaitGroup
	for _, one := range runs {
		work.Go(func() { one.End() })
	}
	work.Wait()
	os.Exit(0)
}

// End waits for the keeper to end the tree, and ends it itself after keeperPatience.
func (one Watched) End() {
	t := Tree{Mark: one.Mark}
	for deadline := time.Now().Add(keeperPatience); time.Now().Before(deadline) && len(t.Find()) > 0; {
		time.Sleep(30 * time.Millisecond)
	}
	_, _ = t.Kill(KillLimit)
	OwnGroup(one.Mark).RemoveSoon()
	removeAll(one.Scratch)
}

// removeAll removes the folders of a run whose host is gone.
func removeAll(scratch []string) {
	for _, dir := range scratch {
		_ = os.RemoveAll(dir)
	}
}
