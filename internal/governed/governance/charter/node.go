package charter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/internal/base/near"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// shape checks a value against its node and words each fault for configurations.
func (f *findings) shape(n *shape.Node, v *shape.Value, field string) {
	for _, x := range n.Check(v, field) {
		f.fault(x)
	}
}

func (f *findings) fault(x shape.Fault) {
	n, at := x.Node, x.Field
	wrong := func(hint, format string, args ...any) {
		f.add(Problem{Type: WrongType, Field: at, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	switch x.Wrong {
	case shape.WrongKind:
		hint := ""
		if x.Value.Kind == "string" && (n.Kind == shape.Number || n.Kind == shape.Integer || n.Kind == shape.Boolean) {
			hint = "write it without quotes"
		}
		wrong(hint, "is %s, not %s", strings.Replace(article(x.Value.Kind), "an array", "a list", 1), noun(n))
	case shape.TooLarge:
		wrong("", "%s is too large a number", x.Value.Text)
	case shape.NotWhole:
		wrong(bounds(n), "is %s, not a whole number", x.Value.Text)
	case shape.Outside:
		f.invalid(at, bounds(n), "cannot be %s", x.Value.Text)
	case shape.IsBlank:
		f.invalid(at, "", "is blank")
	case shape.NoWords:
		f.invalid(at, "", "is an empty list")
	case shape.NotOneOf:
		s, hint := x.Value.Str(), "one of "+strings.Join(n.Enum, ", ")
		if meant := near.Word(s, n.Enum); meant != "" {
			hint = fmt.Sprintf("did you mean %s? %s", meant, hint)
		}
		f.add(Problem{Type: InvalidValue, Field: at, Message: fmt.Sprintf("cannot be %q", s), Hint: hint, Detail: map[string]any{"valid_values": n.Enum}})
	case shape.NoMatch:
		f.invalid(at, "must match "+n.Pattern, "cannot be %q", x.Value.Str())
	case shape.TooLong:
		f.invalid(at, "", "has %d characters, more than %d", utf8.RuneCountInString(strings.TrimSpace(x.Value.Str())), n.MaxLen)
	case shape.TooFew:
		f.invalid(at, "", "has %d entries, fewer than %d", len(x.Value.Items), n.MinItems)
	case shape.TooMany:
		f.invalid(at, "", "has %d entries, more than %d", len(x.Value.Items), n.MaxItems)
	case shape.NoName:
		f.invalid(at, "", "has an empty name")
	case shape.BadName:
		f.invalid(at, "names match "+n.Names, "%q is not a valid name here", x.Key)
	case shape.Twice:
		f.add(Problem{Type: DuplicateKey, Field: at, Message: "appears twice: programs would read different values", Hint: "remove one of them"})
	case shape.OtherCase:
		f.add(Problem{Type: UnknownKey, Field: at, Message: "is not a key: keys are in lower case", Hint: "write " + x.Like})
	case shape.Unknown:
		f.unknown(n, x)
	case shape.Missing:
		hint := n.Doc
		if len(n.Enum) > 0 {
			hint = "one of " + strings.Join(n.Enum, ", ")
		}
		f.missing(at, hint)
	}
}

// unknown warns about a key that is not in the table.
func (f *findings) unknown(n *shape.Node, x shape.Fault) {
	hint := ""
	if meant := near.Word(x.Key, n.KeyNames()); meant != "" {
		hint = fmt.Sprintf("did you mean %s?", meant)
	}
	if !n.Closed {
		f.warn(UnknownKey, x.Field, hint, "is not a known key; it is kept and has no effect")
		return
	}
	if hint == "" {
		hint = "known are " + strings.Join(n.KeyNames(), ", ")
	}
	f.add(Problem{Type: UnknownKey, Field: x.Field, Message: "is not allowed here", Hint: hint})
}

// noun names the type of a node in messages.
func noun(n *shape.Node) string {
	switch n.Kind {
	case shape.Map:
		return "an object"
	case shape.List:
		return "a list"
	case shape.Words:
		return "a string or a list of strings"
	case shape.Integer:
		return "a whole number"
	case shape.Any:
		return "a value"
	}
	return article(string(n.Kind))
}

func bounds(n *shape.Node) string {
	num := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	switch {
	case n.Min != nil && n.Max != nil:
		return fmt.Sprintf("%s to %s", num(*n.Min), num(*n.Max))
	case n.Min != nil && n.Above:
		return "more than " + num(*n.Min)
	case n.Min != nil:
		return num(*n.Min) + " or more"
	}
	return ""
}

// decodeRaw decodes JSON that the protocol keeps raw; false if it is absent or of another type.
func decodeRaw[T any](raw json.RawMessage) (T, bool) {
	var t T
	if len(raw) == 0 {
		return t, false
	}
	return t, json.Unmarshal(raw, &t) == nil
}

// Nearest is the path that a path with an unknown key probably means, in the configuration of that text; empty if none
// is near.
func Nearest(data []byte, path []string) string {
	n := Keys()
	doc, _ := parse(data)
	for i, key := range path {
		known := n.KeyNames()
		if n.Kind == shape.Map && doc != nil {
			known = nil
			for _, m := range doc.Members {
				known = append(known, m.Key)
			}
		}
		next, ok := n.At([]string{key})
		if !ok || n.Kind == shape.Map && !slices.Contains(known, key) {
			if meant := near.Word(key, known); meant != "" {
				return shape.Path("", append(slices.Clone(path[:i]), meant)...)
			}
			if !ok {
				return ""
			}
		}
		n, doc = next, doc.Get(key)
	}
	return ""
}
