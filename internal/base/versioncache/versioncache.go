// Package versioncache caches the versions of installed agents by path, size and modification time of their programs,
// because some programs take seconds to print their version.
//
// Conclusions from a version do not belong here.
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

// Cache is the file in one state directory. It is safe for concurrent use; if two processes write concurrently, the
// entries of one remain and the other asks again.
type Cache struct {
	path string
	mu   sync.Mutex
}

// In returns the cache in a state directory without accessing files.
func In(dir string) *Cache { return &Cache{path: filepath.Join(dir, fileName)} }

type entry struct {
	Path    string    `json:"path"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
	Version string    `json:"version"`
}

// key identifies the current state of a program; links are followed, because an update may change only their target.
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

// Lookup returns the version of a program, empty if unknown. An unreadable file contains no versions.
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

// Store caches the version of a program. An error only costs another query next time.
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
