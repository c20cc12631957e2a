//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package pty

import (
	"fmt"
	"os"

	cpty "github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Open creates a pseudo-terminal of the given size. Its echo is off: input that a program writes must not return as
// output of the agent. Processes inherit the files only if they are passed explicitly.
func Open(columns, rows uint16) (*Terminal, error) {
	master, slave, err := cpty.Open()
	if err != nil {
		return nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	t := &Terminal{Slave: slave}
	err = cpty.Setsize(master, &cpty.Winsize{Rows: rows, Cols: columns})
	if err == nil {
		err = t.quiet()
	}
	// Setting the size made the opening handle blocking; ours have deadlines.
	if err == nil {
		t.Master, err = handle(master)
	}
	if err == nil {
		t.Keys, err = handle(master)
	}
	_ = master.Close()
	if err != nil {
		t.close()
		return nil, fmt.Errorf("set up a pseudo-terminal: %w", err)
	}
	return t, nil
}

func (t *Terminal) quiet() error {
	return control(t.Slave, func(fd int) error {
		mode, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return err
		}
		mode.Lflag &^= unix.ECHO | unix.ECHOE | unix.ECHOK | unix.ECHONL | unix.ECHOCTL
		return unix.IoctlSetTermios(fd, setTermios, mode)
	})
}

// handle duplicates f as a non-blocking file.
func handle(f *os.File) (*os.File, error) {
	var dup *os.File
	err := control(f, func(fd int) error {
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.SetNonblock(n, true); err != nil {
			_ = unix.Close(n)
			return err
		}
		dup = os.NewFile(uintptr(n), f.Name())
		return nil
	})
	return dup, err
}

// control calls f with the descriptor while the file is open.
func control(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}
