package modelapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/drawbar/drawbar/execution"
)

// Define returns a tool whose input is a struct T: its fields' json tags name the members, omitempty makes one optional, and jsonschema
// tags describe them for the model. An input that does not fit is refused with the reason, before check sees it: a member that the tool
// does not have, and a missing one, would let the model believe in an effect that there is not.
//
// It panics if T is no such struct.
func Define[T any](name, description string, check func(T) (Job, error)) Tool {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("modelapi.Define %s: %v", name, err))
	}
	text, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("modelapi.Define %s: %v", name, err))
	}
	fits, err := schema.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("modelapi.Define %s: %v", name, err))
	}
	return Tool{
		Tool: execution.Tool{Name: name, Description: description, InputSchema: text},
		Check: func(input json.RawMessage) (Job, error) {
			var members map[string]any
			if json.Unmarshal(input, &members) != nil || members == nil {
				return Job{}, errors.New("the input must be a JSON object")
			}
			if err := fits.Validate(members); err != nil {
				return Job{}, fmt.Errorf("the input is not valid: %s", strings.TrimPrefix(err.Error(), "validating root: "))
			}
			var in T
			if err := json.Unmarshal(input, &in); err != nil {
				return Job{}, fmt.Errorf("the input is not valid: %w", err)
			}
			return check(in)
		},
	}
}
