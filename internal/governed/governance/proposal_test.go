package governance

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

func TestWhatAProposalMayHold(t *testing.T) {
	t.Parallel()
	text := ptr("x")
	for _, tc := range []struct {
		name    string
		changes []protocol.ProposedChange
		want    string
	}{
		{"files", []protocol.ProposedChange{{Path: "a/b.go", Action: "create", Content: text}, {Path: "c", Action: "delete"}}, ""},
		{"climbs out", []protocol.ProposedChange{{Path: "../../escape.txt", Action: "create", Content: text}}, "inside the project"},
		{"climbs out in the middle", []protocol.ProposedChange{{Path: "a/../../escape.txt", Action: "create", Content: text}}, "inside the project"},
		{"absolute", []protocol.ProposedChange{{Path: "/etc/passwd", Action: "create", Content: text}}, "absolute"},
		{"a drive", []protocol.ProposedChange{{Path: `C:\x`, Action: "create", Content: text}}, "plain path"},
		{"git", []protocol.ProposedChange{{Path: ".GIT/hooks/pre-commit", Action: "create", Content: text}}, "belongs to git"},
		{"the state", []protocol.ProposedChange{{Path: ".AgentXchain/state.json", Action: "modify", Content: text}}, "orchestrator"},
		{"empty", []protocol.ProposedChange{{Path: " ", Action: "delete"}}, "is empty"},
		{"the root", []protocol.ProposedChange{{Path: ".", Action: "delete"}}, "inside the project"},
		{"twice in another case", []protocol.ProposedChange{{Path: "a", Action: "delete"}, {Path: "A", Action: "delete"}}, "twice"},
		{"no content", []protocol.ProposedChange{{Path: "a", Action: "modify"}}, "no content"},
		{"unknown action", []protocol.ProposedChange{{Path: "a", Action: "move"}}, "unknown action"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(ProposalFaults(tc.changes), "; ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestApplyingAProposal(t *testing.T) {
	t.Parallel()
	snapshot := Snapshot{Files: []SnapshotFile{{Path: "old.go", Action: "modify", Existed: true, SHA256: ptr("sha256:1")}, {Path: "new.go", Action: "create"}}}
	same := map[string]string{"old.go": "sha256:1"}
	for _, tc := range []struct {
		name string
		p    Proposal
		code string
		plan int
	}{
		{"as it was", Proposal{Current: same}, "", 2},
		{"one file", Proposal{Current: same, Select: []string{"new.go"}}, "", 1},
		{"a file that is not proposed", Proposal{Current: same, Select: []string{"no.go"}}, CodeInvalidInput, 0},
		{"changed since", Proposal{Current: map[string]string{"old.go": "sha256:2"}}, CodeConflict, 0},
		{"gone since", Proposal{}, CodeConflict, 0},
		{"there since", Proposal{Current: map[string]string{"old.go": "sha256:1", "new.go": "sha256:9"}}, CodeConflict, 0},
		{"changed since, forced", Proposal{Current: map[string]string{"old.go": "sha256:2"}, Force: true}, "", 2},
		{"changed since, but not selected", Proposal{Current: map[string]string{"old.go": "sha256:2"}, Select: []string{"new.go"}}, "", 1},
		{"decided", Proposal{Current: same, Decided: "applied"}, CodeInvalidTransition, 0},
		{"a snapshot that climbs out", Proposal{Snapshot: Snapshot{Files: []SnapshotFile{{Path: "../x"}}}, Force: true}, "path_escape", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.p.Snapshot.Files == nil {
				tc.p.Snapshot = snapshot
			}
			plan, r := ApplyProposal(tc.p)
			if tc.code == "" && r != nil || tc.code != "" && (r == nil || r.Code != tc.code || !strings.HasPrefix(r.Next, "drawbar ")) || len(plan) != tc.plan {
				t.Errorf("got %v, %+v", plan, r)
			}
		})
	}
	if r := RejectProposal(Proposal{}, " "); r == nil || r.Code != CodeInvalidInput {
		t.Errorf("got %+v", r)
	}
	if r := RejectProposal(Proposal{Decided: "rejected"}, "no"); r == nil || r.Code != CodeInvalidTransition {
		t.Errorf("got %+v", r)
	}
	if r := RejectProposal(Proposal{}, "no"); r != nil {
		t.Errorf("got %+v", r)
	}
}
