package governance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// fixture is one of the public fixtures of the protocol.
type fixture struct {
	ID    string `json:"fixture_id"`
	Setup struct {
		State   protocol.State            `json:"state"`
		Config  *protocol.Config          `json:"config"`
		History []protocol.HistoryEntry   `json:"history"`
		Ledger  []protocol.LedgerDecision `json:"ledger"`
	} `json:"setup"`
	Input struct {
		Operation string          `json:"operation"`
		Args      json.RawMessage `json:"args"`
	} `json:"input"`
	Expected map[string]json.RawMessage `json:"expected"`
}

func fixtures(t *testing.T, surface string) []fixture {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "..", "shared", "conformance", "agentxchain", "fixtures", "1", surface)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("SKIPPED: the public fixtures are not in %s", dir)
	}
	var all []fixture
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var x fixture
		if err := json.Unmarshal(data, &x); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		inflate(&x)
		all = append(all, x)
	}
	return all
}

// inflate fills in what a fixture leaves out, as the suite's rules say.
func inflate(x *fixture) {
	if x.Setup.Config == nil {
		x.Setup.Config = &protocol.Config{}
	}
	c := x.Setup.Config
	for id, r := range c.Roles.All() {
		if r.Runtime == "manual" || r.Runtime == "" {
			r.Runtime = "manual"
			c.Runtimes.Set("manual", protocol.Runtime{Type: protocol.RuntimeManual})
		}
		if r.WriteAuthority == "" {
			r.WriteAuthority = protocol.Authoritative
		}
		c.Roles.Set(id, r)
	}
	for _, turn := range x.Setup.State.ActiveTurns.All() {
		if turn.Status == "" {
			turn.Status, turn.Attempt = protocol.TurnRunning, 1
		}
	}
}

func TestFixturesOfTheStateMachine(t *testing.T) {
	t.Parallel()
	for _, x := range fixtures(t, "state_machine") {
		t.Run(x.ID, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, run: Run{Config: x.Setup.Config, State: x.Setup.State}}
			before := snapshot(w.run)
			var r *Refused
			switch x.Input.Operation {
			case "assign_turn":
				r = w.do(AssignTurn{Role: "dev", TurnID: "turn_1"})
			case "initialize_run":
				r = w.do(StartRun{RunID: "run_0000000000000001"})
			case "approve_transition":
				r = w.do(Approve{})
			case "approve_completion":
				r = w.do(Approve{Completion: true})
			case "resolve_blocked":
				r = w.do(Unblock{})
			case "transition_state":
				var c StateChange
				if err := json.Unmarshal(x.Input.Args, &c); err != nil {
					t.Fatal(err)
				}
				w.run, r = ApplyChange(w.run, w.tick(), c)
			default:
				t.Fatalf("the operation %s is not known", x.Input.Operation)
			}
			expectError(t, x, r)
			if _, ok := x.Expected["state_unchanged"]; ok && snapshot(w.run) != before {
				t.Error("the state has changed")
			}
			var want map[string]json.RawMessage
			if raw, ok := x.Expected["state_assertions"]; ok {
				if err := json.Unmarshal(raw, &want); err != nil {
					t.Fatal(err)
				}
			}
			got := fields(t, w.run.State)
			for k, v := range want {
				var assert struct{ Assert, Value string }
				if json.Unmarshal(v, &assert) == nil && assert.Assert != "" {
					if string(got[k]) == "" {
						t.Errorf("%s is not present", k)
					}
					continue
				}
				if string(got[k]) != string(v) {
					t.Errorf("%s is %s, want %s", k, got[k], v)
				}
			}
		})
	}
}

func expectError(t *testing.T, x fixture, r *Refused) {
	t.Helper()
	var want string
	if raw, ok := x.Expected["error_type"]; ok {
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
	}
	switch {
	case want == "" && r != nil:
		t.Errorf("refused: %s: %s", r.Code, r.Message)
	case want != "" && (r == nil || r.Code != want):
		t.Errorf("got %+v, want %s", r, want)
	}
}

func fields(t *testing.T, v any) map[string]json.RawMessage {
	t.Helper()
	b, err := protocol.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFixturesOfEvents(t *testing.T) {
	t.Parallel()
	for _, x := range fixtures(t, "event_lifecycle") {
		t.Run(x.ID, func(t *testing.T) {
			t.Parallel()
			var args struct {
				Event  json.RawMessage   `json:"event"`
				Events []json.RawMessage `json:"events"`
			}
			if err := json.Unmarshal(x.Input.Args, &args); err != nil {
				t.Fatal(err)
			}
			var r *Refused
			switch x.Input.Operation {
			case "validate_event":
				_, r = DecodeEvent(args.Event)
			case "validate_event_ordering":
				var events []protocol.Event
				for _, raw := range args.Events {
					var e protocol.Event
					if err := json.Unmarshal(raw, &e); err != nil {
						t.Fatal(err)
					}
					events = append(events, e)
				}
				r = ValidateOrdering(events)
			default:
				t.Fatalf("the operation %s is not known", x.Input.Operation)
			}
			expectError(t, x, r)
		})
	}
}

func TestFixturesOfTheHistory(t *testing.T) {
	t.Parallel()
	for _, x := range fixtures(t, "history") {
		t.Run(x.ID, func(t *testing.T) {
			t.Parallel()
			w := &world{t: t, run: Run{Config: x.Setup.Config, State: x.Setup.State, History: x.Setup.History}}
			var args struct {
				TurnID string `json:"turn_id"`
			}
			if err := json.Unmarshal(x.Input.Args, &args); err != nil {
				t.Fatal(err)
			}
			in := AcceptTurn{TurnID: args.TurnID}
			if w.run.State.ActiveTurns.Has(args.TurnID) {
				in.Result = w.result(args.TurnID)
			}
			expectError(t, x, w.do(in))
			var want int
			if err := json.Unmarshal(x.Expected["history_length"], &want); err == nil && len(w.run.History) != want {
				t.Errorf("the history has %d entries, want %d", len(w.run.History), want)
			}
		})
	}
}

func TestFixturesOfTheDecisionLedger(t *testing.T) {
	t.Parallel()
	for _, x := range fixtures(t, "decision_ledger") {
		t.Run(x.ID, func(t *testing.T) {
			t.Parallel()
			var args struct {
				Entry protocol.LedgerDecision `json:"entry"`
			}
			if err := json.Unmarshal(x.Input.Args, &args); err != nil {
				t.Fatal(err)
			}
			ids := map[string]bool{}
			for _, d := range x.Setup.Ledger {
				ids[d.ID] = true
			}
			r := CheckDecision(ids, args.Entry)
			expectError(t, x, r)
			if r == nil {
				return
			}
			var field string
			if json.Unmarshal(x.Expected["error_field"], &field) == nil && r.Detail["field"] != field {
				t.Errorf("the field is %v, want %s", r.Detail["field"], field)
			}
			var values []string
			if json.Unmarshal(x.Expected["valid_values"], &values) == nil && !slices.Equal(values, protocol.Categories()) {
				t.Errorf("the values are %v", r.Detail["valid_values"])
			}
		})
	}
}
