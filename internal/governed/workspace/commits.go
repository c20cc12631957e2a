package workspace

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// Commit is one commit made since a baseline.
type Commit struct {
	SHA     string
	Subject string
	Files   []string // relative to the root; against the first parent of a merge
	Turn    string   // the turn whose agent made it, when that is known (see TurnEnv)

	byTurn bool
}

// ByTurn reports whether a turn's agent made the commit.
func (c Commit) ByTurn() bool { return c.byTurn || c.Turn != "" }

// reflogAction begins the reflog messages of commands that a turn's agent runs.
const reflogAction = "drawbar "

// TurnEnv returns the variables that distinguish the commits of a turn's agent from a person's: git records
// them in the reflog and not in the commit. Runtimes add them to the environment of programs they start.
func TurnEnv(turn string) []string { return []string{"GIT_REFLOG_ACTION=" + reflogAction + turn} }

// change is one path that differs between two commits.
type change struct {
	oldMode, newMode string
	oldID, newID     string
}

// same reports whether the file is as it was in the older commit.
func (c change) same(now mark) bool {
	if now.deleted() || c.oldMode == absent {
		return now.deleted() && c.oldMode == absent
	}
	return now.id == c.oldID && now.executable == (c.oldMode == "100755") && now.link == (c.oldMode == "120000")
}

// moves are the commits and changes between two heads.
type moves struct {
	commits  []Commit // newest first
	changes  map[string]change
	warnings []string
}

// maxCommits bounds the commits that are listed one by one.
const maxCommits = 500

// between returns the commits and changes between two heads; an empty head is a branch without commits.
func (w *Workspace) between(ctx context.Context, from, to string) (moves, error) {
	var (
		m                 moves
		wg                sync.WaitGroup
		log, ref, diff    []byte
		logErr, diffError error
	)
	if to == "" {
		// The branch was reset to nothing, or another one without commits was checked out.
		m.warnings = append(m.warnings, "the branch no longer has a commit")
		return m, nil
	}
	span := to
	if from != "" {
		span = from + ".." + to
	}
	wg.Go(func() {
		log, logErr = w.git(ctx, command{args: []string{"log", "--first-parent", "-m", "--name-only", "-z", "--no-renames", "--root",
			fmt.Sprintf("--max-count=%d", maxCommits+1), "--format=%x01%H%x02%s", span, "--"}})
	})
	wg.Go(func() {
		var older string
		if older, diffError = w.olderTree(ctx, from); diffError != nil {
			return
		}
		diff, diffError = w.git(ctx, command{args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", older, to}})
	})
	// Without a reflog (or with one in a format that git cannot walk) commits are a person's.
	ref, _ = w.git(ctx, command{args: []string{"log", "-g", "-z", fmt.Sprintf("--max-count=%d", maxCommits), "--format=%H %gs", "HEAD", "--"}})
	wg.Wait()
	if says(logErr, "bad object") || says(logErr, "Invalid revision range") || says(diffError, "bad object") {
		m.warnings = append(m.warnings, fmt.Sprintf("the commit %s of the baseline is no longer there: commits since cannot be listed", from))
		return m, nil
	}
	if logErr != nil {
		return m, logErr
	}
	if diffError != nil {
		return m, diffError
	}
	m.commits = w.parseLog(log)
	if len(m.commits) > maxCommits {
		m.commits = m.commits[:maxCommits]
		m.warnings = append(m.warnings, fmt.Sprintf("more than %d commits since the baseline: only the newest are listed", maxCommits))
	}
	by := parseReflog(ref)
	for i := range m.commits {
		m.commits[i].Turn = by[m.commits[i].SHA]
	}
	var err error
	m.changes, err = w.parseRaw(diff)
	return m, err
}

// parseLog reads git log -z --name-only with the format of between.
func (w *Workspace) parseLog(out []byte) []Commit {
	var list []Commit
	first := false
	for item := range strings.SplitSeq(string(out), "\x00") {
		if sha, subject, ok := strings.Cut(strings.TrimPrefix(item, "\x01"), "\x02"); ok && strings.HasPrefix(item, "\x01") && IsObject(sha) {
			list = append(list, Commit{SHA: sha, Subject: subject})
			first = true
			continue
		}
		if first {
			item = strings.TrimPrefix(item, "\n")
			first = false
		}
		if p, ok := w.inside(item); ok && p != "" && len(list) > 0 {
			c := &list[len(list)-1]
			c.Files = append(c.Files, p)
		}
	}
	return list
}

// parseReflog finds the commits that turns made: commit to turn.
func parseReflog(out []byte) map[string]string {
	by := map[string]string{}
	for _, item := range items(out) {
		sha, message, _ := strings.Cut(item, " ")
		if rest, ok := strings.CutPrefix(message, reflogAction); ok {
			turn, _, _ := strings.Cut(rest, " ")
			turn, _, _ = strings.Cut(turn, ":")
			if turn != "" {
				by[sha] = turn
			}
		}
	}
	return by
}

// parseRaw reads git diff --raw -z --no-abbrev: path from the root to change.
func (w *Workspace) parseRaw(out []byte) (map[string]change, error) {
	m := map[string]change{}
	list := items(out)
	for i := 0; i+1 < len(list); i += 2 {
		f := strings.Fields(strings.TrimPrefix(list[i], ":"))
		if len(f) != 5 || !strings.HasPrefix(list[i], ":") {
			return nil, fmt.Errorf("git diff: unknown line %q", list[i])
		}
		if p, ok := w.inside(list[i+1]); ok {
			m[p] = change{f[0], f[1], f[2], f[3]}
		}
	}
	return m, nil
}

// IsObject reports whether s looks like the full name of an object.
func IsObject(s string) bool {
	return (len(s) == 40 || len(s) == 64) && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'f')
	})
}
