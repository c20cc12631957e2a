package configfile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Path is the keys that lead to a value from the top of a document. The empty path is the whole document.
type Path []string

// ParsePath parses a dotted path. A key that contains a dot or a quote, or starts or ends with a space, is quoted:
// "..." with Go's escapes, or '...' without escapes, as in mcp_servers."a.b".command.
func ParsePath(s string) (Path, error) {
	var p Path
	rest := s
	for {
		var key string
		switch {
		case strings.HasPrefix(rest, `"`):
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("key path %s: unterminated quoted key", strconv.Quote(s))
			}
			if key, err = strconv.Unquote(quoted); err != nil {
				return nil, fmt.Errorf("key path %s: %s is not a valid quoted key", strconv.Quote(s), quoted)
			}
			rest = rest[len(quoted):]
		case strings.HasPrefix(rest, "'"):
			end := strings.IndexByte(rest[1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("key path %s: unterminated quoted key", strconv.Quote(s))
			}
			key, rest = rest[1:1+end], rest[end+2:]
		default:
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			key, rest = rest[:end], rest[end:]
			if !bare(key) {
				return nil, fmt.Errorf("key path %s: %s must be quoted", strconv.Quote(s), strconv.Quote(key))
			}
		}
		if key == "" {
			return nil, fmt.Errorf("key path %s has an empty key", strconv.Quote(s))
		}
		p = append(p, key)
		if rest == "" {
			return p, nil
		}
		if !strings.HasPrefix(rest, ".") {
			return nil, fmt.Errorf("key path %s: want a dot before %s", strconv.Quote(s), strconv.Quote(rest))
		}
		rest = rest[1:]
	}
}

// bare reports whether a key needs no quotes in a dotted path.
func bare(key string) bool {
	return strings.TrimSpace(key) == key && !strings.ContainsAny(key, `."'`) &&
		!strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}

// String returns the dotted form that ParsePath reads.
func (p Path) String() string {
	parts := make([]string, len(p))
	for i, key := range p {
		if parts[i] = key; key == "" || !bare(key) {
			parts[i] = strconv.Quote(key)
		}
	}
	return strings.Join(parts, ".")
}
