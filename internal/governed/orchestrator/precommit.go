package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// preCommitLimit is how long git's pre-commit hook may take.
var preCommitLimit = 10 * time.Minute

const codePreCommit = "pre_commit_hook"

// commitHooked lets git's pre-commit hook check the turn's files. If the hook changes them, as a formatter does, they are observed again and
// the hook has to find nothing to change the next time. The report says why the hook refuses them.
func (t *transaction) commitHooked(ctx context.Context, turn *protocol.Turn, result *protocol.TurnResult, l looked, s submission) (looked, *govern.Report, error) {
	changed, refused, err := t.preCommit(ctx, l.root, l.compared.Files)
	if changed && refused == "" && err == nil {
		var held *govern.Report
		if l, held, err = t.look(ctx, turn, result, s); held != nil || err != nil {
			return l, held, err
		}
		if changed, refused, err = t.preCommit(ctx, l.root, l.compared.Files); changed && refused == "" {
			refused = "git's pre-commit hook changes files each time it runs"
		}
		l.unsaid = append(l.unsaid, "git's pre-commit hook changed files of the turn")
	}
	if refused == "" || err != nil {
		return l, nil, err
	}
	rep, err := t.unacceptable(ctx, turn.TurnID, failure{code: codePreCommit, stage: protocol.StageVerification, errors: []string{refused}}, s.repair)
	return l, &rep, err
}

// preCommit runs git's pre-commit hook over files below root, if checkpoint.hooks asks for it. refused says why the hook does not want them
// committed, empty if it does.
func (t *transaction) preCommit(ctx context.Context, root string, files []string) (changed bool, refused string, err error) {
	if !t.run.Config.RunsCommitHooks() || t.work.Kind() != workspace.Git || len(files) == 0 {
		return false, "", nil
	}
	hook, err := workspace.PreCommit(ctx, t.e.root)
	if err != nil || hook == nil {
		return false, "", err
	}
	if err := t.e.trusted(t.project.ItemsOf("checkpoint", "")); err != nil {
		return false, "", err
	}
	program, args, err := hook.Command()
	if err != nil {
		return false, "", execution.Errorf(execution.CodeConfig, "git's pre-commit hook %s: %w", hook.Path, err).
			WithHint("install a shell, or do not run the hook: drawbar govern config set checkpoint.hooks skip")
	}
	w := t.work
	if root != t.e.root {
		if w, err = workspace.Open(ctx, root); err != nil {
			return false, "", err
		}
	}
	var r shellResult
	changed, err = w.Staged(ctx, files, func(dir string, env []string) { r = t.command(ctx, dir, program, args, preCommitLimit, env) })
	if ctx.Err() != nil {
		return false, "", execution.Errorf(execution.CodeInterrupted, "run git's pre-commit hook: %w", ctx.Err())
	}
	if r.fault != "" {
		refused = fmt.Sprintf("git's pre-commit hook failed (%s): %s", r.fault, r.tail)
	}
	return changed, refused, err
}
