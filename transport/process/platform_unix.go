//go:build unix

package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

func absolute(path string) (string, error) { return filepath.Abs(path) }

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if err := unix.Access(dir, unix.X_OK); err != nil {
		return fmt.Errorf("enter %s: %w", dir, err)
	}
	return nil
}

// checkProgram returns the reason why path cannot be run, with its cause.
func checkProgram(path string) (reason, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return ErrNotFound, err
	case err != nil:
		return ErrNotExecutable, err
	case info.IsDir():
		return ErrNotExecutable, errors.New("it is a directory")
	}
	if err := unix.Access(path, unix.X_OK); err != nil {
		return ErrNotExecutable, fmt.Errorf("%w (chmod +x %s allows it)", err, path)
	}
	return nil, nil
}

// startReason explains the system's error when the program passed all checks before.
func startReason(err error) error {
	switch {
	case errors.Is(err, syscall.E2BIG):
		return ErrTooLong
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: a script has to begin with a line such as #!/bin/sh", ErrNotExecutable)
	case errors.Is(err, syscall.ENOENT): // the program itself existed a moment ago
		return fmt.Errorf("%w: the interpreter that its first line names is missing", ErrNotExecutable)
	case errors.Is(err, syscall.EACCES):
		return ErrNotExecutable
	}
	return nil
}

// readNow reads without waiting; open reports that there is neither data nor an end.
func readNow(fd uintptr, p []byte) (n int, open bool) {
	for {
		n, err := syscall.Read(int(fd), p)
		if !errors.Is(err, syscall.EINTR) {
			return max(n, 0), errors.Is(err, syscall.EAGAIN)
		}
	}
}

// endOfStream recognizes the end of a stream: a terminal whose other end is closed fails with EIO.
func endOfStream(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed)
}

func pauseSignal(on bool) os.Signal {
	if on {
		return syscall.SIGSTOP
	}
	return syscall.SIGCONT
}

// terminate asks the group to end. A paused group would not receive the signal, so it is resumed.
func terminate(c child) {
	_ = c.signal(syscall.SIGTERM)
	_ = c.signal(syscall.SIGCONT)
}

func exitStatus(ws syscall.WaitStatus) status {
	if ws.Signaled() {
		name := unix.SignalName(ws.Signal())
		if name == "" {
			name = fmt.Sprintf("signal %d", int(ws.Signal()))
		}
		return status{code: -1, signal: name}
	}
	return status{code: ws.ExitStatus()}
}
