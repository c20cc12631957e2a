package coordinator

import (
	"fmt"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/prompt"
)

// maxUpstream is how many accepted turns of other repositories a turn is told of, the latest ones.
const maxUpstream = 30

// context is what a new turn is told of the other repositories.
func (c *Coordinator) context(w *workspace, rec *record, pick *choice) protocol.CoordinatorContext {
	s, target := rec.state, pick.repo.id
	ws, _ := w.config.Workstreams.Get(pick.workstream)
	relevant := append([]string{pick.workstream}, ws.DependsOn...)
	told := protocol.CoordinatorContext{SchemaVersion: protocol.CoordinatorVersion, SuperRunID: s.SuperRunID, WorkstreamID: pick.workstream, TargetRepoID: target,
		ContextRef: newID("ctx_" + pick.workstream + "_" + target), GeneratedAt: c.now(s), Preparing: pick.preparing,
		Upstream: []protocol.UpstreamResult{}, Barriers: []protocol.UpstreamBarrier{}, Followups: []string{}}
	for _, e := range rec.run {
		if e.Type != protocol.SuperProjection || e.RepoID == target || !slices.Contains(relevant, e.WorkstreamID) {
			continue
		}
		told.Upstream = append(told.Upstream, protocol.UpstreamResult{ProjectionRef: e.ProjectionRef, WorkstreamID: e.WorkstreamID, RepoID: e.RepoID, RepoTurnID: e.RepoTurnID,
			Summary: e.Summary, Decisions: notNil(e.Decisions), FilesChanged: notNil(e.FilesChanged), Verification: e.Verification})
	}
	told.Upstream = told.Upstream[max(0, len(told.Upstream)-maxUpstream):]
	for id, b := range rec.barriers.All() {
		if b.Type != protocol.BarrierAllAccepted && b.Status != protocol.BarrierSatisfied && slices.Contains(relevant, b.WorkstreamID) && slices.Contains(b.RequiredRepos, target) {
			told.Barriers = append(told.Barriers, protocol.UpstreamBarrier{BarrierID: id, WorkstreamID: b.WorkstreamID, Type: b.Type, Status: b.Status, RequiredDecisions: b.RequiredDecisions})
		}
	}
	if pick.preparing {
		told.Followups = append(told.Followups, fmt.Sprintf("Bring %s to phase %s: the workstream begins there.", target, ws.Phase))
	}
	for _, on := range ws.DependsOn {
		told.Followups = append(told.Followups, fmt.Sprintf("Build on what workstream %s has delivered.", on))
	}
	for _, u := range told.Upstream {
		told.Followups = append(told.Followups, fmt.Sprintf("Take into account what %s delivered: %s", u.RepoID, u.Summary))
	}
	for _, b := range told.Barriers {
		if ids := b.RequiredDecisions[target]; len(ids) > 0 && b.WorkstreamID == pick.workstream && !pick.preparing {
			told.Followups = append(told.Followups, fmt.Sprintf("Record the decisions that the workstream asks of %s: %v.", target, ids))
		}
	}
	return told
}

// saveContext keeps what the turn is told.
func (c *Coordinator) saveContext(rec *record, told protocol.CoordinatorContext) error {
	data, err := protocol.MarshalFile(told)
	if err != nil {
		return err
	}
	base := protocol.CoordinatorContextDir + "/" + told.ContextRef + "/" + protocol.CoordinatorContextName
	if err := rec.write(base+".json", data); err != nil {
		return err
	}
	return rec.write(base+".md", []byte(prompt.CoordinatorText(told)))
}
