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
func accept(ctx context.Context, w *world, args struct {
	TurnID string `json:"turn_id"`
}) (fields, error) {
	t := w.state.ActiveTurns.At(args.TurnID)
	if t == nil {
		v, err := ledger.Read(w.dir)
		if err != nil {
			return nil, err
		}
		run, err := w.governed(v)
		if err != nil {
			return nil, err
		}
		_, effects := governance.Transition(run, protocol.At(time.Now()), governance.AcceptTurn{TurnID: args.TurnID})
		refused, ok := effects[0].(governance.Refused)
		if !ok {
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
func appendDecision(ctx context.Context, w *world, args struct {
	Entry protocol.LedgerDecision `json:"entry"`
}) (fields, error) {
	refused, err := w.commit(ctx, func(run governance.Run) (ledger.Tx, *governance.Refused) {
		return ledger.Tx{State: run.State, Ledger: []any{args.Entry}}, governance.CheckDecision(run.DecisionIDs, args.Entry)
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
	decisions, err := v.Decisions("")
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
func checkEvent(_ context.Context, w *world, args struct {
	Event json.RawMessage `json:"event"`
}) (fields, error) {
	_, refused := governance.DecodeEvent(args.Event)
	return verdict(refused), nil
}

// checkOrder checks the order of the events of a run.
func checkOrder(_ context.Context, w *world, args struct {
	Events []protocol.Event `json:"events"`
}) (fields, error) {
	return verdict(governance.ValidateOrdering(args.Events)), nil
}

// verdict is the answer of a check.
func verdict(r *governance.Refused) fields {
	if r == nil {
		return fields{"result": "success", "errors": []string{}}
	}
	return fields{"result": "error", "error_type": r.Code, "error_field": r.Detail["field"], "errors": []string{r.Message}}
}
