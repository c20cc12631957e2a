package governance

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// maxConcurrent is the maximum number of active turns in the protocol.
const maxConcurrent = 4

// Guards lists why a turn cannot be assigned to the role now, in the protocol's order. AssignTurn checks the work tree,
// because it has the baseline; the orchestrator runs hooks.
func Guards(run Run, role string) []Refused {
	var all []Refused
	add := func(r *Refused) {
		if r != nil {
			all = append(all, *r)
		}
	}
	if run.Config == nil {
		run.Config = &protocol.Config{}
	}
	add(guardStatus(run))
	add(guardRole(run, role))
	add(guardConcurrency(run, role))
	for _, r := range guardBudget(run) {
		add(r)
	}
	return all
}

func guardStatus(run Run) *Refused {
	st := &run.State
	switch st.Status {
	case protocol.RunActive:
		return nil
	case protocol.RunBlocked:
		return refuse(CodeRunBlocked, NextCommand(run), "the run is blocked on %s", value(st.BlockedOn, "an unknown cause"))
	case protocol.RunPaused:
		return refuse(CodeApprovalPending, NextCommand(run), "the run waits for %s", value(st.BlockedOn, "an approval"))
	case protocol.RunCompleted:
		return refuse(CodeInvalidTransition, NextRestart, "cannot assign a turn: the run is completed")
	}
	return refuse(CodeInvalidTransition, NextStep, "no run has been started")
}

func guardRole(run Run, role string) *Refused {
	r, ok := run.Config.Roles.Get(role)
	if !ok {
		return refuse(CodeUnknownRole, "drawbar govern step --role "+fallbackRole(run), "role %q is not declared; declared: %s", role,
			strings.Join(run.Config.Roles.Keys(), ", ")).with("role", role)
	}
	if _, ok := run.runtime(r.RuntimeID()); !ok {
		return refuse(CodeUnknownRuntime, NextValidate, "the runtime %q of the role %s is not declared", r.RuntimeID(), role).with("role", role)
	}
	return nil
}

// Parallel reports whether the current phase lets several turns be active at once.
func Parallel(run Run) bool { return concurrency(run) > 1 }

// concurrency is how many turns may be active at once in the current phase: 1 to 4.
func concurrency(run Run) int {
	p, _ := run.Config.Phase(run.State.Phase)
	return min(maxConcurrent, p.Concurrency())
}

func guardConcurrency(run Run, role string) *Refused {
	st := &run.State
	active := st.ActiveTurns.Keys()
	if rev := st.PendingDelegation; rev != nil {
		if role != rev.ParentRole {
			return refuse(CodeReviewPending, "drawbar govern step --role "+rev.ParentRole, "role %s must review its delegations first", rev.ParentRole)
		}
		if len(active) > 0 {
			return refuse(CodeReviewPending, turnCommand(st, st.ActiveTurns.At(active[0])), "a delegation review must be the only turn, but %s is active",
				strings.Join(active, ", "))
		}
	}
	for id, t := range st.ActiveTurns.All() {
		if len(t.DelegationReview) > 0 {
			return refuse(CodeReviewPending, turnCommand(st, t), "turn %s reviews delegations and must be the only turn", id).with("turn_id", id)
		}
	}
	if len(active) == 0 {
		return nil
	}
	limit := concurrency(run)
	if limit == 1 {
		return refuse(CodeTurnActive, turnCommand(st, st.ActiveTurns.At(active[0])), "turn %s of %s is active, and phase %s allows one turn at a time",
			active[0], st.ActiveTurns.At(active[0]).AssignedRole, st.Phase).with("turn_id", active[0])
	}
	if same := activeWith(st, role); len(same) > 0 {
		return refuse(CodeRoleActive, turnCommand(st, st.ActiveTurns.At(same[0])), "role %s already has active turn %s", role, same[0]).with("turn_id", same[0])
	}
	if len(active) >= limit {
		return refuse(CodeConcurrency, turnCommand(st, st.ActiveTurns.At(active[0])), "%d turns are active, and the phase %s allows %d", len(active), st.Phase, limit)
	}
	return nil
}

// guardTree requires a clean work tree, apart from exempt paths, for roles that may write files. Changes while other turns
// are active are theirs.
func guardTree(run Run, in AssignTurn) *Refused {
	role := run.Config.Roles.At(in.Role)
	b := in.Baseline
	_, rt, _ := run.Config.RuntimeOf(in.Role)
	if protocol.Remote(rt.Type) || in.AllowDirty || in.Worktree != "" || role.WriteAuthority == protocol.ReviewOnly || b.Kind != "git_worktree" || b.Clean ||
		run.State.ActiveTurns.Len() > 0 {
		return nil
	}
	var dirt []string
	for p := range b.DirtySnapshot.All() {
		if !protocol.BaselineExempt(p) {
			dirt = append(dirt, p)
		}
	}
	if len(dirt) == 0 {
		return nil
	}
	if n := len(run.History); n > 0 {
		last := run.History[n-1]
		if last.CheckpointSHA == "" && !slices.ContainsFunc(dirt, func(p string) bool { return !slices.Contains(last.FilesChanged, p) }) {
			return refuse(CodeCheckpoint, NextCheckpoint+" --turn "+last.TurnID, "the files of the accepted turn %s are not committed: %s", last.TurnID,
				strings.Join(dirt, ", ")).with("files", dirt)
		}
	}
	return refuse(CodeDirtyTree, `git add -A && git commit -m "work in progress" && `+NextStep+`; or keep them uncommitted, with a worktree for every turn: drawbar govern config set workspace worktree && `+NextStep,
		"role %s may write, but the working tree has uncommitted changes: %s", in.Role, strings.Join(dirt, ", ")).with("files", dirt)
}

// ScopeOverlaps warns if the role's declared file scope overlaps that of an active turn.
func ScopeOverlaps(run Run, role string) []protocol.AdvisoryWarning {
	var w []protocol.AdvisoryWarning
	mine := run.Config.Roles.At(role).DeclaredFileScope
	for id, t := range run.State.ActiveTurns.All() {
		if t.AssignedRole == role {
			continue
		}
		var both []string
		for _, p := range run.Config.Roles.At(t.AssignedRole).DeclaredFileScope {
			if slices.ContainsFunc(mine, func(q string) bool { return scopesMeet(p, q) }) {
				both = append(both, p)
			}
		}
		if len(both) > 0 {
			w = append(w, protocol.AdvisoryWarning{Code: "advisory_scope_overlap", Message: "the declared file scope of " + role + " overlaps that of " +
				t.AssignedRole + " (turn " + id + ") at " + strings.Join(both, ", ")})
		}
	}
	return w
}

// scopesMeet compares two path prefixes or globs up to their first wildcard.
func scopesMeet(a, b string) bool {
	cut := func(s string) string { return strings.TrimSuffix(s[:strings.IndexAny(s+"*", "*?[")], "/") }
	a, b = cut(a), cut(b)
	return a == b || a == "" || b == "" || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

func value(s *string, or string) string {
	if s == nil || *s == "" {
		return or
	}
	return *s
}
