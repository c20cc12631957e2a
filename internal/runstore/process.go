package runstore

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/drawbar/drawbar/internal/base/pid"
)

// process identifies the recording process, so that a reused PID is not mistaken for it.
type process struct {
	PID       int    `json:"pid"`
	Start     uint64 `json:"pidStart,omitempty"`     // in the platform's unit; 0 if unknown
	Boot      string `json:"boot,omitempty"`         // id of the machine's boot; Start is comparable only within it
	Namespace string `json:"pidNamespace,omitempty"` // PIDs are comparable only within it
	Host      string `json:"host,omitempty"`
}

var self = sync.OnceValue(func() process {
	p := process{PID: os.Getpid(), Boot: pid.Boot()}
	p.Namespace, _ = os.Readlink("/proc/self/ns/pid")
	p.Host, _ = os.Hostname()
	if p.Boot == "" {
		p.Boot = "host:" + p.Host
	}
	if start, ok, err := pid.Start(p.PID); err == nil && ok {
		p.Start = start
	}
	return p
})

// check reports whether the process runs, if its PID can show that.
func (p process) check() (alive, known bool) {
	me := self()
	if p.PID <= 0 || p.Start == 0 || p.Boot != me.Boot || p.Namespace != me.Namespace {
		return false, false
	}
	start, ok, err := pid.Start(p.PID)
	if err != nil {
		return false, false
	}
	return ok && start == p.Start, true
}

// recording reports whether the process that records the run in dir still exists. If its PID is not comparable (another container,
// another machine, an earlier boot), the lock in dir decides. If that cannot be tested either, a process of another machine is
// assumed to exist.
func (p process) recording(dir string) bool {
	if alive, known := p.check(); known {
		return alive
	}
	if held, err := lockHeld(filepath.Join(dir, lockName)); err == nil {
		return held
	}
	return p.Host != self().Host
}
