package product

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/coordinator"
)

// coordinated is the initial situation of a fixture about several repositories.
type coordinated struct {
	Config   json.RawMessage                    `json:"coordinator_config"`
	State    protocol.CoordinatorState          `json:"coordinator_state"`
	Barriers protocol.Ordered[protocol.Barrier] `json:"barriers"`
	History  []protocol.CoordinatorEvent        `json:"coordinator_history"`
}

// coordinatorFault is the answer to an invalid configuration: a cycle before all else, as it makes other faults.
func coordinatorFault(faults []coordinator.Fault) fields {
	kind, list := "invalid_coordinator_config", []string{}
	for _, f := range faults {
		list = append(list, f.Code+": "+f.String())
		if len(faults) == 1 || f.Code == "workstream_cycle" {
			kind = f.Code
		}
	}
	return fields{"result": "error", "error_type": kind, "errors": list}
}

// checkCoordinator checks agentxchain-multi.json.
func checkCoordinator(_ context.Context, w *world) (fields, error) {
	var c coordinated
	if err := json.Unmarshal(w.fixture.Setup, &c); err != nil {
		return nil, fmt.Errorf("setup: %w", err)
	}
	if _, faults := coordinator.Parse(c.Config); len(faults) > 0 {
		return coordinatorFault(faults), nil
	}
	return fields{"result": "success", "errors": []string{}}, nil
}

// projectAcceptance takes an accepted turn of a repository over into the history of the coordinator.
func projectAcceptance(_ context.Context, w *world, args struct {
	RepoID     string `json:"repo_id"`
	Workstream string `json:"workstream_id"`
	Turn       struct {
		TurnID       string              `json:"turn_id"`
		Summary      string              `json:"summary"`
		FilesChanged []string            `json:"files_changed"`
		Decisions    []protocol.Decision `json:"decisions"`
		Verification json.RawMessage     `json:"verification"`
	} `json:"accepted_turn"`
}) (fields, error) {
	var c coordinated
	if err := json.Unmarshal(w.fixture.Setup, &c); err != nil {
		return nil, fmt.Errorf("setup: %w", err)
	}
	config, faults := coordinator.Parse(c.Config)
	if len(faults) > 0 {
		return coordinatorFault(faults), nil
	}
	failed := func(kind, why string) (fields, error) {
		return fields{"result": "error", "error_type": kind, "error": why}, nil
	}
	switch {
	case !config.Repos.Has(args.RepoID):
		return failed("projection_failed", "unknown repository "+args.RepoID)
	case !config.Workstreams.Has(args.Workstream):
		return failed("projection_failed", "unknown workstream "+args.Workstream)
	case args.Turn.TurnID == "":
		return failed("projection_failed", "the accepted turn has no id")
	}
	if outside := coordinator.Outside(config, args.RepoID, args.Turn.FilesChanged); len(outside) > 0 {
		return failed("cross_repo_write_violation", fmt.Sprintf("files outside %s: %v", args.RepoID, outside))
	}
	if c.Barriers.Len() == 0 {
		c.Barriers = coordinator.Barriers(config, config.Repos.Has, protocol.Time{})
	}
	e := coordinator.Projection(c.State.SuperRunID, args.Workstream, args.RepoID)
	e.RepoRunID, e.RepoTurnID, e.Summary = c.State.RepoRuns.At(args.RepoID).RunID, args.Turn.TurnID, args.Turn.Summary
	e.FilesChanged, e.Decisions, e.Verification = args.Turn.FilesChanged, args.Turn.Decisions, args.Turn.Verification
	effects := coordinator.Evaluate(config, args.Workstream, &c.Barriers, append(c.History, e))
	snapshot := protocol.Ordered[map[string]protocol.BarrierStatus]{}
	for id, b := range c.Barriers.All() {
		snapshot.Set(id, map[string]protocol.BarrierStatus{"status": b.Status})
	}
	return fields{"result": "success", "projection_ref": e.ProjectionRef, "barrier_effects": append([]govern.BarrierEffect{}, effects...), "barrier_snapshot": snapshot}, nil
}
