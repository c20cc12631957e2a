package governance

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// ObjectionStory is an objection and all its entries.
type ObjectionStory struct {
	protocol.OpenObjection
	Open  bool            `json:"open"`
	Words []ObjectionWord `json:"words"` // oldest first; the first one raised it
}

// ObjectionWord is the entry of a turn or a person for an objection.
type ObjectionWord struct {
	Status string        `json:"status"`
	TurnID string        `json:"turn_id,omitempty"` // of a turn
	Role   string        `json:"role,omitempty"`
	By     string        `json:"by,omitempty"` // of a person
	Text   string        `json:"text,omitempty"`
	At     protocol.Time `json:"at"`
}

// Objections are the objections of a run with their entries, in the order in which they were raised. notes are the
// notes of the decision ledger.
func Objections(history []protocol.HistoryEntry, notes []protocol.LedgerNote) []ObjectionStory {
	type word struct {
		ObjectionWord
		about protocol.Objection
		phase string
	}
	var said []word
	runs := map[string]bool{}
	for _, h := range accepted(history) {
		runs[h.RunID] = true
		for _, o := range h.Objections {
			said = append(said, word{ObjectionWord{Status: or(o.Status, protocol.ObjectionRaised), TurnID: h.TurnID, Role: h.Role, Text: o.Statement,
				At: h.AcceptedAt}, o, h.Phase})
		}
	}
	for _, n := range notes {
		if !strings.HasPrefix(n.Decision, "objection_") || !runs[n.RunID] {
			continue
		}
		text := func(key string) (v string) {
			_ = json.Unmarshal(n.Extra.At(key), &v) // a value that is not a string counts as empty
			return v
		}
		said = append(said, word{ObjectionWord{Status: text("status"), By: text("by"), Text: text("reason"), At: n.Timestamp},
			protocol.Objection{ID: text("objection_id"), Severity: text("severity")}, n.Phase})
	}
	slices.SortStableFunc(said, func(a, b word) int { return a.At.Compare(b.At.Time) })
	var all protocol.Ordered[*ObjectionStory]
	for _, w := range said {
		x := all.At(w.about.ID)
		if x == nil {
			x = &ObjectionStory{OpenObjection: protocol.OpenObjection{Objection: w.about, TurnID: w.TurnID, Role: w.Role, Phase: w.phase, RaisedAt: w.At}}
			all.Set(w.about.ID, x)
		}
		if rank(w.about.Severity) > rank(x.Severity) {
			x.Severity = w.about.Severity
		}
		x.Status, x.Words = w.Status, append(x.Words, w.ObjectionWord)
		x.Open = !protocol.ObjectionSettled(w.Status)
	}
	list := make([]ObjectionStory, 0, all.Len())
	for _, x := range all.All() {
		list = append(list, *x)
	}
	return list
}
