package orchestrator

import (
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/internal/governed/governance/gate"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/prompt"
)

// gateFiles reads the existing files of a phase's gate below root.
func (t *transaction) gateFiles(root, phase string) (map[string]string, error) {
	files, told, err := project.GateFiles(root, t.run.Config, phase)
	for _, w := range told {
		t.e.warn(w)
	}
	return files, err
}

// gateLines describes what the exit gate of the phase requires and which of its rules are met now.
func (t *transaction) gateLines(files map[string]string) []string {
	cfg, phase := t.run.Config, t.state().Phase
	p, _ := cfg.Phase(phase)
	g, ok := cfg.Gate(p.ExitGate)
	if !ok {
		return nil
	}
	var lines []string
	for _, f := range gate.Inspect(gate.Input{Config: cfg, Phase: phase, Files: files, History: t.run.History, Prior: t.state().PriorSignOffs}) {
		switch {
		case len(f.Problems) > 0:
			lines = append(lines, f.Problems...)
		case f.Required:
			lines = append(lines, f.Path+" meets its rules")
		}
	}
	if g.RequiresVerificationPass {
		lines = append(lines, "the requesting turn must report a passed verification")
	}
	if g.RequiresHumanApproval {
		lines = append(lines, "a person or the approval policy must approve")
	}
	return lines
}

// promptInput collects the contents of a turn's bundle. root is where the turn's files are.
func (t *transaction) promptInput(turnID, root string, warnings []protocol.AdvisoryWarning) (prompt.Input, error) {
	turn := t.state().ActiveTurns.At(turnID)
	cfg := t.run.Config
	_, rt, _ := cfg.RuntimeOf(turn.AssignedRole)
	role := cfg.Roles.At(turn.AssignedRole)
	in := prompt.Input{
		Config: cfg, State: t.run.State, TurnID: turnID, History: t.run.History, Warnings: warnings,
		Contract: charter.Contract(rt), WritePath: charter.WritePath(role.WriteAuthority, rt),
	}
	var err error
	if in.Decisions, err = t.ledger.View().Decisions(""); err != nil {
		return in, err
	}
	if in.Proposals, err = t.openProposals(); err != nil {
		return in, err
	}
	told, err := project.Gather(t.e.root, root, &in)
	for _, w := range told {
		t.e.warn(w)
	}
	return in, err
}
