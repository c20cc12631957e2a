package product

import (
	"context"
	"encoding/json"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// checkResult decodes, normalizes and validates a staged result.
func checkResult(_ context.Context, w *world) (fields, error) {
	r, changes, err := w.validate(w.turn())
	if err != nil {
		return nil, err
	}
	return resultFields(r, turnresult.Warnings(changes)), nil
}

// turn is the active turn of a staged result: the one that it names, else the first.
func (w *world) turn() *protocol.Turn {
	if t := w.state.ActiveTurns.At(w.named()); t != nil {
		return t
	}
	for _, t := range w.state.ActiveTurns.All() {
		return t
	}
	return nil
}

// named is the turn that the staged result names.
func (w *world) named() string {
	var result struct {
		TurnID string `json:"turn_id"`
	}
	_ = json.Unmarshal(w.result(), &result) // a value that is not a result names no turn
	return result.TurnID
}

// validate validates the turn's staged result as an acceptance does, and reports what normalization changed.
func (w *world) validate(t *protocol.Turn) (turnresult.Report, []protocol.Change, error) {
	id := w.named()
	if t != nil {
		id = t.TurnID
	}
	data, _, err := project.ReadStaged(w.dir, id)
	if err != nil {
		return turnresult.Unreadable(err), nil, nil
	}
	in := turnresult.Input{Config: charter.Normalize(w.config), State: &w.state, Turn: t}
	if in.History, err = w.history(); err != nil {
		return turnresult.Report{}, nil, err
	}
	r, changes, err := turnresult.Check(data, in)
	if err != nil {
		return turnresult.Unreadable(err), nil, nil
	}
	return r, changes, nil
}

// history are the accepted turns with which the fixture begins.
func (w *world) history() ([]protocol.HistoryEntry, error) {
	var list []protocol.HistoryEntry
	for _, raw := range w.setup.History {
		var h protocol.HistoryEntry
		if err := json.Unmarshal(raw, &h); err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

// resultFields is the answer of a validation. The first of several faults determines the type.
func resultFields(r turnresult.Report, warnings []string) fields {
	warnings = append(warnings, r.Warnings...)
	if r.OK() {
		return fields{"result": "success", "stages_passed": r.Passed, "errors": []string{}, "warnings": warnings}
	}
	f := r.Faults[0]
	return fields{"result": "error", "failed_stage": r.Failed, "error_class": r.Class(), "error_type": f.Type, "error_field": f.Field, "error_path": f.Path,
		"error_detail": f.Message, "errors": turnresult.Errors(r), "warnings": warnings}
}
