package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"
)

// ErrChanging reports a database that another program replaced during every attempt to read it.
var ErrChanging = errors.New("another program keeps changing it")

// Read calls f with a database of another program, which may be writing it. Nothing is written: no lock file, no
// journal, and no recovery of either. f may be called again with a new connection, and must keep nothing of an earlier
// call. busy is how long a statement waits for the other program.
func Read(ctx context.Context, path string, busy time.Duration, f func(context.Context, *sql.DB) error) error {
	for range 3 {
		before, err := inspect(path)
		if err != nil {
			return err
		}
		err = before.read(ctx, path, busy, f)
		if !before.still {
			return err
		}
		after, statErr := inspect(path)
		if statErr != nil {
			return statErr
		}
		if before.same(after) {
			return err
		}
	}
	return ErrChanging
}

// Busy reports whether another program has locked the database.
func Busy(err error) bool { return code(err) == busyCode || code(err) == lockedCode }

// state is what decides how a database can be read without changing anything around it.
type state struct {
	info  fs.FileInfo
	still bool        // nobody has it open, so nobody's locks need be observed
	log   fs.FileInfo // of a write-ahead log that is not empty, if it is still
	wal   bool        // a log and its index exist
}

func (s state) same(t state) bool {
	return t.still && same(s.info, t.info) && (s.log == t.log || s.log != nil && t.log != nil && same(s.log, t.log))
}

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// headerSize is the part of a database that tells its journal; the byte at walVersion is 2 with a write-ahead log.
const (
	headerSize = 20
	walVersion = 19
)

func inspect(path string) (s state, err error) {
	if s.info, err = os.Stat(path); err != nil {
		return s, err
	}
	if !s.info.Mode().IsRegular() {
		return s, errors.New("it is not a regular file") // opening a pipe would block
	}
	file, err := os.Open(path)
	if err != nil {
		return s, err
	}
	var header [headerSize]byte
	n, err := io.ReadFull(file, header[:])
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if n < headerSize || header[walVersion] != 2 {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil // SQLite judges it
		}
		return s, err
	}
	log, logErr := os.Stat(path + "-wal")
	_, indexErr := os.Stat(path + "-shm")
	switch {
	case logErr == nil && indexErr == nil:
		s.wal = true
	case logErr == nil && log.Size() > 0:
		// A program removes the index before the log when it ends, and may be killed between.
		s.still, s.log = true, log
	default:
		s.still = true
	}
	return s, nil
}

func (s state) read(ctx context.Context, path string, busy time.Duration, f func(context.Context, *sql.DB) error) error {
	dsn := fmt.Sprintf("mode=ro&_busy_timeout=%d", busy.Milliseconds())
	switch {
	case s.log != nil:
		// With that, SQLite keeps the index in memory. The caller makes sure that nobody wrote meanwhile.
		dsn += "&vfs=" + unlocked + "&_pragma=locking_mode(EXCLUSIVE)"
	case s.still:
		// SQLite would leave an empty log and its index behind. The caller makes sure that nobody wrote meanwhile.
		dsn += "&immutable=1"
	case s.wal:
		// The index of a program that was killed is rebuilt in memory instead of in the file.
		err := connectTo(ctx, path, dsn+"&readonly_shm=1", f)
		if code(err) != readOnlyCode {
			return err
		}
	}
	return connectTo(ctx, path, dsn, f)
}

// unlocked is SQLite's name of the access to files without locks. A file that is read cannot be locked exclusively.
var unlocked = map[bool]string{false: "unix-none", true: "win32-none"}[runtime.GOOS == "windows"]

func connectTo(ctx context.Context, path, query string, f func(context.Context, *sql.DB) error) (err error) {
	db, err := sql.Open("sqlite", address(path, query))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	return f(ctx, db)
}
