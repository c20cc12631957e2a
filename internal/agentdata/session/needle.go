package session

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// needle is a text to search for, case-insensitive.
type needle struct {
	folded string // as strings.ToLower returns it
	// fragment is the longest part that appears unescaped in a file, except for the case of ASCII letters: JSON
	// may escape quotes, slashes and control characters. It is empty if there is no such part.
	fragment []byte
}

func newNeedle(text string) needle {
	n := needle{folded: strings.ToLower(text)}
	best, start := "", 0
	take := func(end int) {
		if part := n.folded[start:end]; len(part) > len(best) {
			best = part
		}
	}
	for i, r := range n.folded {
		if !plain(r) {
			take(i)
			start = i + utf8.RuneLen(r)
		}
	}
	take(len(n.folded))
	n.fragment = []byte(best)
	return n
}

// plain reports whether JSON writes a character unescaped and it has no case or only ASCII cases. The letters i
// and k have a third, non-ASCII form.
func plain(r rune) bool {
	switch {
	case r == 'i', r == 'k', r < ' ', r == '"', r == '\\', r == '/', r == '<', r == '>', r == '&', r == utf8.RuneError:
		return false
	case r < utf8.RuneSelf:
		return true
	}
	return unicode.ToLower(r) == r && unicode.ToUpper(r) == r && unicode.ToTitle(r) == r
}

// in reports whether a text contains the needle.
func (n needle) in(text string) bool { return strings.Contains(strings.ToLower(text), n.folded) }

// places counts the matches in a text and returns the first.
func (n needle) places(text string) (int, string) {
	if len(text) < len(n.folded)/2 { // case folding changes lengths, but never that much
		return 0, ""
	}
	folded := strings.ToLower(text)
	at := strings.Index(folded, n.folded)
	if at < 0 {
		return 0, ""
	}
	if len(folded) != len(text) {
		// Positions in the text and in its folded form differ; the folded form may be shown.
		text = folded
	}
	return strings.Count(folded, n.folded), snippet(text, at, len(n.folded))
}

var lower = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if i >= 'A' && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// mayBeIn reports whether the bytes of a file may contain the needle. False is always correct.
func (n needle) mayBeIn(r io.Reader) (bool, error) {
	if len(n.fragment) == 0 {
		return true, nil
	}
	overlap := max(len(n.fragment), len(`\u0041`)) - 1
	buf := make([]byte, 256<<10)
	kept := 0
	for {
		read, err := r.Read(buf[kept:])
		data := buf[:kept+read]
		for i := kept; i < len(data); i++ {
			data[i] = lower[data[i]]
		}
		if bytes.Contains(data, n.fragment) || escapesText(data) {
			return true, nil
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kept = copy(buf, data[max(0, len(data)-overlap):])
	}
}

// escapesText reports whether JSON writes a character as \uXXXX that does not need it: the needle may then be
// present in another form. Control characters are always escaped, and never part of a fragment.
func escapesText(folded []byte) bool {
	for {
		i := bytes.Index(folded, []byte(`\u`))
		if i < 0 || len(folded) < i+6 {
			return false
		}
		if !bytes.Equal(folded[i+2:i+5], []byte("000")) && !bytes.Equal(folded[i+2:i+5], []byte("001")) {
			return true
		}
		folded = folded[i+6:]
	}
}

// decoded returns the strings in a tool's input as the tool received them.
func decoded(input json.RawMessage) string {
	if len(input) == 0 {
		return ""
	}
	if !bytes.ContainsRune(input, '\\') {
		return string(input)
	}
	var v any
	if json.Unmarshal(input, &v) != nil {
		return string(input)
	}
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v)
			b.WriteByte('\n')
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				b.WriteString(k)
				b.WriteString(": ")
				walk(v[k])
			}
		default:
			text, _ := json.Marshal(v) // it was decoded from JSON
			b.Write(text)
			b.WriteByte('\n')
		}
	}
	walk(v)
	return b.String()
}
