// Package versioncache remembers the versions of installed agents by path, size and time of change of their programs, so
// that a run need not wait for a program that takes seconds to say its version.
//
// What follows from a version does not belong here.
package versioncache

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

const (
	fileName = "versions.json"
	maxKept  = 200
)

// Cache is the file in one state directory. It is safe for concurrent use; two processes that write at once keep at
// least the entries of one, and the other asks again.
type Cache struct {
	path string
	mu   sync.Mutex
}

// In is the cache in a state directory. It touches no file.
func In(dir string) *Cache { return &Cache{path: filepath.Join(dir, fileName)} }

type entry struct {
	Path    string    `json:"path"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
	Version string    `json:"version"`
}

// key is a program as it is now; links are followed, since an update may change only what they point to.
func key(program string) (entry, bool) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return entry{}, false
	}
	info, err := os.Stat(real)
	if err != nil {
		return entry{}, false
	}
	return entry{Path: real, Size: info.Size(), ModTime: info.ModTime().UTC()}, true
}

// Lookup is the version of a program, empty when it is not known. A file that cannot be read knows nothing.
func (c *Cache) Lookup(program string) string {
	k, ok := key(program)
	if !ok {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.read() {
		if e.Path == k.Path && e.Size == k.Size && e.ModTime.Equal(k.ModTime) {
			return e.Version
		}
	}
	return ""
}

// Store remembers the version of a program. An error costs only another question next time.
func (c *Cache) Store(program, version string) error {
	k, ok := key(program)
	if !ok || version == "" {
		return nil
	}
	k.Version = version
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := []entry{k}
	for _, e := range c.read() {
		if e.Path != k.Path && len(kept) < maxKept {
			kept = append(kept, e)
		}
	}
	b, err := json.MarshalIndent(kept, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(c.path, append(b, '\n'), 0o600, false)
}

func (c *Cache) read() []entry {
	b, err := os.ReadFile(c.path)
	if err != nil {
		return nil
	}
	var list []entry
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	return list
}
