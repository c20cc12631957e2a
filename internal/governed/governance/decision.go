package governance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

const (
	durabilityRepo = "repo"
	statusActive   = "active"
	statusOver     = "overridden"
)

// CheckDecision returns why a decision cannot be added to a ledger with the given ids. A duplicate id is refused:
// acceptance renumbers first.
func CheckDecision(ids map[string]bool, d protocol.LedgerDecision) *Refused {
	for _, f := range []struct{ field, value string }{{"id", d.ID}, {"turn_id", d.TurnID}, {"role", d.Role}, {"statement", d.Statement}} {
		if strings.TrimSpace(f.value) == "" {
			return refuse(CodeEmptyField, NextStatus, "a decision's %s is empty", f.field).with("field", f.field)
		}
	}
	if !slices.Contains(protocol.Categories(), d.Category) {
		return refuse(CodeInvalidEnum, NextStatus, "a decision's category is one of %s, not %q", strings.Join(protocol.Categories(), ", "), d.Category).
			with("field", "category").with("valid_values", protocol.Categories())
	}
	if ids[d.ID] {
		return refuse(CodeDuplicateDecision, NextStatus, "the ledger already has a decision %s", d.ID).with("field", "id").with("id", d.ID)
	}
	return nil
}

// renumber changes the ids of decisions and objections of a result that collide with the record or with one another,
// and every reference to them in the same result. It returns the changes.
func (s *step) renumber(r *protocol.TurnResult) []protocol.Change {
	var changes []protocol.Change
	changed := func(field, from, to, why string) {
		changes = append(changes, protocol.Change{Field: field, Original: raw(from), Normalized: raw(to), Rationale: why})
	}
	moved := map[string]string{}
	own := map[string]bool{}
	ids := newNumbers("DEC-", s.run.DecisionIDs)
	for _, d := range r.Decisions {
		ids.reserve(d.ID)
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if s.run.DecisionIDs[d.ID] || own[d.ID] {
			id := ids.next()
			changed(fmt.Sprintf("decisions[%d].id", i), d.ID, id, "the record has a decision of this id already")
			if _, twice := moved[d.ID]; !twice && !own[d.ID] {
				moved[d.ID] = id
			}
			d.ID = id
		}
		own[d.ID] = true
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		// An override refers to an active decision, never to another decision of the same result.
		if to, ok := moved[d.Overrides]; ok && activeDecision(s.st, d.Overrides) == nil {
			changed(fmt.Sprintf("decisions[%d].overrides", i), d.Overrides, to, "follows the renumbered decision")
			d.Overrides = to
		}
	}
	for i := range r.Delegations {
		for j, id := range r.Delegations[i].RequiredDecisionIDs {
			if to, ok := moved[id]; ok {
				changed(fmt.Sprintf("delegations[%d].required_decision_ids[%d]", i, j), id, to, "follows the renumbered decision")
				r.Delegations[i].RequiredDecisionIDs[j] = to
			}
		}
	}
	objections := newNumbers("OBJ-", s.run.ObjectionIDs)
	for _, o := range r.Objections {
		objections.reserve(o.ID)
	}
	seen := map[string]bool{}
	for i := range r.Objections {
		o := &r.Objections[i]
		if seen[o.ID] || s.run.ObjectionIDs[o.ID] && !speaksOf(*o, s.lastWord(o.ID)) {
			id := objections.next()
			changed(fmt.Sprintf("objections[%d].id", i), o.ID, id, "the record has an objection of this id already")
			o.ID = id
		}
		seen[o.ID] = true
	}
	return changes
}

// numbers generates ids after the highest known one.
type numbers struct {
	prefix string
	last   int
}

func newNumbers(prefix string, used map[string]bool) *numbers {
	n := &numbers{prefix: prefix}
	for id := range used {
		n.reserve(id)
	}
	return n
}

// maxNumber bounds the ids that count as highest, so that one absurd id does not use up the numbers.
const maxNumber = 1_000_000_000

func (n *numbers) reserve(id string) {
	if v, err := strconv.Atoi(strings.TrimPrefix(id, n.prefix)); err == nil && v < maxNumber {
		n.last = max(n.last, v)
	}
}

func (n *numbers) next() string {
	n.last++
	return fmt.Sprintf("%s%03d", n.prefix, n.last)
}

// overrideFaults lists the overrides that are not allowed. The target must be active. The same role may always
// override; another one needs at least the target's authority if both roles have one. A person has 100.
func overrideFaults(run Run, role string, decisions []protocol.Decision) []string {
	var faults []string
	taken := map[string]string{}
	for _, d := range decisions {
		if d.Overrides == "" {
			continue
		}
		target := activeDecision(&run.State, d.Overrides)
		switch {
		case d.Overrides == d.ID:
			faults = append(faults, d.ID+" overrides itself")
			continue
		case target == nil:
			faults = append(faults, d.ID+" overrides "+d.Overrides+", which is not an active decision of this repository")
			continue
		case taken[d.Overrides] != "":
			faults = append(faults, d.ID+" overrides "+d.Overrides+", which "+taken[d.Overrides]+" of the same result overrides")
			continue
		}
		taken[d.Overrides] = d.ID
		mine, theirs := authority(run.Config, role), authority(run.Config, target.Role)
		if target.Role != role && mine != nil && theirs != nil && *mine < *theirs {
			faults = append(faults, fmt.Sprintf("%s overrides %s of the role %s (decision authority %d), and %s has %d", d.ID, d.Overrides, target.Role,
				*theirs, role, *mine))
		}
	}
	return faults
}

// humanAuthority is a person's decision authority.
const humanAuthority = 100

// authority is a role's decision authority; nil where none is declared.
func authority(c *protocol.Config, role string) *int {
	if role == protocol.Human {
		return new(humanAuthority)
	}
	return c.Roles.At(role).DecisionAuthority
}

func activeDecision(st *protocol.State, id string) *protocol.RepoDecision {
	if id == "" {
		return nil
	}
	for i := range st.RepoDecisions {
		if d := &st.RepoDecisions[i]; d.ID == id && d.Status != statusOver {
			return d
		}
	}
	return nil
}

// recordDecisions adds the decisions of an accepted turn to the ledger, and those that outlive the run to the
// repository's.
func (s *step) recordDecisions(t *protocol.Turn, h protocol.HistoryEntry) {
	ids := clone(s.run.DecisionIDs)
	for _, d := range h.Decisions {
		l := protocol.LedgerDecision{ID: d.ID, TurnID: h.TurnID, RunID: h.RunID, Role: h.Role, Phase: h.Phase, RuntimeID: h.RuntimeID,
			Category: d.Category, Statement: d.Statement, Rationale: d.Rationale, Durability: d.Durability, Overrides: d.Overrides,
			ObjectionsAgainst: []string{}, Status: "accepted", CreatedAt: s.now}
		if r := CheckDecision(ids, l); r != nil && s.illegal == nil {
			r.Next = turnCommand(s.st, t)
			s.illegal = r
			return
		}
		ids[d.ID] = true
		s.add(AppendDecision{l})
		if d.Overrides != "" {
			s.add(OverrideRepoDecision{ID: d.Overrides, By: d.ID})
			s.st.RepoDecisions = slices.DeleteFunc(s.st.RepoDecisions, func(o protocol.RepoDecision) bool { return o.ID == d.Overrides })
		}
		if d.Durability != durabilityRepo {
			continue
		}
		o := protocol.RepoDecision{ID: d.ID, RunID: h.RunID, TurnID: h.TurnID, Role: h.Role, Phase: h.Phase, Category: d.Category,
			Statement: d.Statement, Rationale: d.Rationale, Durability: durabilityRepo, Status: statusActive, CreatedAt: s.now}
		if d.Overrides != "" {
			o.Overrides = new(d.Overrides)
		}
		s.st.RepoDecisions = append(s.st.RepoDecisions, o)
		s.add(AppendRepoDecision{o})
	}
	s.run.DecisionIDs = ids
}

func clone(m map[string]bool) map[string]bool {
	c := make(map[string]bool, len(m)+4)
	maps.Copy(c, m)
	return c
}
