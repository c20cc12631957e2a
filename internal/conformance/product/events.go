package product

import (
	"context"
	"encoding/json"

	"github.com/drawbar/drawbar/internal/governance/timeline"
)

func checkEvent(_ context.Context, w *world) (fields, error) {
	var args struct {
		Event json.RawMessage `json:"event"`
	}
	if err := w.args(&args); err != nil {
		return nil, err
	}
	return verdict("invalid_event", timeline.Check(args.Event)), nil
}

func checkOrder(_ context.Context, w *world) (fields, error) {
	var args struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := w.args(&args); err != nil {
		return nil, err
	}
	return verdict("ordering_violation", timeline.Order(args.Events)), nil
}

// verdict is the answer of a check: a success, or the type of its errors.
func verdict(kind string, faults []string) fields {
	if len(faults) == 0 {
		return fields{"result": "success", "errors": []string{}}
	}
	return fields{"result": "error", "error_type": kind, "errors": faults}
}
