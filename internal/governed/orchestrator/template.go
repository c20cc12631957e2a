package orchestrator

import (
	"context"
	"encoding/json"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// SetTemplate changes the project's template, and records that. It is refused while a turn is active, because its
// changes would be attributed to the turn.
func (e *Local) SetTemplate(ctx context.Context, id string) (c govern.TemplateChange, err error) {
	var plan project.TemplatePlan
	err = e.locked(ctx, "template set", func(t *transaction) error {
		if t.state().ActiveTurns.Len() > 0 {
			return execution.Errorf(execution.CodeInvalidStateTransition, "a turn is active: changes made now would count as its work").
				WithHint("%s", governance.NextCommand(t.run))
		}
		plan, err = project.PlanTemplate(t.project, id)
		if c = plan.TemplateChange; err != nil || c.From == c.To {
			return err
		}
		note := protocol.LedgerNote{Type: "template_set", RunID: t.state().ID(), Timestamp: t.e.now()}
		b, err := protocol.Marshal(c)
		if err == nil {
			err = json.Unmarshal(b, &note.Extra)
		}
		if err != nil {
			return err
		}
		if err := plan.Apply(t.project); err != nil {
			return err
		}
		t.effects = append(t.effects, governance.AppendNote{Note: note})
		_, err = t.commit(ctx, commitTemplate, "", nil)
		return err
	})
	return c, err
}
