package governance

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

func withPolicy(t *testing.T, text string) *protocol.Config {
	t.Helper()
	return config(t, `"budget": {`, `"policies": [`+text+`], "budget": {`)
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	cost := func(usd float64) func(*protocol.TurnResult) {
		return func(r *protocol.TurnResult) { r.Cost = &protocol.Cost{USD: usd} }
	}
	for _, tc := range []struct {
		name   string
		policy string
		before int // turns of pm accepted before
		edit   func(*protocol.TurnResult)
		replay *govern.Replay
		want   string // part of the message; empty for a policy that is kept
	}{
		{"turns of a phase", `{"id":"p","rule":"max_turns_per_phase","action":"block","params":{"limit":2}}`, 1, nil, nil, ""},
		{"too many turns of a phase", `{"id":"p","rule":"max_turns_per_phase","action":"block","params":{"limit":2}}`, 2, nil, nil, "2 accepted turns"},
		{"turns of the run", `{"id":"p","rule":"max_total_turns","action":"block","params":{"limit":2}}`, 1, nil, nil, ""},
		{"too many turns of the run", `{"id":"p","rule":"max_total_turns","action":"block","params":{"limit":2}}`, 2, nil, nil, "2 accepted turns"},
		{"turns in a row", `{"id":"p","rule":"max_consecutive_same_role","action":"block","params":{"limit":2}}`, 1, nil, nil, ""},
		{"too many in a row", `{"id":"p","rule":"max_consecutive_same_role","action":"block","params":{"limit":2}}`, 2, nil, nil, "turn 3 of pm"},
		{"cost", `{"id":"p","rule":"max_cost_per_turn","action":"block","params":{"limit_usd":1}}`, 0, cost(1), nil, ""},
		{"no cost", `{"id":"p","rule":"max_cost_per_turn","action":"block","params":{"limit_usd":1}}`, 0, nil, nil, ""},
		{"too dear", `{"id":"p","rule":"max_cost_per_turn","action":"block","params":{"limit_usd":1}}`, 0, cost(1.2), nil, "1.2000 USD"},
		{"status", `{"id":"p","rule":"require_status","action":"block","params":{"allowed":["completed"]}}`, 0, nil, nil, ""},
		{"other status", `{"id":"p","rule":"require_status","action":"block","params":{"allowed":["completed"]}}`, 0,
			func(r *protocol.TurnResult) { r.Status = protocol.ResultFailed }, nil, "failed"},
		{"reproduced", `{"id":"p","rule":"require_reproducible_verification","action":"block"}`, 0, nil,
			&govern.Replay{Overall: "match", Commands: []govern.ReplayedCommand{{Matched: true}}}, ""},
		{"not run again", `{"id":"p","rule":"require_reproducible_verification","action":"block"}`, 0, nil, nil, "not rerun"},
		{"ended otherwise", `{"id":"p","rule":"require_reproducible_verification","action":"block"}`, 0, nil,
			&govern.Replay{Overall: "match", Commands: []govern.ReplayedCommand{{Matched: true}, {}}}, "different results when rerun"},
		{"another phase", `{"id":"p","rule":"max_total_turns","action":"block","params":{"limit":0},"scope":{"phases":["qa"]}}`, 0, nil, nil, ""},
		{"this phase", `{"id":"p","rule":"max_total_turns","action":"block","params":{"limit":0},"scope":{"phases":["planning"]}}`, 0, nil, nil, "0 accepted"},
		{"another role", `{"id":"p","rule":"max_total_turns","action":"block","params":{"limit":0},"scope":{"roles":["qa"]}}`, 0, nil, nil, ""},
		{"its own message", `{"id":"p","rule":"max_total_turns","action":"block","params":{"limit":0},"message":"enough"}`, 0, nil, nil, "enough (the run"},
		{"unknown rule", `{"id":"p","rule":"moon","action":"block"}`, 0, nil, nil, "moon is not known"},
		{"odd params", `{"id":"p","rule":"max_total_turns","action":"block","params":{"limit":"x"}}`, 0, nil, nil, "cannot read its params"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := withPolicy(t, tc.policy)
			policies := c.Policies
			c.Policies = nil
			w := newWorld(t, c)
			for range tc.before {
				w.accept(w.turn("pm"))
			}
			c.Policies = policies
			turn := w.turn("pm")
			in := AcceptTurn{TurnID: turn, Result: w.result(turn), Replay: tc.replay}
			if tc.edit != nil {
				in.Result = w.result(turn, tc.edit)
			}
			w.must(in)
			n, failed := find[NotAccepted](w.effects)
			if tc.want == "" {
				if failed {
					t.Errorf("not accepted: %v", n.Errors)
				}
				return
			}
			if !failed || n.Code != CodePolicyViolation || !strings.Contains(n.Errors[0], tc.want) {
				t.Errorf("got %+v, want %q", n, tc.want)
			}
			if w.run.State.ActiveTurns.At(turn).Status != protocol.TurnFailedAcceptance || len(w.run.History) != tc.before {
				t.Errorf("the turn is %+v", w.run.State.ActiveTurns.At(turn))
			}
		})
	}
}

func TestAPolicyThatWarns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withPolicy(t, `{"id":"p","rule":"max_total_turns","action":"warn","params":{"limit":0}}`))
	w.accept(w.turn("pm"))
	if warn, ok := find[Warn](w.effects); !ok || warn.Code != "policy:p" || len(w.run.History) != 1 {
		t.Errorf("no warning: %v", w.effects)
	}
}

func TestAPolicyThatEscalates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withPolicy(t, `{"id":"cheap","rule":"max_total_turns","action":"escalate","params":{"limit":0}}`))
	w.must(AssignTurn{Role: "pm", TurnID: "turn_a", Baseline: clean()})
	if warn, ok := find[Warn](w.effects); !ok || warn.Code != "policy:cheap" {
		t.Errorf("nobody is warned before the turn is paid for: %v", w.effects)
	}
	pm := "turn_a"
	w.must(Dispatched{TurnID: pm})
	w.accept(pm)
	w.blockedOn("policy:cheap")
	if w.run.State.BlockedReason.Category != "policy_escalation" || len(w.run.History) != 0 {
		t.Errorf("blocked for %+v", w.run.State.BlockedReason)
	}
	// A person lets it pass for this turn, and for this one only.
	w.must(Unblock{})
	w.accept(pm)
	if len(w.run.History) != 1 {
		t.Fatalf("the turn a person let pass is not accepted: %v", w.effects)
	}
	w.accept(w.turn("pm"))
	w.blockedOn("policy:cheap")
}

func TestWhenEvidenceIsToBeRunAgain(t *testing.T) {
	t.Parallel()
	c := withPolicy(t, `{"id":"p","rule":"require_reproducible_verification","action":"block","scope":{"roles":["dev"]}}`)
	run := Run{Config: c, State: protocol.State{Phase: "qa"}}
	if !NeedsReplay(run, "dev") || NeedsReplay(run, "qa") || NeedsReplay(Run{Config: config(t)}, "dev") {
		t.Error("the policy's scope is not kept")
	}
}
