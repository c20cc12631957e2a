// Package modelcache keeps what agents' programs said about their models, with the time when they were asked.
//
// Which of several statements about a model wins does not belong here.
package modelcache

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

const folder = "models"

// Cache is a folder in one state directory, with a file per agent. It is safe for concurrent use, also by several
// processes.
type Cache struct {
	dir string
	mu  sync.Mutex
	// read are the files as they were last read.
	read map[string]remembered
}

type remembered struct {
	list    List
	size    int64
	modTime time.Time
}

// List is what one agent said.
type List struct {
	Time   time.Time         `json:"time"`
	Models []execution.Model `json:"models"`
}

// In returns the cache in a state directory, or in memory if there is none, without accessing files.
func In(stateDir string) *Cache {
	c := &Cache{read: map[string]remembered{}}
	if stateDir != "" {
		c.dir = filepath.Join(stateDir, folder)
	}
	return c
}

func (c *Cache) file(agent string) string { return filepath.Join(c.dir, agent+".json") }

// Lookup returns an agent's list, the zero List if it was never asked. An unreadable file counts as none: it is a cache.
// The caller must not change the list.
func (c *Cache) Lookup(agent string) List {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir == "" {
		return c.read[agent].list
	}
	info, err := os.Stat(c.file(agent))
	if err != nil {
		delete(c.read, agent)
		return List{}
	}
	if r, ok := c.read[agent]; ok && r.size == info.Size() && r.modTime.Equal(info.ModTime()) {
		return r.list
	}
	var l List
	b, err := os.ReadFile(c.file(agent))
	if err != nil || json.Unmarshal(b, &l) != nil {
		l = List{}
	}
	c.read[agent] = remembered{l, info.Size(), info.ModTime()}
	return l
}

// Store replaces an agent's list.
func (c *Cache) Store(agent string, l List) error {
	if c.dir == "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.read[agent] = remembered{list: l}
		return nil
	}
	b, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(c.file(agent), append(b, '\n'), 0o600, false)
}
