package charter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// The admission checks.
const (
	NoProducer       = "ADM-001"
	OwnerUnreachable = "ADM-002"
	NoApprover       = "ADM-003"
	OwnerCannotWrite = "ADM-004"
)

// Admission checks whether a run with this configuration can end: whether a role can produce the files that gates
// require, and whether a person can approve. Only NoApprover is a warning: approval may come from elsewhere.
func Admission(c *protocol.Config) []Problem {
	n := Normalize(c)
	var f findings
	for phase, p := range n.Routing.All() {
		if g, ok := n.Gate(p.ExitGate); ok {
			f.producers(n, phase, p)
			f.owners(n, phase, p)
			f.approver(n, phase, p, g)
		}
	}
	f.completion(n)
	return f.list
}

// routed are the declared roles that may take turns in a phase.
func routed(c *protocol.Config, p protocol.Phase) []string {
	var ids []string
	seen := map[string]bool{}
	for _, id := range append([]string{p.EntryRole}, p.AllowedNextRoles...) {
		if c.Roles.Has(id) && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// producers finds files that no routed role can produce.
func (f *findings) producers(c *protocol.Config, phase string, p protocol.Phase) {
	roles := routed(c, p)
	if len(roles) == 0 {
		return
	}
	var unproduced []string
	for _, a := range Artifacts(c, phase) {
		if !slices.ContainsFunc(roles, func(id string) bool {
			_, rt, _ := c.RuntimeOf(id)
			return canProduce(c.Roles.At(id), rt, a.Path)
		}) {
			unproduced = append(unproduced, a.Path)
		}
	}
	if len(unproduced) == 0 {
		return
	}
	who := make([]string, len(roles))
	for i, id := range roles {
		_, rt, _ := c.RuntimeOf(id)
		who[i] = fmt.Sprintf("%s (%s on %s)", id, c.Roles.At(id).WriteAuthority, rt.Type)
	}
	f.add(Problem{Type: NoProducer, Field: shape.Path("routing", phase), Message: fmt.Sprintf("gate %s requires %s, but no role in this phase can write it: %s",
		p.ExitGate, strings.Join(unproduced, ", "), strings.Join(who, ", ")),
		Hint:   fmt.Sprintf("add a role that can write to %s", shape.Path("routing", phase, "allowed_next_roles")),
		Detail: map[string]any{"phase": phase, "gate": p.ExitGate, "files": unproduced}})
}

func (f *findings) owners(c *protocol.Config, phase string, p protocol.Phase) {
	roles := routed(c, p)
	for _, a := range Artifacts(c, phase) {
		if a.OwnedBy == "" || !c.Roles.Has(a.OwnedBy) {
			continue
		}
		detail := map[string]any{"phase": phase, "gate": p.ExitGate, "path": a.Path, "role": a.OwnedBy}
		field := shape.Path("workflow_kit.phases", phase)
		if !slices.Contains(roles, a.OwnedBy) {
			f.add(Problem{Type: OwnerUnreachable, Field: field, Message: fmt.Sprintf("%s belongs to %s, which has no turn in this phase", a.Path, a.OwnedBy),
				Hint: fmt.Sprintf("add %s to %s", a.OwnedBy, shape.Path("routing", phase, "allowed_next_roles")), Detail: detail})
			continue
		}
		role := c.Roles.At(a.OwnedBy)
		_, rt, _ := c.RuntimeOf(a.OwnedBy)
		if !canProduce(role, rt, a.Path) {
			f.add(Problem{Type: OwnerCannotWrite, Field: field, Message: fmt.Sprintf("%s belongs to %s, which is %s on %s and cannot write it",
				a.Path, a.OwnedBy, role.WriteAuthority, rt.Type), Hint: "assign the file to another role, or give the role another runtime", Detail: detail})
		}
	}
}

func hasManual(c *protocol.Config) bool {
	for _, rt := range c.Runtimes.All() {
		if rt.Type == protocol.RuntimeManual {
			return true
		}
	}
	return false
}

// approver warns if a person must approve and no role is a person's. The end of the run counts for the last phase.
func (f *findings) approver(c *protocol.Config, phase string, p protocol.Phase, g protocol.Gate) {
	if !g.RequiresHumanApproval || hasManual(c) {
		return
	}
	phases := c.Phases()
	i := slices.Index(phases, phase)
	if i == len(phases)-1 {
		return
	}
	action := ""
	if a := c.ApprovalPolicy; a != nil && a.PhaseTransitions != nil {
		action = a.PhaseTransitions.Default
		for _, r := range a.PhaseTransitions.Rules {
			if (r.FromPhase == "" || r.FromPhase == phase) && (r.ToPhase == "" || r.ToPhase == phases[i+1]) {
				action = r.Action
				break
			}
		}
	}
	auto := action == "auto_approve" && !g.Credentialed
	if !auto {
		f.noPerson(shape.Path("routing", phase, "exit_gate"), fmt.Sprintf("gate %s needs a person", p.ExitGate))
	}
}

func (f *findings) completion(c *protocol.Config) {
	phases := c.Phases()
	if len(phases) == 0 || hasManual(c) {
		return
	}
	last := phases[len(phases)-1]
	p, _ := c.Phase(last)
	g, ok := c.Gate(p.ExitGate)
	if !ok || !g.RequiresHumanApproval {
		return
	}
	if a := c.ApprovalPolicy; a != nil && a.RunCompletion != nil && a.RunCompletion.Action == "auto_approve" && !g.Credentialed {
		return
	}
	f.noPerson(shape.Path("routing", last, "exit_gate"), fmt.Sprintf("gate %s needs a person before the run ends", p.ExitGate))
}

func (f *findings) noPerson(field, what string) {
	f.warn(NoApprover, field, "the run will wait for: drawbar govern approve", "%s, but no role is performed by a person", what)
}
