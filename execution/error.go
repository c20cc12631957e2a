package execution

import (
	"errors"
	"fmt"
	"strings"
)

// ErrSchemaVersion matches errors about a schemaVersion that cannot be read.
var ErrSchemaVersion = errors.New("unsupported schema version")

// Error is the only error type that crosses the seam. Programs read Code, people read Message.
type Error struct {
	Code        ErrorCode   `json:"code"`
	Message     string      `json:"message"`
	Recoverable bool        `json:"recoverable"`
	Fields      FieldErrors `json:"fields,omitempty"`     // VALIDATION_ERROR: all problems found
	Agent       string      `json:"agent,omitempty"`      // the agent concerned
	Capability  string      `json:"capability,omitempty"` // CAPABILITY_ERROR: what is missing
	Hint        string      `json:"hint,omitempty"`       // what to type next
	Cause       error       `json:"-"`
}

// Errorf returns an Error with a formatted message. A %w operand becomes its cause.
func Errorf(code ErrorCode, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// Error returns the message, followed by the hint if there is one.
func (e *Error) Error() string {
	if e.Hint != "" {
		return e.Message + "; " + e.Hint
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// WithHint returns a copy with a hint: what to type next.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// CodeOf returns the error code of err: that of an *Error in its chain, INTERNAL for any other error, empty for
// nil.
func CodeOf(err error) ErrorCode {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// FieldError is one problem of one field. Field is a dotted path of wire names.
type FieldError struct {
	Field    string `json:"field"`
	Message  string `json:"message"`
	Received string `json:"received,omitempty"`
	Expected string `json:"expected,omitempty"`
}

// Error returns the problem on one line.
func (e FieldError) Error() string {
	var b strings.Builder
	b.WriteString(e.Field + " " + e.Message)
	if e.Received != "" {
		b.WriteString(", got " + e.Received)
	}
	if e.Expected != "" {
		b.WriteString(", want " + e.Expected)
	}
	return b.String()
}

// FieldErrors are all problems of one value.
type FieldErrors []FieldError

// Error joins all problems.
func (e FieldErrors) Error() string {
	parts := make([]string, len(e))
	for i, f := range e {
		parts[i] = f.Error()
	}
	return strings.Join(parts, "; ")
}

// faults collects field errors under a path prefix.
type faults struct{ list FieldErrors }

func (f *faults) add(err error) {
	var fe FieldError
	switch {
	case err == nil:
	case errors.As(err, &fe):
		f.list = append(f.list, fe)
	default:
		f.list = append(f.list, FieldError{Message: err.Error()})
	}
}

func (f *faults) addf(field, received, expected, message string) {
	f.list = append(f.list, FieldError{Field: field, Message: message, Received: received, Expected: expected})
}

func (f *faults) err(what string) error {
	if len(f.list) == 0 {
		return nil
	}
	return &Error{Code: CodeValidation, Message: what + ": " + f.list.Error(), Fields: f.list}
}
