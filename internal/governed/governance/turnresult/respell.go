package turnresult

import (
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// respell corrects the case of keys that differ from a known one only in case; if the known one is also present, the
// other is dropped: Go reads JSON keys in any case, so it would be read without being checked.
func respell(n *shape.Node, path string, o object) (object, []protocol.Change) {
	var changes []protocol.Change
	had := o
	o = object{}
	for key, value := range had.All() {
		right := n.Like(key)
		switch {
		case right == "" || right == key:
			o.Set(key, value)
		case had.Has(right) || o.Has(right):
			changes = append(changes, protocol.Change{Field: shape.Path(path, key), Original: value, Normalized: null, Rationale: "key_in_another_case_dropped"})
		default:
			o.Set(right, value)
			changes = append(changes, protocol.Change{Field: shape.Path(path, right), Original: encode(key), Normalized: encode(right), Rationale: "key_respelled"})
		}
	}
	for i := range n.Keys {
		k := &n.Keys[i]
		raw, ok := o.Get(k.Name)
		field := shape.Path(path, k.Name)
		switch {
		case !ok:
		case k.Kind == shape.Object:
			if m, ok := members(raw); ok {
				if m, more := respell(&k.Node, field, m); more != nil {
					o.Set(k.Name, encode(m))
					changes = append(changes, more...)
				}
			}
		case k.Kind == shape.List && k.Of.Kind == shape.Object:
			list, _ := items(raw)
			var inner []protocol.Change
			for i, item := range list {
				if m, ok := members(item); ok {
					if m, more := respell(k.Of, shape.Item(field, i), m); more != nil {
						list[i] = encode(m)
						inner = append(inner, more...)
					}
				}
			}
			if inner != nil {
				o.Set(k.Name, encode(list))
				changes = append(changes, inner...)
			}
		}
	}
	return o, changes
}
