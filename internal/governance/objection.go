package governance

import "github.com/drawbar/drawbar/internal/governance/protocol"

// MustObject reports whether a turn of the role needs an objection to be valid: a reviewer's, unless the rules say otherwise, and
// any turn of a first-edition role.
func MustObject(c *protocol.Config, role string) bool {
	r := c.Roles.At(role)
	return r.FirstEdition() || r.WriteAuthority == protocol.ReviewOnly && c.Rules.Challenge()
}

// ObjectionFaults holds a result to the challenge rule.
func ObjectionFaults(c *protocol.Config, role string, r *protocol.TurnResult) []string {
	if len(r.Objections) > 0 || !MustObject(c, role) {
		return nil
	}
	if c.Roles.At(role).FirstEdition() {
		return []string{"the role " + role + " is of the first edition and raises at least one objection: agreement without a challenge is not accepted"}
	}
	return []string{"the role " + role + " only reviews and raises at least one objection: agreement without a challenge is not accepted"}
}

// recordObjections remembers the ids of an accepted turn's objections.
func (s *step) recordObjections(h protocol.HistoryEntry) {
	ids := clone(s.run.ObjectionIDs)
	for _, o := range h.Objections {
		ids[o.ID] = true
	}
	s.run.ObjectionIDs = ids
}

// OpenObjections are the objections of the run that nobody has resolved, oldest first.
func OpenObjections(history []protocol.HistoryEntry) []protocol.Objection {
	var open []protocol.Objection
	at := map[string]int{}
	for _, h := range accepted(history) {
		for _, o := range h.Objections {
			if i, ok := at[o.ID]; ok {
				open[i] = o
				continue
			}
			at[o.ID] = len(open)
			open = append(open, o)
		}
	}
	var left []protocol.Objection
	for _, o := range open {
		switch o.Status {
		case "resolved", "resolved_by_human", "resolved_by_director":
		default:
			left = append(left, o)
		}
	}
	return left
}
