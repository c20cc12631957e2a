package jsontext

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Rewrite applies change to every string of valid JSON that is no key. Where nothing changes the bytes stay.
func Rewrite(raw []byte, change func(string) string) []byte {
	return mapStrings(raw, func(_, text string) string { return change(text) })
}

// fragment is one string in an event of a stream.
type fragment struct {
	event int // the piece it is in
	nth   int // string of that piece
	text  string
}

// RewriteStream rewrites the pieces of a stream: server-sent events, or lines of JSON. Where nothing changes the bytes stay. A text that is split over events is found as the strings that stand at the same place
// of events with the same indexes and types, as all wires of model APIs have it: its new form is put into the first of them that
// it concerns. Pieces that are no JSON are changed as they are.
func RewriteStream(pieces []string, change func(string) string) []string {
	out := slices.Clone(pieces)
	texts := map[string][]fragment{}
	var order []string
	for i, piece := range out {
		start, end, ok := dataOf(piece)
		if !ok {
			out[i] = change(piece)
			continue
		}
		data := []byte(piece[start:end])
		index, nth := indexes(data), 0
		mapStrings(data, func(path, text string) string {
			key := path + index
			if texts[key] == nil {
				order = append(order, key)
			}
			texts[key] = append(texts[key], fragment{i, nth, text})
			nth++
			return text
		})
	}
	again := map[int]map[int]string{} // new texts, by event and string
	for _, key := range order {
		spread(texts[key], change, again)
	}
	for i, piece := range out {
		start, end, ok := dataOf(piece)
		if !ok {
			continue
		}
		// Joined texts first: of a text that is found in one fragment, more may be in the next. And once only: a change need not be
		// idempotent.
		fresh, nth := again[i], -1
		data := mapStrings([]byte(piece[start:end]), func(_, text string) string {
			nth++
			if t, ok := fresh[nth]; ok {
				return t
			}
			return change(text)
		})
		out[i] = piece[:start] + string(data) + piece[end:]
	}
	return out
}

// spread changes the joined text of fragments, and notes which of them change.
func spread(list []fragment, change func(string) string, again map[int]map[int]string) {
	if len(list) < 2 {
		return
	}
	var b strings.Builder
	for _, f := range list {
		b.WriteString(f.text)
	}
	before := b.String()
	after := change(before)
	if after == before {
		return
	}
	from := 0 // what both begin with, and then what both end with
	for from < min(len(before), len(after)) && before[from] == after[from] {
		from++
	}
	tail := 0
	for tail < min(len(before), len(after))-from && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	to, put, at := len(before)-tail, after[from:len(after)-tail], 0
	for i, f := range list {
		start, end := at, at+len(f.text)
		at = end
		if end < from || start >= to && start != from || end == from && i+1 < len(list) {
			continue
		}
		text := f.text[:max(0, min(from, end)-start)] + put
		if end > to {
			text += f.text[max(0, to-start):]
		}
		put = ""
		if text != f.text {
			if again[f.event] == nil {
				again[f.event] = map[int]string{}
			}
			again[f.event][f.nth] = text
		}
	}
}

// dataOf returns where the JSON of an event's only data line is.
func dataOf(piece string) (start, end int, ok bool) {
	at := 0
	for line := range strings.SplitAfterSeq(piece, "\n") {
		bare := strings.TrimRight(line, "\r\n")
		if value, found := strings.CutPrefix(bare, "data:"); found {
			if ok {
				return 0, 0, false
			}
			start, end, ok = at+len(bare)-len(value), at+len(bare), true
		}
		at += len(line)
	}
	if !ok && json.Valid([]byte(piece)) { // a line of JSON
		return 0, len(piece), true
	}
	return start, end, ok && json.Valid([]byte(piece[start:end]))
}

// indexes returns the values of the members of an event that number the parts of an answer.
func indexes(data []byte) string {
	var b strings.Builder
	scan(data, func(path string, token []byte) {
		if (strings.HasSuffix(path, "index") || strings.HasSuffix(path, ".type")) && len(token) < 100 {
			b.WriteByte(' ')
			b.Write(token)
		}
	}, nil)
	return b.String()
}

// mapStrings replaces the strings of valid JSON that are no keys.
func mapStrings(raw []byte, fn func(path, text string) string) []byte {
	var out []byte
	done := 0
	scan(raw, nil, func(path string, start, end int) {
		var text string
		if json.Unmarshal(raw[start:end], &text) != nil {
			return
		}
		if fresh := fn(path, text); fresh != text {
			out = append(append(out, raw[done:start]...), encode(fresh)...)
			done = end
		}
	})
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

// encode writes a value that was decoded from JSON, or a string.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// scan reads the scalars of valid JSON with their paths: strings with their position, and everything as its token.
func scan(raw []byte, scalar func(path string, token []byte), text func(path string, start, end int)) {
	type level struct {
		list bool
		path string // of the container
		at   string // of the member or element
		n    int
		key  bool // a key comes next
	}
	stack := []level{{}}
	for i := 0; i < len(raw); {
		top := &stack[len(stack)-1]
		switch c := raw[i]; c {
		case ' ', '\t', '\r', '\n', ':':
			i++
		case ',':
			if top.list {
				top.n++
				top.at = top.path + "[" + strconv.Itoa(top.n) + "]"
			} else {
				top.key = true
			}
			i++
		case '{':
			stack = append(stack, level{path: top.at, key: true})
			i++
		case '[':
			stack = append(stack, level{list: true, path: top.at, at: top.at + "[0]"})
			i++
		case '}', ']':
			stack = stack[:len(stack)-1]
			i++
		case '"':
			end := i + 1
			for end < len(raw) && raw[end] != '"' {
				if raw[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(raw))
			switch {
			case top.key:
				var key string
				_ = json.Unmarshal(raw[i:end], &key) // valid
				top.key, top.at = false, top.path+"."+key
			default:
				if text != nil {
					text(top.at, i, end)
				}
				if scalar != nil {
					scalar(top.at, raw[i:end])
				}
			}
			i = end
		default:
			end := i + 1
			for end < len(raw) && !bytes.ContainsRune([]byte(" \t\r\n,:]}"), rune(raw[end])) {
				end++
			}
			if scalar != nil {
				scalar(top.at, raw[i:end])
			}
			i = end
		}
	}
}
