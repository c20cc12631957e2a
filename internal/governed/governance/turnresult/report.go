package turnresult

import (
	"errors"
	"fmt"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Input is a staged result and what it is checked against. Nothing in this package changes Raw.
type Input struct {
	Raw     protocol.RawResult
	Config  *protocol.Config
	State   *protocol.State
	Turn    *protocol.Turn          // the active turn that the result belongs to; nil if there is none
	History []protocol.HistoryEntry // of this run
	// NormalizeArtifact is the operator's word that an empty workspace artifact is a review.
	NormalizeArtifact bool
}

// Fault is one thing that is wrong with a result.
type Fault struct {
	Stage    protocol.Stage `json:"stage"`
	Type     string         `json:"type"`               // for programs, such as missing_field or reserved_path_violation
	Field    string         `json:"field"`              // path into the result, such as files_changed[0]
	Path     string         `json:"path,omitempty"`     // the file concerned, as the result names it
	Message  string         `json:"message"`            // what is wrong
	Expected string         `json:"expected,omitempty"` // what would be valid
}

// Error is the fault in one line: field, problem, expectation.
func (f Fault) Error() string {
	s := f.Message
	if f.Field != "" {
		s = f.Field + ": " + s
	}
	if f.Expected != "" {
		s += "; expected: " + f.Expected
	}
	return s
}

// Report is the outcome of Validate. Faults are those of the failed stage, its main one first.
type Report struct {
	Passed   []protocol.Stage
	Failed   protocol.Stage // empty if all five passed
	Faults   []Fault
	Warnings []string
	Result   *protocol.TurnResult // nil unless all five passed
}

// OK reports whether all five stages passed.
func (r Report) OK() bool { return r.Failed == "" }

// Class is the protocol's error class of the failed stage, such as schema_error; empty if all passed.
func (r Report) Class() string {
	if r.Failed == "" {
		return ""
	}
	return r.Failed.Class()
}

// Unreadable is the report about a staged result that could not be read or decoded: a fault of the schema stage.
func Unreadable(err error) Report {
	f := Fault{Stage: protocol.StageSchema, Type: "unreadable_result", Field: "$", Message: err.Error(), Expected: "one JSON object, the turn result"}
	var e *DecodeError
	if errors.As(err, &e) {
		f.Type = "invalid_json"
	}
	return Report{Failed: protocol.StageSchema, Faults: []Fault{f}}
}

// maxLines bounds the faults listed for an agent.
const maxLines = 100

// Errors are the faults as lines for the agent whose result is rejected; beyond a hundred they are counted.
func Errors(r Report) []string {
	var lines []string
	for i, f := range r.Faults {
		if i == maxLines {
			return append(lines, fmt.Sprintf("and %d more faults of the same stage", len(r.Faults)-i))
		}
		lines = append(lines, f.Error())
	}
	return lines
}

// Warnings are the changes as the protocol's warnings: each begins with [normalized].
func Warnings(changes []protocol.Change) []string {
	lines := make([]string, len(changes))
	for i, c := range changes {
		lines[i] = fmt.Sprintf("[normalized] %s: %s to %s (%s)", c.Field, shown(c.Original), shown(c.Normalized), c.Rationale)
	}
	return lines
}

// faults collects the findings of one stage.
type faults struct {
	stage    protocol.Stage
	list     []Fault
	warnings []string
}

func (f *faults) add(kind, field, message, expected string) {
	f.list = append(f.list, Fault{Stage: f.stage, Type: kind, Field: field, Message: message, Expected: expected})
}

func (f *faults) warnf(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}
