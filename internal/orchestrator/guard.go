package orchestrator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/governance"
	"github.com/drawbar/drawbar/internal/governance/protocol"
	"github.com/drawbar/drawbar/internal/ledger"
	"github.com/drawbar/drawbar/internal/procenv"
	"github.com/drawbar/drawbar/internal/project"
	"github.com/drawbar/drawbar/internal/workspace"
)

// What keeps a turn out of the record because it laid hand on what binds it.
const (
	codeRulesChanged  = "rules_changed"
	codeRecordChanged = "record_changed"

	codeRepositoryChanged = "repository_changed"
)

// outside refuses a command that an agent types within its own turn: nobody approves, accepts or unblocks what is their own.
func (t *transaction) outside() error {
	id := t.e.o.Getenv(protocol.TurnVariable)
	if id == "" || !t.state().ActiveTurns.Has(id) {
		return nil
	}
	return execution.Errorf(execution.CodeCapability, "this was typed within turn %s (%s): an agent hands in its result and decides nothing about the run", id, protocol.TurnVariable).
		WithHint("write the result to %s; a person types this command in a shell of their own", protocol.StagedFile(id))
}

// rules are the digests of what binds a turn whose files are in dir: its project's rules, and what its repository shows.
func (t *transaction) rules(dir string) (protocol.Ordered[string], error) {
	all := project.Rules(t.e.root, t.run.Config)
	if dir == t.e.root {
		dir = ""
	}
	repo, err := t.work.Binding(dir)
	if err != nil {
		return all, err
	}
	for name, digest := range repo.All() {
		all.Set(name, digest)
	}
	return all, nil
}

// moved refuses a turn that left the repository where its result cannot be told from what was there: without git, on another
// branch, or with a history that no longer holds the commit it began from. Commits on top of that never stand in the way.
func (t *transaction) moved(ctx context.Context, turn *protocol.Turn, seen workspace.Observation, person bool) (*Report, error) {
	base := turn.Baseline
	if base == nil || base.Kind != string(workspace.Git) || turn.Worktree != "" {
		return nil, nil
	}
	what := ""
	switch {
	case t.work.Kind() != workspace.Git:
		what = "its .git is gone"
	case base.Detail == nil: // the original's, which names no branch
	case seen.Branch != base.Branch:
		what = fmt.Sprintf("it was on %s and is on %s", branchName(base.Branch), branchName(seen.Branch))
	case base.HeadRef != nil && seen.HeadRef == "":
		what = fmt.Sprintf("its branch has no commits any more, and %.12s is where the turn began", *base.HeadRef)
	case base.HeadRef != nil && seen.HeadRef != *base.HeadRef:
		kept, err := t.work.Contains(ctx, *base.HeadRef, seen.HeadRef)
		if err != nil {
			return nil, err
		}
		if !kept {
			what = fmt.Sprintf("its history was rewritten: %.12s, where the turn began, is not below %.12s (git reflog shows both)", *base.HeadRef, seen.HeadRef)
		}
	}
	if what == "" {
		return nil, nil
	}
	return t.refuseBound(ctx, turn.TurnID, codeRepositoryChanged, []string{what}, person)
}

func branchName(name string) string {
	if name == "" {
		return "a detached head"
	}
	return "branch " + name
}

// broken says which of the files that bind a turn were changed while its worker was at it. mark is the record as the turn found
// it; nil where this process did not see it.
func (t *transaction) broken(turn *protocol.Turn, mark ledger.Mark) (code string, paths []string, err error) {
	if turn.RuleFiles.Len() > 0 {
		now, err := t.rules(turnRoot(t.e.root, turn))
		if err != nil {
			return "", nil, err
		}
		gone := t.work.Kind() != workspace.Git // which says more than what is no longer there
		told := []string{}
		paths = slices.DeleteFunc(project.RuleChanges(turn.RuleFiles, now), func(p string) bool {
			if workspace.OnlyTold(p) && !gone {
				told = append(told, p)
			}
			return workspace.OnlyTold(p) || gone && strings.HasPrefix(p, ".git/")
		})
		for _, p := range told {
			t.e.warn(fmt.Sprintf("%s changed while turn %s was under way: your own git runs what stands there", p, turn.TurnID))
		}
		if len(paths) > 0 {
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
		if code == codeRepositoryChanged {
			t.e.warn(fmt.Sprintf("the repository is not where turn %s began: %s", id, list))
			return nil, nil
		}
		t.e.warn(fmt.Sprintf("%s changed since turn %s was dispatched; what stands there now counts", list, id))
		return nil, nil
	}
	what, action := "the rules of the run were changed while turn %s was under way: %s",
		fmt.Sprintf("look at the change of %s; undo it (git restore FILE), or leave it to have it count. Then take the turn's result: drawbar govern accept --turn %s; or have the turn done again: drawbar govern step --resume", list, id)
	if code == codeRepositoryChanged {
		what, action = "the repository is not where turn %s began: %s", fmt.Sprintf("bring it back (git switch, git reset), or leave it as it is. Then take the turn's result: drawbar govern accept --turn %s; or have the turn done again: drawbar govern step --resume", id)
	}
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

// redactor knows the secrets of this process's environment and of a turn's runtime.
func (t *transaction) redactor(id string) *secret.Redactor {
	r := secret.New(secret.Environ(t.e.o.Environ))
	if turn := t.state().ActiveTurns.At(id); turn != nil {
		_, rt, _ := t.run.Config.RuntimeOf(turn.AssignedRole)
		for name, value := range rt.Env.All() {
			v, _ := procenv.Expand(value, procenv.Of(t.e.o.Environ))
			r.Add(secret.Variable(name, v)...)
		}
		r.Add(secret.Args(rt.Command.List)...)
		r.Add(secret.Args(rt.Args)...)
	}
	return r
}

// withoutSecrets takes secrets out of a staged result before anything of it is written: the record is read by others, and
// committed. The staged file is written anew with the transaction, as it goes to the archive.
func (t *transaction) withoutSecrets(id string, s *submission) {
	clean := cleanResult(t.redactor(id), s.data)
	if bytes.Equal(clean, s.data) {
		return
	}
	t.e.warn(fmt.Sprintf("the result of turn %s held a secret, which was taken out; the worker has seen it", id))
	if s.data = clean; t.workRoot(id) == t.e.root {
		t.rewritten = map[string][]byte{s.where: clean}
	}
}

// cleanResult is a staged result without secrets. It stays JSON where it is.
func cleanResult(r *secret.Redactor, data []byte) []byte {
	if json.Valid(data) {
		return r.JSON(data, nil)
	}
	return r.Bytes(data)
}

// lost tells that a record is missing whose checkpoints the commits name: it is not part of a commit, so a clean sweep or a clone
// leaves it out.
func (t *transaction) lost(ctx context.Context) {
	if !t.ledger.View().Fresh || t.work.Kind() != workspace.Git {
		return
	}
	if heads, err := t.work.Heads(ctx); err == nil && len(heads) > 0 {
		t.e.warn(fmt.Sprintf("the commits name %d checkpoints of a record that is not here (git clean -x removes it, a clone has none): a new run begins; "+
			"to go on with the old one put %s back from a backup", len(heads), protocol.Dir))
	}
}

// ruleFilesOf are those of a turn's files that are rules.
func ruleFilesOf(turn *protocol.Turn, files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(p string) bool { return p != protocol.ConfigFile && !turn.RuleFiles.Has(p) })
}
