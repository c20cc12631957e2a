package product

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
	"github.com/drawbar/drawbar/internal/governed/ledger"
)

// accept accepts a staged result with the engine. A refusal is reported in the terms of the validation and of the
// rules.
func accept(ctx context.Context, w *world) (fields, error) {
	var args struct {
		TurnID string `json:"turn_id"`
	}
	if err := w.args(&args); err != nil {
		return nil, err
	}
	t := w.state.ActiveTurns.At(args.TurnID)
	if t == nil {
		refused, err := w.record(ctx, func(run governance.Run) (governance.Run, []governance.Effect) {
			return governance.Transition(run, protocol.At(time.Now()), governance.AcceptTurn{TurnID: args.TurnID})
		})
		if err != nil {
			return nil, err
		}
		if refused == nil {
			return nil, fmt.Errorf("the turn %s is not active, but was accepted", args.TurnID)
		}
		return w.notAccepted(fields{"result": "error", "error_type": refused.Code, "error": refused.Message})
	}
	r, changes, err := w.validate(t)
	if err != nil {
		return nil, err
	}
	engine, err := w.engine()
	if err != nil {
		return nil, err
	}
	report, err := engine.Accept(ctx, govern.AcceptOptions{Turn: args.TurnID})
	if err != nil {
		return nil, err
	}
	if !r.OK() {
		return w.notAccepted(resultFields(r, turnresult.Warnings(changes)))
	}
	v, err := ledger.Read(w.dir)
	if err != nil {
		return nil, err
	}
	history, err := v.History("")
	if err != nil {
		return nil, err
	}
	if len(history) == 0 || history[len(history)-1].TurnID != args.TurnID {
		return w.notAccepted(fields{"result": "error", "error_type": report.Code, "errors": report.Errors})
	}
	last := history[len(history)-1]
	return fields{"result": "success", "history_length": len(history), "history_last_entry": last,
		"state": fields{"active_turns": v.State.ActiveTurns, "accepted_sequence": last.AcceptedSequence}}, nil
}

// notAccepted completes the answer about a turn that was not accepted.
func (w *world) notAccepted(f fields) (fields, error) {
	n, err := w.count(protocol.HistoryFile)
	if err != nil {
		return nil, err
	}
	f["history_length"] = n
	return w.withUnchanged(f)
}

// appendDecision adds a decision to the ledger if that is allowed.
func appendDecision(ctx context.Context, w *world) (fields, error) {
	var args struct {
		Entry protocol.LedgerDecision `json:"entry"`
	}
	if err := w.args(&args); err != nil {
		return nil, err
	}
	refused, err := w.record(ctx, func(run governance.Run) (governance.Run, []governance.Effect) {
		if r := governance.CheckDecision(run.DecisionIDs, args.Entry); r != nil {
			return run, []governance.Effect{*r}
		}
		return run, []governance.Effect{governance.AppendDecision{Decision: args.Entry}}
	})
	if err != nil {
		return nil, err
	}
	n, err := w.count(protocol.LedgerFile)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		f := fields{"result": "error", "error_type": refused.Code, "error": refused.Message, "ledger_length": n}
		for name, key := range map[string]string{"error_field": "field", "valid_values": "valid_values", "duplicate_id": "id"} {
			if v, ok := refused.Detail[key]; ok {
				f[name] = v
			}
		}
		return f, nil
	}
	v, err := ledger.Read(w.dir)
	if err != nil {
		return nil, err
	}
	decisions, err := v.Decisions()
	if err != nil {
		return nil, err
	}
	f := fields{"result": "success", "ledger_length": n}
	if len(decisions) > 0 {
		f["ledger_last_entry"] = decisions[len(decisions)-1]
	}
	return f, nil
}

// count is the number of lines of a file of the record.
func (w *world) count(name string) (int, error) {
	data, err := w.files.ReadFile(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return bytes.Count(data, []byte("\n")), err
}

// checkEvent checks an event against the rules of the record.
func checkEvent(_ context.Context, w *world) (fields, error) {
	var args struct {
		Event json.RawMessage `json:"event"`
	}
	if err := w.args(&args); err != nil {
		return nil, err
	}
	_, refused := governance.DecodeEvent(args.Event)
	return verdict(refused), nil
}

// checkOrder checks the order of the events of a run.
func checkOrder(_ context.Context, w *world) (fields, error) {
	var args struct {
		Events []protocol.Event `json:"events"`
	}
	if err := w.args(&args); err != nil {
		return nil, err
	}
	return verdict(governance.ValidateOrdering(args.Events)), nil
}

// verdict is the answer of a check.
func verdict(r *governance.Refused) fields {
	if r == nil {
		return fields{"result": "success", "errors": []string{}}
	}
	return fields{"result": "error", "error_type": r.Code, "error_field": r.Detail["field"], "errors": []string{r.Message}}
}
