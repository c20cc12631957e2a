package ledger

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/pid"
)

// tempDir holds new contents until they are renamed. Files found there were left by a crash.
const tempDir = protocol.Dir + "/transactions/tmp"

// maxState bounds the size of a state or session file.
const maxState = 64 << 20

func randomHex() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// disk is the project's folder. It follows no link out of it. crash is called after every step.
type disk struct {
	root    *os.Root
	crash   func(point string)
	boot    string // see pid.Boot
	noFlush bool
}

func openDisk(root string, crash func(string)) (*disk, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, failed("open the project", root, err)
	}
	if crash == nil {
		crash = func(string) {}
	}
	return &disk{root: r, crash: crash, boot: pid.Boot()}, nil
}

// at is a path for messages.
func (d *disk) at(file string) string { return filepath.Join(d.root.Name(), filepath.FromSlash(file)) }

// local refuses a path that does not stay below the root.
func (d *disk) local(file string) error {
	if file == "." || strings.Contains(file, "\\") || !filepath.IsLocal(filepath.FromSlash(file)) || path.Clean(file) != file {
		return execution.Errorf(execution.CodeInternal, "the path %q is outside %s", file, d.root.Name())
	}
	return nil
}

// stat returns the size of a regular file and whether it exists; anything else at that path is an error.
func (d *disk) stat(file string) (size int64, there bool, err error) {
	info, err := d.root.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, failed("look at", d.at(file), err)
	case !info.Mode().IsRegular():
		return 0, false, execution.Errorf(execution.CodeConfig, "%s is not a regular file", d.at(file)).
			WithHint("replace it with the file itself; the record does not follow links")
	}
	return info.Size(), true, nil
}

// read returns a whole file; nil if it does not exist.
func (d *disk) read(file string) ([]byte, error) {
	var data []byte
	err := atomicfile.Retry(func() (err error) {
		data, err = d.root.ReadFile(file)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("read", d.at(file), err)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

func (d *disk) makeDir(dir string) error {
	if err := d.root.MkdirAll(dir, 0o755); err != nil {
		return failed("make the folder", d.at(dir), err)
	}
	return nil
}

func (d *disk) sync(f *os.File) error {
	if d.noFlush {
		return nil
	}
	return f.Sync()
}

// syncDir makes the names in a folder durable. Windows cannot flush a folder; its file systems journal names.
func (d *disk) syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := d.root.Open(dir)
	if err != nil {
		return failed("open", d.at(dir), err)
	}
	defer f.Close()
	if err := d.sync(f); err != nil {
		return failed("flush", d.at(dir), err)
	}
	d.crash("sync " + dir)
	return nil
}

// temp writes content to a temporary file, to be flushed and renamed.
func (d *disk) temp(file string, content []byte) (string, *os.File, error) {
	mode := fs.FileMode(0o644)
	old, err := d.root.Lstat(file)
	if err == nil {
		mode = old.Mode().Perm()
	}
	name := tempDir + "/" + path.Base(file) + "." + randomHex()
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o200)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.makeDir(tempDir); err != nil {
			return "", nil, err
		}
		f, err = d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o200)
	}
	if err != nil {
		return "", nil, failed("write", d.at(name), err)
	}
	if old != nil && runtime.GOOS != "windows" {
		err = f.Chmod(mode)
	}
	if err == nil {
		_, err = f.Write(content)
	}
	if err != nil {
		_ = f.Close()
		_ = d.root.Remove(name)
		return "", nil, failed("write", d.at(name), err)
	}
	d.crash("write " + file)
	return name, f, nil
}

// rename renames a file. On Windows it fails while a reader has the old file open, so it retries for a moment.
func (d *disk) rename(from, to string) error {
	for wait := time.Millisecond; ; wait *= 2 {
		err := d.root.Rename(from, to)
		if err == nil {
			d.crash("rename " + to)
			return nil
		}
		if !atomicfile.Busy(err) || wait > 100*time.Millisecond {
			return failed("replace", d.at(to), err)
		}
		time.Sleep(wait)
	}
}

// replace gives a file new content that lasts.
func (d *disk) replace(file string, content []byte) error {
	temp, f, err := d.temp(file, content)
	if err != nil {
		return err
	}
	if err := errors.Join(d.sync(f), f.Close()); err != nil {
		return failed("flush", d.at(file), err)
	}
	d.crash("sync " + file)
	if err := d.rename(temp, file); err != nil {
		return err
	}
	return d.syncDir(path.Dir(file))
}

// flush flushes the contents of files together, as far as they are there: the file system waits once for all of them.
func (d *disk) flush(lists ...[]string) error {
	mode := os.O_RDONLY
	if runtime.GOOS == "windows" {
		mode = os.O_RDWR // Windows flushes only what it may write
	}
	names := slices.Concat(lists...)
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			f, err := d.root.OpenFile(name, mode, 0)
			if errors.Is(err, fs.ErrNotExist) {
				return
			}
			if err == nil {
				err = errors.Join(d.sync(f), f.Close())
			}
			if err != nil {
				errs[i] = failed("flush", d.at(name), err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, name := range names {
		d.crash("sync " + name)
	}
	return nil
}

// shorten cuts a file, if it is there.
func (d *disk) shorten(file string, size int64) error {
	f, err := d.root.OpenFile(file, os.O_WRONLY, 0)
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed("shorten", d.at(file), err)
	}
	d.crash("shorten " + file)
	return nil
}
