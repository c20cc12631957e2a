package product

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// gateInput reads what a gate decision depends on: the fixture's phase and request, and the project's files.
func (w *world) gateInput() (gate.Input, error) {
	var args struct {
		Phase   string `json:"current_phase"`
		Request string `json:"requested_phase"`
	}
	if err := w.args(&args); err != nil {
		return gate.Input{}, err
	}
	in := gate.Input{Config: w.config, Phase: w.state.Phase, Request: args.Request, Verification: protocol.VerificationPass}
	if args.Phase != "" {
		in.Phase = args.Phase
	}
	var result struct {
		Verification *protocol.Verification `json:"verification"`
		Role         string                 `json:"role"`
	}
	if raw := w.result(); raw != nil {
		if err := json.Unmarshal(raw, &result); err != nil {
			return in, err
		}
		if result.Verification != nil {
			in.Verification = result.Verification.Status
		}
		in.Role = result.Role
	}
	var err error
	if in.History, err = w.history(); err != nil {
		return in, err
	}
	in.Objections = governance.BlockingObjections(governance.Run{State: w.state, History: in.History})
	in.Files, _, err = project.GateFiles(w.dir, w.config, in.Phase)
	return in, err
}

func phaseExit(ctx context.Context, w *world) (fields, error) {
	in, err := w.gateInput()
	if err != nil {
		return nil, err
	}
	d := gate.PhaseExit(in)
	if err := w.same(ctx, false, in, &d); err != nil {
		return nil, err
	}
	switch d.Action {
	case gate.Advance:
		return fields{"result": "success", "action": d.Action, "new_phase": d.To}, nil
	case gate.AwaitingHumanApproval:
		return fields{"result": "success", "action": d.Action, "new_status": protocol.RunPaused,
			"pending_phase_transition": fields{"from": d.From, "to": d.To, "gate": d.GateID}}, nil
	}
	same, err := w.unchanged()
	if d.Action == gate.UnknownPhase {
		return fields{"result": "error", "action": "gate_error", "error_type": d.Action, "state_unchanged": same}, err
	}
	return fields{"result": "success", "action": d.Action, "phase_unchanged": same, "state_unchanged": same, "reason": d.Reason()}, err
}

// same repeats the decision in the engine if a turn with that request can be accepted: one that requests a phase out of
// order cannot.
func (w *world) same(ctx context.Context, completion bool, in gate.Input, d *gate.Decision) error {
	switch {
	case d.Action == gate.UnknownPhase, d.Action == gate.NotFinalPhase, d.Action == gate.NoRequest, d.GateID == "" && d.Action == gate.GateFailed:
		return nil
	}
	action, err := w.asked(ctx, completion, in)
	if err != nil {
		return fmt.Errorf("ask the engine: %w", err)
	}
	if action != d.Action {
		d.Action, d.Reasons, d.MissingFiles, d.MissingVerification = action, []string{"the engine decides otherwise"}, nil, false
	}
	return nil
}

func runCompletion(ctx context.Context, w *world) (fields, error) {
	in, err := w.gateInput()
	if err != nil {
		return nil, err
	}
	d := gate.Completion(in)
	if err := w.same(ctx, true, in, &d); err != nil {
		return nil, err
	}
	switch d.Action {
	case gate.Complete:
		return fields{"result": "success", "action": d.Action, "new_status": protocol.RunCompleted}, nil
	case gate.AwaitingHumanApproval:
		return fields{"result": "success", "action": d.Action, "new_status": protocol.RunPaused,
			"pending_run_completion": fields{"phase": d.From, "gate": d.GateID}}, nil
	}
	same, err := w.unchanged()
	return fields{"result": "success", "action": d.Action, "state_unchanged": same, "reason": d.Reason()}, err
}
