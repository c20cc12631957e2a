//go:build unix

package process

import (
	"os"
	"syscall"
)

// OwnGroup are the attributes of a child to which no signal goes that this process gets with its group.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func endHelper(p *os.Process, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, sig) // it may have ended already
}

func helperStatus(state *os.ProcessState) status {
	ws, _ := state.Sys().(syscall.WaitStatus)
	return exitStatus(ws)
}
