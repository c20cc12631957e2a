package charter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/base/near"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// Severities of a Problem.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// Types of problems, for programs. The first four are the protocol's own.
const (
	UndeclaredRole     = "undeclared_role_reference"
	UndeclaredRuntime  = "undeclared_runtime_reference"
	UndeclaredGate     = "undeclared_gate_reference"
	WrongSchemaVersion = "schema_version_invalid"
	UndeclaredPhase    = "undeclared_phase_reference"
	UndeclaredAdapter  = "undeclared_adapter_reference"
	SyntaxInvalid      = "syntax_invalid"
	DuplicateKey       = "duplicate_key"
	WrongType          = "wrong_type"
	InvalidValue       = "invalid_value"
	MissingField       = "missing_field"
	UnknownKey         = "unknown_key"
	UnusedKey          = "unused_key"
	IllegalRuntime     = "illegal_runtime"
	NotBuilt           = "not_built"
	MissingPrompt      = "missing_prompt"
)

// Problem is one error or oddity in a configuration.
type Problem struct {
	Severity string         `json:"severity"`
	Type     string         `json:"type"`
	Field    string         `json:"field"` // dotted, as in roles.dev.runtime or policies[0].rule; empty for the whole file
	Message  string         `json:"message"`
	Hint     string         `json:"hint,omitempty"`
	Detail   map[string]any `json:"detail,omitempty"`
	Line     int            `json:"line,omitempty"` // from 1; 0 if the configuration was not parsed from text
	Column   int            `json:"column,omitempty"`
}

// IsError reports whether the problem keeps a run from starting.
func (p Problem) IsError() bool { return p.Severity == SeverityError }

// String returns the problem on one line: position, field, message, hint.
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", p.Line, p.Column)
	}
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// Errors returns the problems that are errors.
func Errors(all []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(all), func(p Problem) bool { return !p.IsError() })
}

// Warnings returns the problems that are not.
func Warnings(all []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(all), Problem.IsError)
}

// findings collects problems.
type findings struct{ list []Problem }

func (f *findings) add(p Problem) {
	if p.Severity == "" {
		p.Severity = SeverityError
	}
	f.list = append(f.list, p)
}

func (f *findings) invalid(field, hint, format string, args ...any) {
	f.add(Problem{Type: InvalidValue, Field: field, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (f *findings) missing(field, hint string) {
	f.add(Problem{Type: MissingField, Field: field, Message: "is missing", Hint: hint})
}

func (f *findings) warn(kind, field, hint, format string, args ...any) {
	f.add(Problem{Severity: SeverityWarning, Type: kind, Field: field, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// undeclared reports a reference to something undeclared; what is the detail's key and noun, as in "role".
func (f *findings) undeclared(kind, field, noun, name, among string, declared []string) {
	hint := fmt.Sprintf("declare %s in %s", shape.Path(among, name), among)
	if meant := near.Word(name, declared); meant != "" {
		hint = fmt.Sprintf("did you mean %s?", meant)
	}
	f.add(Problem{Type: kind, Field: field, Message: fmt.Sprintf("names the %s %q, which is not declared in %s", noun, name, among),
		Hint: hint, Detail: map[string]any{"referenced_" + noun: name}})
}
