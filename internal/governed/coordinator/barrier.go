package coordinator

import (
	"slices"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Barriers are the barriers of a configuration when its run begins.
func Barriers(c *protocol.CoordinatorConfig, linked func(repo string) bool, now protocol.Time) (all protocol.Ordered[protocol.Barrier]) {
	for id, w := range c.Workstreams.All() {
		b := protocol.Barrier{WorkstreamID: id, Type: w.CompletionBarrier, Status: protocol.BarrierPending, RequiredRepos: []string{}, SatisfiedRepos: []string{},
			RequiredDecisions: w.Decisions(), CreatedAt: now}
		if w.CompletionBarrier == protocol.BarrierAlignment {
			b.AlignmentIDs = w.Decisions()
		}
		for _, r := range inOrder(w) {
			if linked(r) {
				b.RequiredRepos = append(b.RequiredRepos, r)
			}
		}
		if len(b.RequiredRepos) == 0 { // none of them is required, and none takes part
			b.Status = protocol.BarrierSatisfied
		}
		all.Set(protocol.BarrierID(id), b)
	}
	return all
}

// inOrder are the repositories of a workstream, the first one first.
func inOrder(w protocol.Workstream) []string {
	rest := slices.DeleteFunc(slices.Clone(w.Repos), func(r string) bool { return r == w.EntryRepo })
	return append([]string{w.EntryRepo}, rest...)
}

// Evaluate updates the barriers of a workstream after its events, and returns what changed. A satisfied barrier stays satisfied.
func Evaluate(c *protocol.CoordinatorConfig, workstream string, barriers *protocol.Ordered[protocol.Barrier], history []protocol.CoordinatorEvent) []govern.BarrierEffect {
	var effects []govern.BarrierEffect
	w, ok := c.Workstreams.Get(workstream)
	if !ok {
		return nil
	}
	for id, b := range barriers.All() {
		if b.WorkstreamID != workstream || b.Status == protocol.BarrierSatisfied {
			continue
		}
		before := b.Status
		b.SatisfiedRepos, b.Status = evaluate(w, b, history)
		barriers.Set(id, b)
		if b.Status != before {
			effects = append(effects, govern.BarrierEffect{BarrierID: id, Previous: before, New: b.Status})
		}
	}
	return effects
}

// evaluate returns the repositories that have delivered, in the barrier's order, and the status.
func evaluate(w protocol.Workstream, b protocol.Barrier, history []protocol.CoordinatorEvent) ([]string, protocol.BarrierStatus) {
	accepted := map[string]bool{}
	decided := map[string]map[string]bool{}
	for _, e := range history {
		if e.Type != protocol.SuperProjection || e.WorkstreamID != b.WorkstreamID || !slices.Contains(b.RequiredRepos, e.RepoID) {
			continue
		}
		accepted[e.RepoID] = true
		if decided[e.RepoID] == nil {
			decided[e.RepoID] = map[string]bool{}
		}
		for _, d := range e.Decisions {
			decided[e.RepoID][d.ID] = true
		}
	}
	done := []string{}
	for _, r := range b.RequiredRepos {
		ok := accepted[r]
		if b.Type == protocol.BarrierAlignment || b.Type == protocol.BarrierDecisions {
			need := b.RequiredDecisions[r]
			if need == nil {
				need = b.AlignmentIDs[r]
			}
			for _, id := range need {
				ok = ok && decided[r][id]
			}
		}
		if ok {
			done = append(done, r)
		}
	}
	if b.Type == protocol.BarrierOrdered {
		done = sequence(w, b, history)
	}
	switch {
	case b.Type == protocol.BarrierHuman:
		return done, b.Status // a person satisfies it
	case len(b.RequiredRepos) > 0 && len(done) == len(b.RequiredRepos):
		return done, protocol.BarrierSatisfied
	case len(accepted) > 0:
		return done, protocol.BarrierPartly
	}
	return done, protocol.BarrierPending
}

// sequence are the repositories that have delivered after the one before them: what came earlier was not built on it.
func sequence(w protocol.Workstream, b protocol.Barrier, history []protocol.CoordinatorEvent) []string {
	done := []string{}
	from := 0
	for _, r := range inOrder(w) {
		if !slices.Contains(b.RequiredRepos, r) {
			continue
		}
		i := slices.IndexFunc(history[from:], func(e protocol.CoordinatorEvent) bool {
			return e.Type == protocol.SuperProjection && e.WorkstreamID == b.WorkstreamID && e.RepoID == r
		})
		if i < 0 {
			break
		}
		from += i + 1
		done = append(done, r)
	}
	return done
}

// delivered reports whether all repositories of a barrier have delivered, whatever else it waits for.
func delivered(b protocol.Barrier) bool { return len(b.SatisfiedRepos) == len(b.RequiredRepos) }
