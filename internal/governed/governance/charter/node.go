package charter

import (
	"encoding/json"
	"slices"

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
	message, hint := x.Describe()
	p := Problem{Type: InvalidValue, Field: x.Field, Message: message, Hint: hint}
	switch x.Wrong {
	case shape.WrongKind, shape.TooLarge, shape.NotWhole:
		p.Type = WrongType
	case shape.NotOneOf:
		p.Detail = map[string]any{"valid_values": x.Node.Enum}
	case shape.Twice:
		p.Type = DuplicateKey
	case shape.OtherCase:
		p.Type = UnknownKey
	case shape.Unknown:
		if p.Type = UnknownKey; !x.Node.Closed {
			p.Severity = SeverityWarning
		}
	case shape.Missing:
		p.Type = MissingField
	}
	f.add(p)
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
