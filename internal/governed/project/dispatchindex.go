package project

import (
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Index returns the dispatch index of a state: its active turns and the location of their files. Warnings are
// by turn.
func Index(s protocol.State, now time.Time, warnings map[string][]protocol.AdvisoryWarning) protocol.DispatchIndex {
	out := protocol.DispatchIndex{RunID: s.ID(), Phase: s.Phase, UpdatedAt: protocol.At(now)}
	for id, t := range s.ActiveTurns.All() {
		if t == nil {
			continue
		}
		out.ActiveTurns.Set(id, protocol.DispatchEntry{TurnID: id, Role: t.AssignedRole, RuntimeID: t.RuntimeID, Attempt: t.Attempt, Status: t.Status,
			BundlePath: protocol.BundleDir(id), StagingResultPath: protocol.StagedFile(id), AssignedSequence: t.AssignedSequence,
			AdvisoryWarnings: warnings[id]})
	}
	return out
}
