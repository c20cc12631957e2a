package workspace

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// entry is one path of git status: it differs between the head, the index and the work tree.
type entry struct {
	path string // from the top
	// staged and work are the letters of the two differences: "." for none, "?" for an untracked file.
	staged, work                  byte
	submodule                     string // "N..." for what is none
	headMode, indexMode, workMode string // "000000": not there
	headID, indexID               string
	unmerged, untracked, embedded bool // embedded: an untracked repository
}

// status is the status of a work tree according to git.
type status struct {
	head    string // empty on a branch without commits
	branch  string // empty with a detached head
	entries []entry
}

// status asks git what differs below the root.
func (w *Workspace) status(ctx context.Context) (status, error) {
	args := []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--no-ahead-behind",
		// Git would otherwise enter submodules with their own settings.
		"--ignore-submodules=dirty", "--ignored=no"}
	if w.prefix != "" {
		args = append(args, "--", ".")
	}
	_, before := w.gitIndex()
	out, err := w.git(ctx, command{dir: w.root, args: args})
	if err != nil {
		return status{}, err
	}
	s, err := parseStatus(out)
	if err == nil {
		w.sawStatus(s, before)
	}
	if err != nil || !exists(filepath.Join(w.top, ".gitmodules")) {
		return s, err
	}
	return s, w.dirtySubmodules(ctx, &s)
}

// dirtySubmodules adds the submodules whose commit is that of the index and whose files differ from it.
func (w *Workspace) dirtySubmodules(ctx context.Context, s *status) error {
	args := []string{"ls-files", "--stage", "--full-name", "-z"}
	out, err := w.git(ctx, command{dir: w.root, args: args})
	if err != nil {
		return err
	}
	for _, item := range items(out) {
		info, path, _ := strings.Cut(item, "\t")
		f := strings.Fields(info)
		if len(f) != 3 || f[0] != modeDir || slices.ContainsFunc(s.entries, func(e entry) bool { return e.path == path }) {
			continue
		}
		e := entry{path: path, staged: '.', work: 'M', submodule: "S.M.", headMode: modeDir, indexMode: modeDir, workMode: modeDir, headID: f[1], indexID: f[1]}
		if strings.Contains(w.fromTop().submodule(ctx, e).marker, "+") {
			s.entries = append(s.entries, e)
		}
	}
	return nil
}

// parseStatus reads git status --porcelain=v2 --branch -z. A path that is reported twice (removed from the index but
// still in the work tree) becomes one entry.
func parseStatus(out []byte) (status, error) {
	var s status
	at := map[string]int{}
	list := items(out)
	for i := 0; i < len(list); i++ {
		line := list[i]
		kind, rest, _ := strings.Cut(line, " ")
		if kind == "#" {
			name, value, _ := strings.Cut(rest, " ")
			switch {
			case name == "branch.oid" && value != "(initial)":
				s.head = value
			case name == "branch.head" && value != "(detached)":
				s.branch = value
			}
			continue
		}
		e, ok := parseEntry(kind, rest)
		if !ok {
			return s, fmt.Errorf("git status: unknown line %q", line)
		}
		if kind == "2" {
			i++ // the old name; renames are not requested
		}
		if n, seen := at[e.path]; seen {
			if e.untracked {
				s.entries[n].work = '?'
			}
			continue
		}
		at[e.path] = len(s.entries)
		s.entries = append(s.entries, e)
	}
	return s, nil
}

func parseEntry(kind, rest string) (entry, bool) {
	fields := func(n int) []string {
		f := strings.SplitN(rest, " ", n)
		if len(f) != n || len(f[0]) != 2 || f[n-1] == "" {
			return nil
		}
		return f
	}
	switch kind {
	case "?", "!":
		e := entry{path: strings.TrimSuffix(rest, "/"), staged: '.', work: '?', submodule: "N...", headMode: absent, indexMode: absent,
			untracked: true, embedded: strings.HasSuffix(rest, "/")}
		return e, e.path != ""
	case "1", "2":
		n := 8
		if kind == "2" {
			n = 9
		}
		if f := fields(n); f != nil {
			return entry{path: f[n-1], staged: f[0][0], work: f[0][1], submodule: f[1], headMode: f[2], indexMode: f[3], workMode: f[4],
				headID: f[5], indexID: f[6]}, true
		}
	case "u":
		if f := fields(10); f != nil {
			return entry{path: f[9], staged: f[0][0], work: f[0][1], submodule: f[1], headMode: f[3], indexMode: f[3], workMode: f[5],
				headID: f[7], indexID: f[7], unmerged: true}, true
		}
	}
	return entry{}, false
}

const (
	absent  = "000000" // the mode of a missing file
	modeDir = "160000" // a submodule
)

// isSubmodule reports whether the entry is a submodule on any side.
func (e entry) isSubmodule() bool {
	return strings.HasPrefix(e.submodule, "S") || e.headMode == modeDir || e.indexMode == modeDir
}
