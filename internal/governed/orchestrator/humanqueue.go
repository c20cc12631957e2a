package orchestrator

import (
	"encoding/json"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
)

// humanQueue reads the human queue from human-escalations.jsonl, the only place where the original keeps its tasks.
// Tasks of other runs are left out, except the named one.
func (t *transaction) humanQueue(named string) error {
	lines, err := t.ledger.View().Human()
	if err != nil {
		return err
	}
	st := t.state()
	var open protocol.Ordered[protocol.OpenEscalation]
	closed := map[string]bool{}
	for _, raw := range lines {
		var e governance.HumanEntry
		if json.Unmarshal(raw, &e) != nil || e.EscalationID == "" {
			continue // verify reports it
		}
		switch {
		case e.Kind == "resolved":
			closed[e.EscalationID] = true
			open.Delete(e.EscalationID)
		case e.Kind == "raised" && (e.RunID == st.ID() || e.EscalationID == named):
			open.Set(e.EscalationID, protocol.OpenEscalation{EscalationID: e.EscalationID, BlockedOn: e.BlockedOn, TurnID: e.TurnID, RaisedAt: e.CreatedAt})
		}
	}
	known := slices.DeleteFunc(st.OpenHuman, func(o protocol.OpenEscalation) bool {
		open.Delete(o.EscalationID)
		return closed[o.EscalationID]
	})
	st.OpenHuman = nil
	for _, o := range open.All() {
		st.OpenHuman = append(st.OpenHuman, o)
	}
	st.OpenHuman = append(st.OpenHuman, known...)
	return nil
}
