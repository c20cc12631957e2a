package governance

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/drawbar/drawbar/internal/governed/governance/protocol"
)

// inputs are the inputs by the name that they have in JSON.
var inputs = map[string]Input{
	"start_run": StartRun{}, "assign_turn": AssignTurn{}, "take_up": TakeUp{}, "dispatched": Dispatched{}, "worker_attached": WorkerAttached{},
	"attempted":    Attempted{},
	"first_output": FirstOutput{}, "accept_turn": AcceptTurn{}, "fail_acceptance": FailAcceptance{}, "reject_turn": RejectTurn{},
	"reissue_turn": ReissueTurn{}, "dispatch_failed": DispatchFailed{}, "start_failed": StartFailed{}, "stalled": Stalled{}, "approve": Approve{},
	"gate_action_failed": GateActionFailed{}, "hook_blocked": HookBlocked{}, "policy_escalated": PolicyEscalated{}, "escalate": Escalate{},
	"unblock": Unblock{}, "timed_out": TimedOut{}, "skip_phase": SkipPhase{}, "checkpointed": Checkpointed{}, "operator_commits": OperatorCommits{},
	"rule_objection": RuleObjection{}, "decline": Decline{},
}

// EncodeInput writes an input as {"<name>": {...}}.
func EncodeInput(in Input) ([]byte, error) {
	for name, of := range inputs {
		if reflect.TypeOf(of) == reflect.TypeOf(in) {
			return protocol.Marshal(map[string]Input{name: in})
		}
	}
	return nil, fmt.Errorf("encode input: %T has no name", in)
}

// DecodeInput reads what EncodeInput wrote. A result is proved again.
func DecodeInput(data []byte) (Input, error) {
	var one map[string]json.RawMessage
	if err := json.Unmarshal(data, &one); err != nil {
		return nil, fmt.Errorf("decode input: %w", err)
	}
	if len(one) != 1 {
		return nil, fmt.Errorf("decode input: want one name, got %d", len(one))
	}
	for name, value := range one {
		of, ok := inputs[name]
		if !ok {
			return nil, fmt.Errorf("decode input: %q is no input", name)
		}
		v := reflect.New(reflect.TypeOf(of))
		if err := json.Unmarshal(value, v.Interface()); err != nil {
			return nil, fmt.Errorf("decode input %s: %w", name, err)
		}
		return v.Elem().Interface().(Input), nil //nolint:forcetypeassert // the table holds inputs
	}
	return nil, fmt.Errorf("decode input: nothing")
}
