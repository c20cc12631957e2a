package workspace

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// knownSettings caches git's settings until a file that they come from, or could come from, changes. It is safe
// for concurrent use; the zero value is ready to use.
type knownSettings struct {
	mu    sync.Mutex
	byDir map[string]knownAnswer
}

type knownAnswer struct {
	all   []setting
	files map[string]fileStamp
}

// settledAfter is how old the last change of a file must be for a later change to show in its times: on a file system that keeps seconds,
// and on one whose times are finer, which move with the clock of the system. Tests shorten the first.
var settledAfter = 3 * time.Second

const settledFine = 50 * time.Millisecond

// settled reports whether a change that came at now or later would show in the times of a file.
func (s fileStamp) settled(now time.Time) bool {
	after := settledAfter
	if s.changed.Nanosecond()%int(time.Millisecond) != 0 {
		after = min(after, settledFine)
	}
	return !s.there || now.Sub(s.changed) >= after
}

// fileStamp is what changes with every change of a file, except one in the same instant: a program can set back the time of the
// last change of content, not that of the last change of anything.
type fileStamp struct {
	there            bool
	changed, written time.Time
	size             int64
	mode             uint32
	device, file     uint64
}

// get is the answer for dir, or nil where git must be asked.
func (k *knownSettings) get(dir string) []setting {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.byDir[dir]
	if !ok {
		return nil
	}
	for path, was := range known.files {
		if now, ok := stampOf(path); !ok || now != was {
			delete(k.byDir, dir)
			return nil
		}
	}
	return known.all
}

// put keeps an answer that git was asked for at begun, unless a file is so young that its next change might not show.
func (k *knownSettings) put(dir string, all []setting, files []string, begun time.Time) {
	stamps := make(map[string]fileStamp, len(files))
	for _, path := range files {
		stamp, ok := stampOf(path)
		if !ok || !stamp.settled(begun) {
			return
		}
		stamps[path] = stamp
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byDir == nil {
		k.byDir = map[string]knownAnswer{}
	}
	k.byDir[dir] = knownAnswer{all, stamps}
}

// settingsFiles are the files that git reads, or would read if they were there, to give the settings all.
func (w *Workspace) settingsFiles(all []setting) []string {
	// HEAD has the branch, on which an include may depend.
	files := append(w.userFiles("config"), filepath.Join(w.top, ".git"), filepath.Join(filepath.Dir(filepath.Dir(w.program)), "etc", "gitconfig"))
	for _, dir := range []string{w.gitDir, w.common} {
		for _, name := range []string{"config", "config.worktree", "HEAD", "commondir"} {
			files = append(files, filepath.Join(dir, name))
		}
	}
	for _, s := range all {
		if s.file != "" {
			files = append(files, s.file)
		}
		if strings.HasPrefix(s.key, "include.") || strings.HasPrefix(s.key, "includeif.") {
			files = append(files, from(filepath.Dir(s.file), w.expand(s.value)))
		}
	}
	slices.Sort(files)
	return slices.Compact(slices.DeleteFunc(files, func(path string) bool { return path == "" }))
}

// userFiles are the places of a user's and the machine's own settings; names are those in git's own folder.
func (w *Workspace) userFiles(names ...string) []string {
	home := w.home()
	xdg := w.variable("XDG_CONFIG_HOME")
	if xdg == "" {
		xdg = filepath.Join(home, ".config")
	}
	files := []string{w.variable("GIT_CONFIG_GLOBAL"), w.variable("GIT_CONFIG_SYSTEM"), filepath.Join(home, ".gitconfig"), "/etc/gitconfig"}
	for _, name := range names {
		files = append(files, filepath.Join(xdg, "git", name))
	}
	return files
}
