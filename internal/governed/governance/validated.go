package governance

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Validated is a turn result that passed all five stages of validation. Only Prove creates one.
type Validated struct {
	result *protocol.TurnResult
}

// Prove creates the proof from the outcome of the validation: the stages that passed, in order, and the result.
func Prove(passed []protocol.Stage, result *protocol.TurnResult) (Validated, error) {
	if !slices.Equal(passed, protocol.Stages()) {
		return Validated{}, fmt.Errorf("the result passed the stages %v of %v", passed, protocol.Stages())
	}
	if result == nil {
		return Validated{}, errors.New("there is no result")
	}
	return Validated{result: result}, nil
}

// Result is a copy of the result, or nil.
func (v Validated) Result() *protocol.TurnResult {
	if v.result == nil {
		return nil
	}
	b, err := protocol.Marshal(v.result)
	if err != nil {
		panic(err) // all fields are JSON values
	}
	var r protocol.TurnResult
	if err := json.Unmarshal(b, &r); err != nil {
		panic(err)
	}
	return &r
}
