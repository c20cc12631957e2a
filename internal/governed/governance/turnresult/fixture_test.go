package turnresult

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// fixturesDir is where the public conformance fixtures are, beside the module's folder.
const fixturesDir = "../../../../../shared/conformance/agentxchain/fixtures"

// fixture is a conformance fixture of the operation validate_turn_result.
type fixture struct {
	ID    string `json:"fixture_id"`
	Setup struct {
		State      json.RawMessage            `json:"state"`
		Config     map[string]json.RawMessage `json:"config"`
		TurnResult json.RawMessage            `json:"turn_result"`
	} `json:"setup"`
	Input struct {
		Operation string `json:"operation"`
		Args      struct {
			TurnResult json.RawMessage `json:"turn_result"`
		} `json:"args"`
	} `json:"input"`
	Expected struct {
		Result       string           `json:"result"`
		FailedStage  protocol.Stage   `json:"failed_stage"`
		ErrorType    string           `json:"error_type"`
		ErrorPath    string           `json:"error_path"`
		ErrorDetail  string           `json:"error_detail"`
		StagesPassed []protocol.Stage `json:"stages_passed"`
	} `json:"expected"`
}

// inflate is what fixtures leave out, as the conformance protocol fills it in.
func (x fixture) inflate(t *testing.T) Input {
	t.Helper()
	var in Input
	config, _ := json.Marshal(x.Setup.Config)
	in.Config = &protocol.Config{}
	if err := json.Unmarshal(config, in.Config); err != nil {
		t.Fatal(err)
	}
	for id, role := range in.Config.Roles.All() {
		if role.WriteAuthority == "" {
			role.WriteAuthority = protocol.Authoritative
		}
		if role.Runtime == "" {
			role.Runtime = protocol.RuntimeManual
		}
		in.Config.Roles.Set(id, role)
		rt := in.Config.Runtimes.At(role.Runtime)
		if rt.Type == "" {
			rt.Type = protocol.RuntimeManual
		}
		in.Config.Runtimes.Set(role.Runtime, rt)
	}
	in.State = &protocol.State{}
	if err := json.Unmarshal(x.Setup.State, in.State); err != nil {
		t.Fatal(err)
	}
	for id, turn := range in.State.ActiveTurns.All() {
		turn.TurnID = id
		if raw, ok := turn.Extra.Get("role"); ok {
			turn.AssignedRole, _ = text(raw)
		}
		in.Turn = turn
	}
	data := x.Input.Args.TurnResult
	if data == nil {
		data = x.Setup.TurnResult
	}
	raw, _, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	in.Raw = raw
	return in
}

func TestConformanceFixtures(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(fixturesDir); err != nil {
		t.Skipf("SKIPPED: the conformance fixtures are not beside the module: %v", err)
	}
	ran := 0
	err := filepath.WalkDir(fixturesDir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".json") {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var x fixture
		if json.Unmarshal(data, &x) != nil || x.Input.Operation != "validate_turn_result" {
			return nil
		}
		ran++
		t.Run(x.ID, func(t *testing.T) {
			in := x.inflate(t)
			in.Raw, _ = Normalize(in)
			r := Validate(in)
			want := x.Expected
			if r.Failed != want.FailedStage || (r.Failed == "") != (want.Result == "success") {
				t.Fatalf("failed %q, want %q: %q", r.Failed, want.FailedStage, Errors(r))
			}
			if want.StagesPassed != nil && !slices.Equal(r.Passed, want.StagesPassed) {
				t.Errorf("passed %v, want %v", r.Passed, want.StagesPassed)
			}
			if r.Failed == "" {
				if r.Result == nil {
					t.Error("there is no typed result")
				}
				return
			}
			first := r.Faults[0]
			if want.ErrorType != "" && first.Type != want.ErrorType || want.ErrorPath != "" && first.Path != want.ErrorPath ||
				want.ErrorDetail != "" && first.Message != want.ErrorDetail {
				t.Errorf("got %+v, want %+v", first, want)
			}
		})
		return nil
	})
	if err != nil || ran == 0 {
		t.Errorf("%d fixtures ran: %v", ran, err)
	}
}
