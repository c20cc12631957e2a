package jsontext

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/internal/base/secret"
)

// Difference is one thing in which a received value is not the recorded one.
type Difference struct{ What, Recorded, Received string }

// String describes the difference, with the places where both begin to differ.
func (d Difference) String() string {
	from := 0
	for from < min(len(d.Recorded), len(d.Received)) && d.Recorded[from] == d.Received[from] {
		from++
	}
	return fmt.Sprintf("%s: recorded %s, received %s", d.What, excerpt(d.Recorded, from), excerpt(d.Received, from))
}

// Describe describes the first differences and counts the others.
func Describe(list []Difference) (texts []string) {
	const most = 3
	for i, d := range list {
		if i == most {
			return append(texts, fmt.Sprintf("and %d more", len(list)-most))
		}
		texts = append(texts, d.String())
	}
	return texts
}

// excerpt quotes a text around an offset.
func excerpt(text string, at int) string {
	const before, after = 30, 60
	if text == "" {
		return "nothing"
	}
	start, end, left, right := 0, len(text), "", ""
	if at > before {
		start, left = at-before, "..."
	}
	if end-at > after {
		end, right = at+after, "..."
	}
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	return fmt.Sprintf("%s%q%s", left, text[start:end], right)
}

// Same compares texts. What was removed from the recorded one as a secret stands for any text: another machine has other secrets.
func Same(recorded, received string) bool {
	return recorded == received || strings.Contains(recorded, secret.Mark) && Wildcard(recorded, received, secret.Mark)
}

// Wildcard reports whether name matches pattern, in which star stands for any text.
func Wildcard(pattern, name, star string) bool {
	parts := strings.Split(pattern, star)
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// maxDepth bounds the nesting that is followed; deeper values are compared as texts.
const maxDepth = 50

// Compare compares two JSON values, member by member, with their texts as before and after make them. whole is the name of a value
// without a path; what is no JSON is compared as a text.
func Compare(whole string, recorded, received []byte, before, after func(string) string) []Difference {
	c := &comparison{before: before, after: after}
	var a, b any
	if json.Unmarshal(recorded, &a) != nil || json.Unmarshal(received, &b) != nil {
		c.add(whole, before(string(recorded)), after(string(received)))
	} else {
		c.values("", a, b, 0)
	}
	for i := range c.list {
		if c.list[i].What == "" {
			c.list[i].What = whole
		}
	}
	return c.list
}

type comparison struct {
	before, after func(string) string
	list          []Difference
}

func (c *comparison) add(path, recorded, received string) {
	if !Same(recorded, received) {
		c.list = append(c.list, Difference{path, recorded, received})
	}
}

func (c *comparison) values(path string, a, b any, depth int) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok && depth < maxDepth {
			keys := maps.Clone(x)
			maps.Copy(keys, y)
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				c.values(strings.TrimPrefix(path+"."+k, "."), x[k], y[k], depth+1)
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok && depth < maxDepth && len(x) == len(y) {
			for i := range x {
				c.values(fmt.Sprintf("%s[%d]", path, i), x[i], y[i], depth+1)
			}
			return
		}
	}
	c.add(path, text(a, c.before), text(b, c.after))
}

// text returns a value as a text: nothing for a missing one and null, which mean the same to every reader.
func text(v any, change func(string) string) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return change(v)
	}
	return change(string(encode(v)))
}
