package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/governance"
	"github.com/drawbar/drawbar/internal/governance/protocol"
	"github.com/drawbar/drawbar/internal/ledger"
	"github.com/drawbar/drawbar/internal/project"
)

// What keeps a turn out of the record because it laid hand on what binds it.
const (
	codeRulesChanged  = "rules_changed"
	codeRecordChanged = "record_changed"
)

// turnVariable is what every worker finds in its environment.
const turnVariable = "AGENTXCHAIN_TURN_ID"

// outside refuses a command that an agent types within its own turn: nobody approves, accepts or unblocks what is their own.
func (t *transaction) outside() error {
	id := t.e.o.Getenv(turnVariable)
	if id == "" || !t.state().ActiveTurns.Has(id) {
		return nil
	}
	return execution.Errorf(execution.CodeCapability, "this was typed within turn %s (%s): an agent hands in its result and decides nothing about the run", id, turnVariable).
		WithHint("write the result to %s; a person types this command in a shell of their own", protocol.StagedFile(id))
}

// broken says which of the files that bind a turn were changed while its worker was at it. mark is the record as the turn found
// it; nil where this process did not see it.
func (t *transaction) broken(turn *protocol.Turn, mark ledger.Mark) (code string, paths []string, err error) {
	if turn.RuleFiles.Len() > 0 {
		if paths = project.RuleChanges(turn.RuleFiles, project.Rules(t.e.root, t.run.Config)); len(paths) > 0 {
			return codeRulesChanged, paths, nil
		}
	}
	if mark == nil {
		return "", nil, nil
	}
	if paths, err = t.ledger.View().Altered(mark); err != nil || len(paths) == 0 {
		return "", nil, err
	}
	return codeRecordChanged, paths, nil
}

// bound refuses a turn whose worker changed its own rules or the record, before any of its result is looked at: what would judge
// it may be what it changed. The report is nil when there is nothing to refuse. A person who types accept has seen it and takes
// it; a person who does the work is not bound against themselves.
func (t *transaction) bound(ctx context.Context, turn *protocol.Turn, mark ledger.Mark, person bool) (*Report, error) {
	code, paths, err := t.broken(turn, mark)
	if err != nil || code == "" {
		return nil, err
	}
	return t.refuseBound(ctx, turn.TurnID, code, paths, person)
}

func (t *transaction) refuseBound(ctx context.Context, id, code string, paths []string, person bool) (*Report, error) {
	list := strings.Join(paths, ", ")
	if person {
		t.e.warn(fmt.Sprintf("%s changed since turn %s was dispatched; what stands there now counts", list, id))
		return nil, nil
	}
	what, action := "the rules of the run were changed while turn %s was under way: %s",
		fmt.Sprintf("look at the change of %s; undo it (git restore FILE), or leave it to have it count. Then take the turn's result: drawbar govern accept --turn %s; or have the turn done again: drawbar govern step --resume", list, id)
	if code == codeRecordChanged {
		what, action = "the record was changed while turn %s was under way: %s", fmt.Sprintf("see where: drawbar govern verify; put the file back as it was. Then take the turn's result: drawbar govern accept --turn %s; or have the turn done again: drawbar govern step --resume", id)
	}
	detail := fmt.Sprintf(what, id, list)
	if err := t.do(governance.Escalate{Now: t.e.now(), Reason: code, Detail: detail, Action: action, TurnID: id}); err != nil {
		return nil, err
	}
	if _, err := t.commit(ctx, "block", id, nil); err != nil {
		return nil, err
	}
	rep := t.report(OutcomeBlocked)
	if turn := t.state().ActiveTurns.At(id); turn != nil {
		rep.turn(turn)
	}
	rep.Code, rep.Stage, rep.Errors = code, protocol.StageArtifact, []string{detail, action}
	return &rep, nil
}

// ruleFilesOf are those of a turn's files that are rules.
func ruleFilesOf(turn *protocol.Turn, files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(p string) bool { return p != protocol.ConfigFile && !turn.RuleFiles.Has(p) })
}
