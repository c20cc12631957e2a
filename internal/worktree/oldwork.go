package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// workDays is how long git keeps the work of a run under its name.
const workDays = 90

// OldWork is work of runs in one repository that is older than 90 days.
type OldWork struct {
	Repository string   `json:"repository"`
	Runs       []string `json:"runs"`
}

// CollectWork removes the names of old work in every repository that has had worktrees; git removes later what nothing else has. dry
// only says which.
func (m Manager) CollectWork(ctx context.Context, now time.Time, dry bool) (old []OldWork, faults []error) {
	entries, _ := os.ReadDir(filepath.Join(m.Dir, origins)) // there may be none
	for _, e := range entries {
		top, err := os.ReadFile(filepath.Join(m.Dir, origins, e.Name()))
		if err != nil || !exists(string(top)) {
			continue // a repository that is gone, or not there now, has nothing to remove
		}
		work, err := removeOld(ctx, string(top), now, dry)
		if err != nil {
			faults = append(faults, err)
		}
		if len(work.Runs) > 0 {
			old = append(old, work)
		}
	}
	return old, faults
}

func removeOld(ctx context.Context, top string, now time.Time, dry bool) (OldWork, error) {
	w := OldWork{Repository: top}
	list, err := git(ctx, top, "for-each-ref", "--format=%(refname) %(objectname) %(creatordate:unix)", workRef(""))
	if err != nil {
		return w, err
	}
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) != 3 {
			continue // it has no date
		}
		made, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil || now.Sub(time.Unix(made, 0)) < workDays*24*time.Hour {
			continue
		}
		if !dry {
			if _, err := git(ctx, top, "update-ref", "-d", words[0], words[1]); err != nil {
				return w, err
			}
		}
		w.Runs = append(w.Runs, strings.TrimPrefix(words[0], workRef("")))
	}
	return w, nil
}
