package orchestrator

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/governance/charter"
	"github.com/drawbar/drawbar/internal/governance/gate"
	"github.com/drawbar/drawbar/internal/governance/protocol"
	"github.com/drawbar/drawbar/internal/project"
	"github.com/drawbar/drawbar/internal/prompt"
)

// fileLimit bounds what is read of a file that a gate or a prompt looks at.
const fileLimit = 1 << 20

// gateFiles reads those files of a phase's gate that exist below root.
func (t *transaction) gateFiles(root, phase string) (map[string]string, error) {
	files := map[string]string{}
	for _, path := range gate.Paths(t.run.Config, phase) {
		b, err := project.ReadFile(root, path, fileLimit)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[path] = string(b)
	}
	return files, nil
}

// gateNow is the exit gate of the current phase, as the evaluator sees it.
func (t *transaction) gateNow(root string) (*prompt.Gate, error) {
	cfg, phase := t.run.Config, t.state().Phase
	p, _ := cfg.Phase(phase)
	g, ok := cfg.Gate(p.ExitGate)
	if p.ExitGate == "" || !ok {
		return nil, nil
	}
	files, err := t.gateFiles(root, phase)
	if err != nil {
		return nil, err
	}
	in := gate.Input{Config: cfg, Phase: phase, Files: files, History: t.run.History, Verification: protocol.VerificationPass}
	phases := cfg.Phases()
	var d gate.Decision
	if i := slices.Index(phases, phase); i >= 0 && i+1 < len(phases) {
		in.Request = phases[i+1]
		d = gate.PhaseExit(in)
	} else {
		d = gate.Completion(in)
	}
	out := &prompt.Gate{ID: p.ExitGate, Verification: g.RequiresVerificationPass, Human: g.RequiresHumanApproval, Credentialed: g.Credentialed,
		Auto: d.AutoApproved, Rule: d.PolicyRule, Open: d.Reasons}
	for _, r := range gate.Requirements(cfg, phase) {
		out.Requirements = append(out.Requirements, prompt.Requirement{Path: r.Path, Semantics: strings.Join(r.Semantics, ", "), Owner: r.Owner,
			Source: strings.Join(r.Sources, " and "), Optional: !r.Required})
	}
	return out, nil
}

// promptInput gathers everything that a turn's bundle is made of. root is where the turn's files are.
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
	if in.Decisions, err = t.ledger.View().Decisions(); err != nil {
		return in, err
	}
	if in.Gate, err = t.gateNow(root); err != nil {
		return in, err
	}
	told, err := project.Gather(t.e.root, root, &in)
	for _, w := range told {
		t.e.warn(w)
	}
	return in, err
}
