package governance

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// SuggestReassign suggests that a conflicted turn begins again.
const SuggestReassign = "reject_and_reassign"

// maxConflicts is the number of conflicts of a turn after which a person has to resolve them.
const maxConflicts = 3

// detectConflict compares a turn's files with those of turns accepted since it was assigned, or since its last attempt
// began. Files that the same role changed again are not a conflict: they are returned as forward. Without a conflict it
// returns nil.
func detectConflict(run Run, t *protocol.Turn, files []string) (c *protocol.Conflict, forward []string) {
	owners := map[string][]string{} // file to the roles of the turns that changed it since
	var since []protocol.HistoryEntry
	for _, h := range accepted(run.History) {
		if h.AcceptedSequence <= t.AssignedSequence {
			continue
		}
		since = append(since, h)
		for _, f := range changedFiles(h) {
			owners[f] = append(owners[f], h.Role)
		}
	}
	c = &protocol.Conflict{Type: "file_conflict", AcceptedSince: []string{}, ConflictingFiles: []string{}, NonConflictingFiles: []string{}}
	for _, f := range files {
		roles := owners[f]
		switch {
		case len(roles) == 0:
			c.NonConflictingFiles = append(c.NonConflictingFiles, f)
		case !slices.ContainsFunc(roles, func(r string) bool { return r != t.AssignedRole }) && owns(run, t.AssignedRole, f):
			forward = append(forward, f)
		default:
			c.ConflictingFiles = append(c.ConflictingFiles, f)
		}
	}
	if len(c.ConflictingFiles) == 0 {
		return nil, forward
	}
	for _, h := range since {
		if slices.ContainsFunc(changedFiles(h), func(f string) bool { return slices.Contains(c.ConflictingFiles, f) }) {
			c.AcceptedSince = append(c.AcceptedSince, h.TurnID)
		}
	}
	c.ForwardRevisionFiles = forward
	rate(c, len(files))
	c.ConflictingTurn.Set("turn_id", raw(t.TurnID))
	c.ConflictingTurn.Set("role", raw(t.AssignedRole))
	c.ConflictingTurn.Set("attempt", raw(t.Attempt))
	return c, forward
}

// rate fills in which share of the turn is in conflict and what to do about it.
func rate(c *protocol.Conflict, files int) {
	c.OverlapRatio = float64(len(c.ConflictingFiles)) / float64(max(files, len(c.ConflictingFiles), 1))
	c.SuggestedResolution = SuggestReassign
	if c.OverlapRatio >= 0.5 {
		c.SuggestedResolution = ResolutionHumanMerge
	}
}

// changedFiles are the files that a turn changed: what was observed without what its siblings did, else what it
// declares.
func changedFiles(h protocol.HistoryEntry) []string {
	o := h.ObservedArtifact
	if o == nil || len(o.FilesChanged) == 0 {
		return h.FilesChanged
	}
	return slices.DeleteFunc(slices.Clone(o.FilesChanged), func(f string) bool { return slices.Contains(o.Siblings, f) })
}

// owns reports whether a file belongs to the role: an artifact of the workflow kit that it owns, or a planning file if
// it is the entry role of planning.
func owns(run Run, role, file string) bool {
	if strings.HasPrefix(file, protocol.PlanningDir+"/") {
		if p, ok := run.Config.Phase("planning"); ok && p.EntryRole == role {
			return true
		}
	}
	if run.Config.WorkflowKit == nil {
		return false
	}
	for phase, k := range run.Config.WorkflowKit.Phases.All() {
		for _, a := range k.Artifacts {
			owner := a.OwnedBy
			if p, ok := run.Config.Phase(phase); ok && owner == "" {
				owner = p.EntryRole
			}
			if a.Path == file && owner == role {
				return true
			}
		}
	}
	return false
}

// conflicts checks a turn against the turns accepted meanwhile; true if it is in conflict and stays active.
func (s *step) conflicts(a *acceptance) bool {
	c, forward := detectConflict(s.run, a.turn, a.files)
	a.forward = forward
	if len(a.MergeConflicts) > 0 {
		if c == nil {
			c = &protocol.Conflict{Type: "file_conflict", AcceptedSince: []string{}, ConflictingFiles: []string{}, NonConflictingFiles: []string{}}
		}
		for _, f := range a.MergeConflicts {
			if !slices.Contains(c.ConflictingFiles, f) {
				c.ConflictingFiles = append(c.ConflictingFiles, f)
			}
		}
		c.NonConflictingFiles = []string{}
		for _, f := range a.files {
			if !slices.Contains(c.ConflictingFiles, f) {
				c.NonConflictingFiles = append(c.NonConflictingFiles, f)
			}
		}
		rate(c, len(a.files))
	}
	switch {
	case c == nil:
		return false
	case a.Resolution == ResolutionHumanMerge:
		a.conflict = c
		return false
	}
	t := a.turn
	n := 1
	if t.ConflictState != nil {
		n = t.ConflictState.DetectionCount + 1
	}
	t.ConflictState = &protocol.ConflictState{DetectedAt: s.now, DetectionCount: n, Status: "detected", Error: *c}
	s.failTurn(t, protocol.TurnConflicted, CodeConflict)
	more := map[string]any{"conflicting_files": c.ConflictingFiles, "accepted_since": c.AcceptedSince, "overlap_ratio": c.OverlapRatio,
		"suggested_resolution": c.SuggestedResolution, "detection_count": n}
	s.noteDecision("conflict_detected", t.TurnID, more)
	s.emit("turn_conflicted", eventOf(t), more)
	detail := "conflicting files: " + strings.Join(c.ConflictingFiles, ", ")
	s.add(NotAccepted{Code: CodeConflict, Errors: []string{detail}})
	if n >= maxConflicts {
		s.block(blockage{on: "human:conflict_loop:" + t.TurnID, category: "conflict_loop", detail: detail, turn: t.TurnID, recovery: turnCommand(s.st, t)})
	}
	return true
}

// conflictContext tells the next attempt of a conflicted turn about the conflict.
func conflictContext(t *protocol.Turn) map[string]any {
	c := t.ConflictState.Error
	return map[string]any{"prior_attempt": t.Attempt, "conflicting_files": c.ConflictingFiles, "accepted_since": c.AcceptedSince,
		"non_conflicting_files": c.NonConflictingFiles, "guidance": "start from the current workspace, keep what the accepted turns changed " +
			"in the conflicting files, and redo only what is still missing"}
}
