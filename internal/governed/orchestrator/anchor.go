package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/internal/governed/ledger"
)

// anchorLimit is how long the command of anchor may take.
var anchorLimit = 30 * time.Second

// anchor passes the head of the record's hash chain to the configured command, which stores it elsewhere. A head covers all entries before it, so
// a failure is made up for by the next decision.
func (t *transaction) anchor(ctx context.Context) {
	command := t.run.Config.Anchor
	if len(command) == 0 || !t.decided {
		return
	}
	err := t.e.trusted(t.project.ItemsOf("anchor", ""))
	var v *ledger.View
	var program string
	if err == nil {
		program, err = lookpath.In(t.e.o.Environ, t.e.root, command[0])
	}
	if err == nil {
		v, err = ledger.Read(t.e.root)
	}
	if err == nil {
		head, entries := v.Head()
		st := &v.State
		r := t.command(context.WithoutCancel(ctx), t.e.root, program, command[1:], anchorLimit, []string{"DRAWBAR_CHAIN_HEAD=" + head,
			fmt.Sprintf("DRAWBAR_CHAIN_ENTRIES=%d", entries), "DRAWBAR_RUN_ID=" + st.ID(), "DRAWBAR_CHECKPOINT=" + lastCheckpoint(v)})
		if r.fault != "" {
			err = fmt.Errorf("%s: %s %s", command[0], r.fault, r.tail)
		}
	}
	if err != nil {
		t.e.warn("the chain head was not anchored (the next decision retries): " + err.Error())
	}
}

// lastCheckpoint is the commit of the last accepted turn; empty if there is none.
func lastCheckpoint(v *ledger.View) string {
	if s, err := v.Session(); err == nil && s != nil && s.BaselineRef.GitHead != nil {
		return *s.BaselineRef.GitHead
	}
	return ""
}
