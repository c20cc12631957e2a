package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// replayOriginals carries out the journals that the original left. Each becomes a transaction of ours, which removes
// it.
func (l *Ledger) replayOriginals(ctx context.Context) error {
	names, err := journalNames(l.disk)
	if err != nil || len(names) == 0 {
		return err
	}
	all, err := journals(l.disk, names)
	if err != nil {
		return err
	}
	now := time.Now()
	// The view includes the effects of all of them; each is planned from what is on disk.
	for _, f := range all {
		if f.original == nil || f.err != nil {
			continue
		}
		if l.view, err = readPlain(l.disk, l.root); err != nil {
			return err
		}
		tx, err := l.view.planOriginal(f.original, now)
		if err != nil {
			return err
		}
		tx.Remove = []string{f.file}
		if turnPattern().MatchString(f.original.TurnID) {
			tx.Archive = []string{f.original.TurnID}
		}
		j, tail, err := l.prepare(&tx)
		if err != nil {
			return fmt.Errorf("apply %s: %w", l.disk.at(f.file), err)
		}
		if err := l.carryOut(ctx, j); err != nil {
			return err
		}
		l.tail = tail
		l.note(Note{What: "replayed", Transaction: f.original.TransactionID, TurnID: f.original.TurnID,
			Message: fmt.Sprintf("finished the acceptance of turn %s that agentxchain started at %s", f.original.TurnID, f.original.PreparedAt)})
	}
	return nil
}

// readPlain reads the record as it is on disk, without the effects of journals of the original.
func readPlain(d *disk, root string) (*View, error) {
	v, _, err := readOnce(d, root, false)
	return v, err
}

// planOriginal builds the transaction that finishes an acceptance of the original, without what is already written. The
// original's own replay would append the history line again.
func (v *View) planOriginal(j *originalJournal, now time.Time) (Tx, error) {
	tx := Tx{Kind: "replay_" + originalKind, TurnID: j.TurnID, Now: now, State: v.State}
	var entry protocol.HistoryEntry
	_ = json.Unmarshal(j.HistoryEntry, &entry) // only for decisions that outlive the run
	there, err := v.has(protocol.HistoryFile, j.TurnID, func(k lineKey) bool { return k.TurnID == j.TurnID })
	if err != nil {
		return tx, err
	}
	if !there {
		tx.rawHistory = append(tx.rawHistory, j.HistoryEntry)
	}
	for _, raw := range j.LedgerEntries {
		there, err := v.hasLedgerLine(raw)
		if err != nil {
			return tx, err
		}
		if !there {
			tx.Ledger = append(tx.Ledger, raw)
		}
	}
	for _, d := range entry.Decisions {
		if d.Durability != "repo" {
			continue
		}
		there, err := v.has(protocol.RepoLedgerFile, d.ID, func(k lineKey) bool { return k.ID == d.ID && k.TurnID == j.TurnID })
		if err != nil {
			return tx, err
		}
		if !there {
			tx.RepoDecisions = append(tx.RepoDecisions, repoDecision(&entry, d))
		}
	}
	if v.State.ID() == j.RunID && (v.State.ActiveTurns.Has(j.TurnID) || v.State.TurnSequence < j.AcceptedSequence) {
		tx.State = *j.NextState
	}
	there, err = v.has(protocol.EventsFile, j.TurnID, func(k lineKey) bool { return k.EventType == "turn_accepted" && k.Turn.TurnID == j.TurnID })
	if err != nil {
		return tx, err
	}
	if !there {
		payload, _ := protocol.Marshal(map[string]string{"recovered_from": j.TransactionID}) // strings
		tx.Events = append(tx.Events, protocol.Event{EventType: "turn_accepted", RunID: j.RunID, Phase: tx.State.Phase, Status: string(tx.State.Status),
			Turn: &protocol.EventTurn{TurnID: j.TurnID, RoleID: entry.Role}, Payload: payload})
	}
	return tx, nil
}

func repoDecision(h *protocol.HistoryEntry, d protocol.Decision) protocol.RepoDecision {
	r := protocol.RepoDecision{ID: d.ID, RunID: h.RunID, TurnID: h.TurnID, Role: h.Role, Phase: h.Phase, Category: d.Category, Statement: d.Statement,
		Rationale: d.Rationale, Durability: d.Durability, Status: "active", CreatedAt: h.AcceptedAt}
	if d.Overrides != "" {
		r.Overrides = &d.Overrides
	}
	return r
}

// has reports whether a file has a line that contains an id and that is accepts.
func (v *View) has(file, id string, is func(lineKey) bool) (found bool, err error) {
	needle := quoted(id)
	_, err = v.each(file, 0, func(rec record) error {
		var k lineKey
		found = found || bytes.Contains(rec.Data, needle) && json.Unmarshal(rec.Data, &k) == nil && is(k)
		return nil
	})
	if isDamage(err) {
		err = nil
	}
	return found, err
}

// hasLedgerLine reports whether the decision ledger has a line: a decision by its id and turn, a note by its content.
func (v *View) hasLedgerLine(raw json.RawMessage) (found bool, err error) {
	line, err := protocol.Marshal(raw)
	if err != nil {
		return false, err
	}
	var k lineKey
	if json.Unmarshal(line, &k) == nil && k.ID != "" {
		return v.has(protocol.LedgerFile, k.ID, func(o lineKey) bool { return o.ID == k.ID && o.TurnID == k.TurnID })
	}
	_, err = v.each(protocol.LedgerFile, 0, func(rec record) error {
		found = found || bytes.Equal(bytes.TrimSpace(rec.Data), line)
		return nil
	})
	if isDamage(err) {
		err = nil
	}
	return found, err
}

// foreseeOriginal adds the effects of a journal of the original to a view.
func (v *View) foreseeOriginal(j *originalJournal) error {
	tx, err := v.planOriginal(j, j.PreparedAt.Time)
	if err != nil {
		return err
	}
	own(&tx)
	lines, err := encodeLines(&tx)
	if err != nil {
		return err
	}
	for file, all := range lines {
		e := v.files[file]
		for _, line := range all {
			e.more = append(e.more, line...)
		}
		v.files[file] = e
	}
	v.State, v.Pending = tx.State, j.TransactionID
	return nil
}
