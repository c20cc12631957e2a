package orchestrator

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/governance/intent"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// The intake of a project is written in the transaction of the turn that it concerns. Commands that add work write it
// themselves.

const stageIntent protocol.Stage = "intent_coverage"

// rewrite schedules a file to be replaced by the transaction.
func (t *transaction) rewrite(file string, content []byte) {
	t.rewritten = maps.Clone(t.rewritten)
	if t.rewritten == nil {
		t.rewritten = map[string][]byte{}
	}
	t.rewritten[file] = content
}

func (t *transaction) writeIntent(i protocol.Intent) error {
	b, err := protocol.MarshalFile(i)
	if err == nil {
		t.rewrite(protocol.IntentFile(i.IntentID), b)
	}
	return err
}

// bind assigns the waiting intent to the new turn, unless a delegation gave the turn its task.
func (t *transaction) bind(in *governance.AssignTurn, now protocol.Time, o govern.StepOptions) error {
	if o.NoIntent {
		return nil
	}
	st := t.state()
	var chosen *protocol.Intent
	switch {
	case o.Intent != "":
		i, err := project.Intent(t.e.root, o.Intent)
		if err != nil {
			return err
		}
		chosen = &i
	case governance.Delegated(t.run):
		return nil
	default:
		if chosen = intent.Next(project.Intents(t.e.root), st.ID(), st.Phase, in.Role); chosen == nil {
			return nil
		}
	}
	if err := intent.Bind(chosen, st.ID(), in.TurnID, in.Role, now); err != nil {
		return execution.Errorf(execution.CodeInvalidStateTransition, "%w", err).WithHint("drawbar govern intake status --intent %s", chosen.IntentID)
	}
	c := protocol.IntakeContext{IntentID: chosen.IntentID, EventID: chosen.EventID, Charter: chosen.Charter, AcceptanceContract: chosen.AcceptanceContract,
		PhaseScope: chosen.PhaseScope, Priority: intent.Priority(*chosen)}
	if e, err := project.IntakeEvent(t.e.root, chosen.EventID); err == nil {
		c.Source, c.Category = &e.Source, &e.Category
	}
	var err error
	if in.IntakeContext, err = protocol.Marshal(c); err != nil {
		return err
	}
	t.tell(govern.Notice{Kind: govern.NoticeIntent, TurnID: in.TurnID, Role: in.Role, Text: fmt.Sprintf("turn %s gets the intent %s (%s): %s", in.TurnID, chosen.IntentID, c.Priority, intent.Text(*chosen))})
	t.dropMarker(chosen.IntentID)
	return t.writeIntent(*chosen)
}

// dropMarker removes the file that names the intent to handle first.
func (t *transaction) dropMarker(id string) {
	if project.Preempting(t.e.root) == id {
		t.removed = []string{protocol.PreemptionFile}
	}
}

// intentOf returns the current intent of a turn; nil for a turn without one, or if the intent is closed.
func (t *transaction) intentOf(turn *protocol.Turn) (*protocol.Intent, error) {
	var c protocol.IntakeContext
	if json.Unmarshal(turn.IntakeContext, &c) != nil || c.IntentID == "" {
		return nil, nil
	}
	i, err := project.Intent(t.e.root, c.IntentID)
	if err != nil || intent.Over(i) {
		return nil, err
	}
	return &i, nil
}

// covers compares a result with the intent of its turn: it returns reasons to refuse the result, and warnings.
func (t *transaction) covers(turn *protocol.Turn, r *protocol.TurnResult) (f *failure, warnings []string) {
	i, err := t.intentOf(turn)
	if err != nil {
		return &failure{code: "intent_reconciliation_failed", stage: "intent_reconciliation", errors: []string{err.Error()}}, nil
	}
	if i == nil {
		return nil, nil
	}
	open := intent.Uncovered(*i, r, t.state(), t.run.Config)
	for n, item := range open {
		open[n] = fmt.Sprintf("intent %s asks for %q, but the result does not mention it", i.IntentID, item)
	}
	if len(open) > 0 && intent.Mode(t.run.Config, intent.Priority(*i)) == intent.Strict {
		return &failure{code: "intent_coverage_incomplete", stage: stageIntent, errors: open}, nil
	}
	return nil, open
}

// fulfil completes the intent of an accepted turn.
func (t *transaction) fulfil(turn *protocol.Turn) error {
	i, err := t.intentOf(turn)
	if err != nil || i == nil || i.Status != protocol.IntentExecuting {
		return err
	}
	if err := intent.Complete(i, turn.RunID, turn.TurnID, turn.AssignedRole, t.e.now()); err != nil {
		return err
	}
	return t.writeIntent(*i)
}

// follow moves intents with the run: into one that begins, and out of a phase that ended.
func (t *transaction) follow() error {
	st := t.state()
	began, left := st.ID() != t.before.ID(), st.ID() == t.before.ID() && st.Phase != t.before.Phase && t.before.Phase != ""
	if !began && !left {
		return nil
	}
	for _, i := range project.Intents(t.e.root) {
		if raw, ok := t.rewritten[protocol.IntentFile(i.IntentID)]; ok { // bound in this transaction
			i = protocol.Intent{}
			if err := json.Unmarshal(raw, &i); err != nil {
				return err
			}
		}
		if began && intent.Adopt(&i, st.ID(), t.e.now()) || left && intent.Retire(&i, st.ID(), t.before.Phase, t.e.now()) {
			if intent.Over(i) {
				t.dropMarker(i.IntentID)
			}
			if err := t.writeIntent(i); err != nil {
				return err
			}
		}
	}
	return nil
}
