package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mark replaces a secret in a text.
const Mark = "[REDACTED]"

// Redactor removes secrets from texts: the values it was given, in all forms in which they occur, and well-known
// formats of keys. The zero value knows the formats. It is safe for concurrent use once everything was added.
type Redactor struct {
	values  map[uint16][]string // by their first two bytes, the longest first
	pairs   *pairs              // of values and formats
	own     *pairs              // of values
	firsts  charset             // of values
	longest int
}

// New returns a redactor of the values, of their lines, and of their parts (see Add).
func New(values []string) *Redactor {
	r := &Redactor{}
	r.Add(values...)
	return r
}

// Add makes values secret. A value of several lines is also secret by line, "Bearer X" also as X, a URL also by its
// password, a JSON object by the members with secret names. Ordinary values are ignored.
func (r *Redactor) Add(values ...string) {
	for _, value := range values {
		for _, part := range parts(value) {
			for _, form := range forms(part) {
				r.insert(form)
			}
		}
	}
}

func (r *Redactor) insert(form string) {
	if r.pairs == nil {
		all := known().pairs
		r.pairs, r.own, r.values = &all, &pairs{}, map[uint16][]string{}
	}
	p := pairOf(form[0], form[1])
	list := r.values[p]
	if slices.Contains(list, form) {
		return
	}
	at, _ := slices.BinarySearchFunc(list, form, func(a, b string) int { return len(b) - len(a) })
	r.values[p] = slices.Insert(list, at, form)
	r.pairs.set(p)
	r.own.set(p)
	r.firsts[form[0]] = true
	r.longest = max(r.longest, len(form))
}

// forms returns a value unchanged, as in JSON strings one and two levels deep, and as in a URL.
func forms(v string) []string {
	all := []string{v}
	for level := all; len(all) < 16; {
		var next []string
		for _, f := range level {
			for _, e := range []string{escape(f, true), escape(f, false), ascii(escape(f, false))} {
				if !slices.Contains(all, e) && !slices.Contains(next, e) {
					next = append(next, e)
				}
			}
		}
		if len(next) == 0 || level[0] != v {
			all = append(all, next...)
			break
		}
		all, level = append(all, next...), next
	}
	if !strings.ContainsAny(v, " \n") {
		for _, e := range []string{url.QueryEscape(v), url.PathEscape(v)} {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

func escape(s string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(s); err != nil {
		return s
	}
	line := strings.TrimSuffix(b.String(), "\n")
	return line[1 : len(line)-1]
}

// ascii escapes characters beyond ASCII as \u, as some languages do.
func ascii(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Found is the secrets in one text.
type Found struct {
	text  string
	spans []span
	// Open is the start of a secret that may be incomplete at the end of the text, or the text's length.
	Open int
}

// Find searches a text. before is the preceding byte, 0 for none.
func (r *Redactor) Find(text string, before byte) Found {
	k := known()
	s := scan{text: text, before: before, unfinished: len(text), known: k}
	set := &k.pairs
	if r.pairs != nil {
		set = r.pairs
	}
	skip := 0 // the end of a match; another may start there
	for i := 0; i+1 < len(text); i++ {
		p := pairOf(text[i], text[i+1])
		if !set.has(p) {
			continue
		}
		if r.own != nil && r.own.has(p) {
			rest := text[i:]
			for _, v := range r.values[p] {
				if strings.HasPrefix(rest, v) {
					s.found = append(s.found, span{i, i + len(v)})
					break
				}
				if len(rest) < len(v) && strings.HasPrefix(v, rest) {
					s.open(i)
				}
			}
		}
		list := k.byPair[p]
		if list == 0 || i < skip || !s.boundary(i) {
			continue
		}
		for _, n := range k.lists[list-1] {
			if end := s.shapeAt(n, i); end > 0 {
				skip = end
				break
			}
		}
	}
	if n := len(text) - 1; n >= 0 && (r.firsts[text[n]] || k.firsts[text[n]] && s.boundary(n) && (text[n] != '/' || s.previous(n) == ':')) {
		s.open(n)
	}
	f := Found{text: text, spans: merge(s.found), Open: s.unfinished}
	for _, sp := range f.spans {
		if sp.to > f.Open {
			f.Open = min(f.Open, sp.from)
			break
		}
	}
	return f
}

// Any reports whether there is a secret.
func (f Found) Any() bool { return len(f.spans) > 0 }

// Hide returns the text from base to end with Mark for every secret, including the inner part of one that crosses an
// edge.
func (f Found) Hide(base, end int) string {
	if base >= end {
		return ""
	}
	var b strings.Builder
	for _, sp := range f.spans {
		if sp.to <= base || sp.from >= end {
			continue
		}
		if sp.from > base {
			b.WriteString(f.text[base:sp.from])
		}
		b.WriteString(Mark)
		base = min(sp.to, end)
	}
	if b.Len() == 0 {
		return f.text[base:end]
	}
	b.WriteString(f.text[base:end])
	return b.String()
}

func merge(found []span) []span {
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	out := found[:0]
	for _, sp := range found {
		if n := len(out); n > 0 && sp.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, sp.to)
			continue
		}
		out = append(out, sp)
	}
	return out
}

// Longest returns the length of the longest value: a truncated text may contain that much of one.
func (r *Redactor) Longest() int { return r.longest }

// Text returns the text without secrets; text itself if it has none.
func (r *Redactor) Text(text string) string {
	if f := r.Find(text, 0); f.Any() {
		return f.Hide(0, len(text))
	}
	return text
}

// Bytes is Text for bytes. It returns the argument itself if it contains no secret.
func (r *Redactor) Bytes(text []byte) []byte {
	if f := r.Find(string(text), 0); f.Any() {
		return []byte(f.Hide(0, len(text)))
	}
	return text
}

// Args returns arguments for display: values of options with secret names, and every secret, are replaced.
func (r *Redactor) Args(args []string) []string {
	masked := MaskArgs(args, Mark)
	for i, a := range masked {
		masked[i] = r.Text(a)
	}
	return masked
}

// JSON removes the secrets from the strings of a JSON value and keeps its structure. structural are the members of
// the outermost object whose values stay. Without a secret the result is line itself. Anything but JSON is a text.
func (r *Redactor) JSON(line []byte, structural map[string]bool) []byte {
	// Searching the encoded line finds at least the secrets in its strings, because escaped forms are searched too.
	if f := r.Find(string(line), 0); !f.Any() {
		return line
	}
	if !json.Valid(line) {
		return r.Bytes(line)
	}
	out := make([]byte, 0, len(line))
	depth, key := 0, ""
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '{', '[':
			depth++
			out = append(out, c)
		case '}', ']':
			depth--
			out = append(out, c)
		case '"':
			end := stringEnd(line, i)
			quoted := line[i:end]
			next := end
			for next < len(line) && (line[next] == ' ' || line[next] == '\t') {
				next++
			}
			plain, ok := unquote(quoted)
			switch isKey := next < len(line) && line[next] == ':'; {
			case !ok, isKey && len(plain) < longKey, !isKey && depth == 1 && structural[key]:
				if isKey {
					key = plain
				}
			default:
				if isKey {
					key = plain
				}
				if clean := r.Text(plain); clean != plain {
					quoted = []byte(`"` + escape(clean, true) + `"`)
				}
			}
			out = append(out, quoted...)
			i = end - 1
		default:
			out = append(out, c)
		}
	}
	return out
}

// longKey is the minimum length of a member's name to be checked: shorter ones are names of records.
const longKey = 20

func unquote(quoted []byte) (string, bool) {
	if len(quoted) < 2 || quoted[len(quoted)-1] != '"' {
		return "", false
	}
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return string(quoted[1 : len(quoted)-1]), true
	}
	var plain string
	err := json.Unmarshal(quoted, &plain)
	return plain, err == nil
}

// stringEnd returns the index after the closing quote of the string that starts at i.
func stringEnd(line []byte, i int) int {
	for i++; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(line)
}
