package coordinator

import (
	"context"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/phasehook"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// items are the programs and addresses that agentxchain-multi.json would call.
func (w *workspace) items() []trust.Item {
	return project.HookItems(w.root, protocol.CoordinatorConfigFile, w.config.Hooks)
}

// Items are the programs and addresses that the agentxchain-multi.json at root would call. Those of its repositories are items of their own.
func Items(root string) ([]trust.Item, error) {
	w, err := load(root)
	if err != nil {
		return nil, err
	}
	return w.items(), nil
}

// hooks calls the hooks of a phase. They may not change the coordinator's files, which are restored. The records of the repositories are
// not restored: others may write them meanwhile, and their own chains show what was changed.
func (c *Coordinator) hooks(ctx context.Context, w *workspace, rec *record, phase string, payload map[string]any) (phasehook.Outcome, error) {
	s := rec.state
	waiting, all := []map[string]any{}, map[string]any{}
	for id, b := range rec.barriers.All() {
		all[id] = map[string]any{"status": b.Status, "type": b.Type}
		if b.Status != protocol.BarrierSatisfied {
			waiting = append(waiting, map[string]any{"barrier_id": id, "workstream_id": b.WorkstreamID, "type": b.Type, "status": b.Status,
				"required_repos": b.RequiredRepos, "satisfied_repos": b.SatisfiedRepos})
		}
	}
	for key, value := range map[string]any{"phase": phase, "super_run_id": s.SuperRunID, "coordinator_status": s.Status, "coordinator_phase": s.Phase,
		"coordinator_workspace": w.root, "pending_gate": s.PendingGate, "pending_barriers": waiting, "barriers": all} {
		payload[key] = value
	}
	r := phasehook.Runner{Root: w.root, Environ: c.o.Environ, Now: c.o.Now, Out: c.o.Note, Audit: protocol.CoordinatorHookAudit, Notes: protocol.CoordinatorAnnotations}
	return r.Run(ctx, phase, w.config.Hooks.At(phase), phasehook.Call{RunID: s.SuperRunID, Payload: payload, Protected: []string{protocol.CoordinatorStateFile,
		protocol.CoordinatorHistoryFile, protocol.CoordinatorLedgerFile, protocol.BarriersFile, protocol.BarrierLedgerFile}})
}

// advise calls the hooks that are told what has happened: once for each accepted turn, and for a block.
func (c *Coordinator) advise(ctx context.Context, w *workspace, rec *record, events []protocol.CoordinatorEvent) error {
	for _, e := range events {
		var out phasehook.Outcome
		var err error
		switch {
		case e.Type == protocol.SuperProjection && len(w.config.Hooks.At(protocol.HookAfterAcceptance)) > 0:
			out, err = c.hooks(ctx, w, rec, protocol.HookAfterAcceptance, map[string]any{"workstream_id": e.WorkstreamID, "repo_id": e.RepoID, "repo_run_id": e.RepoRunID,
				"projection_ref": e.ProjectionRef, "repo_turn_id": e.RepoTurnID, "summary": e.Summary, "files_changed": notNil(e.FilesChanged),
				"decisions": notNil(e.Decisions), "verification": e.Verification, "barrier_effects": []any{}, "context_invalidations": []any{}})
		case e.Type == protocol.SuperResynced && rec.state.BlockedReason != "" && len(w.config.Hooks.At(protocol.HookOnEscalation)) > 0:
			out, err = c.hooks(ctx, w, rec, protocol.HookOnEscalation, map[string]any{"workstream_id": nil, "repo_id": nil, "repo_run_id": nil,
				"blocked_reason": rec.state.BlockedReason, "repo_runs": rec.state.RepoRuns})
		default:
			continue
		}
		if err != nil {
			return err
		}
		if !out.OK { // these can only advise: it changed files
			if err := c.violated(rec, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// violated blocks the run because a hook changed its files.
func (c *Coordinator) violated(rec *record, out phasehook.Outcome) error {
	e := c.event(rec.state, protocol.SuperResynced)
	e.BlockedReason = new("coordinator_hook_violation: " + out.Message)
	return rec.add(e)
}

// objected calls blocking hooks. The report says that one objects, or that it changed files, which blocks the run.
func (c *Coordinator) objected(ctx context.Context, w *workspace, rec *record, phase, repo, workstream string, payload map[string]any) (*govern.MultiReport, error) {
	if len(w.config.Hooks.At(phase)) == 0 {
		return nil, nil
	}
	out, err := c.hooks(ctx, w, rec, phase, payload)
	if err != nil || out.OK {
		return nil, err
	}
	action := govern.MultiWaiting
	if !out.Blocked {
		if err := c.violated(rec, out); err != nil {
			return nil, err
		}
		action = govern.MultiBlocked
	}
	rep := report(rec, action)
	if action == govern.MultiWaiting {
		rep.Blockers = []govern.MultiBlocker{{Code: out.Code, RepoID: repo, WorkstreamID: workstream,
			Message: fmt.Sprintf("hook %s (%s) objects: %s", out.Hook, phase, strings.TrimSpace(out.Message))}}
	}
	return &rep, nil
}

func (c *Coordinator) beforeAssignment(ctx context.Context, w *workspace, rec *record, pick *choice) (*govern.MultiReport, error) {
	return c.objected(ctx, w, rec, protocol.HookBeforeAssignment, pick.repo.id, pick.workstream, map[string]any{"workstream_id": pick.workstream, "repo_id": pick.repo.id,
		"repo_run_id": pick.repo.state.ID(), "role": pick.role})
}

func (c *Coordinator) beforeGate(ctx context.Context, w *workspace, rec *record, g protocol.CoordinatorGate) (*govern.MultiReport, error) {
	return c.objected(ctx, w, rec, protocol.HookBeforeGate, "", "", map[string]any{"workstream_id": nil, "repo_id": nil, "repo_run_id": nil, "gate_type": g.Type, "gate": g.Gate,
		"from_phase": g.From, "to_phase": g.To, "required_repos": g.RequiredRepos, "human_barriers": g.HumanBarriers})
}

func orZero(rep *govern.MultiReport) govern.MultiReport {
	if rep == nil {
		return govern.MultiReport{}
	}
	return *rep
}
