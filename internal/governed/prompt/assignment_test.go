package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// fields of an assignment as they stand in the file.
func fields(t *testing.T, in Input) protocol.Ordered[json.RawMessage] {
	t.Helper()
	a, err := Assignment(in)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := protocol.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "sk-secret") {
		t.Errorf("a secret is in the assignment: %s", raw)
	}
	var o protocol.Ordered[json.RawMessage]
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestAssignmentFields changes the cause of every field and looks for its effect, and for nothing without a cause.
func TestAssignmentFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field  string
		change func(in *Input)
		before string // JSON of the field without the change; empty when it is absent
		after  string
	}{
		{"run_id", func(in *Input) { in.State.RunID = new("run_2") }, `"run_1"`, `"run_2"`},
		{"turn_id", func(in *Input) {
			turn := in.now()
			in.State.ActiveTurns.Delete("turn_now")
			in.TurnID = "turn_new"
			in.State.ActiveTurns.Set("turn_new", turn)
		}, `"turn_now"`, `"turn_new"`},
		{"phase", func(in *Input) { in.State.Phase = "qa" }, `"implementation"`, `"qa"`},
		{"role", func(in *Input) { in.now().AssignedRole = "arch" }, `"dev"`, `"arch"`},
		{"runtime_id", func(in *Input) { in.now().RuntimeID = "other" }, `"cli"`, `"other"`},
		{"write_authority", func(in *Input) { in.now().AssignedRole = "qa" }, `"authoritative"`, `"review_only"`},
		{"accepted_integration_ref", func(in *Input) { in.State.AcceptedIntegration = new("git:abc") }, `null`, `"git:abc"`},
		{"staging_result_path", func(in *Input) { in.TurnID = "turn_new" }, `".agentxchain/staging/turn_now/turn-result.json"`,
			`".agentxchain/staging/turn_new/turn-result.json"`},
		{"reserved_paths", nil, `[".agentxchain/state.json",".agentxchain/history.jsonl",".agentxchain/decision-ledger.jsonl",".agentxchain/lock.json"]`, ""},
		{"allowed_next_roles", func(in *Input) { in.State.Phase = "planning" }, `["dev","qa","arch","human"]`, `["pm","dev","human"]`},
		{"allowed_next_roles", func(in *Input) { in.State.Phase = "none" }, `["dev","qa","arch","human"]`, `[]`},
		{"attempt", func(in *Input) { in.now().Attempt = 2 }, `1`, `2`},
		{"deadline_at", func(in *Input) { in.now().DeadlineAt = protocol.Time{} }, `"2026-03-01T14:00:00.000Z"`, `null`},
		{"assigned_sequence", func(in *Input) { in.now().AssignedSequence = 9 }, `7`, `9`},
		{"budget_reservation_usd", func(in *Input) {
			in.State.BudgetReservations.Set("turn_now", protocol.Reservation{ReservedUSD: 2.5})
		}, `null`, `2.5`},
		{"active_siblings", func(in *Input) {
			in.State.ActiveTurns.Set("turn_b", &protocol.Turn{TurnID: "turn_b", AssignedRole: "dev", Status: protocol.TurnRunning, AssignedSequence: 8})
		}, "", `[{"turn_id":"turn_b","role":"dev","status":"running","assigned_sequence":8,"declared_file_scope":["src/"]}]`},
		{"intake_context", func(in *Input) { in.now().IntakeContext = json.RawMessage(`{"charter":"c"}`) }, "", `{"charter":"c"}`},
		{"conflict_context", func(in *Input) { in.now().ConflictContext = json.RawMessage(`{"x":1}`) }, "", `{"x":1}`},
		{"conflict_context", func(in *Input) { in.now().ConflictContext = json.RawMessage(`null`) }, "", ""},
		{"delegation_context", func(in *Input) { in.now().DelegationContext = json.RawMessage(`{"x":1}`) }, "", `{"x":1}`},
		{"delegation_review", func(in *Input) { in.now().DelegationReview = json.RawMessage(`{"x":1}`) }, "", `{"x":1}`},
		{"advisory_warnings", func(in *Input) { in.Warnings = []protocol.AdvisoryWarning{{Code: "c", Message: "m"}} }, "", `[{"code":"c","message":"m"}]`},
		{"schema_version", func(in *Input) { in.now().AssignedRole = "old" }, "", `"1.0"`},
		{"adapter", func(in *Input) { in.now().AssignedRole = "old" }, "", `"local_cli"`},
		{"adapter_config", func(in *Input) { in.now().AssignedRole = "old" }, "",
			`{"command":"claude","timeout_ms":600000,"prompt_transport":"stdin","env":{"KEY":"${KEY}","TOKEN":"","MIXED":""},"nested":[{"headers":{"Authorization":""}}]}`},
		{"timeout_ms", func(in *Input) { in.now().AssignedRole = "old" }, "", `600000`},
		{"context_ref", func(in *Input) { in.now().AssignedRole = "old" }, "", `"./CONTEXT.md"`},
		{"prompt_ref", func(in *Input) { in.now().AssignedRole = "old" }, "", `"./PROMPT.md"`},
	} {
		t.Run(c.field, func(t *testing.T) {
			t.Parallel()
			in := given(t, "dev", "implementation")
			before := fields(t, in)
			if got := string(before.At(c.field)); got != c.before {
				t.Errorf("without a cause %s is %s, want %s", c.field, got, c.before)
			}
			if c.change == nil {
				return
			}
			c.change(&in)
			after := fields(t, in)
			if got := string(after.At(c.field)); got != c.after {
				t.Errorf("%s is %s, want %s", c.field, got, c.after)
			}
		})
	}
}

func TestTimeoutOfFirstEdition(t *testing.T) {
	t.Parallel()
	in := given(t, "old", "implementation")
	role := in.Config.Roles.At("old")
	role.AdapterConfig = nil
	in.Config.Roles.Set("old", role)
	if o := fields(t, in); string(o.At("timeout_ms")) != "7200000" || string(o.At("adapter_config")) != "{}" {
		t.Errorf("by the deadline: %s, settings %s", o.At("timeout_ms"), o.At("adapter_config"))
	}
	in.now().DeadlineAt = protocol.Time{}
	if o := fields(t, in); string(o.At("timeout_ms")) != "1200000" {
		t.Errorf("by default: %s", o.At("timeout_ms"))
	}
	rt := in.Config.Runtimes.At("local_cli-old")
	rt.TimeoutMS = new(5)
	in.Config.Runtimes.Set("local_cli-old", rt)
	if o := fields(t, in); string(o.At("timeout_ms")) != "5" {
		t.Errorf("by the runtime: %s", o.At("timeout_ms"))
	}
}

func TestWithoutValues(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                                `{}`,
		`{"a":1}`:                         `{"a":1}`,
		`{"env":"A=secret"}`:              `{"env":{}}`,
		`{"ENV":{"A":"x"}}`:               `{"ENV":{"A":""}}`,
		`{"env":{"A":7,"B":"${B}"}}`:      `{"env":{"A":"","B":"${B}"}}`,
		`{"env":{"A":"${B} and more"}}`:   `{"env":{"A":""}}`,
		`{"x":{"env":{"A":"s"}}}`:         `{"x":{"env":{"A":""}}}`,
		`[{"headers":{"X-Api-Key":"s"}}]`: `[{"headers":{"X-Api-Key":""}}]`,
		`{"env":null}`:                    `{"env":{}}`,
	} {
		got, err := withoutValues(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s became %s (%v), want %s", in, got, err, want)
		}
	}
}

func FuzzWithoutValues(f *testing.F) {
	f.Add(`{"env":{"A":"SECRETVALUE"},"b":[{"env":{"C":"SECRETVALUE"}}]}`)
	f.Add(`{"headers":["SECRETVALUE"]}`)
	f.Fuzz(func(t *testing.T, s string) {
		out, err := withoutValues(json.RawMessage(s))
		if err == nil && json.Valid([]byte(s)) && !json.Valid(out) {
			t.Errorf("%q became %q", s, out)
		}
	})
}
