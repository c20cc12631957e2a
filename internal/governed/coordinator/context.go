package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/prompt"
)

// maxUpstream is how many accepted turns of other repositories a turn is told of, the latest ones.
const maxUpstream = 30

// tell is what a new turn is told of the other repositories.
func (c *Coordinator) tell(w *workspace, rec *record, pick *choice) protocol.CoordinatorContext {
	s, target := rec.state, pick.repo.id
	ws, _ := w.config.Workstreams.Get(pick.workstream)
	relevant := append([]string{pick.workstream}, ws.DependsOn...)
	told := protocol.CoordinatorContext{SchemaVersion: protocol.CoordinatorVersion, SuperRunID: s.SuperRunID, WorkstreamID: pick.workstream, TargetRepoID: target,
		ContextRef: newID("ctx_" + pick.workstream + "_" + target), GeneratedAt: c.now(s), Preparing: pick.preparing,
		Upstream: []protocol.UpstreamResult{}, Barriers: []protocol.UpstreamBarrier{}, Followups: []string{}, Handoffs: handoffs(rec, pick.workstream)}
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

// handoffs are the intents that were handed to a workstream of the run. Other files are ignored.
func handoffs(rec *record, workstream string) []protocol.IntakeHandoff {
	list := []protocol.IntakeHandoff{}
	files, _ := filepath.Glob(rec.path(protocol.CoordinatorHandoffDir + "/*.json"))
	for _, f := range files {
		var h protocol.IntakeHandoff
		if b, err := os.ReadFile(f); err == nil && json.Unmarshal(b, &h) == nil && h.WorkstreamID == workstream && h.SuperRunID == rec.state.SuperRunID {
			list = append(list, h)
		}
	}
	return list
}

// HandOff gives an intent to a workstream.
func (c *Coordinator) HandOff(ctx context.Context, root string, h protocol.IntakeHandoff) (protocol.IntakeHandoff, error) {
	w, rec, done, err := c.open(ctx, true)
	if err != nil {
		return h, err
	}
	defer done()
	if err := begun(rec); err != nil {
		return h, err
	}
	refuse := func(next, format string, args ...any) (protocol.IntakeHandoff, error) {
		return h, execution.Errorf(execution.CodeInvalidStateTransition, format, args...).WithHint("%s", next)
	}
	if s := rec.state; s.Status == protocol.CoordinatorBlocked || s.Status == protocol.CoordinatorCompleted {
		return refuse(next(rec), "the run %s is %s", s.SuperRunID, s.Status)
	}
	ws, ok := w.config.Workstreams.Get(h.WorkstreamID)
	if !ok {
		return refuse("choose one of: "+strings.Join(w.config.Workstreams.Keys(), ", "), "%s has no workstream %q", protocol.CoordinatorConfigFile, h.WorkstreamID)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return h, err
	}
	at := slices.IndexFunc(w.places, func(p place) bool { return p.root == real })
	if at < 0 || !slices.Contains(ws.Repos, w.places[at].id) {
		return refuse("choose a workstream of this repository", "%s is not a repository of workstream %s", root, h.WorkstreamID)
	}
	if b := rec.barriers.At(protocol.BarrierID(h.WorkstreamID)); b.Status == protocol.BarrierSatisfied {
		return refuse("choose another workstream", "the workstream %s is already complete", h.WorkstreamID)
	}
	if !validFile().MatchString(h.IntentID) {
		return refuse("drawbar govern intake status", "%q is not the id of an intent", h.IntentID)
	}
	h.SchemaVersion, h.SuperRunID, h.SourceRepo, h.HandedOffAt = "1.0", rec.state.SuperRunID, w.places[at].id, c.now(rec.state)
	data, err := protocol.MarshalFile(h)
	if err != nil {
		return h, err
	}
	return h, rec.write(protocol.CoordinatorHandoffDir+"/"+h.IntentID+".json", data)
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
