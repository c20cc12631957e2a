package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	work "github.com/drawbar/drawbar/internal/governed/workspace"
)

// repo is a repository as its own record has it.
type repo struct {
	place
	state   protocol.State
	history []protocol.HistoryEntry // of its current run
	fresh   bool                    // no run yet
	err     error
}

// look reads the records of all repositories.
func (c *Coordinator) look(w *workspace) map[string]*repo {
	all := map[string]*repo{}
	for _, p := range w.places {
		r := &repo{place: p}
		r.state, r.history, r.fresh, r.err = c.o.Record(p.root)
		all[p.id] = r
	}
	return all
}

// command is a govern command for the repository.
func (p place) command(format string, args ...any) string {
	return "drawbar govern --cwd " + p.path + " " + fmt.Sprintf(format, args...)
}

// within names the repository in an error of its engine.
func (p place) within(err error) error {
	var e *execution.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", p.id, err)
	}
	hint := e.Hint
	if hint != "" {
		hint = "in " + p.path + ": " + hint
	}
	return execution.Errorf(e.Code, "%s: %w", p.id, e.WithHint("")).WithHint("%s", hint)
}

// gate is the repository's own gate that waits for a person; empty without one.
func (r *repo) gate() string {
	switch {
	case r.state.PendingTransition != nil:
		return cmp.Or(r.state.PendingTransition.Gate, "the next phase")
	case r.state.PendingCompletion != nil:
		return cmp.Or(r.state.PendingCompletion.Gate, "the end of the run")
	}
	return ""
}

// turns are the ids of the active turns.
func (r *repo) turns() []string { return r.state.ActiveTurns.Keys() }

// link is the place of a turn of the repository in the run: as the turn says itself, or as the history has it.
func (r *repo) link(turn string, own *protocol.CoordinatorLink, d *derived) (protocol.CoordinatorLink, bool) {
	if own != nil {
		return *own, own.SuperRunID == d.state.SuperRunID
	}
	for _, e := range d.run {
		if e.Type == protocol.SuperTurnDispatched && e.RepoID == r.id && e.RepoTurnID == turn {
			return protocol.CoordinatorLink{SuperRunID: e.SuperRunID, WorkstreamID: e.WorkstreamID, ContextRef: e.ContextRef, Preparing: e.Preparing}, true
		}
	}
	return protocol.CoordinatorLink{}, false
}

// active is the active turn of the repository that belongs to the run; nil if there is none.
func (r *repo) active(d *derived) (*protocol.Turn, protocol.CoordinatorLink) {
	for id, t := range r.state.ActiveTurns.All() {
		if l, ok := r.link(id, linkOf(t), d); ok {
			return t, l
		}
	}
	return nil, protocol.CoordinatorLink{}
}

// linkOf is what an active turn says of itself.
func linkOf(t *protocol.Turn) *protocol.CoordinatorLink {
	var l protocol.CoordinatorLink
	if json.Unmarshal(t.Coordinator, &l) != nil || l.SuperRunID == "" {
		return nil
	}
	return &l
}

// difference is what the coordinator has not seen yet.
type difference struct {
	events     []protocol.CoordinatorEvent
	mismatches []govern.MultiMismatch
	blocked    []string // why a person has to look
	touched    []string // repositories
	working    []string // contexts of active turns
	violations []string // turns that wrote outside their repository
	violating  []string // and their contexts
}

func (x *difference) add(kind string, r *repo, turn, format string, args ...any) {
	x.mismatches = append(x.mismatches, govern.MultiMismatch{Type: kind, RepoID: r.id, TurnID: turn, Detail: fmt.Sprintf(format, args...)})
	if !slices.Contains(x.touched, r.id) {
		x.touched = append(x.touched, r.id)
	}
}

// diverged compares the coordinator's history with the repositories.
func (c *Coordinator) diverged(ctx context.Context, w *workspace, rec *record, all map[string]*repo) (difference, error) {
	var x difference
	s := rec.state
	if s.Status == protocol.CoordinatorCompleted {
		return x, nil // what comes later belongs to no run
	}
	seen, acknowledged := map[string]bool{}, map[string]bool{}
	for _, e := range rec.run {
		switch e.Type {
		case protocol.SuperTurnDispatched, protocol.SuperProjection:
			seen[e.Type+e.RepoID+"/"+e.RepoTurnID] = true
		case protocol.SuperResumed:
			for _, id := range e.Acknowledged {
				acknowledged[id] = true
			}
		}
	}
	for id, run := range s.RepoRuns.All() {
		r := all[id]
		switch {
		case r == nil:
			r = &repo{place: place{id: id}}
			x.add("repo_config_missing", r, "", "%s is no longer in %s", id, protocol.CoordinatorConfigFile)
			x.blocked = append(x.blocked, x.mismatches[len(x.mismatches)-1].Detail)
			continue
		case r.err != nil:
			x.add("repo_state_missing", r, "", "%s: its record cannot be read: %v", id, r.err)
			x.blocked = append(x.blocked, x.mismatches[len(x.mismatches)-1].Detail)
			continue
		case r.state.ID() != run.RunID:
			x.add("run_id_mismatch", r, "", "%s has run %s instead of %s", id, cmp.Or(r.state.ID(), "none"), run.RunID)
			x.blocked = append(x.blocked, x.mismatches[len(x.mismatches)-1].Detail)
			continue
		}
		for turn, t := range r.state.ActiveTurns.All() {
			l := linkOf(t)
			if l == nil || l.SuperRunID != s.SuperRunID {
				continue
			}
			x.working = append(x.working, l.ContextRef)
			if !seen[protocol.SuperTurnDispatched+id+"/"+turn] {
				x.add("turn_unrecorded", r, turn, "turn %s was started", turn)
				x.events = append(x.events, c.dispatched(s, r, *l, turn, t.AssignedRole))
			}
		}
		for _, h := range r.history {
			l, ours := r.link(h.TurnID, h.Coordinator, &rec.derived)
			if h.Status == protocol.StatusReissued || !ours || seen[protocol.SuperProjection+id+"/"+h.TurnID] || acknowledged[h.TurnID] {
				continue
			}
			if h.Coordinator != nil && !seen[protocol.SuperTurnDispatched+id+"/"+h.TurnID] {
				x.events = append(x.events, c.dispatched(s, r, l, h.TurnID, h.Role))
			}
			outside := Outside(w.config, id, h.FilesChanged)
			if b, err := c.baseline(rec, l.ContextRef); err != nil {
				return x, err
			} else if b != nil {
				more, err := c.written(ctx, b, all)
				if err != nil {
					return x, err
				}
				outside = append(outside, more...)
			}
			if len(outside) > 0 {
				x.violations, x.violating = append(x.violations, h.TurnID), append(x.violating, l.ContextRef)
				x.add("cross_repo_write", r, h.TurnID, "files of other repositories changed during turn %s of %s: %s", h.TurnID, id, strings.Join(outside, ", "))
				x.blocked = append(x.blocked, x.mismatches[len(x.mismatches)-1].Detail)
				continue
			}
			if l.Preparing {
				continue
			}
			x.add("turn_accepted_unprojected", r, h.TurnID, "turn %s was accepted", h.TurnID)
			x.events = append(x.events, c.projection(s, r, l, h))
		}
	}
	return x, nil
}

func (c *Coordinator) event(s *protocol.CoordinatorState, kind string) protocol.CoordinatorEvent {
	return protocol.CoordinatorEvent{Type: kind, Timestamp: c.now(s), SuperRunID: s.SuperRunID}
}

func (c *Coordinator) dispatched(s *protocol.CoordinatorState, r *repo, l protocol.CoordinatorLink, turn, role string) protocol.CoordinatorEvent {
	e := c.event(s, protocol.SuperTurnDispatched)
	e.WorkstreamID, e.RepoID, e.RepoRunID, e.RepoTurnID, e.Role, e.ContextRef, e.Preparing = l.WorkstreamID, r.id, r.state.ID(), turn, role, l.ContextRef, l.Preparing
	return e
}

// Projection begins the event of a turn that a repository has accepted.
func Projection(run, workstream, repo string) protocol.CoordinatorEvent {
	return protocol.CoordinatorEvent{Type: protocol.SuperProjection, SuperRunID: run, WorkstreamID: workstream, RepoID: repo, ProjectionRef: newID("proj_" + workstream + "_" + repo)}
}

func (c *Coordinator) projection(s *protocol.CoordinatorState, r *repo, l protocol.CoordinatorLink, h protocol.HistoryEntry) protocol.CoordinatorEvent {
	e := Projection(s.SuperRunID, l.WorkstreamID, r.id)
	e.Timestamp, e.RepoRunID, e.RepoTurnID, e.Role = c.now(s), r.state.ID(), h.TurnID, h.Role
	e.Summary, e.FilesChanged, e.Decisions, e.Commit = h.Summary, h.FilesChanged, h.Decisions, h.CheckpointSHA
	e.Verification, _ = protocol.Marshal(h.Verification)
	return e
}

// Outside returns which of a turn's files are not within its repository, with the repository that they belong to.
func Outside(c *protocol.CoordinatorConfig, id string, files []string) []string {
	own, _ := c.Repos.Get(id)
	root := slashed(own.Path)
	var list []string
	for _, f := range files {
		at := slashed(f)
		if !path.IsAbs(at) {
			at = path.Join(root, at)
		}
		if inside(root, at) {
			continue
		}
		owner := "outside"
		for other, r := range c.Repos.All() {
			if other != id && inside(slashed(r.Path), at) {
				owner = other
			}
		}
		list = append(list, f+" ("+owner+")")
	}
	return list
}

func slashed(p string) string { return path.Clean(strings.ReplaceAll(strings.TrimSpace(p), `\`, "/")) }

func inside(root, p string) bool {
	return root == "." && p != ".." && !strings.HasPrefix(p, "../") && !path.IsAbs(p) || p == root || strings.HasPrefix(p, root+"/")
}

// baseline is how the other repositories were when a turn began.
type baseline struct {
	RepoID string                       `json:"repo_id"`
	Others map[string]protocol.Baseline `json:"others"`
	Turns  map[string]int               `json:"turns"` // accepted turns of the others
}

func baselineFile(ref string) string { return protocol.CoordinatorBaselinesDir + "/" + ref + ".json" }

// baseline reads what was kept for a turn with that context; nil if nothing was.
func (c *Coordinator) baseline(rec *record, ref string) (*baseline, error) {
	if !validRef().MatchString(ref) {
		return nil, nil
	}
	data, err := os.ReadFile(rec.path(baselineFile(ref)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var b baseline
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "read %s: %w", baselineFile(ref), err).
			WithHint("remove the file; whether that turn wrote to other repositories is then not checked")
	}
	return &b, nil
}

// keep notes how the other repositories are before a turn begins. A repository in which somebody works is left out.
func (c *Coordinator) keep(ctx context.Context, rec *record, r *repo, all map[string]*repo, ref string) error {
	b := baseline{RepoID: r.id, Others: map[string]protocol.Baseline{}, Turns: map[string]int{}}
	for id, other := range all {
		if id == r.id || other.err != nil || len(other.turns()) > 0 {
			continue
		}
		w, err := work.Open(ctx, other.root)
		if err != nil {
			return other.within(err)
		}
		if w.Kind() != work.Git {
			continue
		}
		if b.Others[id], err = w.Baseline(ctx); err != nil {
			return other.within(err)
		}
		b.Turns[id] = len(other.history)
	}
	data, err := protocol.MarshalFile(b)
	if err != nil {
		return err
	}
	return rec.write(baselineFile(ref), data)
}

// written returns the files of other repositories that changed since, although no turn worked there.
func (c *Coordinator) written(ctx context.Context, b *baseline, all map[string]*repo) ([]string, error) {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(b.Others)) {
		other := all[id]
		if other == nil || other.err != nil || len(other.turns()) > 0 || len(other.history) != b.Turns[id] {
			continue // its own turn accounts for changes
		}
		w, err := work.Open(ctx, other.root)
		if err != nil {
			return nil, other.within(err)
		}
		seen, err := w.Observe(ctx, b.Others[id], "")
		if err != nil {
			return nil, other.within(err)
		}
		for _, f := range append(seen.Paths(), seen.Committed...) {
			list = append(list, filepath.ToSlash(filepath.Join(other.path, f)))
		}
	}
	return list, nil
}
