package runstore

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

const (
	redactedMark = "[REDACTED]"
	// minSecret is the length below which a value is no secret to look for: taking every "true" or "1" out of a record
	// would ruin it and protect nothing.
	minSecret = 6
)

// marker is the beginning of a well-known kind of key, and what must follow it.
type marker struct {
	prefix string
	chars  charset
	min    int  // bytes after the prefix
	mixed  bool // a digit or capital is needed among them, to tell a key from hyphenated words
	dots   int  // dots needed among them
}

type charset [256]bool

func chars(extra string) charset {
	var c charset
	for _, r := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + extra {
		c[byte(r)] = true
	}
	return c
}

var (
	alnum  = chars("")
	wordy  = chars("-_")
	bearer = marker{prefix: "bearer", chars: chars("-._~+/="), min: 16, mixed: true}

	markers = []marker{
		{prefix: "sk-", chars: wordy, min: 16, mixed: true},
		{prefix: "ghp_", chars: alnum, min: 20}, {prefix: "gho_", chars: alnum, min: 20}, {prefix: "ghu_", chars: alnum, min: 20},
		{prefix: "ghs_", chars: alnum, min: 20}, {prefix: "ghr_", chars: alnum, min: 20},
		{prefix: "github_pat_", chars: chars("_"), min: 20}, {prefix: "glpat-", chars: wordy, min: 16},
		{prefix: "AKIA", chars: alnum, min: 16}, {prefix: "ASIA", chars: alnum, min: 16},
		{prefix: "xoxb-", chars: wordy, min: 10}, {prefix: "xoxa-", chars: wordy, min: 10}, {prefix: "xoxp-", chars: wordy, min: 10},
		{prefix: "xoxr-", chars: wordy, min: 10}, {prefix: "xoxs-", chars: wordy, min: 10},
		{prefix: "AIza", chars: wordy, min: 30}, {prefix: "npm_", chars: alnum, min: 30}, {prefix: "hf_", chars: alnum, min: 30},
		{prefix: "eyJ", chars: chars("-_."), min: 30, dots: 2},
	}

	// markersByByte finds the markers that can begin with a byte.
	markersByByte = func() (m [256][]marker) {
		for _, k := range markers {
			m[k.prefix[0]] = append(m[k.prefix[0]], k)
		}
		return m
	}()
)

// secrets finds the known secret values and well-known kinds of keys in text.
type secrets struct{ values []string } // longest first

// newSecrets prepares values to be found as they are and as they look inside JSON strings, one and two levels deep.
func newSecrets(values []string) secrets {
	var forms []string
	for _, v := range values {
		if v = strings.TrimSpace(v); len(v) < minSecret {
			continue
		}
		for level := []string{v}; len(level) <= 4; {
			forms = append(forms, level...)
			var next []string
			for _, f := range level {
				next = append(next, escaped(f, true), escaped(f, false))
			}
			level = next
		}
	}
	slices.SortFunc(forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return secrets{slices.Compact(forms)}
}

func escaped(s string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(s); err != nil {
		return s
	}
	line := strings.TrimSuffix(b.String(), "\n")
	return line[1 : len(line)-1]
}

type span struct{ from, to int }

// find gives the secrets in text, in order and apart, and the place where one begins that the text may not hold in full:
// len(text) when there is none. before is the byte in front of the text, 0 for none.
func (s secrets) find(text string, before byte) (found []span, open int) {
	open = len(text)
	for _, v := range s.values {
		for at := 0; ; {
			i := strings.Index(text[at:], v)
			if i < 0 {
				break
			}
			found = append(found, span{at + i, at + i + len(v)})
			at += i + len(v)
		}
		for n := min(len(text), len(v)-1); n > 0 && len(text)-n < open; n-- {
			if text[len(text)-n] == v[0] && strings.HasSuffix(text, v[:n]) {
				open = len(text) - n
				break
			}
		}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c|0x20 == 'b' && boundary(text, i, before) {
			if sp, unfinished := bearerAt(text, i); sp.to > 0 || unfinished {
				if unfinished {
					open = min(open, i)
				}
				if sp.to > 0 {
					found = append(found, sp)
					i = sp.to - 1
				}
				continue
			}
		}
		for _, m := range markersByByte[c] {
			if !boundary(text, i, before) {
				break
			}
			rest := text[i:]
			if !strings.HasPrefix(rest, m.prefix) {
				if strings.HasPrefix(m.prefix, rest) {
					open = min(open, i)
				}
				continue
			}
			end, ok := m.run(text, i+len(m.prefix))
			if end == len(text) {
				open = min(open, i)
			}
			if ok {
				found = append(found, span{i, end})
				i = end - 1
				break
			}
		}
	}
	return merge(found), open
}

// run gives the end of the key whose variable part begins at i, and whether it is one.
func (m marker) run(text string, i int) (end int, ok bool) {
	mixed, dots := !m.mixed, 0
	for end = i; end < len(text) && m.chars[text[end]]; end++ {
		switch c := text[end]; {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z':
			mixed = true
		case c == '.':
			dots++
		}
	}
	return end, end-i >= m.min && mixed && dots >= m.dots
}

// bearerAt looks for "bearer TOKEN" at i and gives the span of the token.
func bearerAt(text string, i int) (token span, unfinished bool) {
	word := text[i:min(len(text), i+len(bearer.prefix))]
	if !strings.EqualFold(word, bearer.prefix[:len(word)]) {
		return span{}, false
	}
	at := i + len(word)
	start := at
	for at < len(text) && text[at] == ' ' {
		at++
	}
	if at == len(text) {
		return span{}, true
	}
	if at == start {
		return span{}, false
	}
	end, ok := bearer.run(text, at)
	if ok {
		token = span{at, end}
	}
	return token, end == len(text)
}

// boundary reports whether a key may begin at i: not inside a word. The last letter of a JSON escape such as \n or \u003c is
// no letter of a word.
func boundary(text string, i int, before byte) bool {
	if i == 0 {
		return !alnum[before]
	}
	if !alnum[text[i-1]] {
		return true
	}
	if i >= 2 && text[i-2] == '\\' && strings.IndexByte("nrtbf", text[i-1]) >= 0 {
		return true
	}
	return i >= 6 && text[i-6] == '\\' && text[i-5] == 'u'
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

// hide is text from base to end, with the spans replaced.
func hide(text string, found []span, base, end int) string {
	if base >= end {
		return ""
	}
	var b strings.Builder
	for _, sp := range found {
		if sp.to <= base || sp.from >= end {
			continue
		}
		if sp.from > base {
			b.WriteString(text[base:sp.from])
		}
		b.WriteString(redactedMark)
		base = min(sp.to, end)
	}
	if b.Len() == 0 {
		return text[base:end]
	}
	b.WriteString(text[base:end])
	return b.String()
}

// text takes the secrets out of a whole text.
func (s secrets) text(t string) string {
	found, _ := s.find(t, 0)
	return hide(t, found, 0, len(t))
}

// structural are the names whose values make a record readable; they come from this program and are never secret.
var structural = map[string]bool{"type": true, "runId": true, "schemaVersion": true, "v": true}

// json takes the secrets out of the string values of a JSON value, and leaves its shape alone. Without a secret it
// returns line itself.
func (s secrets) json(line []byte) []byte {
	if found, _ := s.find(string(line), 0); len(found) == 0 {
		return line
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
			isKey := next < len(line) && line[next] == ':'
			var plain string
			switch err := json.Unmarshal(quoted, &plain); {
			case isKey:
				key = plain
				out = append(out, quoted...)
			case err != nil, depth == 1 && structural[key]:
				out = append(out, quoted...)
			default:
				if clean := s.text(plain); clean != plain {
					quoted = []byte(`"` + escaped(clean, true) + `"`)
				}
				out = append(out, quoted...)
			}
			i = end - 1
		default:
			out = append(out, c)
		}
	}
	return out
}

// stringEnd is the index behind the closing quote of the string that begins at i.
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
