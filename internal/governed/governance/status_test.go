package governance

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

func TestChangesByName(t *testing.T) {
	t.Parallel()
	id := "run_1"
	now := protocol.At((&world{}).now.AddDate(2025, 0, 0))
	for _, tc := range []struct {
		name   string
		status protocol.RunStatus
		change StateChange
		code   string
		want   protocol.RunStatus
		on     string
	}{
		{"a gate", protocol.RunActive, StateChange{Trigger: "gate_requires_human_approval", Gate: &protocol.PendingPhase{From: "a", To: "b", Gate: "g"}}, "",
			protocol.RunPaused, "human_approval:g"},
		{"an escalation", protocol.RunActive, StateChange{Trigger: "escalation", Reason: "retries_exhausted", RoleID: "dev"}, "", protocol.RunBlocked,
			"escalation:retries-exhausted:dev"},
		{"an unknown trigger", protocol.RunActive, StateChange{Trigger: "moon"}, CodeInvalidTransition, "", ""},
		{"completed directly", protocol.RunActive, StateChange{TargetStatus: protocol.RunCompleted}, CodeInvalidTransition, "", ""},
		{"idle to paused", protocol.RunIdle, StateChange{TargetStatus: protocol.RunPaused}, CodeInvalidTransition, "", ""},
		{"a gate in an idle run", protocol.RunIdle, StateChange{Trigger: "gate_requires_human_approval"}, CodeInvalidTransition, "", ""},
		{"an escalation of a completed run", protocol.RunCompleted, StateChange{Trigger: "escalation"}, CodeInvalidTransition, "", ""},
		{"another run's id", protocol.RunActive, StateChange{TargetStatus: protocol.RunActive, Overrides: map[string]any{"run_id": "run_2"}}, CodeImmutableField, "", ""},
		{"the same id", protocol.RunActive, StateChange{TargetStatus: protocol.RunActive, Overrides: map[string]any{"run_id": id}}, "", protocol.RunActive, ""},
		{"out of completed", protocol.RunCompleted, StateChange{TargetStatus: protocol.RunActive}, CodeInvalidTransition, "", ""},
		{"nonsense", protocol.RunActive, StateChange{TargetStatus: "moon"}, CodeInvalidTransition, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			run := Run{Config: config(t), State: protocol.State{RunID: &id, Status: tc.status, Phase: "planning"}}
			before := snapshot(run)
			got, r := ApplyChange(run, now, tc.change)
			if tc.code != "" {
				if r == nil || r.Code != tc.code || snapshot(got) != before || !strings.HasPrefix(r.Next, "drawbar ") {
					t.Errorf("got %+v", r)
				}
				return
			}
			if r != nil || got.State.Status != tc.want || value(got.State.BlockedOn, "") != tc.on {
				t.Errorf("got %s on %s, %+v", got.State.Status, value(got.State.BlockedOn, ""), r)
			}
		})
	}
	for _, to := range []protocol.RunStatus{protocol.RunIdle, protocol.RunActive, protocol.RunPaused, protocol.RunBlocked, protocol.RunCompleted} {
		if canMove(protocol.RunCompleted, to) {
			t.Errorf("completed leads to %s", to)
		}
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"retries_exhausted": "retries-exhausted", "Wrong API, stop!": "wrong-api-stop", "  ": "unspecified", "äöü": "unspecified",
		"--a--": "a"} {
		if got := slug(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got := slug(strings.Repeat("a", 200)); len(got) > 60 {
		t.Errorf("a slug of %d bytes", len(got))
	}
}

func TestTheNextCommand(t *testing.T) {
	t.Parallel()
	turn := func(status protocol.TurnStatus) func(*protocol.State) {
		return func(s *protocol.State) {
			s.ActiveTurns.Set("turn_1", &protocol.Turn{TurnID: "turn_1", AssignedRole: "dev", RuntimeID: "cli", Status: status})
		}
	}
	for _, tc := range []struct {
		name   string
		status protocol.RunStatus
		edit   func(*protocol.State)
		want   string
	}{
		{"idle", protocol.RunIdle, func(*protocol.State) {}, NextStep},
		{"active", protocol.RunActive, func(*protocol.State) {}, NextStep},
		{"a turn under way", protocol.RunActive, turn(protocol.TurnRunning), NextStep},
		{"conflicted", protocol.RunActive, turn(protocol.TurnConflicted), "drawbar govern reject --turn turn_1 --reassign"},
		{"ghost", protocol.RunActive, turn(protocol.TurnFailedStart), "drawbar govern reissue --turn turn_1 --reason ghost"},
		{"not acceptable", protocol.RunActive, turn(protocol.TurnFailedAcceptance), `drawbar govern reject --turn turn_1 --reason "the result was not acceptable"`},
		{"paused", protocol.RunPaused, func(s *protocol.State) { s.PendingCompletion = &protocol.PendingEnd{Gate: "g"} }, NextApprove},
		{"paused for nothing", protocol.RunPaused, func(*protocol.State) {}, NextResume},
		{"completed", protocol.RunCompleted, func(*protocol.State) {}, NextRestart},
		{"blocked by another program, an agent's turn", protocol.RunBlocked, func(s *protocol.State) {
			turn(protocol.TurnFailed)(s)
			s.BlockedReason = &protocol.BlockedReason{TurnID: new("turn_1"), Recovery: protocol.Recovery{RecoveryAction: "agentxchain step --resume"}}
		}, NextStepResume},
		{"blocked by another program, nothing retained", protocol.RunBlocked, func(*protocol.State) {}, NextResume},
		{"blocked before an approval", protocol.RunBlocked, func(s *protocol.State) { s.PendingCompletion = &protocol.PendingEnd{Gate: "g"} }, NextApprove},
	} {
		st := protocol.State{Status: tc.status, Phase: "implementation"}
		tc.edit(&st)
		if got := NextCommand(Run{Config: config(t), State: st}); got != tc.want {
			t.Errorf("%s: next is %s, want %s", tc.name, got, tc.want)
		}
	}
}
