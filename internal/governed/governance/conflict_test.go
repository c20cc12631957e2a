package governance

import (
	"slices"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/google/go-cmp/cmp"
)

// twoAtOnce is a run with a turn of dev and one of qa side by side.
func twoAtOnce(t *testing.T, edits ...string) (w *world, dev, qa string) {
	t.Helper()
	w = newWorld(t, config(t, append([]string{`"allowed_next_roles": ["dev", "qa", "human"], "exit_gate": "built"`, parallel}, edits...)...))
	w.to("implementation")
	return w, w.turn("dev"), w.turn("qa")
}

func TestAConflictIsFoundAndResolved(t *testing.T) {
	t.Parallel()
	w, dev, qa := twoAtOnce(t)
	w.accept(qa, changes("a.go", "b.go"))
	w.accept(dev, changes("a.go", "c.go", "d.go"))
	turn := w.run.State.ActiveTurns.At(dev)
	if turn == nil || turn.Status != protocol.TurnConflicted || turn.ConflictState.DetectionCount != 1 {
		t.Fatalf("the turn is %+v", turn)
	}
	c := turn.ConflictState.Error
	if c.SuggestedResolution != "reject_and_reassign" || !slices.Equal(c.ConflictingFiles, []string{"a.go"}) || !slices.Equal(c.AcceptedSince, []string{qa}) ||
		!slices.Equal(c.NonConflictingFiles, []string{"c.go", "d.go"}) || c.OverlapRatio < 0.33 || c.OverlapRatio > 0.34 {
		t.Errorf("the conflict is %+v", c)
	}
	w.status(protocol.RunActive)
	w.must(RejectTurn{TurnID: dev, Reason: "conflict", Reassign: true, Baseline: new(clean())})
	turn = w.run.State.ActiveTurns.At(dev)
	if turn.Status != protocol.TurnRetrying || turn.Attempt != 2 || len(turn.ConflictContext) == 0 {
		t.Errorf("the turn is %+v", turn)
	}
	// From its fresh baseline the turn does not conflict with what was accepted before.
	w.must(Dispatched{TurnID: dev})
	w.accept(dev, changes("a.go", "c.go"))
	if w.run.State.ActiveTurns.Has(dev) {
		t.Errorf("the retried turn is %+v", w.run.State.ActiveTurns.At(dev))
	}
}

func TestAPersonMergesAConflict(t *testing.T) {
	t.Parallel()
	w, dev, qa := twoAtOnce(t)
	w.accept(qa, changes("a.go"))
	w.accept(dev, changes("a.go"))
	n, _ := find[NotAccepted](w.effects)
	if n.Code != CodeConflict || turnCommand(&w.run.State, w.run.State.ActiveTurns.At(dev)) != "drawbar govern accept --turn "+dev+" --resolution human_merge" {
		t.Errorf("got %+v", n)
	}
	w.must(AcceptTurn{TurnID: dev, Result: w.result(dev, changes("a.go")), Resolution: ResolutionHumanMerge})
	h := w.run.History[len(w.run.History)-1]
	if h.TurnID != dev || len(h.ConflictResolution) == 0 || !slices.Contains(w.types(), "conflict_resolved") {
		t.Errorf("accepted as %+v", h)
	}
	w.checkEvents()
}

func TestTheThirdConflictBlocks(t *testing.T) {
	t.Parallel()
	w, dev, qa := twoAtOnce(t)
	for range 3 {
		w.accept(qa, changes("a.go"))
		w.accept(dev, changes("a.go", "b.go", "c.go"))
		if w.run.State.Status == protocol.RunActive {
			w.must(RejectTurn{TurnID: dev, Reason: "again", Reassign: true, Baseline: new(clean())})
			w.must(Dispatched{TurnID: dev})
			qa = w.turn("qa")
		}
	}
	w.blockedOn("human:conflict_loop:" + dev)
	w.must(AcceptTurn{TurnID: dev, Result: w.result(dev, changes("a.go")), Resolution: ResolutionHumanMerge})
	w.status(protocol.RunActive)
}

func TestAWorktreeThatDoesNotMergeIsAConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config(t))
	w.to("implementation")
	dev := w.turn("dev")
	w.must(AcceptTurn{TurnID: dev, Result: w.result(dev, changes("a.go", "b.go")), MergeConflicts: []string{"a.go"}})
	c := w.run.State.ActiveTurns.At(dev).ConflictState.Error
	if !slices.Equal(c.ConflictingFiles, []string{"a.go"}) || !slices.Equal(c.NonConflictingFiles, []string{"b.go"}) {
		t.Errorf("the conflict is %+v", c)
	}
}

func TestForwardRevisions(t *testing.T) {
	t.Parallel()
	c := config(t, `"workflow_kit": {}`, `"workflow_kit": {"phases": {"planning": {"artifacts": [{"path": "PLAN.md"}]}, "qa": {"artifacts": [{"path": "V.md", "owned_by": "qa"}]}}}`)
	turn := &protocol.Turn{TurnID: "t", AssignedSequence: 1}
	entry := func(role string, files ...string) protocol.HistoryEntry {
		return protocol.HistoryEntry{TurnID: "h_" + role, Role: role, Status: "completed", AcceptedSequence: 2, FilesChanged: files}
	}
	for _, tc := range []struct {
		name      string
		role      string
		history   protocol.HistoryEntry
		files     []string
		conflicts []string
		forward   []string
	}{
		{"planning papers of planning's role", "pm", entry("pm", ".planning/ROADMAP.md"), []string{".planning/ROADMAP.md"}, nil, []string{".planning/ROADMAP.md"}},
		{"planning papers of another role", "dev", entry("dev", ".planning/ROADMAP.md"), []string{".planning/ROADMAP.md"}, []string{".planning/ROADMAP.md"}, nil},
		{"an artifact of the phase's role", "pm", entry("pm", "PLAN.md"), []string{"PLAN.md"}, nil, []string{"PLAN.md"}},
		{"an artifact of its owner", "qa", entry("qa", "V.md"), []string{"V.md"}, nil, []string{"V.md"}},
		{"an artifact that another one changed", "qa", entry("dev", "V.md"), []string{"V.md"}, []string{"V.md"}, nil},
		{"code of the same role", "dev", entry("dev", "a.go"), []string{"a.go"}, []string{"a.go"}, nil},
		{"other files", "dev", entry("dev", "a.go"), []string{"b.go"}, nil, nil},
		{"accepted before", "dev", protocol.HistoryEntry{Role: "qa", AcceptedSequence: 1, FilesChanged: []string{"a.go"}}, []string{"a.go"}, nil, nil},
		{"reissued", "dev", protocol.HistoryEntry{Role: "qa", Status: protocol.StatusReissued, AcceptedSequence: 2, FilesChanged: []string{"a.go"}}, []string{"a.go"}, nil, nil},
		{"what was observed goes before what was said", "dev", protocol.HistoryEntry{TurnID: "h", Role: "qa", AcceptedSequence: 2, FilesChanged: []string{"b.go"},
			ObservedArtifact: &protocol.Observed{FilesChanged: []string{"a.go", "s.go"}, Siblings: []string{"s.go"}}}, []string{"a.go", "b.go", "s.go"}, []string{"a.go"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			mine := *turn
			mine.AssignedRole = tc.role
			got, forward := detectConflict(Run{Config: c, History: []protocol.HistoryEntry{tc.history}}, &mine, tc.files)
			var files []string
			if got != nil {
				files = got.ConflictingFiles
			}
			if diff := cmp.Diff([][]string{tc.conflicts, tc.forward}, [][]string{files, forward}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
