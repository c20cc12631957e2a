package configfile

import (
	"slices"
	"strconv"
	"strings"
)

// yamlStyle writes YAML.
type yamlStyle struct{ eol string }

// raw is text to write unchanged.
type raw string

// entry formats a key with its value, as lines.
func (s yamlStyle) entry(indent, key string, v any) string {
	return indent + s.scalar(key) + ":" + s.value(indent, v) + s.eol
}

// value formats what follows the colon: a space and a scalar, or lines of their own.
func (s yamlStyle) value(indent string, v any) string {
	deeper := indent + "  "
	switch v := v.(type) {
	case Pairs:
		if len(v) == 0 {
			return " {}"
		}
		var b strings.Builder
		for _, p := range v {
			b.WriteString(s.eol + strings.TrimSuffix(s.entry(deeper, p.Key, p.Value), s.eol))
		}
		return b.String()
	case []any:
		if len(v) == 0 {
			return " []"
		}
		var b strings.Builder
		for _, item := range v {
			b.WriteString(s.eol + deeper + "- " + s.flow(item))
		}
		return b.String()
	}
	return " " + s.flow(v)
}

// flow formats a value on one line.
func (s yamlStyle) flow(v any) string {
	switch v := v.(type) {
	case raw:
		return string(v)
	case Pairs:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = s.scalar(p.Key) + ": " + s.flow(p.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = s.flow(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return s.scalar(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return decimal(v)
	}
	return literal(v)
}

// words that are not strings in some version of YAML.
var yamlWords = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}

// scalar formats a string plain if it is unambiguous, else in double quotes.
func (yamlStyle) scalar(s string) string {
	plain := s != "" && !slices.Contains(yamlWords, strings.ToLower(s)) &&
		(s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z' || s[0] == '/') &&
		!strings.HasSuffix(s, " ") && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-./@ ", r)
	})
	if plain {
		return s
	}
	return literal(s)
}
