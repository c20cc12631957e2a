package product

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/orchestrator"
)

// owner names the holder of a project's lock.
const owner = "drawbar govern conformance"

// initialize begins a run if the configuration is valid.
func initialize(ctx context.Context, w *world) (fields, error) {
	if _, problems := charter.Decode(w.raw); len(charter.Errors(problems)) > 0 {
		f := configFault(charter.Errors(problems))
		f["error_type"] = governance.CodeInvalidConfig
		return w.withUnchanged(f)
	}
	return w.command(func(e *orchestrator.Local) (govern.Report, error) { return e.StartRun(ctx) }, govern.OutcomeDone)
}

func assign(ctx context.Context, w *world, args struct {
	Role string `json:"role_id"`
}) (fields, error) {
	return w.command(func(e *orchestrator.Local) (govern.Report, error) {
		return e.Assign(ctx, govern.StepOptions{Role: args.Role})
	}, govern.OutcomeAssigned)
}

func approveTransition(ctx context.Context, w *world) (fields, error) {
	return w.command(func(e *orchestrator.Local) (govern.Report, error) {
		return e.Approve(ctx, govern.ApproveOptions{})
	}, govern.OutcomeDone)
}

func approveCompletion(ctx context.Context, w *world) (fields, error) {
	return w.command(func(e *orchestrator.Local) (govern.Report, error) {
		return e.Approve(ctx, govern.ApproveOptions{Completion: true})
	}, govern.OutcomeCompleted)
}

func resolveBlocked(ctx context.Context, w *world, args struct {
	Action string `json:"action"`
}) (fields, error) {
	if args.Action != "resume" {
		return w.refused(&governance.Refused{Code: governance.CodeInvalidTransition, Message: fmt.Sprintf("a blocked run is resumed, not %q", args.Action)})
	}
	return w.command(func(e *orchestrator.Local) (govern.Report, error) { return e.Unblock(ctx, "") }, govern.OutcomeDone, govern.OutcomePaused)
}

// changeState changes the state by a cause, in the engine, or by name, which only the rules support.
func changeState(ctx context.Context, w *world, c governance.StateChange) (fields, error) {
	if w.state.Status == protocol.RunActive {
		switch turn := w.turnOf(c.RoleID); {
		case c.Trigger == "escalation" && c.Reason == "retries_exhausted" && turn != "":
			return w.exhaust(ctx, turn)
		case c.Trigger == "gate_requires_human_approval" && c.Gate != nil && c.Gate.Gate != "":
			return w.askAt(ctx, *c.Gate)
		}
	}
	refused, err := w.commit(ctx, func(run governance.Run) (ledger.Tx, *governance.Refused) {
		next, refused := governance.ApplyChange(run, protocol.At(time.Now()), c)
		return ledger.Tx{State: next.State}, refused
	})
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return w.refused(refused)
	}
	return w.done()
}

// turnOf is the active turn of a role; empty if there is none.
func (w *world) turnOf(role string) string {
	for id, turn := range w.state.ActiveTurns.All() {
		if turn.AssignedRole == role {
			return id
		}
	}
	return ""
}

// exhaust rejects a turn until it has no attempts left.
func (w *world) exhaust(ctx context.Context, turn string) (fields, error) {
	return w.command(func(e *orchestrator.Local) (rep govern.Report, err error) {
		for range governance.Attempts(w.config, w.state.ActiveTurns.At(turn).AssignedRole) {
			if rep, err = e.Reject(ctx, govern.RejectOptions{Turn: turn, Reason: "retries_exhausted"}); err != nil || rep.Outcome == govern.OutcomeBlocked {
				break
			}
		}
		return rep, err
	}, govern.OutcomeBlocked)
}

// askAt makes a turn request the phase after a gate that a person decides on, and answers with the state after its
// acceptance.
func (w *world) askAt(ctx context.Context, p protocol.PendingPhase) (fields, error) {
	from, ok := w.config.Phase(p.From)
	if !ok {
		return w.refused(&governance.Refused{Code: governance.CodeInvalidTransition, Message: fmt.Sprintf("the phase %q is not in routing", p.From)})
	}
	from.ExitGate = p.Gate
	var config, routing, gates object
	err := errors.Join(decode(w.raw, &config), decode(config.At("routing"), &routing), decode(config.At("gates"), &gates),
		set(&routing, fields{p.From: from}), set(&gates, fields{p.Gate: fields{"requires_human_approval": true}}),
		set(&config, fields{"routing": &routing, "gates": &gates}))
	if err != nil {
		return nil, err
	}
	at := *w
	if at.raw, err = protocol.Marshal(config); err != nil {
		return nil, err
	}
	at.config, _ = charter.Decode(at.raw)
	fixture, err := at.asking(false, gate.Input{Phase: p.From, Request: p.To, Verification: protocol.VerificationPass})
	if err != nil {
		return nil, err
	}
	asking, err := newWorld(fixture)
	if err != nil {
		return nil, err
	}
	defer func() { _ = asking.close() }() // our own folder
	return asking.command(func(e *orchestrator.Local) (govern.Report, error) {
		return e.Accept(ctx, govern.AcceptOptions{})
	}, govern.OutcomeAccepted)
}

// done is the answer to a successful change: the resulting state on disk.
func (w *world) done() (fields, error) {
	state, err := w.files.ReadFile(filepath.FromSlash(protocol.StateFile))
	return fields{"result": "ok", "state_assertions": json.RawMessage(state)}, err
}

// refused is the answer to an illegal change. The suite has one word for most causes; refusal is ours.
func (w *world) refused(r *governance.Refused) (fields, error) {
	kind := governance.CodeInvalidTransition
	if r.Code == governance.CodeImmutableField || r.Code == governance.CodeInvalidConfig {
		kind = r.Code
	}
	return w.withUnchanged(fields{"result": "error", "error_type": kind, "refusal": r.Code, "error": r.Message})
}

func (w *world) withUnchanged(f fields) (fields, error) {
	same, err := w.unchanged()
	f["state_unchanged"] = same
	return f, err
}

// commit opens the project's ledger and commits what step makes of the run in it, unless it refuses.
func (w *world) commit(ctx context.Context, step func(governance.Run) (ledger.Tx, *governance.Refused)) (refused *governance.Refused, err error) {
	l, err := ledger.Open(ctx, w.dir, ledger.Options{Owner: owner})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	run, err := w.governed(l.View())
	if err != nil {
		return nil, err
	}
	tx, refused := step(run)
	if refused != nil {
		return refused, nil
	}
	tx.Kind, tx.Now = w.fixture.Input.Operation, time.Now()
	return nil, l.Commit(ctx, tx)
}

// governed is the run of the record.
func (w *world) governed(v *ledger.View) (governance.Run, error) {
	run := governance.Run{Config: charter.Normalize(w.config), State: v.State, DecisionIDs: map[string]bool{}, ObjectionIDs: map[string]bool{}}
	var err error
	if run.History, err = v.History(v.State.ID()); err != nil {
		return run, err
	}
	decisions, err := v.Decisions("")
	for _, d := range decisions {
		run.DecisionIDs[d.ID] = true
	}
	for _, h := range run.History {
		for _, o := range h.Objections {
			run.ObjectionIDs[o.ID] = true
		}
	}
	return run, err
}
