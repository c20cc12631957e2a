package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/pid"
)

const indexPrefix = "drawbar-index-"

// privateIndex is an index of our own next to git's. Its folder can act as a repository folder with its own HEAD, so
// that git commit makes a commit there and moves no branch.
type privateIndex struct {
	dir  string
	from indexMark // checksum of git's index, if this one started as its copy
}

// privateIndex creates an empty one, and returns a function that removes it. The folder's name contains the process id,
// so that folders of killed processes can be removed.
func (w *Workspace) privateIndex() (x privateIndex, done func(), err error) {
	left, _ := filepath.Glob(filepath.Join(w.gitDir, indexPrefix+"*"))
	for _, dir := range left {
		name, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), indexPrefix), "-")
		if n, err := strconv.Atoi(name); err != nil || !pid.Alive(n) {
			_ = os.RemoveAll(dir) // a leftover only uses disk space
		}
	}
	x.dir, err = os.MkdirTemp(w.gitDir, fmt.Sprintf("%s%d-*", indexPrefix, os.Getpid()))
	if err != nil {
		return x, nil, fmt.Errorf("create an index: %w", err)
	}
	return x, func() { os.RemoveAll(x.dir) }, nil
}

func (x privateIndex) file() string  { return filepath.Join(x.dir, "index") }
func (x privateIndex) env() []string { return []string{"GIT_INDEX_FILE=" + x.file()} }

// indexMark identifies a version of git's index by its size and its final checksum. Zero means unknown.
type indexMark struct {
	size int
	sum  [20]byte
}

func markIndex(data []byte) (m indexMark) {
	if len(data) < len(m.sum)+12 || string(data[:4]) != "DIRC" {
		return indexMark{}
	}
	copy(m.sum[:], data[len(data)-len(m.sum):])
	if m.sum == ([20]byte{}) { // git was told to omit it
		return indexMark{}
	}
	m.size = len(data)
	return m
}

// gitIndex reads git's index. Nothing is known about a split index.
func (w *Workspace) gitIndex() ([]byte, indexMark) {
	data, err := readPlain(filepath.Join(w.gitDir, "index"))
	if parts, _ := filepath.Glob(filepath.Join(w.gitDir, "sharedindex.*")); err != nil || len(parts) > 0 {
		return nil, indexMark{}
	}
	return data, markIndex(data)
}

// knownIndex caches what is known about git's index. It is safe for concurrent use; the zero value is ready to use.
type knownIndex struct {
	mu    sync.Mutex
	clean struct { // an index that held exactly the tree of head
		head string
		mark indexMark
	}
	next struct { // the index that replaces git's when commit is on its branch
		commit  string
		from    indexMark
		data    []byte
		written time.Time
	}
}

// sawStatus remembers an index that contains exactly the tree of the head.
func (w *Workspace) sawStatus(s status, before indexMark) {
	_, after := w.gitIndex()
	clean := before == after && w.prefix == "" && s.head != ""
	for _, e := range s.entries {
		clean = clean && e.staged == '.' && !e.unmerged
	}
	w.index.mu.Lock()
	defer w.index.mu.Unlock()
	if w.index.clean.head = ""; clean {
		w.index.clean.head, w.index.clean.mark = s.head, after
	}
}

// copyIndex starts a private index as a copy of git's, if that is known to hold the tree of the parent. The copy keeps
// the time of the original, from which git knows which files may have changed in the instant in which it was written.
func (w *Workspace) copyIndex(x *privateIndex, parent string) bool {
	w.index.mu.Lock()
	head, mark := w.index.clean.head, w.index.clean.mark
	w.index.mu.Unlock()
	info, err := os.Stat(filepath.Join(w.gitDir, "index"))
	data, now := w.gitIndex()
	if err != nil || head == "" || head != parent || now == (indexMark{}) || now != mark {
		return false
	}
	if os.WriteFile(x.file(), data, 0o600) != nil || os.Chtimes(x.file(), info.ModTime(), info.ModTime()) != nil {
		return false
	}
	x.from = now
	return true
}

// commitThere commits the private index with git commit in its folder, which saves a process; false if the repository
// is not plain.
func (w *Workspace) commitThere(ctx context.Context, x privateIndex, p *Prepared) (bool, error) {
	if p.Parent == "" || !IsObject(p.Parent) || exists(filepath.Join(w.gitDir, "config.worktree")) || exists(filepath.Join(w.common, "reftable")) {
		return false, nil
	}
	for name, content := range map[string]string{"HEAD": p.Parent + "\n", "commondir": w.common + "\n"} {
		if err := os.WriteFile(filepath.Join(x.dir, name), []byte(content), 0o600); err != nil {
			return false, fmt.Errorf("create an index: %w", err)
		}
	}
	_, err := w.identified(ctx, command{stdin: []byte(p.Message), env: append(x.env(), "GIT_DIR="+x.dir, "GIT_WORK_TREE="+w.top),
		args: []string{"-c", "user.useConfigOnly=true", "-c", "rerere.enabled=false", "commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-status", "--no-post-rewrite",
			"--allow-empty", "--cleanup=verbatim", "--untracked-files=no", "-F", "-"}})
	if err != nil {
		return true, err
	}
	data, err := readPlain(filepath.Join(x.dir, "HEAD"))
	if p.Commit = strings.TrimSpace(string(data)); err != nil || !IsObject(p.Commit) || p.Commit == p.Parent {
		return true, execution.Errorf(execution.CodeInternal, "git commit on %s left %q as the head: %v", p.Parent, p.Commit, err)
	}
	return true, nil
}

// keepIndex remembers the private index as the future content of git's.
func (w *Workspace) keepIndex(x privateIndex, commit string) {
	if x.from == (indexMark{}) {
		return
	}
	info, err := os.Stat(x.file())
	if err != nil {
		return
	}
	data, err := readPlain(x.file())
	if err != nil || markIndex(data) == (indexMark{}) {
		return
	}
	w.index.mu.Lock()
	defer w.index.mu.Unlock()
	n := &w.index.next
	n.commit, n.from, n.data, n.written = commit, x.from, data, info.ModTime()
}

// installIndex replaces git's index with the private one that started as its copy; false if anything has changed since.
func (w *Workspace) installIndex(commit string) bool {
	w.index.mu.Lock()
	n := w.index.next
	w.index.next.data, w.index.next.commit = nil, ""
	w.index.mu.Unlock()
	path := filepath.Join(w.gitDir, "index")
	info, err := os.Lstat(path)
	if n.commit != commit || commit == "" || err != nil || !info.Mode().IsRegular() {
		return false
	}
	lock := path + ".lock"
	f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return false // another git has it
	}
	_, err = f.Write(n.data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	_, now := w.gitIndex()
	if err != nil || now != n.from || os.Chmod(lock, info.Mode().Perm()) != nil || os.Chtimes(lock, n.written, n.written) != nil || os.Rename(lock, path) != nil {
		_ = os.Remove(lock) // we created the lock
		return false
	}
	return true
}
