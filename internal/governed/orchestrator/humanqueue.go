package orchestrator

import (
	"encoding/json"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
)

// humanQueue makes what waits for a person what human-escalations.jsonl says: the original keeps its tasks there and nowhere else.
// Tasks of other runs stay out, except the one that is named.
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
			continue // verify names it
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
