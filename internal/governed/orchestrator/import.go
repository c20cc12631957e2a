package orchestrator

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/ledger"
)

// Import continues with the files of another copy of the record. The caller has verified them.
func (e *Local) Import(ctx context.Context, o govern.ImportOptions) (out govern.Imported, err error) {
	if err := e.Outside(); err != nil {
		return out, err
	}
	if o.Files[protocol.StateFile] == nil {
		return out, execution.Errorf(execution.CodeValidation, "the copy has no %s", protocol.StateFile).WithHint("export with every file: drawbar govern export --files")
	}
	err = e.record(ctx, func(l *ledger.Ledger) error {
		c := ledger.Copy{Names: slices.Sorted(maps.Keys(o.Files)), Files: o.Files}
		err := l.Follows(c)
		switch {
		case errors.Is(err, ledger.ErrDiverged) && o.Replace:
			out.Kept, err = l.SetAside(ctx, e.now().Time)
		case errors.Is(err, ledger.ErrDiverged):
			err = execution.Errorf(execution.CodeInvalidStateTransition, "the copy is of another run, or older than the record here: %w", err).
				WithHint("to continue with it all the same, and keep the one here aside: --replace")
		}
		if err != nil {
			return err
		}
		return l.Import(ctx, e.now().Time, c)
	})
	if err != nil {
		return out, err
	}
	v, err := ledger.Read(e.root)
	if err != nil {
		return out, err
	}
	list, err := v.History("")
	out.Run, out.Turns = v.State.ID(), len(list)
	return out, err
}
