package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// OwnGroup are the attributes of a child to which no signal goes that this process gets with its group.
func OwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// endHelper ends the program at once: Windows cannot ask one without a console.
func endHelper(p *os.Process, _ bool) { _ = p.Kill() }

func helperStatus(state *os.ProcessState) status { return status{code: state.ExitCode()} }
