package runstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockName is the file in a run's directory that the recording process locks: the first segment, which is never replaced.
const lockName = "events-0001.jsonl"

var errLocked = errors.New("locked by another process")

// acquire locks path exclusively, waiting at most patience. The lock ends when the returned file is closed or the process dies.
func acquire(path string, patience time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockWithin(f, patience); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Exclusively calls f while no other process, and no other goroutine, does so on the same record: what f reads of the record and what it
// begins there belong together. It waits for ten seconds at most.
func (s *Store) Exclusively(f func() error) error {
	if err := s.mkdirs(); err != nil {
		return err
	}
	lock, err := acquire(filepath.Join(s.dir, "budgets.lock"), 10*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // nothing was written to it
	return f()
}

func lockWithin(f *os.File, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		err := tryLock(f, true)
		if !errors.Is(err, errLocked) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is %w", f.Name(), errLocked)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// lockHeld reports whether another open file holds the exclusive lock on path. Readers do not block each other: they
// take a shared lock.
func lockHeld(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrPermission) {
		f, err = os.Open(path)
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	err = tryLock(f, false)
	if errors.Is(err, errLocked) {
		return true, nil
	}
	return false, err
}
