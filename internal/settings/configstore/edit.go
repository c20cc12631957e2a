// Package configstore changes configuration files of other programs: under a lock, by atomic replacement, and
// never a file that cannot be parsed, belongs to another user, or is not where it seems to be.
//
// Callers decide what to change; adapter/kit/configfile edits the text.
package configstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

// Options configure Edit.
type Options struct {
	// Patience is how long to wait for the lock; zero means five seconds.
	Patience time.Duration
	// Within is a directory that the file must not lead out of, because files in a project may have come with
	// it. Empty allows any place that belongs to the user.
	Within string
	// Mode is the mode of a new file; zero means 0600. New directories get it too, plus search permission.
	Mode fs.FileMode
}

// attempts limits how often an edit restarts because the file changed meanwhile.
const attempts = 20

// Edit calls change with the document in a file and replaces the file if change returns true. The file is read
// under the lock FILE.lock; if a program that ignores the lock writes meanwhile, the edit restarts. Links are
// followed: the target is replaced, the link remains. On any failure the file is either the old or the new one.
//
// Errors are CONFIG_ERROR, or CONFIG_LOCK_ERROR (recoverable) if another process keeps the lock or keeps
// writing.
func Edit(ctx context.Context, file string, format configfile.Format, change func(*configfile.Document) (bool, error), o Options) (changed bool, err error) {
	return Replace(ctx, file, func(before []byte) ([]byte, bool, error) {
		doc, err := configfile.Parse(format, file, before)
		if err != nil {
			return nil, false, execution.Errorf(execution.CodeConfig, "%w", err).WithHint("repair the file by hand: drawbar does not change a file that it cannot parse")
		}
		changed, err := change(doc)
		return append([]byte{}, doc.Bytes()...), changed, err
	}, o)
}

// Replace is Edit for a file whose content is not a document. change gets the content, nil if there is no file, and
// returns the new one, nil to remove the file, and whether it differs.
func Replace(ctx context.Context, file string, change func(before []byte) ([]byte, bool, error), o Options) (changed bool, err error) {
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	if o.Mode == 0 {
		o.Mode = 0o600
	}
	if err := MakeDir(filepath.Dir(file), o.Within, o.Mode|o.Mode>>2&0o111); err != nil {
		return false, err
	}
	target, err := follow(file, o.Within)
	if err != nil {
		return false, err
	}
	if err := writable(target); err != nil {
		return false, err
	}
	l, err := lock(ctx, target, o.Patience)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	for range attempts {
		changed, err := try(target, change, o)
		if !errors.Is(err, errChanged) {
			return changed, err
		}
	}
	return false, (&execution.Error{Code: execution.CodeConfigLock, Recoverable: true,
		Message: fmt.Sprintf("%s keeps changing: another program writes it without taking its lock", file)}).WithHint("stop that program, or try again")
}

// errChanged means that another writer was faster.
var errChanged = errors.New("the file changed meanwhile")

// Replaced by tests: what happens between reading and comparing, between comparing and replacing, and how bytes
// reach the disk.
var (
	meanwhile = func() {}
	replacing = func() {}
	write     = func(f *os.File, b []byte) error {
		_, err := f.Write(b)
		return err
	}
)

func try(target string, change func([]byte) ([]byte, bool, error), o Options) (bool, error) {
	before, info, err := read(target)
	if err != nil {
		return false, err
	}
	after, changed, err := change(before)
	if err != nil || !changed {
		return false, err
	}
	var temp *atomicfile.File
	if after != nil {
		if temp, err = writeTemp(target, after, info, o.Mode); err != nil {
			return false, failed("write", target, err)
		}
		defer temp.Discard()
	}
	meanwhile()
	now, nowInfo, err := read(target)
	if err != nil {
		return false, err
	}
	if (info == nil) != (nowInfo == nil) || !bytes.Equal(now, before) {
		return false, errChanged
	}
	replacing()
	if temp == nil {
		err = os.Remove(target)
	} else if info != nil {
		err = temp.Commit(true)
	} else if err = temp.CommitNew(true); errors.Is(err, fs.ErrExist) {
		return false, errChanged // it has just appeared
	}
	if err != nil {
		return false, failed("replace", target, err)
	}
	return true, nil
}

// read returns the content; a missing file has no info.
func read(target string) ([]byte, fs.FileInfo, error) {
	info, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, failed("read", target, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, execution.Errorf(execution.CodeConfig, "%s is not a regular file", target)
	}
	b, err := os.ReadFile(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, failed("read", target, err)
	}
	return b, info, nil
}

// writeTemp writes the new content to a file beside the old one, with its mode and owner.
func writeTemp(target string, content []byte, info fs.FileInfo, mode fs.FileMode) (*atomicfile.File, error) {
	f, err := atomicfile.Create(target, 0o600)
	if err != nil {
		return nil, err
	}
	if info != nil {
		mode = info.Mode().Perm()
		err = keepOwner(f.File, info)
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = write(f.File, content)
	}
	if err != nil {
		f.Discard()
		return nil, err
	}
	return f, nil
}

// failed returns the CONFIG_ERROR of an operation on a file.
func failed(what, target string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		err = l.Err
	}
	e := execution.Errorf(execution.CodeConfig, "%s %s: %w", what, target, err)
	switch {
	case errors.Is(err, io.ErrShortWrite) || noSpace(err):
		return e.WithHint("free some disk space; the file is unchanged")
	case errors.Is(err, fs.ErrPermission):
		return e.WithHint("make it writable, or change it as its owner")
	}
	return e
}
