package codetool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/execution"
)

// tool returns a tool whose input is a T.
func tool[T any](name, description, schema string, check func(T) (modelapi.Job, error)) modelapi.Tool {
	return modelapi.Tool{
		Tool: execution.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)},
		Check: func(input json.RawMessage) (modelapi.Job, error) {
			var in T
			if err := decode(input, &in); err != nil {
				return modelapi.Job{}, err
			}
			return check(in)
		},
	}
}

// decode reads a tool's input. A member that the tool does not have is an error: the model would believe that it has an effect.
func decode(input json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("the input's %q must be %s, not %s", strings.ToLower(wrong.Field), wrong.Type, wrong.Value)
		}
		return fmt.Errorf("the input is not valid: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the input is not valid: more than one value")
	}
	return nil
}

// object returns the schema of an input from the schemas of its members; the first ones are required.
func object(required int, members ...[2]string) string {
	var names, list []string
	for i, m := range members {
		if i < required {
			names = append(names, fmt.Sprintf("%q", m[0]))
		}
		list = append(list, fmt.Sprintf("%q:%s", m[0], m[1]))
	}
	return `{"type":"object","properties":{` + strings.Join(list, ",") + `},"required":[` + strings.Join(names, ",") + `],"additionalProperties":false}`
}

func text(description string) string { return member("string", description) }

func member(kind, description string) string {
	return fmt.Sprintf(`{"type":%q,"description":%q}`, kind, description)
}

// answer is an answer of text, or of an error.
func answer(text string, err error) modelapi.Answer {
	if err != nil {
		return modelapi.Failed(err)
	}
	return modelapi.Answer{Text: text}
}
