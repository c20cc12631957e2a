package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

func detachedAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// askToEnd ends the process: Windows cannot ask one without a console.
func askToEnd(p *os.Process) error { return p.Kill() }
