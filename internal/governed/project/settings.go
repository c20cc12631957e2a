package project

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/internal/settings/configstore"
)

// Get returns the value at a path of agentxchain.json, as written. A path is dotted; a key with a dot may be
// quoted, and need not be if it is known: an existing key, or one before a known key, longest first. The empty
// path is the whole file.
func Get(root, path string) (json.RawMessage, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "read the project in %s: %w", root, err)
	}
	data, err := readConfig(root)
	if err != nil {
		return nil, err
	}
	keys, value, node, err := locate(root, data, path)
	if err != nil {
		return nil, err
	}
	if value == nil {
		e := execution.Errorf(execution.CodeConfig, "%s is not set in %s", keys, protocol.ConfigFile)
		if node != nil && node.Default != nil {
			return nil, e.WithHint("its default is %v; drawbar govern config set %s VALUE", node.Default, keys)
		}
		return nil, e.WithHint("drawbar govern config set %s VALUE", keys)
	}
	return value, nil
}

// Set writes the value at a path (see Get) and changes nothing else in the file. The value is a string if the
// key takes one, else JSON. An object or a list replaces the old one. A value that would make the configuration
// invalid is refused and nothing is written. The returned old value is nil if there was none.
func Set(root, path, value string) (before, after json.RawMessage, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return nil, nil, execution.Errorf(execution.CodeConfig, "read the project in %s: %w", root, err)
	}
	if _, err := readConfig(root); err != nil {
		return nil, nil, err
	}
	file := filepath.Join(root, protocol.ConfigFile)
	_, err = configstore.Edit(context.Background(), file, configfile.JSON, func(d *configfile.Document) (bool, error) {
		old := d.Bytes()
		keys, have, node, err := locate(root, old, path)
		if err != nil {
			return false, err
		}
		if len(keys) == 0 {
			return false, execution.Errorf(execution.CodeConfig, "name the key to set").WithHint("drawbar govern config set project.goal TEXT")
		}
		if node == nil {
			return false, unknownKey(old, keys)
		}
		want, err := parseValue(node, value)
		if err != nil {
			return false, execution.Errorf(execution.CodeConfig, "%s: %w", keys, err)
		}
		before, after = slices.Clone(have), want
		if have != nil && sameJSON(have, want) {
			return false, nil
		}
		if err := put(d, keys, want); err != nil {
			return false, execution.Errorf(execution.CodeConfig, "%w", err).WithHint("edit %s by hand", file)
		}
		return true, worse(file, old, d.Bytes())
	}, configstore.Options{Within: root, Mode: 0o644})
	if err != nil {
		return nil, nil, err
	}
	return before, after, nil
}

// put replaces the value in place. Setting null first keeps an object from being merged into the old one.
func put(d *configfile.Document, keys configfile.Path, want json.RawMessage) error {
	v, err := ordered(want)
	if err != nil {
		return err
	}
	if _, object := v.(configfile.Pairs); object {
		if _, ok := d.Get(keys); ok {
			if err := d.Set(keys, nil); err != nil {
				return err
			}
		}
	}
	return d.Set(keys, v)
}

// worse returns an error if the new text has errors that the old one does not have, so that a broken configuration can
// be fixed step by step.
func worse(file string, before, after []byte) error {
	_, old := charter.Decode(before)
	_, all := charter.Decode(after)
	fresh := slices.DeleteFunc(charter.Errors(all), func(p charter.Problem) bool {
		return slices.ContainsFunc(old, func(q charter.Problem) bool {
			return q.Type == p.Type && q.Field == p.Field && q.Message == p.Message
		})
	})
	if len(fresh) == 0 {
		return nil
	}
	for i := range fresh {
		fresh[i].Line, fresh[i].Column = 0, 0 // of a text that is never shown
	}
	err := (&InvalidError{File: file, Problems: fresh}).refusal()
	if e, ok := err.(*execution.Error); ok { //nolint:errorlint // refusal gives no other
		return e.WithHint("nothing was written")
	}
	return err
}

func unknownKey(data []byte, keys configfile.Path) error {
	e := execution.Errorf(execution.CodeConfig, "%s has no key %s", protocol.ConfigFile, keys)
	if near := charter.Nearest(data, keys); near != "" {
		return e.WithHint("did you mean %s?", near)
	}
	return e.WithHint("the keys are listed in schema/agentxchain.json")
}

// parseValue parses a value typed for a key.
func parseValue(node *shape.Node, text string) (json.RawMessage, error) {
	var raw json.RawMessage
	isJSON := json.Unmarshal([]byte(text), &raw) == nil
	kind := ""
	if isJSON {
		kind = protocol.Kind(raw)
	}
	switch node.Kind {
	case shape.String:
		if kind != "string" {
			return protocol.Marshal(text)
		}
	case shape.Words, shape.Any:
		if !isJSON {
			return protocol.Marshal(text)
		}
	case shape.Map, shape.Object, shape.List:
		if !isJSON {
			return nil, fmt.Errorf("requires JSON, and %q is not valid JSON", text)
		}
	default:
		if !isJSON {
			return protocol.Marshal(text) // the check reports the required type
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

// ordered converts JSON to the values of configfile, keeping the order of keys.
func ordered(raw json.RawMessage) (any, error) {
	switch protocol.Kind(raw) {
	case "object":
		var o protocol.Extra
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, err
		}
		pairs := configfile.Pairs{}
		for k, v := range o.All() {
			value, err := ordered(v)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			pairs = append(pairs, configfile.Pair{Key: k, Value: value})
		}
		return pairs, nil
	case "array":
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
		list := make([]any, len(items))
		for i := range items {
			var err error
			if list[i], err = ordered(items[i]); err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return list, nil
	case "number":
		return json.Number(raw), nil
	}
	var v any
	err := json.Unmarshal(raw, &v)
	return v, err
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// locate resolves a path in the table of keys and in the text. The value is nil if it is not set, the node if
// the table does not know the path.
func locate(root string, data []byte, path string) (configfile.Path, json.RawMessage, *shape.Node, error) {
	var whole protocol.Extra
	if err := json.Unmarshal(data, &whole); err != nil {
		if _, problems := charter.Decode(data); len(charter.Errors(problems)) > 0 {
			return nil, nil, nil, (&InvalidError{File: filepath.Join(root, protocol.ConfigFile), Problems: problems}).refusal()
		}
		return nil, nil, nil, execution.Errorf(execution.CodeConfig, "read %s: %w", protocol.ConfigFile, err)
	}
	if strings.TrimSpace(path) == "" {
		return nil, bytes.TrimSpace(data), charter.Keys(), nil
	}
	keys := resolve(charter.Keys(), bytes.TrimSpace(data), path)
	if keys == nil {
		var err error
		if keys, err = follow(charter.Keys(), bytes.TrimSpace(data), path); err != nil {
			return nil, nil, nil, execution.Errorf(execution.CodeConfig, "%w", err).WithHint(`quote a key that contains dots: budget.cost_rates."gpt-4.1"`)
		}
	}
	var value json.RawMessage = bytes.TrimSpace(data)
	for _, k := range keys {
		var o protocol.Extra
		if protocol.Kind(value) != "object" || json.Unmarshal(value, &o) != nil || !o.Has(k) {
			value = nil
			break
		}
		value = bytes.TrimSpace(o.At(k))
	}
	node, ok := charter.Keys().At(keys)
	if !ok {
		node = nil
	}
	return keys, value, node, nil
}

// resolve splits a path into keys that lead to something known; nil if there are none.
func resolve(node *shape.Node, value json.RawMessage, rest string) configfile.Path {
	if rest == "" {
		return configfile.Path{}
	}
	for _, c := range candidates(node, value, rest) {
		next, ok := node.At([]string{c.key})
		if !ok {
			continue
		}
		var o protocol.Extra
		if protocol.Kind(value) == "object" {
			_ = json.Unmarshal(value, &o) // duplicates were refused earlier
		}
		if tail := resolve(next, o.At(c.key), c.rest); tail != nil {
			return append(configfile.Path{c.key}, tail...)
		}
	}
	return nil
}

// follow splits a path that leads to nothing known: as far as it is known, then at its dots.
func follow(node *shape.Node, value json.RawMessage, rest string) (configfile.Path, error) {
	for _, c := range candidates(node, value, rest) {
		next, ok := node.At([]string{c.key})
		if !ok || c.rest == "" {
			continue
		}
		var o protocol.Extra
		if protocol.Kind(value) == "object" {
			_ = json.Unmarshal(value, &o) // duplicates were refused earlier
		}
		tail, err := follow(next, o.At(c.key), c.rest)
		if err != nil {
			return nil, err
		}
		return append(configfile.Path{c.key}, tail...), nil
	}
	return configfile.ParsePath(rest)
}

type candidate struct{ key, rest string }

// candidates returns the ways to split off the first key: quoted; an existing key, longest first; a key of the
// table or, if users choose the names, every dot, longest first, and the whole.
func candidates(node *shape.Node, value json.RawMessage, rest string) []candidate {
	if rest[0] == '"' || rest[0] == '\'' {
		for i := 1; i < len(rest); i++ {
			if rest[i] != rest[0] || (i+1 < len(rest) && rest[i+1] != '.') {
				continue
			}
			if p, err := configfile.ParsePath(rest[:i+1]); err == nil && len(p) == 1 {
				return []candidate{{p[0], strings.TrimPrefix(rest[i+1:], ".")}}
			}
		}
		return nil
	}
	var names []string
	var o protocol.Extra
	if protocol.Kind(value) == "object" && json.Unmarshal(value, &o) == nil {
		names = o.Keys()
	}
	for _, k := range node.Keys {
		names = append(names, k.Name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var list []candidate
	for _, n := range names {
		if rest == n {
			list = append(list, candidate{n, ""})
		} else if tail, ok := strings.CutPrefix(rest, n+"."); ok {
			list = append(list, candidate{n, tail})
		}
	}
	if node.Kind != shape.Map {
		return list
	}
	within := len(list) > 0 // an existing key begins the path: the rest is not part of a longer name
	for i := len(rest) - 1; i > 0; i-- {
		if rest[i] == '.' && i+1 < len(rest) && node.Takes(rest[:i]) {
			list = append(list, candidate{rest[:i], rest[i+1:]})
		}
	}
	if !within && node.Takes(rest) {
		list = append(list, candidate{rest, ""})
	}
	return list
}
