package orchestrator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
	"github.com/drawbar/drawbar/internal/governed/procenv"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/governed/workspace"
	"github.com/drawbar/drawbar/transport/process"
)

// Reasons to refuse the result of a turn that changed what binds it.
const (
	codeRulesChanged  = "rules_changed"
	codeRecordChanged = "record_changed"

	codeRepositoryChanged = "repository_changed"
)

// outside refuses a command that an agent runs within its own turn: an agent must not approve, accept or unblock its
// own work.
func (t *transaction) outside() error { return t.e.outside(t.state()) }

// Outside refuses a command that an agent runs within its own turn, for commands that change the turn's rules and not
// the record.
func (e *Local) Outside() error {
	v, err := ledger.Read(e.root)
	if err != nil {
		return err
	}
	return e.outside(&v.State)
}

func (e *Local) outside(st *protocol.State) error {
	id := e.o.Getenv(protocol.TurnVariable)
	if id == "" || !st.ActiveTurns.Has(id) {
		return nil
	}
	return execution.Errorf(execution.CodeCapability, "this command was run inside turn %s (%s): an agent submits its result and decides nothing about the run", id, protocol.TurnVariable).
		WithHint("write the result to %s; a person runs this command in their own shell", protocol.StagedFile(id))
}

// cloneRule is the entry for the clone in a turn's rules. Another clone has other git settings, so they are not compared.
const cloneRule = "clone"

// dispatchedElsewhere reports whether another clone dispatched the turn.
func (e *Local) dispatchedElsewhere(turn *protocol.Turn) bool {
	id := turn.RuleFiles.At(cloneRule)
	return id != "" && id != e.clone()
}

// rules returns the rules of a turn whose files are in dir: those of its project, and git's configuration of the
// repository.
func (t *transaction) rules(ctx context.Context, dir string) (protocol.Ordered[string], error) {
	all := project.Rules(t.e.root, t.run.Config)
	if dir == t.e.root {
		dir = ""
	}
	repo, err := t.work.Binding(ctx, dir)
	if err != nil {
		return all, err
	}
	for name, digest := range repo.All() {
		all.Set(name, digest)
	}
	if t.run.Config.Record == protocol.RecordBranch {
		all.Set(cloneRule, t.e.clone())
	}
	return all, nil
}

// breach lists what a worker changed of what binds its turn.
type breach struct {
	rules    []string // files of the project's rules
	git      []string // what git runs, shows or sends where, and where it keeps the history
	moved    bool     // git keeps the history somewhere else
	harmless []string // git's settings that neither run, hide nor redirect anything
}

// told is the digest of what was reported about git.
func (b breach) told() string {
	if len(b.git) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(b.git, "\n")))
	return hex.EncodeToString(sum[:])
}

// breachOf compares the rules with those at the dispatch.
func (t *transaction) breachOf(ctx context.Context, turn *protocol.Turn) (b breach, err error) {
	if turn.RuleFiles.Len() == 0 {
		return b, nil
	}
	now, err := t.rules(ctx, turnRoot(t.e.root, turn))
	if err != nil {
		return b, err
	}
	then := turn.RuleFiles.Clone()
	then.Delete(cloneRule)
	now.Delete(cloneRule)
	b.rules = slices.DeleteFunc(project.RuleChanges(then, now), workspace.Binds)
	if t.work.Kind() != workspace.Git || t.e.dispatchedElsewhere(turn) {
		return b, nil // moved is more precise than a list of missing files
	}
	for _, r := range workspace.Rebounds(turn.RuleFiles, now) {
		switch r.Effect {
		case workspace.Harmless:
			b.harmless = append(b.harmless, r.Text)
			continue
		case workspace.Repository:
			b.moved = true
		}
		b.git = append(b.git, r.Text)
	}
	return b, nil
}

// survivorLimit bounds how long processes of a turn may take to end.
const survivorLimit = 5 * time.Second

// survivors ends leftover processes of turns that are not running. Such a process could change what git runs after it
// was checked.
func (t *transaction) survivors() error {
	for id, turn := range t.state().ActiveTurns.All() {
		_, rt, _ := t.run.Config.RuntimeOf(turn.AssignedRole)
		if rt.Type == protocol.RuntimeManual || leaseHolder(t.e.root, id) != nil {
			continue
		}
		if s, ok := t.e.o.Agents.(govern.Sweeper); ok && rt.Type == protocol.RuntimeAgent {
			if err := s.Sweep(); err != nil {
				return err
			}
			continue
		}
		n, err := process.EndSurvivors(turnruntime.ProcessName(t.e.root, id), survivorLimit)
		if err != nil {
			return execution.Errorf(execution.CodeTimeout, "cannot stop the processes that turn %s left running: %w", id, err).WithHint("stop these processes, then: %s", governance.NextStep)
		}
		if n > 0 {
			t.e.warn(fmt.Sprintf("stopped %d processes that turn %s left running", n, id))
		}
	}
	return nil
}

// filtering lets git run the configured content filters, unless a turn that is not yet judged may have changed them.
func (t *transaction) filtering(ctx context.Context, doing string) error {
	for id, turn := range t.state().ActiveTurns.All() {
		b, err := t.breachOf(ctx, turn)
		if err != nil {
			return err
		}
		if len(b.git) == 0 {
			continue
		}
		if doing != "step" && doing != "accept" { // these commands report it when they decide
			t.e.warn(fmt.Sprintf("turn %s changed your git configuration: %s", id, strings.Join(b.git, "; ")))
		}
		return nil
	}
	return t.filter(ctx)
}

func (t *transaction) filter(ctx context.Context) (err error) {
	t.work, err = t.work.WithFilters(ctx)
	return err
}

// moved refuses a turn that left the repository in a state in which its changes cannot be determined: without git, on
// another branch, or with a history that no longer contains the commit it started from. Commits on top of that are
// fine.
func (t *transaction) moved(ctx context.Context, turn *protocol.Turn, seen workspace.Observation, person bool) (*govern.Report, error) {
	base := turn.Baseline
	if base == nil || base.Kind != string(workspace.Git) || turn.Worktree != "" {
		return nil, nil
	}
	what := ""
	switch {
	case t.work.Kind() != workspace.Git:
		what = "its .git is gone"
	case base.Detail == nil: // assigned by the original, which records no branch
	case seen.Branch != base.Branch:
		what = fmt.Sprintf("it was on %s and is now on %s", branchName(base.Branch), branchName(seen.Branch))
	case base.HeadRef != nil && seen.HeadRef == "":
		what = fmt.Sprintf("its branch has no commits, although the turn started at %.12s", *base.HeadRef)
	case base.HeadRef != nil && seen.HeadRef != *base.HeadRef:
		kept, err := t.work.Contains(ctx, *base.HeadRef, seen.HeadRef)
		if err != nil {
			return nil, err
		}
		if !kept {
			what = fmt.Sprintf("its history was rewritten: %.12s, where the turn started, is not an ancestor of %.12s (git reflog shows both)", *base.HeadRef, seen.HeadRef)
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

// bound refuses a turn whose worker changed its own rules, the record or what git does, before its result is read,
// because the check itself may have been changed. mark is the record when the turn began; nil if this process did not
// see it. The report is nil if there is nothing to refuse. It does not apply to a person's turn, nor to a person who
// accepts a breach that was reported to them.
func (t *transaction) bound(ctx context.Context, turn *protocol.Turn, mark ledger.Mark, person bool) (*govern.Report, error) {
	b, err := t.breachOf(ctx, turn)
	if err != nil {
		return nil, err
	}
	if len(b.harmless) > 0 {
		text := fmt.Sprintf("git settings changed during turn %s: %s", turn.TurnID, strings.Join(b.harmless, "; "))
		t.e.warn(text)
		t.noted = append(t.noted, text)
	}
	taken := person && t.knows(turn, b)
	switch {
	case b.moved:
		return t.refuseTold(ctx, turn.TurnID, codeRepositoryChanged, b, taken)
	case len(b.git) > 0:
		return t.refuseTold(ctx, turn.TurnID, codeRulesChanged, b, taken)
	case len(b.rules) > 0:
		return t.refuseTold(ctx, turn.TurnID, codeRulesChanged, b, person)
	case mark == nil:
		return nil, nil
	}
	altered, err := t.ledger.View().Altered(mark)
	if err != nil || len(altered) == 0 {
		return nil, err
	}
	return t.refuseBound(ctx, turn.TurnID, codeRecordChanged, altered, person)
}

// knows reports whether a person was told of the changes in git, or does the turn's work.
func (t *transaction) knows(turn *protocol.Turn, b breach) bool {
	_, rt, _ := t.run.Config.RuntimeOf(turn.AssignedRole)
	return rt.Type == protocol.RuntimeManual || turn.RulesTold == b.told()
}

// refuseTold is refuseBound for a breach. If a person accepts it, the current git configuration applies.
func (t *transaction) refuseTold(ctx context.Context, id, code string, b breach, taken bool) (*govern.Report, error) {
	t.telling = b.told()
	rep, err := t.refuseBound(ctx, id, code, slices.Concat(b.rules, b.git), taken)
	if rep == nil && err == nil {
		err = t.filter(ctx)
	}
	return rep, err
}

func (t *transaction) refuseBound(ctx context.Context, id, code string, paths []string, person bool) (*govern.Report, error) {
	list := strings.Join(paths, "; ")
	if person {
		if code == codeRepositoryChanged {
			t.e.warn(fmt.Sprintf("the repository is not where turn %s started: %s", id, list))
			return nil, nil
		}
		t.e.warn(fmt.Sprintf("changed since turn %s was dispatched; the current version applies: %s", id, list))
		return nil, nil
	}
	what, action := "the rules of the run changed during turn %s: %s",
		fmt.Sprintf("review the change; undo it (git restore FILE, git config --unset KEY, rm HOOK), or keep it. Then accept the result: drawbar govern accept --turn %s; or repeat the turn: drawbar govern step --resume", id)
	if code == codeRepositoryChanged {
		what, action = "the repository is not where turn %s started: %s", fmt.Sprintf("restore it (git switch, git reset; mv for a .git that was moved away), or leave it as it is. Then accept the result: drawbar govern accept --turn %s; or repeat the turn: drawbar govern step --resume", id)
	}
	if code == codeRecordChanged {
		what, action = "the record changed during turn %s: %s", fmt.Sprintf("see where: drawbar govern verify; restore the file. Then accept the result: drawbar govern accept --turn %s; or repeat the turn: drawbar govern step --resume", id)
	}
	detail := fmt.Sprintf(what, id, list)
	if err := t.do(governance.Escalate{Reason: code, Detail: detail, Action: action, TurnID: id, RulesTold: t.telling}); err != nil {
		return nil, err
	}
	if _, err := t.commit(ctx, commitBlock, id, nil); err != nil {
		return nil, err
	}
	rep := t.report(govern.OutcomeBlocked)
	if turn := t.state().ActiveTurns.At(id); turn != nil {
		about(&rep, turn)
	}
	rep.Code, rep.Stage, rep.Errors = code, protocol.StageArtifact, []string{detail, action}
	return &rep, nil
}

// redactor redacts the secrets of this process's environment and of a turn's runtime.
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

// withoutSecrets redacts a staged result before any part of it is written: the record is read by others, and committed.
// The staged file is rewritten by the transaction, as it moves to the archive.
func (t *transaction) withoutSecrets(id string, s *submission) {
	clean := cleanResult(t.redactor(id), s.data)
	if bytes.Equal(clean, s.data) {
		return
	}
	t.e.warn(fmt.Sprintf("a secret was removed from the result of turn %s; the worker knows it", id))
	if s.data = clean; t.workRoot(id) == t.e.root {
		t.rewrite(s.where, clean)
	}
}

// cleanResult redacts a staged result, which stays valid JSON.
func cleanResult(r *secret.Redactor, data []byte) []byte {
	if json.Valid(data) {
		return r.JSON(data, nil)
	}
	return r.Bytes(data)
}

// lost warns about a missing record to which checkpoints refer: it is not part of a commit, so git clean or a clone
// loses it.
func (t *transaction) lost(ctx context.Context) {
	if !t.ledger.View().Fresh || t.work.Kind() != workspace.Git {
		return
	}
	if heads, err := t.work.Heads(ctx); err == nil && len(heads) > 0 {
		t.e.warn(fmt.Sprintf("the commits name %d checkpoints of a missing record (git clean -x removes it, a clone has none): a new run starts; "+
			"to continue the old one, restore %s from a backup", len(heads), protocol.Dir))
	}
}

// ruleFilesOf returns the turn's files that are rules.
func ruleFilesOf(turn *protocol.Turn, files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(p string) bool { return p != protocol.ConfigFile && !turn.RuleFiles.Has(p) })
}
