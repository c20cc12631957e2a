package charter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/drawbar/drawbar/internal/base/shape"
)

// maxDepth bounds the nesting of a configuration; walking it is recursive.
const maxDepth = 64

// parse parses a JSON object and its positions. A text that is not one is a single problem with line and column.
func parse(data []byte) (*shape.Value, *Problem) {
	fault := func(at int, hint, format string, args ...any) *Problem {
		line, column := shape.Position(data, at)
		return &Problem{Severity: SeverityError, Type: SyntaxInvalid, Message: fmt.Sprintf(format, args...), Hint: hint, Line: line, Column: column}
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return nil, fault(0, "save the file as UTF-8 without a byte order mark", "begins with a byte order mark")
	}
	if i := invalidUTF8(data); i >= 0 {
		return nil, fault(i, "save the file as UTF-8", "is not UTF-8 text")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fault(0, "create a new project: drawbar govern init", "is empty")
	}
	if at := tooDeep(data); at >= 0 {
		return nil, fault(at, "", "is nested more than %d levels deep", maxDepth)
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		at := len(data)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && !bytes.Contains([]byte(err.Error()), []byte("unexpected end")) {
			at = int(syntax.Offset) - 1
		}
		hint := "agentxchain.json is plain JSON"
		if c := bytes.TrimLeft(data[min(max(at, 0), len(data)):], " \t\r\n"); len(c) > 0 && (c[0] == '/' || c[0] == '#') {
			hint = "JSON has no comments: remove it"
		} else if len(c) > 0 && (c[0] == '}' || c[0] == ']') {
			hint = "check for an extra comma before it"
		}
		return nil, fault(at, hint, "is not JSON: %v", err)
	}
	root := shape.Parse(data)
	if root.Kind != "object" {
		return nil, fault(root.At, "", "is %s, not an object", shape.Article(root.Kind))
	}
	return root, nil
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return -1
}

// tooDeep is the offset of the bracket that exceeds maxDepth, or -1.
func tooDeep(data []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}
