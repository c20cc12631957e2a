package workspace

import (
	"context"
	"crypto/sha1" //nolint:gosec // the object names of git
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// The markers of anything but regular files.
const (
	markDeleted    = "deleted"
	markRepository = "repository"
	markDirectory  = "directory"
)

// mark identifies the content of a file: the marker, equal for equal content, and git's name for it.
type mark struct {
	marker     string
	id         string // git's object name of the raw content; empty unless it is a file or a link
	executable bool
	link       bool
	size       int64
}

func (m mark) deleted() bool { return m.marker == markDeleted }

// Marker is the marker of a file in the work tree.
func (w *Workspace) Marker(ctx context.Context, path string) (string, error) {
	if err := checkRelative(path); err != nil {
		return "", err
	}
	m, err := look(ctx, filepath.Join(w.root, filepath.FromSlash(path)), false)
	return m.marker, err
}

// look reads one file in chunks. sha256ids says that the repository names objects by SHA-256.
func look(ctx context.Context, path string, sha256ids bool) (mark, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), isNotDir(err):
		return mark{marker: markDeleted}, nil
	case err != nil:
		return mark{}, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return mark{}, err
		}
		target = filepath.ToSlash(target)
		sum := sha256.Sum256([]byte(target))
		id := objectHash(sha256ids, int64(len(target)))
		_, _ = io.WriteString(id, target)
		return mark{marker: "link:sha256:" + hex.EncodeToString(sum[:]), id: hex.EncodeToString(id.Sum(nil)), link: true, size: int64(len(target))}, nil
	case info.IsDir():
		return mark{marker: markDirectory}, nil
	case !info.Mode().IsRegular():
		return mark{marker: "special:" + info.Mode().Type().String()}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		// Unreadable files are distinguished by their visible properties.
		return mark{marker: fmt.Sprintf("unreadable:%d:%d", info.Size(), info.ModTime().UnixNano()), size: info.Size()}, nil
	}
	defer f.Close()
	content, id := sha256.New(), objectHash(sha256ids, info.Size())
	if _, err := io.CopyBuffer(io.MultiWriter(content, id), &contextReader{ctx, f}, make([]byte, min(info.Size()+1, 256<<10))); err != nil {
		return mark{}, fmt.Errorf("read %s: %w", path, err)
	}
	return mark{marker: "sha256:" + hex.EncodeToString(content.Sum(nil)), id: hex.EncodeToString(id.Sum(nil)),
		executable: info.Mode()&0o100 != 0, size: info.Size()}, nil
}

func objectHash(sha256ids bool, size int64) hash.Hash {
	h := sha1.New() //nolint:gosec // the object names of git
	if sha256ids {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

// contextReader stops when its context ends: a file may be huge.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, fmt.Errorf("%w: %w", err, context.Cause(c.ctx))
	}
	return c.r.Read(p)
}

// marks reads many files below dir, several concurrently.
func marks(ctx context.Context, dir string, paths []string, sha256ids bool) (map[string]mark, error) {
	out := make(map[string]mark, len(paths))
	if len(paths) < 8 {
		for _, p := range paths {
			m, err := look(ctx, filepath.Join(dir, filepath.FromSlash(p)), sha256ids)
			if err != nil {
				return nil, err
			}
			out[p] = m
		}
		return out, nil
	}
	var (
		mu    sync.Mutex
		first error
		wg    sync.WaitGroup
		next  = make(chan string)
	)
	for range min(runtime.GOMAXPROCS(0), 8) {
		wg.Go(func() {
			for p := range next {
				m, err := look(ctx, filepath.Join(dir, filepath.FromSlash(p)), sha256ids)
				mu.Lock()
				out[p] = m
				if err != nil && first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	for _, p := range paths {
		next <- p
	}
	close(next)
	wg.Wait()
	return out, first
}
