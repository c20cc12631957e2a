package shape

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/internal/base/near"
)

// Describe returns the words for a fault, which follow the name of its field, and what to write instead; the hint may be
// empty.
func (x Fault) Describe() (message, hint string) {
	n := x.Node
	switch x.Wrong {
	case WrongKind:
		if x.Value.Kind == "string" && (n.Kind == Number || n.Kind == Integer || n.Kind == Boolean) {
			hint = "write it without quotes"
		}
		return fmt.Sprintf("is %s, not %s", strings.Replace(Article(x.Value.Kind), "an array", "a list", 1), n.noun()), hint
	case TooLarge:
		return fmt.Sprintf("%s is too large a number", x.Value.Text), ""
	case NotWhole:
		return fmt.Sprintf("is %s, not a whole number", x.Value.Text), n.bounds()
	case Outside:
		return fmt.Sprintf("cannot be %s", x.Value.Text), n.bounds()
	case IsBlank:
		return "is blank", ""
	case NoWords:
		return "is an empty list", ""
	case NotOneOf:
		s, hint := x.Value.Str(), "one of "+strings.Join(n.Enum, ", ")
		if meant := near.Word(s, n.Enum); meant != "" {
			hint = fmt.Sprintf("did you mean %s? %s", meant, hint)
		}
		return fmt.Sprintf("cannot be %q", s), hint
	case NoMatch:
		return fmt.Sprintf("cannot be %q", x.Value.Str()), "must match " + n.Pattern
	case TooLong:
		return fmt.Sprintf("has %d characters, more than %d", utf8.RuneCountInString(strings.TrimSpace(x.Value.Str())), n.MaxLen), ""
	case TooFew:
		return fmt.Sprintf("has %d entries, fewer than %d", len(x.Value.Items), n.MinItems), ""
	case TooMany:
		return fmt.Sprintf("has %d entries, more than %d", len(x.Value.Items), n.MaxItems), ""
	case NoName:
		return "has an empty name", ""
	case BadName:
		return fmt.Sprintf("%q is not a valid name here", x.Key), "names match " + n.Names
	case Twice:
		return "appears twice: programs would read different values", "remove one of them"
	case OtherCase:
		return "is not a key: keys are in lower case", "write " + x.Like
	case Unknown:
		return x.unknown()
	case Missing:
		if hint = cmp.Or(n.Want, n.Doc); len(n.Enum) > 0 {
			hint = "one of " + strings.Join(n.Enum, ", ")
		}
		return "is missing", hint
	}
	return string(x.Wrong), ""
}

func (x Fault) unknown() (message, hint string) {
	if meant := near.Word(x.Key, x.Node.KeyNames()); meant != "" {
		hint = fmt.Sprintf("did you mean %s?", meant)
	}
	switch {
	case !x.Node.Closed:
		return "is not a known key; it is kept and has no effect", hint
	case hint == "":
		hint = "known are " + strings.Join(x.Node.KeyNames(), ", ")
	}
	return "is not allowed here", hint
}

// Article returns a kind of value with its article.
func Article(kind string) string {
	switch kind {
	case "object", "array":
		return "an " + kind
	case "null":
		return "null"
	}
	return "a " + kind
}

// noun names the type of a node in messages.
func (n *Node) noun() string {
	switch n.Kind {
	case Map:
		return "an object"
	case List:
		return "a list"
	case Words:
		return "a string or a list of strings"
	case Integer:
		return "a whole number"
	case Any:
		return "a value"
	}
	return Article(string(n.Kind))
}

func (n *Node) bounds() string {
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
