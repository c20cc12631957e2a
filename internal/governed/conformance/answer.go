package conformance

import (
	"encoding/json"
	"fmt"
)

// Status is an implementation's verdict on a fixture.
type Status string

// The verdicts. NotImplemented is not a failure.
const (
	Pass           Status = "pass"
	Fail           Status = "fail"
	Error          Status = "error"
	NotImplemented Status = "not_implemented"
)

// ExitCode is the exit code that goes with the verdict: 0 to 3, in the order of the constants.
func (s Status) ExitCode() int {
	switch s {
	case Pass:
		return 0
	case Fail:
		return 1
	case NotImplemented:
		return 3
	}
	return 2
}

func (s Status) valid() bool { return s == Pass || s == Fail || s == Error || s == NotImplemented }

// Answer is an implementation's answer to a fixture. Actual is what it did, in the form of the fixture's expected.
type Answer struct {
	Status  Status          `json:"status"`
	Message string          `json:"message"`
	Actual  json.RawMessage `json:"actual"`
}

// Judge is the answer of an implementation that did actual: a pass if that matches what the fixture expects.
func Judge(f Fixture, actual any) Answer {
	raw, err := json.Marshal(actual)
	if err != nil {
		return Errorf("%s: write the answer: %v", f.ID, err)
	}
	if err := MatchJSON(f.Expected, raw); err != nil {
		return Answer{Status: Fail, Message: err.Error(), Actual: raw}
	}
	return Answer{Status: Pass, Message: "as expected", Actual: raw}
}

// Errorf is the answer of an implementation that could not run a fixture.
func Errorf(format string, args ...any) Answer {
	return Answer{Status: Error, Message: fmt.Sprintf(format, args...), Actual: json.RawMessage("null")}
}

// parseAnswer reads an implementation's answer.
func parseAnswer(data []byte) (Answer, error) {
	var a Answer
	if err := json.Unmarshal(data, &a); err != nil {
		return Answer{}, fmt.Errorf("the answer is not a JSON object: %w: %s", err, show(string(data)))
	}
	if !a.Status.valid() {
		return Answer{}, fmt.Errorf("the answer has no valid status: %s", show(string(data)))
	}
	return a, nil
}
