package runstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// runIDLength is the length of a complete run id.
const runIDLength = 26

// parsePrefix checks that s can be the beginning of a run id and returns it in upper case. Because it is strict, s cannot become a
// path.
func parsePrefix(s string) (string, error) {
	id := strings.Map(func(r rune) rune { // ASCII only: capitals of other letters can be ASCII
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
	bad := func(why string) error {
		return fmt.Errorf("%w: %.40q %s; want a ULID or its first characters, as drawbar ps prints them", ErrBadID, s, why)
	}
	switch {
	case id == "":
		return "", bad("is empty")
	case len(id) > runIDLength:
		return "", bad(fmt.Sprintf("has %d characters, a ULID has %d", len(id), runIDLength))
	}
	// The prefix is padded to a complete id, which package execution validates.
	if _, err := execution.ParseRunID(id + strings.Repeat("0", runIDLength-len(id))); err != nil {
		i := strings.IndexFunc(id, func(r rune) bool { return r > 0x7f || !strings.ContainsRune("0123456789ABCDEFGHJKMNPQRSTVWXYZ", r) })
		if i < 0 {
			return "", bad("begins with a digit above 7")
		}
		return "", bad(fmt.Sprintf("has %q, which no ULID contains", []rune(s[i:])[0]))
	}
	return id, nil
}

// Latest stands for the newest run where an id is asked for. No ULID contains its letters.
const Latest = "latest"

// resolve finds the run with an id or a unique prefix, or the newest.
func (s *Store) resolve(idOrPrefix string) (execution.RunID, error) {
	if idOrPrefix == Latest {
		ids, err := s.ids()
		if err != nil {
			return "", err
		}
		if len(ids) == 0 {
			return "", &NotFoundError{ID: Latest}
		}
		return slices.Max(ids), nil
	}
	prefix, err := parsePrefix(idOrPrefix)
	if err != nil {
		return "", err
	}
	if len(prefix) == runIDLength {
		_, err := os.Lstat(filepath.Join(s.runDir(execution.RunID(prefix)), metaName))
		if err == nil {
			return execution.RunID(prefix), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look up run %s: %w", prefix, err)
		}
	}
	ids, err := s.ids()
	if err != nil {
		return "", err
	}
	slices.Sort(ids)
	i, _ := slices.BinarySearch(ids, execution.RunID(prefix))
	matches := ids[i:]
	for n, id := range matches {
		if !strings.HasPrefix(string(id), prefix) {
			matches = matches[:n]
			break
		}
	}
	switch {
	case len(matches) == 1 && len(prefix) < runIDLength:
		return matches[0], nil
	case len(matches) > 1:
		candidates := slices.Clone(matches)
		slices.Reverse(candidates)
		return "", &AmbiguousError{Prefix: prefix, Candidates: candidates}
	}
	return "", &NotFoundError{ID: prefix, Nearest: nearest(ids, prefix)}
}

// shortID is the least length of a short id: its first eight characters change every second.
const shortID = 8

// Short returns a function that shortens the id of a run to its first characters, as many as no other recorded run begins with.
func (s *Store) Short() (func(execution.RunID) string, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	return func(id execution.RunID) string {
		n := shortID
		i, found := slices.BinarySearch(ids, id)
		for _, other := range [2]int{i - 1, i + 1} {
			if found && other >= 0 && other < len(ids) {
				n = max(n, common(ids[other], id)+1)
			}
		}
		return string(id[:min(n, len(id))])
	}, nil
}

// common returns the length of the beginning that two ids share.
func common(a, b execution.RunID) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// ids lists the recorded runs, unordered.
func (s *Store) ids() ([]execution.RunID, error) {
	f, err := os.Open(filepath.Join(s.dir, runsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	defer func() { _ = f.Close() }()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	ids := make([]execution.RunID, 0, len(names))
	for _, name := range names {
		if id, err := execution.ParseRunID(name); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Lost returns those of the newest n runs whose recording process ended without a result, newest first. It needs no database.
func (s *Store) Lost(n int) ([]string, error) {
	ids, err := s.ids()
	slices.SortFunc(ids, func(a, b execution.RunID) int { return strings.Compare(string(b), string(a)) })
	var lost []string
	for _, id := range ids[:min(n, len(ids))] {
		if dir := s.runDir(id); !exists(filepath.Join(dir, resultName)) {
			if run, err := s.load(dir); err == nil && run.State == execution.OutcomeLost {
				lost = append(lost, string(id))
			}
		}
	}
	return lost, err
}

// nearest returns the id whose beginning differs least from s, the newest of several.
func nearest(ids []execution.RunID, s string) (best execution.RunID) {
	least := runIDLength + 1
	for _, id := range ids {
		n := 0
		for i := range len(s) {
			if id[i] != s[i] {
				n++
			}
		}
		if n <= least {
			best, least = id, n
		}
	}
	return best
}
