package turnresult

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// object is a JSON object in its order.
type object = protocol.Ordered[json.RawMessage]

// text decodes raw as a string.
func text(raw json.RawMessage) (string, bool) {
	var s string
	if protocol.Kind(raw) != "string" || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// filled is raw as a trimmed string; empty for anything else.
func filled(raw json.RawMessage) string {
	s, _ := text(raw)
	return strings.TrimSpace(s)
}

// items are the elements of raw as an array.
func items(raw json.RawMessage) ([]json.RawMessage, bool) {
	var l []json.RawMessage
	if protocol.Kind(raw) != "array" || json.Unmarshal(raw, &l) != nil {
		return nil, false
	}
	return l, true
}

// members are the keys and values of raw as an object. An object with a duplicate key has none.
func members(raw json.RawMessage) (object, bool) {
	var o object
	if protocol.Kind(raw) != "object" || json.Unmarshal(raw, &o) != nil {
		return object{}, false
	}
	return o, true
}

// isTrue reports whether raw is true.
func isTrue(raw json.RawMessage) bool {
	var b bool
	return protocol.Kind(raw) == "boolean" && json.Unmarshal(raw, &b) == nil && b
}

// integer decodes raw as a whole number in any spelling: 1, 1.0 and 1e0 are one number.
func integer(raw json.RawMessage) (int64, bool) {
	if protocol.Kind(raw) != "number" {
		return 0, false
	}
	var i int64
	if json.Unmarshal(raw, &i) == nil {
		return i, true
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// number decodes raw as a number.
func number(raw json.RawMessage) (float64, bool) {
	var f float64
	if protocol.Kind(raw) != "number" || json.Unmarshal(raw, &f) != nil {
		return 0, false
	}
	return f, true
}

// encode is the JSON of a value that always has one.
func encode(v any) json.RawMessage {
	b, err := protocol.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}

// null replaces an absent value.
var null = json.RawMessage("null")

// orNull is raw, or null if it is empty.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return null
	}
	return raw
}

// shown is a value for a message, cut after 80 characters.
func shown(raw json.RawMessage) string { return cut(string(raw)) }

func cut(s string) string {
	n := 0
	for i := range s {
		if n == 80 {
			return s[:i] + "..."
		}
		n++
	}
	return s
}

// quoted is a string for a message, cut and without control characters.
func quoted(s string) string { return strconv.Quote(cut(s)) }

// list is "a, b or c" for a message.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
