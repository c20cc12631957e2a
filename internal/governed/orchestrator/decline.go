package orchestrator

import (
	"context"
	"fmt"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/governed/governance"
)

// Decline sends the turn behind a gate back with a person's reason, to its role or another one, in its phase or an
// earlier one.
func (e *Local) Decline(ctx context.Context, o govern.DeclineOptions) (rep govern.Report, err error) {
	err = e.locked(ctx, "decline", func(t *transaction) error {
		in := governance.Decline{Gate: o.Gate, Reason: o.Reason, Role: o.Role, Phase: o.Phase, By: t.person(ctx, o.By)}
		if err := t.do(in); err != nil {
			return err
		}
		if _, err := t.commit(ctx, commitDecline, "", nil); err != nil {
			return err
		}
		d := t.state().LastDecline
		rep = t.report(govern.OutcomeDone)
		rep.Gate = nil // the error quotes what was typed
		rep.Summary = fmt.Sprintf("gate %s is declined: role %s continues in phase %s", d.GateID, d.Role, d.Phase)
		return nil
	})
	return rep, err
}
