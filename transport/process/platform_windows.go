package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
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
	return nil
}

// checkProgram returns the reason why path cannot be run, with its cause.
func checkProgram(path string) (reason, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotFound, err
	case err != nil:
		return ErrNotExecutable, err
	case info.IsDir():
		return ErrNotExecutable, errors.New("it is a directory")
	}
	return nil, nil
}

func startReason(err error) error {
	switch {
	case errors.Is(err, windows.ERROR_FILENAME_EXCED_RANGE):
		return ErrTooLong
	case errors.Is(err, windows.ERROR_BAD_EXE_FORMAT), errors.Is(err, windows.ERROR_ACCESS_DENIED):
		return ErrNotExecutable
	}
	return nil
}

// readNow reads nothing: a pipe cannot be read without waiting here.
func readNow(uintptr, []byte) (int, bool) { return 0, true }

func endOfStream(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, windows.ERROR_BROKEN_PIPE)
}

func pauseSignal(bool) os.Signal { return nil }

// terminate sends CTRL_BREAK, the only polite request that a console program understands.
func terminate(c child) { _ = c.signal(os.Interrupt) }
