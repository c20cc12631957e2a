package product

import (
	"context"
	"encoding/json"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// checkResult carries a staged result through decoding, normalization and the five stages.
func checkResult(_ context.Context, w *world) (fields, error) {
	r, changes, err := w.validate(w.turn())
	if err != nil {
		return nil, err
	}
	return resultFields(r, turnresult.Warnings(changes)), nil
}

// turn is the active turn that a staged result is for: the one that it names, else the first.
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
	_ = json.Unmarshal(w.result(), &result) // what is no result names no turn
	return result.TurnID
}

// validate judges what the turn has staged, as the acceptance of a turn does, and says what normalization changed.
func (w *world) validate(t *protocol.Turn) (turnresult.Report, []protocol.Change, error) {
	id := w.named()
	if t != nil {
		id = t.TurnID
	}
	data, _, err := project.ReadStaged(w.dir, id)
	if err != nil {
		return turnresult.Unreadable(err), nil, nil
	}
	raw, read, err := turnresult.Decode(data)
	if err != nil {
		return turnresult.Unreadable(err), nil, nil
	}
	in := turnresult.Input{Raw: raw, Config: charter.Normalize(w.config), State: &w.state, Turn: t}
	if in.History, err = w.history(); err != nil {
		return turnresult.Report{}, nil, err
	}
	normal, changes := turnresult.Normalize(in)
	in.Raw = normal
	return turnresult.Validate(in), append(read, changes...), nil
}

// history are the accepted turns that the fixture begins with.
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

// resultFields is the answer of a validation. Of several faults the first names the type.
func resultFields(r turnresult.Report, warnings []string) fields {
	warnings = append(warnings, r.Warnings...)
	if r.OK() {
		return fields{"result": "success", "stages_passed": r.Passed, "errors": []string{}, "warnings": warnings}
	}
	f := r.Faults[0]
	return fields{"result": "error", "failed_stage": r.Failed, "error_class": r.Class(), "error_type": f.Type, "error_field": f.Field, "error_path": f.Path,
		"error_detail": f.Message, "errors": turnresult.Errors(r), "warnings": warnings}
}
