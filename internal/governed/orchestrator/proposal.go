package orchestrator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/prompt"
	"github.com/drawbar/drawbar/internal/governed/proposal"
)

// derive prepares the files of an accepted turn, its proposal or its review, and names them in its history entry. They
// are written with the acceptance.
func (t *transaction) derive(id string, result *protocol.TurnResult) (*proposal.Derived, error) {
	for i, f := range t.effects {
		h, ok := f.(governance.AppendHistory)
		if !ok || h.Entry.TurnID != id {
			continue
		}
		_, rt, _ := t.run.Config.RuntimeOf(h.Entry.Role)
		d, err := proposal.Derive(t.e.root, h.Entry, result.ProposedChanges, t.run.Config.Roles.At(h.Entry.Role).WriteAuthority, rt.Type)
		if d == nil || err != nil {
			return nil, err
		}
		h.Entry.Artifact.Ref, h.Entry.DerivedFiles = &d.Ref, d.Digests
		t.effects[i] = h
		if n := len(t.run.History); n > 0 && t.run.History[n-1].TurnID == id {
			t.run.History[n-1] = h.Entry
		}
		return d, nil
	}
	return nil, nil
}

// writes adds files to the next commit.
func (t *transaction) writes(d *proposal.Derived) {
	if d == nil {
		return
	}
	if t.rewritten == nil {
		t.rewritten = map[string][]byte{}
	}
	maps.Copy(t.rewritten, d.Files)
}

// proposals are those of the project.
func (t *transaction) proposals() ([]proposal.Proposal, error) {
	return proposal.Of(t.e.root, t.ledger.View())
}

// openProposals are the undecided proposals for a prompt, with what was said about them since.
func (t *transaction) openProposals() ([]prompt.OpenProposal, error) {
	all, err := t.proposals()
	if err != nil {
		return nil, err
	}
	var open []prompt.OpenProposal
	for _, p := range all {
		if !p.Undecided() {
			continue
		}
		o := prompt.OpenProposal{TurnID: p.TurnID, Role: p.Role, Ref: p.Dir, Summary: p.Summary}
		for _, f := range p.Files {
			if !slices.Contains(p.Applied, f.Path) {
				o.Files = append(o.Files, f.Path)
			}
		}
		i := slices.IndexFunc(t.run.History, func(h protocol.HistoryEntry) bool { return h.TurnID == p.TurnID })
		for _, h := range t.run.History[i+1:] {
			if i >= 0 && h.Artifact.Type == protocol.ArtifactReview && h.Status != protocol.StatusReissued {
				o.Reviews = append(o.Reviews, prompt.ProposalReview{TurnID: h.TurnID, Role: h.Role, Summary: h.Summary, Ref: protocol.Deref(h.Artifact.Ref)})
			}
		}
		open = append(open, o)
	}
	return open, nil
}

// DecideProposal applies a proposal to the work tree, or rejects it. The files and the record change in one transaction.
func (e *Local) DecideProposal(ctx context.Context, o govern.ProposalOptions) (rep govern.Report, err error) {
	err = e.locked(ctx, "proposal", func(t *transaction) error {
		all, err := t.proposals()
		if err != nil {
			return err
		}
		p, err := proposal.Choose(all, o.Turn)
		if err != nil {
			return err
		}
		if o.Reject && !p.Undecided() {
			return p.Applicable()
		}
		in := governance.DecideProposal{TurnID: p.TurnID, Status: governance.ProposalRejected, Reason: o.Reason, By: t.person(ctx, o.By), Forced: o.Force}
		if !o.Reject {
			in.Status, in.Reason = governance.ProposalApplied, ""
			if in.Files, err = t.apply(p, o); err != nil {
				return err
			}
		}
		now := t.e.now()
		if err := t.doAt(now, in); err != nil {
			return err
		}
		name, content, err := proposal.DecisionFile(p, in, now)
		if err != nil {
			return err
		}
		t.writes(&proposal.Derived{Files: map[string][]byte{name: content}})
		if _, err := t.commit(ctx, commitProposal, p.TurnID, nil); err != nil {
			return err
		}
		rep = t.report(govern.OutcomeDone)
		rep.Summary = fmt.Sprintf("the proposal of turn %s is rejected", p.TurnID)
		if !o.Reject {
			rep.Summary, rep.Files = fmt.Sprintf("applied %d of %d files of the proposal of turn %s", len(in.Files), len(p.Files), p.TurnID), in.Files
			rep.Hint = "review and commit them, because turns that write start from a clean tree: git add -A && git commit"
		}
		return nil
	})
	return rep, err
}

// apply adds the files of a proposal to the next commit, and returns their paths. Nothing is written over a file that
// changed since the proposal was accepted, unless forced.
func (t *transaction) apply(p *proposal.Proposal, o govern.ProposalOptions) ([]string, error) {
	if id := t.writer(); id != "" {
		turn := t.state().ActiveTurns.At(id)
		return nil, execution.Errorf(execution.CodeInvalidStateTransition, "turn %s (%s) is active and works on the same files: they would count as its changes", id, turn.AssignedRole).
			WithHint("finish it first: %s", governance.NextCommand(t.run))
	}
	if err := p.Applicable(); err != nil {
		return nil, err
	}
	changes, err := p.Changes(t.e.root, o.Files)
	if err != nil {
		return nil, err
	}
	var diverged, paths []string
	for _, c := range changes {
		if paths = append(paths, c.Path); c.Diverged {
			diverged = append(diverged, c.Path)
		}
	}
	if len(diverged) > 0 && !o.Force {
		return nil, execution.Errorf(execution.CodeInvalidStateTransition, "changed since the proposal of turn %s was accepted: %s; nothing was written", p.TurnID, strings.Join(diverged, ", ")).
			WithHint("compare: drawbar govern proposal diff %s; then choose files with --file, or replace them with --force", p.TurnID)
	}
	if err := proposal.Writable(t.e.root, changes); err != nil {
		return nil, err
	}
	for _, c := range changes {
		switch {
		case c.Done():
		case c.New == nil:
			t.deleted = append(t.deleted, c.Path)
		default:
			t.writes(&proposal.Derived{Files: map[string][]byte{c.Path: c.New}})
		}
	}
	return paths, nil
}

// writer is an active turn that works in the project's own work tree; empty if there is none.
func (t *transaction) writer() string {
	for id, turn := range t.state().ActiveTurns.All() {
		_, rt, _ := t.run.Config.RuntimeOf(turn.AssignedRole)
		if turn.Worktree == "" && !protocol.Remote(rt.Type) {
			return id
		}
	}
	return ""
}
