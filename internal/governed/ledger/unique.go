package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// turnKey distinguishes an accepted turn from a reissued one of the same id.
func turnKey(h *protocol.HistoryEntry) string {
	if h.Status == "reissued" {
		return "reissued " + h.TurnID
	}
	return "accepted " + h.TurnID
}

// unique refuses a turn that is already in the history, and a decision whose id the run already has.
func (l *Ledger) unique(tx *Tx) error {
	if err := l.uniqueTurns(tx.History); err != nil {
		return err
	}
	return l.uniqueDecisions(tx)
}

func (l *Ledger) uniqueTurns(entries []protocol.HistoryEntry) error {
	fresh := map[string]bool{}
	var needles [][]byte
	twice := ""
	for i := range entries {
		if fresh[turnKey(&entries[i])] {
			twice = entries[i].TurnID
		}
		fresh[turnKey(&entries[i])] = true
		needles = append(needles, quoted(entries[i].TurnID))
	}
	if len(fresh) == 0 {
		return nil
	}
	_, err := l.view.each(protocol.HistoryFile, 0, func(rec record) error {
		var h protocol.HistoryEntry
		if slices.ContainsFunc(needles, func(n []byte) bool { return bytes.Contains(rec.Data, n) }) &&
			json.Unmarshal(rec.Data, &h) == nil && fresh[turnKey(&h)] { // a damaged line does not concern this transaction
			twice = cmp.Or(twice, h.TurnID)
		}
		return nil
	})
	if twice != "" {
		return execution.Errorf(execution.CodeInvalidStateTransition, "turn %s is %w", twice, ErrDuplicate).
			WithHint("it was accepted before; see: drawbar govern status")
	}
	if err != nil && !isDamage(err) {
		return err
	}
	return nil
}

// lineKey holds the fields that identify a line of the record.
type lineKey struct {
	ID        string `json:"id"`
	RunID     string `json:"run_id"`
	TurnID    string `json:"turn_id"`
	EventType string `json:"event_type"`
	Turn      struct {
		TurnID string `json:"turn_id"`
	} `json:"turn"`
}

// scope is the scope in which a decision's id is unique: its run, or its turn for lines of the original that name no
// run.
func (k lineKey) scope() lineKey {
	if k.RunID != "" {
		return lineKey{ID: k.ID, RunID: k.RunID}
	}
	return lineKey{ID: k.ID, TurnID: k.TurnID}
}

func (l *Ledger) uniqueDecisions(tx *Tx) error {
	fresh := map[lineKey]bool{}
	var needles [][]byte
	for _, v := range tx.Ledger {
		line, err := protocol.Marshal(v)
		if err != nil {
			return execution.Errorf(execution.CodeInternal, "encode a line of %s: %w", protocol.LedgerFile, err)
		}
		var k lineKey
		if json.Unmarshal(line, &k) != nil || k.ID == "" {
			continue // a note
		}
		if fresh[k.scope()] {
			return duplicateDecision(k)
		}
		fresh[k.scope()] = true
		needles = append(needles, quoted(k.ID))
	}
	if len(fresh) == 0 {
		return nil
	}
	var twice *lineKey
	_, err := l.view.each(protocol.LedgerFile, 0, func(rec record) error {
		for _, n := range needles {
			var k lineKey
			if bytes.Contains(rec.Data, n) && json.Unmarshal(rec.Data, &k) == nil && fresh[k.scope()] {
				twice = cmp.Or(twice, &k)
			}
		}
		return nil
	})
	if twice != nil {
		return duplicateDecision(*twice)
	}
	if err != nil && !isDamage(err) {
		return err
	}
	return nil
}

func duplicateDecision(k lineKey) error {
	return execution.Errorf(execution.CodeValidation, "decision %s is %w", k.ID, ErrDuplicate).
		WithHint("give it the next free number; see: drawbar govern decisions")
}
