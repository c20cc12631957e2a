package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
)

// replayLimit is the time limit of each command of a turn's evidence when it is run again.
const replayLimit = 10 * time.Minute

// replay runs the commands of a turn's evidence again if a policy requires it; nil if none does. No shell reads them: a
// command that needs one lists its words in argv.
func (t *transaction) replay(ctx context.Context, root string, r *protocol.TurnResult) (*govern.Replay, error) {
	if !governance.NeedsReplay(t.run, r.Role) {
		return nil, nil
	}
	if err := t.e.trusted(t.project.ItemsOf("policies", "")); err != nil {
		return nil, err
	}
	return t.rerunAll(ctx, root, r.Verification.MachineEvidence, replayLimit)
}

// rerunAll runs the commands of a turn's evidence.
func (t *transaction) rerunAll(ctx context.Context, root string, list []protocol.Evidence, limit time.Duration) (*govern.Replay, error) {
	if len(list) == 0 {
		return &govern.Replay{Overall: "not_reproducible", Reason: "the turn lists no command as evidence"}, nil
	}
	out := &govern.Replay{Overall: "match"}
	for _, ev := range list {
		code, fault := t.rerun(ctx, root, ev, limit)
		if ctx.Err() != nil {
			return nil, execution.Errorf(execution.CodeInterrupted, "rerun %s: %w", ev.Command, ctx.Err())
		}
		done := govern.ReplayedCommand{Command: ev.Command, DeclaredExit: ev.ExitCode, ActualExit: code, Matched: code == ev.ExitCode}
		if !done.Matched {
			out.Overall = "mismatch"
			out.Reason = fmt.Sprintf("%s: declared exit code %d, this time %s", ev.Command, ev.ExitCode, fault)
		}
		out.Commands = append(out.Commands, done)
	}
	return out, nil
}

func (t *transaction) rerun(ctx context.Context, root string, ev protocol.Evidence, limit time.Duration) (code int, fault string) {
	argv := ev.Argv
	if len(argv) == 0 {
		var err error
		if argv, err = protocol.SplitLine(ev.Command); err != nil || len(argv) == 0 {
			return -1, "it needs a shell; list its words in argv"
		}
	}
	program, err := turnruntime.LookPath(argv[0], t.e.o.Environ, root)
	if err != nil {
		return -1, err.Error()
	}
	r := t.command(ctx, root, program, argv[1:], limit, nil)
	if r.fault == "" {
		return 0, "exit code 0"
	}
	return r.code, r.fault
}
