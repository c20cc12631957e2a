package workspace

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// knownSettings caches git's settings until a file that they come from, or could come from, changes. It is safe for
// concurrent use; the zero value is ready to use.
type knownSettings struct {
	mu    sync.Mutex
	byDir map[string]knownAnswer
}

type knownAnswer struct {
	all   []setting
	files map[string]fileStamp
}

// settledAfter is the age after which a later change of a file shows in its times on a file system that keeps seconds. Tests shorten it.
var settledAfter = 3 * time.Second

// settledFine is the same for times that are finer, which follow the system's clock.
const settledFine = 50 * time.Millisecond

// settled reports whether a change at now or later would show in the file's times.
func (s fileStamp) settled(now time.Time) bool {
	after := settledAfter
	if s.changed.Nanosecond()%int(time.Millisecond) != 0 {
		after = min(after, settledFine)
	}
	return !s.there || now.Sub(s.changed) >= after
}

// fileStamp changes with every change of a file, except one in the same instant. It includes the change time, because a
// program can set back the modification time.
type fileStamp struct {
	there            bool
	changed, written time.Time
	size             int64
	mode             uint32
	device, file     uint64
}

// get returns the cached settings of dir, or nil if git must be asked.
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

// put caches settings that git was asked for at begun, unless a file is so young that its next change might not show.
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

// settingsFiles returns the files that git reads for the settings all, or would read if they existed.
func (w *Workspace) settingsFiles(all []setting) []string {
	// an include may depend on the branch in HEAD
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

// userFiles returns the paths of the user's and the system's settings; names are those in git's own folder.
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
