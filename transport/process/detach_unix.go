//go:build unix

package process

import (
	"os"
	"syscall"
)

func detachedAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func askToEnd(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
