package jsonscan

import (
	"errors"
	"fmt"
)

// MaxDepth is the number of containers that may be open at once; it equals the limit of encoding/json.
const MaxDepth = 10000

var (
	// ErrDepth reports a line with more than MaxDepth nested containers. It is matched by errors.Is.
	ErrDepth = errors.New("nested too deeply")
	// ErrNotObject reports a valid line that is not an object where members were requested.
	ErrNotObject = errors.New("json value is not an object")
)

// SyntaxError reports where a line stops being JSON.
type SyntaxError struct {
	Offset int // index of the offending byte; the length of the line when the line ends too early
	msg    string
	cause  error
}

// Error states what was found and at which byte.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid json at byte %d: %s", e.Offset, e.msg)
}

// Unwrap returns ErrDepth for a line that is nested too deeply, nil otherwise.
func (e *SyntaxError) Unwrap() error { return e.cause }

// syntaxError returns the error for a failure that a scan function reported as ^pos. Scan functions return positions
// only, so that valid input pays for no error values; the reason is determined here.
func syntaxError(b []byte, code int) error {
	pos := ^code
	switch {
	case pos >= len(b):
		return &SyntaxError{Offset: len(b), msg: "unexpected end of line"}
	case (b[pos] == '{' || b[pos] == '[') && depthAt(b, pos) >= MaxDepth:
		return &SyntaxError{Offset: pos, msg: fmt.Sprintf("more than %d nested containers", MaxDepth), cause: ErrDepth}
	}
	return &SyntaxError{Offset: pos, msg: fmt.Sprintf("unexpected %q", b[pos:pos+1])}
}

// depthAt counts the containers open before pos; everything before pos is known to be valid.
func depthAt(b []byte, pos int) int {
	depth := 0
	for i := 0; i < pos; i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			for i++; i < pos && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
	}
	return depth
}
