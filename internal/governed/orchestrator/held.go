package orchestrator

import (
	"context"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/audit"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// chained stops a command if the record has lost its hash chain while checkpoints refer to one: a new chain would cover
// whatever is there now. A person who adopts the state continues without it, and the new chain records that.
func (t *transaction) chained(ctx context.Context, adopt bool) error {
	v := t.ledger.View()
	if v.Fresh || v.Chained() || t.work.Kind() != workspace.Git {
		return nil
	}
	h, err := audit.Git(ctx, t.work, v)
	if err != nil || len(h.Heads) == 0 {
		return err
	}
	if adopt {
		t.ledger.GivenUp(h.Heads)
		return nil
	}
	return execution.Errorf(execution.CodeConfig, "%s is missing, although %d checkpoints of this repository refer to it: the record cannot be verified", protocol.ChainFile, len(h.Heads)).
		WithHint("restore it from a backup; to start a new chain from the current files: drawbar govern restart --adopt-state")
}

// kept stops a command if accepted work of the run is no longer below HEAD. The usual case reads two small files.
func (t *transaction) kept(ctx context.Context) error {
	want := head(t.state())
	if want == nil || t.work.Kind() != workspace.Git {
		return nil
	}
	now, err := t.work.Head(ctx)
	if err != nil {
		return err
	}
	if below, err := t.work.Contains(ctx, *want, now); err != nil || below {
		return err
	}
	h, err := audit.Git(ctx, t.work, t.ledger.View())
	if err != nil {
		return err
	}
	for _, f := range h.Findings {
		switch {
		case f.Run != t.state().ID():
		case f.Kind == audit.Changed, f.Kind == audit.Lost && !t.ledger.View().Chained():
			t.e.warn(f.Message) // without a chain, the record is the original's, which did not check it against commits
		case slices.Contains([]string{audit.Lost, audit.Uncommitted, audit.Elsewhere}, f.Kind):
			return execution.Errorf(execution.CodeInvalidStateTransition, "%s", f.Message).WithHint("%s", f.Do)
		}
	}
	return nil
}

// giveUp continues from the current branch although accepted work is not below HEAD, because a person asked for it. It
// records the affected turns.
func (t *transaction) giveUp(ctx context.Context) error {
	want := head(t.state())
	if want == nil || t.work.Kind() != workspace.Git {
		return nil
	}
	now, err := t.work.Head(ctx)
	if err != nil || now == "" {
		return err
	}
	h, err := audit.Git(ctx, t.work, t.ledger.View())
	if err != nil {
		return err
	}
	in := governance.OperatorCommits{From: *want, To: now}
	for _, f := range h.Findings {
		if f.Run == t.state().ID() && slices.Contains([]string{audit.Lost, audit.Uncommitted, audit.Elsewhere, audit.Changed}, f.Kind) {
			in.Released = append(in.Released, f.Turn)
		}
	}
	if len(in.Released) == 0 {
		return nil
	}
	t.tell(govern.Notice{Kind: govern.NoticeWarning, Text: "the run continues without the accepted work of " + strings.Join(in.Released, ", ")})
	return t.do(in)
}
