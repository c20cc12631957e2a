package runstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/execution"
)

const (
	runIndexName = "run-index.jsonl"
	projectName  = ".agent-mux"
	// atomicWrite is the largest write that every system appends atomically (POSIX, _POSIX_PIPE_BUF).
	atomicWrite = 512
)

// runIndexLine is one record of the run index (agent-mux specification, storage).
type runIndexLine struct {
	V         int             `json:"v"`
	RunID     execution.RunID `json:"runId"`
	Agent     string          `json:"agent"`
	Model     string          `json:"model,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	execution.Correlation
	Timestamp string          `json:"timestamp"` // start of the run, ISO 8601 in UTC
	Cost      *execution.Cost `json:"cost,omitempty"`
	Tags      []string        `json:"tags"`
}

// appendRunIndex appends the line of an ended run to the index of its project, or to the index in the state directory.
func (s *Store) appendRunIndex(r Run) error {
	tags := r.Tags
	if tags == nil {
		tags = []string{}
	}
	line, err := json.Marshal(runIndexLine{V: 1, RunID: r.ID, Agent: r.Agent, Model: r.Model, SessionID: r.SessionID, Correlation: r.Correlation,
		Timestamp: r.StartedAt.UTC().Format("2006-01-02T15:04:05.000Z"), Cost: r.Cost, Tags: tags})
	if err != nil {
		return err
	}
	dir := projectDir(r.Cwd)
	if dir == "" {
		dir = s.dir
	}
	return appendLine(filepath.Join(dir, runIndexName), line)
}

// projectDir returns the nearest .agent-mux directory at or above cwd, or empty. A directory that belongs neither to this user nor
// to the owner of cwd is skipped: in a shared place, another user could have created it.
func projectDir(cwd string) string {
	if !filepath.IsAbs(cwd) {
		return ""
	}
	us, them := os.Getuid(), os.Getuid()
	if info, err := os.Stat(cwd); err == nil {
		them = ownerOf(info)
	}
	for dir := filepath.Clean(cwd); ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, projectName)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if owner := ownerOf(info); owner == us || owner == them {
				return path
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// appendLine appends a line in one write. Other programs append to the same file: short lines are written atomically, long ones
// under the lock. An unfinished line of another writer is ended first, so only that line is lost.
func appendLine(path string, line []byte) (err error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("append to %s: not a regular file", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND|noFollow, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := lockWithin(f, 2*time.Second); err != nil && len(line) >= atomicWrite {
		return err
	}
	out := append(line, '\n')
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], info.Size()-1); err == nil && last[0] != '\n' {
			out = append([]byte{'\n'}, out...)
		}
	}
	_, err = f.Write(out)
	return err
}
