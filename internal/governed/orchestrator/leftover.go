package orchestrator

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/flocked"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/gofrs/flock"
)

// clear removes what killed processes left of turns that are no longer active, or never became active: leases, progress
// files, merged worktrees, unassigned bundles. Anything that holds work stays. What cannot be removed is left for the
// next time.
func (t *transaction) clear(ctx context.Context) {
	root := t.e.root
	for _, turn := range names(root, protocol.LocksDir, "turn-", ".lock") {
		if !t.state().ActiveTurns.Has(turn) {
			clearLease(leasePath(root, turn))
		}
	}
	for _, id := range names(root, protocol.LocksDir, "ledger-", ".hold") {
		dropUnheld(filepath.Join(root, filepath.FromSlash(protocol.LocksDir), "ledger-"+id+".hold"))
	}
	for _, turn := range names(root, protocol.Dir, "dispatch-progress-", ".json") {
		if leaseHolder(root, turn) == nil {
			_ = os.Remove(progressFile(root, turn))
		}
	}
	there := func(path string) bool {
		_, err := os.Lstat(filepath.Join(root, filepath.FromSlash(path)))
		return err == nil
	}
	active := func(turn string) bool { return t.state().ActiveTurns.Has(turn) }
	ended := func(turn string) bool {
		return slices.ContainsFunc(t.run.History, func(h protocol.HistoryEntry) bool { return h.TurnID == turn })
	}
	for _, turn := range names(root, protocol.WorktreesDir, "turn_", "") {
		// Without a bundle no worker was started there.
		if !active(turn) && (ended(turn) || !there(protocol.BundleDir(turn))) {
			_ = t.work.Drop(ctx, turn)
		}
	}
	for _, turn := range names(root, protocol.DispatchDir, "turn_", "") {
		// A runtime writes evidence before it starts anything.
		if active(turn) || there(protocol.WorktreesDir+"/"+turn) || there(protocol.BundleDir(turn)+"/"+project.EvidenceDir) || there(protocol.StagedFile(turn)) {
			continue
		}
		_ = os.RemoveAll(filepath.Join(root, filepath.FromSlash(protocol.BundleDir(turn))))
		_ = os.Remove(filepath.Join(root, filepath.FromSlash(protocol.StagingDir), turn)) // if it is empty
	}
}

// names returns the turn ids in the entries of a folder. The prefix turn_ is part of the id.
func names(root, dir, prefix, suffix string) (turns []string) {
	list, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
	if err != nil {
		return nil
	}
	for _, e := range list {
		name, ok := strings.CutPrefix(e.Name(), prefix)
		if name, more := strings.CutSuffix(name, suffix); ok && more {
			if prefix == "turn_" {
				name = e.Name()
			}
			turns = append(turns, name)
		}
	}
	return turns
}

// clearLease removes a lease that no process holds.
func clearLease(path string) {
	if dropUnheld(flocked.Name(path)) {
		_ = os.Remove(path)
	}
}

// dropUnheld removes a file that is locked as long as somebody lives; false if somebody does.
func dropUnheld(path string) bool {
	l := flock.New(path, flock.SetFlag(os.O_RDWR))
	ok, err := l.TryLock()
	if !ok {
		_ = l.Close()
		return errors.Is(err, fs.ErrNotExist)
	}
	return flocked.Drop(l) == nil
}
