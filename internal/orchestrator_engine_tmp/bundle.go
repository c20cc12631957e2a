package orchestrator

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/execution"
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
	in.RolePromptPath = cmp.Or(cfg.Prompts.At(turn.AssignedRole), protocol.PromptsDir+"/"+turn.AssignedRole+".md")
	text, err := project.ReadFile(t.e.root, in.RolePromptPath, fileLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !cfg.Prompts.Has(turn.AssignedRole):
		in.RolePromptPath = ""
	case err != nil:
		return in, execution.Errorf(execution.CodeConfig, "the prompt of role %s: %w", turn.AssignedRole, err).
			WithHint("write %s, or take it out of prompts in %s", in.RolePromptPath, protocol.ConfigFile)
	default:
		in.RolePrompt = string(text)
	}
	in.Files = map[string]prompt.File{}
	for _, path := range prompt.Shown(in) {
		if f, ok := peek(root, path); ok {
			in.Files[path] = f
		}
	}
	if n := len(t.run.History); n > 0 {
		in.Log = lastLog(filepath.Join(t.e.root, filepath.FromSlash(protocol.ArchiveDir), t.run.History[n-1].TurnID))
	}
	return in, nil
}

// peek reads the beginning of a file for a preview.
func peek(root, path string) (prompt.File, bool) {
	const most = 64 << 10
	b, err := project.ReadFile(root, path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return prompt.File{}, true
	}
	f := prompt.File{Present: true, Text: string(b)}
	if errors.Is(err, project.ErrTooLarge) {
		f.Cut, err = true, nil
	}
	if err != nil {
		return prompt.File{}, false
	}
	if bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b) && !f.Cut {
		f.Binary, f.Text = true, ""
	}
	return f, true
}

// lastLog is the end of an archived turn's log; nil without one.
func lastLog(archive string) *prompt.Log {
	for _, name := range []string{"dispatch/evidence/stdout.log", "evidence/stdout.log", "bundle/evidence/stdout.log"} {
		f, err := os.Open(filepath.Join(archive, filepath.FromSlash(name)))
		if err != nil {
			continue
		}
		defer f.Close()
		l := &prompt.Log{}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			l.Total++
			l.Lines = append(l.Lines, sc.Text())
			if len(l.Lines) > 2*prompt.MaxLogLines {
				l.Lines = append([]string(nil), l.Lines[len(l.Lines)-prompt.MaxLogLines:]...)
			}
		}
		if len(l.Lines) > prompt.MaxLogLines {
			l.Lines = l.Lines[len(l.Lines)-prompt.MaxLogLines:]
		}
		return l
	}
	return nil
}
