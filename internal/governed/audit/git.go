package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/workspace"
)

// The kinds of findings.
const (
	Lost        = "lost"        // accepted work that is not below HEAD
	Uncommitted = "uncommitted" // accepted work in the work tree but in no commit below HEAD
	Elsewhere   = "elsewhere"   // accepted work on another branch
	Changed     = "changed"     // a checkpoint whose files differ from the accepted ones
	Moved       = "moved"       // a checkpoint that was rebased: another commit with the same files
	Rewritten   = "rewritten"   // accepted work below HEAD without its checkpoint: a squash or a filter
	Unknown     = "unknown"     // a shallow clone does not contain the commit
	Released    = "released"    // lost, and a person continued without it
	Foreign     = "foreign"     // checkpoints of a record that is missing
	Unrecorded  = "unrecorded"  // a checkpoint of a turn that is not in the record
	Mislabelled = "mislabelled" // a checkpoint that names a different run than the record
	Pending     = "pending"     // the checkpoint, or a file, that an interrupted transaction has still to make
)

// Finding is a difference between the record and the repository.
type Finding struct {
	Kind    string   `json:"kind"`
	Run     string   `json:"run_id,omitempty"`
	Turn    string   `json:"turn_id,omitempty"`
	Commit  string   `json:"commit,omitempty"`
	Files   []string `json:"files,omitempty"`
	Message string   `json:"message"`
	Do      string   `json:"do,omitempty"`
	// Broken says that accepted work is missing or changed. Other findings are informational: a rebase, a
	// squash, another record.
	Broken bool `json:"broken"`
}

// History is what the repository says about the record.
type History struct {
	Turns    int       `json:"turns"` // accepted turns whose commits were checked
	Findings []Finding `json:"findings,omitempty"`
	Heads    []string  `json:"-"` // head of the chain, as checkpoints of this record name it, newest first
}

// Broken returns the first finding that means missing or changed accepted work; nil if there is none.
func (h *History) Broken() *Finding {
	if i := slices.IndexFunc(h.Findings, func(f Finding) bool { return f.Broken }); i >= 0 {
		return &h.Findings[i]
	}
	return nil
}

// claim is an accepted turn whose files, according to the record, are in a commit.
type claim struct {
	run, turn, commit string
	files             []string // not changed by a later turn
	markers           protocol.Ordered[string]
}

// record is what the record says about commits.
type record struct {
	run      string            // the current one
	runs     map[string]bool   // all of them
	turns    map[string]string // accepted turn to run
	claims   []claim           // oldest first
	released map[string]bool   // turns that a person continued without
}

// readRecord reads it.
func readRecord(v *ledger.View) (record, error) {
	r := record{run: v.State.ID(), runs: map[string]bool{}, turns: map[string]string{}, released: map[string]bool{}}
	if r.run != "" {
		r.runs[r.run] = true
	}
	commits := map[string]string{}
	if _, err := v.Events(0, func(e protocol.Event) {
		var p struct {
			SHA      string   `json:"checkpoint_sha"`
			Released []string `json:"released_turns"`
		}
		if e.EventType != "turn_checkpointed" && e.EventType != "state_reconciled_operator_commits" || json.Unmarshal(e.Payload, &p) != nil {
			return
		}
		if e.Turn != nil && p.SHA != "" {
			commits[e.Turn.TurnID] = p.SHA
		}
		for _, id := range p.Released {
			r.released[id] = true
		}
	}); err != nil {
		return r, err
	}
	history, err := v.History("")
	if err != nil {
		return r, err
	}
	later := map[string]bool{}
	for _, h := range slices.Backward(history) {
		r.runs[h.RunID] = true
		if h.Status == "reissued" {
			continue
		}
		r.turns[h.TurnID] = h.RunID
		c := claim{run: h.RunID, turn: h.TurnID, commit: commits[h.TurnID]}
		if c.commit == "" {
			c.commit = h.CheckpointSHA // as the original program keeps it
		}
		for _, f := range h.FilesChanged {
			if !later[f] {
				c.files = append(c.files, f)
			}
			later[f] = true
		}
		if h.ObservedArtifact != nil {
			c.markers = h.ObservedArtifact.FileMarkers
		}
		if c.commit != "" {
			r.claims = append(r.claims, c)
		}
	}
	slices.Reverse(r.claims)
	return r, nil
}

// Git compares the record with the project's repository.
func Git(ctx context.Context, w *workspace.Workspace, v *ledger.View) (History, error) {
	var h History
	if w.Kind() != workspace.Git {
		return h, nil
	}
	r, err := readRecord(v)
	if err != nil {
		return h, err
	}
	list, err := w.Checkpoints(ctx)
	if err != nil {
		return h, err
	}
	h.Turns = len(r.claims)
	for _, c := range list {
		if c.Head != "" && (r.runs[c.Run] || v.Fresh) {
			h.Heads = append(h.Heads, c.Head)
		}
	}
	if h.Findings, err = forwards(ctx, w, v, &r, list); err != nil {
		return h, err
	}
	h.Findings = append(h.Findings, backwards(&r, list)...)
	slices.SortStableFunc(h.Findings, func(a, b Finding) int {
		switch {
		case a.Broken == b.Broken:
			return 0
		case a.Broken:
			return -1
		}
		return 1
	})
	return h, nil
}

// forwards compares what the record says with the commits.
func forwards(ctx context.Context, w *workspace.Workspace, v *ledger.View, r *record, list []workspace.CheckpointCommit) (found []Finding, err error) {
	at := map[string]bool{}
	for _, c := range list {
		at[c.Commit], at[c.Rebased] = true, true
	}
	var ask []string
	for _, c := range r.claims {
		if !at[c.commit] {
			ask = append(ask, c.commit)
		}
	}
	if len(ask) == 0 {
		return nil, nil
	}
	there, err := w.Unreachable(ctx, ask)
	if err != nil {
		return nil, err
	}
	for _, c := range r.claims {
		exists, out := there[c.commit]
		if !out {
			continue
		}
		f, err := judge(ctx, w, r, c, exists, list)
		if err != nil {
			return nil, err
		}
		if (f.Kind == Uncommitted || f.Kind == Rewritten) && interrupted(v, c.turn) {
			f.Kind, f.Broken, f.Do = Pending, false, proceed
			f.Message = fmt.Sprintf("turn %s was interrupted before its checkpoint %.12s was made", c.turn, c.commit)
		}
		found = append(found, f)
	}
	return found, nil
}

// proceed finishes an interrupted transaction.
const proceed = "drawbar govern step"

// interrupted reports whether a transaction about a turn has not been carried out to its end.
func interrupted(v *ledger.View, turn string) bool {
	last := v.State.LastCompletedTurnID
	return v.Pending != "" && last != nil && *last == turn
}

// judge determines what happened to a checkpoint that is not below HEAD.
func judge(ctx context.Context, w *workspace.Workspace, r *record, c claim, exists bool, list []workspace.CheckpointCommit) (Finding, error) {
	f := Finding{Run: c.run, Turn: c.turn, Commit: c.commit, Files: c.files}
	about := fmt.Sprintf("the checkpoint %.12s of turn %s", c.commit, c.turn)
	if i := slices.IndexFunc(list, func(o workspace.CheckpointCommit) bool { return o.Turn == c.turn && o.Run == c.run }); i >= 0 {
		other := list[i].Commit
		differ, err := differing(ctx, w, c, exists, other)
		if err != nil {
			return f, err
		}
		f.Kind, f.Message = Moved, fmt.Sprintf("%s is now %.12s, with the same files: the branch was rebased", about, other)
		if len(differ) > 0 {
			f.Kind, f.Files, f.Broken = Changed, differ, c.run == r.run
			f.Message = fmt.Sprintf("%s is now %.12s, but its files differ from the accepted ones: %s", about, other, strings.Join(differ, ", "))
			f.Do = fmt.Sprintf("git diff %.12s %.12s; to continue with the current files: drawbar govern restart --adopt-state", c.commit, other)
			f.release(r)
		}
		return f, nil
	}
	gone, err := missing(ctx, w, c, exists)
	switch {
	case err != nil:
		return f, err
	case w.Shallow() && (!exists || len(gone) == 0):
		f.Kind, f.Message, f.Do = Unknown, about+" is older than this shallow clone", "git fetch --unshallow, then: drawbar govern verify"
		return f, nil
	case len(gone) == 0:
		f.Kind, f.Message = Rewritten, about+" is not below HEAD, but its files are: the history was squashed, or rewritten without the trailers"
		return f, nil
	}
	f.Files = gone
	branch, err := w.BranchWith(ctx, c.commit)
	if err != nil {
		return f, err
	}
	if branch != "" {
		f.Kind, f.Message = Elsewhere, fmt.Sprintf("%s is on the branch %s, but not below HEAD", about, branch)
		f.Do = fmt.Sprintf("git switch %s, or merge it: git merge %s; to continue without it: drawbar govern restart --adopt-state", branch, branch)
		return f, nil
	}
	if kept, err := inTree(ctx, w, c, gone); err != nil || kept {
		f.Kind, f.Message, f.Broken = Uncommitted, about+" is not below HEAD, but its files are in the work tree", c.run == r.run
		f.Do = "drawbar govern checkpoint --turn " + c.turn
		return f, err
	}
	f.Kind, f.Broken = Lost, c.run == r.run
	f.Message = fmt.Sprintf("%s is not below HEAD: its work is missing (%s)", about, strings.Join(gone, ", "))
	f.Do = fmt.Sprintf("restore it: git merge %.12s (git reflog shows when it was removed); to continue without it: drawbar govern restart --adopt-state", c.commit)
	if !exists {
		f.Message = fmt.Sprintf("%s is not in this repository: its work is missing (%s), or the record belongs to another repository", about, strings.Join(gone, ", "))
		f.Do = "fetch it (git fetch), or restore the right .agentxchain; to continue without it: drawbar govern restart --adopt-state"
	}
	f.release(r)
	return f, nil
}

// release marks what a person continued without.
func (f *Finding) release(r *record) {
	if r.released[f.Turn] {
		f.Message += "; a person continued without it"
		f.Kind, f.Do, f.Broken = Released, "", false
	}
}

// differing returns the files of a turn whose content differs in another commit.
func differing(ctx context.Context, w *workspace.Workspace, c claim, exists bool, other string) (files []string, err error) {
	now, err := w.Blobs(ctx, other, c.files)
	if err != nil {
		return nil, err
	}
	if exists {
		was, err := w.Blobs(ctx, c.commit, c.files)
		for _, f := range c.files {
			if was[f] != now[f] {
				files = append(files, f)
			}
		}
		return files, err
	}
	for _, f := range c.files {
		same, err := fits(ctx, w, c, other, f)
		if err != nil {
			return nil, err
		}
		if !same {
			files = append(files, f)
		}
	}
	return files, nil
}

// fits reports whether a file of a commit has the observed content. A file without a digest fits.
func fits(ctx context.Context, w *workspace.Workspace, c claim, commit, file string) (bool, error) {
	sum, err := w.Digest(ctx, commit, file)
	want, known := c.markers.Get(file)
	switch {
	case err != nil || !known:
		return err == nil, err
	case want == "deleted":
		return sum == "", nil
	case !strings.HasPrefix(want, "sha256:"):
		return true, nil
	}
	return sum == strings.TrimPrefix(want, "sha256:"), nil
}

// missing returns the files of a turn whose content is in no commit below HEAD.
func missing(ctx context.Context, w *workspace.Workspace, c claim, exists bool) (files []string, err error) {
	head, err := w.Head(ctx)
	if err != nil {
		return nil, err
	}
	var was map[string]string
	if exists {
		if was, err = w.Blobs(ctx, c.commit, c.files); err != nil {
			return nil, err
		}
	}
	for _, f := range c.files {
		var kept bool
		if exists {
			kept, err = w.Had(ctx, f, was[f])
		} else {
			kept, err = fits(ctx, w, c, head, f)
			_, known := c.markers.Get(f)
			kept = kept && known
		}
		if err != nil {
			return nil, err
		}
		if !kept {
			files = append(files, f)
		}
	}
	return files, nil
}

// inTree reports whether the work tree has the files as observed.
func inTree(ctx context.Context, w *workspace.Workspace, c claim, files []string) (bool, error) {
	for _, f := range files {
		want, ok := c.markers.Get(f)
		if !ok {
			return false, nil
		}
		now, err := w.Marker(ctx, f)
		if err != nil || now != want {
			return false, err
		}
	}
	return true, nil
}

// backwards compares what commits say with the record.
func backwards(r *record, list []workspace.CheckpointCommit) (all []Finding) {
	foreign := map[string]int{}
	var runs []string
	for _, c := range list {
		switch {
		case c.Turn == "" || c.Run == "":
		case !r.runs[c.Run]:
			if foreign[c.Run]++; foreign[c.Run] == 1 {
				runs = append(runs, c.Run)
			}
		case r.turns[c.Turn] == "":
			all = append(all, Finding{Kind: Unrecorded, Run: c.Run, Turn: c.Turn, Commit: c.Commit, Broken: true,
				Message: fmt.Sprintf("the commit %.12s is the checkpoint of turn %s, which is missing in the record of run %s: the record lost lines, or is an older copy", c.Commit, c.Turn, c.Run),
				Do:      "restore the newest copy of " + protocol.Dir + " back"})
		case r.turns[c.Turn] != c.Run:
			all = append(all, Finding{Kind: Mislabelled, Run: c.Run, Turn: c.Turn, Commit: c.Commit, Broken: true,
				Message: fmt.Sprintf("the commit %.12s says that turn %s belongs to run %s, but the record says %s", c.Commit, c.Turn, c.Run, r.turns[c.Turn]),
				Do:      "git show " + c.Commit})
		}
	}
	for _, run := range runs {
		all = append(all, Finding{Kind: Foreign, Run: run, Message: fmt.Sprintf("%d checkpoints below HEAD belong to run %s, whose record is missing", foreign[run], run)})
	}
	return all
}
