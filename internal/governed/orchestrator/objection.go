package orchestrator

import (
	"context"
	"fmt"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
)

// RuleObjection records a person's ruling on an objection. A request that the objection stopped is decided again.
func (e *Local) RuleObjection(ctx context.Context, o govern.ObjectionOptions) (rep govern.Report, err error) {
	err = e.locked(ctx, "objections", func(t *transaction) error {
		files, err := t.gateFiles(t.e.root, t.state().Phase)
		if err != nil {
			return err
		}
		from, by := t.state().Phase, t.person(ctx, o.By)
		in := governance.RuleObjection{ID: o.ID, Status: o.Status, Reason: o.Reason, By: by, GateFiles: files}
		if err := t.do(in); err != nil {
			return err
		}
		if _, err := t.commit(ctx, commitObjection, "", nil); err != nil {
			return err
		}
		rep = t.report(govern.OutcomeDone)
		what := map[string]string{protocol.ObjectionAcknowledged: "acknowledged", protocol.ObjectionResolvedByHuman: "resolved", protocol.ObjectionRaised: "open again"}
		rep.Summary = fmt.Sprintf("objection %s is %s", o.ID, what[o.Status])
		switch {
		case t.state().Status == protocol.RunCompleted:
			rep.Outcome = govern.OutcomeCompleted
		case t.state().Phase != from:
			rep.EnteredPhase = t.state().Phase
		}
		return nil
	})
	return rep, err
}

// person is who decides: the person named by the caller, else the git identity, together with the system's user.
func (t *transaction) person(ctx context.Context, by protocol.Person) protocol.Person {
	if by.Name == "" && by.Email == "" {
		by.Name, by.Email = t.work.Identity(ctx)
	}
	return by
}
