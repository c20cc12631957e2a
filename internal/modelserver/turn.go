package modelserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// turnKeys are the keys of a turn, sideKeys those of the side member.
var (
	turnKeys = []string{
		"text", "thinking", "tools", "usage", "chunks", "delayMs", "chunkDelayMs", "status", "error", "retryAfter", "headers",
		"hang", "cut", "garbage", "match", "repeat", "stopReason",
	}
	sideKeys = []string{"contains", "text", "usage", "status", "error", "retryAfter", "headers", "delayMs"}
)

func (f *faults) turn(n *node, defaults usage) turn {
	o := f.object(n, turnKeys...)
	t := f.fields(o, defaults)
	silent := o["garbage"] == nil || o["garbage"].kind == 't' && !o["garbage"].truth
	if n.kind == '{' && silent && o["text"] == nil && o["chunks"] == nil && o["thinking"] == nil && len(t.tools) == 0 &&
		o["status"] == nil && !t.hang {
		f.add(n.path, "says nothing; give text, thinking, tools, status, hang or garbage")
	}
	return t
}

// fields reads the members of a turn.
func (f *faults) fields(o map[string]*node, defaults usage) turn {
	const longest = 600_000
	t := turn{
		text: f.str(o["text"]), thinking: f.str(o["thinking"]), stopReason: f.str(o["stopReason"]), repeat: 1,
		usage:      f.usage(o["usage"], defaults),
		delay:      time.Duration(f.integer(o["delayMs"], 0, longest)) * time.Millisecond,
		pieceDelay: time.Duration(f.integer(o["chunkDelayMs"], 0, longest)) * time.Millisecond,
	}
	for _, n := range f.elements(o["tools"]) {
		t.tools = append(t.tools, f.tool(n))
	}
	f.chunks(o["chunks"], o["text"] != nil, &t)
	f.failure(o, &t)
	f.stops(o, &t)
	if n := o["match"]; n != nil {
		m := f.object(n, "contains", "model", "system")
		t.match = &match{f.str(m["contains"]), f.str(m["model"]), f.str(m["system"])}
		if *t.match == (match{}) && n.kind == '{' && len(m) == len(n.members()) {
			f.add(n.path, "empty; give contains, model or system, or leave match out")
		}
	}
	if n := o["repeat"]; n != nil {
		switch {
		case n.kind != 't':
			t.repeat = int(f.integer(n, 1, 1_000_000))
		case n.truth:
			t.repeat = forever
		}
	}
	return t
}

func (f *faults) tool(n *node) tool {
	o := f.object(n, "name", "input", "namespace", "custom")
	t := tool{name: f.str(o["name"]), namespace: f.str(o["namespace"]), custom: f.boolean(o["custom"]), input: "{}"}
	if n.kind == '{' && t.name == "" {
		f.add(n.path, `has no name; give "name"`)
	}
	in := o["input"]
	switch {
	case t.custom && in == nil:
		if n.kind == '{' {
			f.add(n.path, "a custom call needs an input that is a string")
		}
	case t.custom:
		t.input = f.str(in)
	case in == nil:
	case in.kind != '{':
		f.add(in.path, `want an object, have %s; a string is for a call with "custom": true`, in.kindName())
	default:
		t.input = compact(in.raw)
	}
	return t
}

// defaultPieces bounds the pieces of a text without chunks in the script.
const defaultPieces = 16

func (f *faults) chunks(n *node, hasText bool, t *turn) {
	switch {
	case n == nil:
		t.pieces = words(t.text)
	case n.kind == '[':
		for _, item := range n.items() {
			t.pieces = append(t.pieces, f.str(item))
		}
		whole := strings.Join(t.pieces, "")
		if hasText && whole != t.text {
			f.add(n.path, "the pieces do not make up the text; leave text out or correct them")
		}
		t.text = whole
	case n.kind == '0':
		length := utf8.RuneCountInString(t.text)
		if length == 0 {
			f.add(n.path, "there is no text to cut; give text")
			return
		}
		if count := int(f.integer(n, 1, int64(length))); count > 0 {
			t.pieces = evenly(t.text, count)
		}
	default:
		f.add(n.path, "want a number of pieces or the list of them, have %s", n.kindName())
	}
}

// words cuts text after spaces into at most defaultPieces pieces of about the same length.
func words(text string) []string {
	var pieces []string
	least := len(text) / defaultPieces
	start := 0
	for i := 0; i < len(text); i++ {
		if text[i] == ' ' && i-start >= least && i+1 < len(text) && len(pieces) < defaultPieces-1 {
			pieces = append(pieces, text[start:i+1])
			start = i + 1
		}
	}
	if start < len(text) {
		pieces = append(pieces, text[start:])
	}
	return pieces
}

// evenly cuts text into count pieces whose lengths differ by at most one character.
func evenly(text string, count int) []string {
	runes := []rune(text)
	pieces := make([]string, 0, count)
	for i := range count {
		pieces = append(pieces, string(runes[i*len(runes)/count:(i+1)*len(runes)/count]))
	}
	return pieces
}

// failure reads the members that make an answer an error, and the headers.
func (f *faults) failure(o map[string]*node, t *turn) {
	if n := o["status"]; n != nil {
		t.status = int(f.integer(n, 400, 599))
		for _, key := range []string{"text", "thinking", "tools", "chunks", "hang", "cut", "garbage", "stopReason"} {
			if o[key] != nil {
				f.add(o[key].path, "contradicts status, which answers with an error and nothing else")
			}
		}
	}
	if n := o["error"]; n != nil {
		e := f.object(n, "type", "message")
		t.errorType, t.errorMessage = f.str(e["type"]), f.str(e["message"])
		if o["status"] == nil {
			f.add(n.path, "needs a status")
		}
	}
	if n := o["retryAfter"]; n != nil {
		seconds := f.integer(n, 0, 86_400)
		t.retryAfter = fmt.Sprint(seconds)
		if o["status"] == nil {
			f.add(n.path, "needs a status")
		}
	}
	if n := o["headers"]; n != nil {
		h := f.object(n)
		for _, key := range slices.Sorted(maps.Keys(h)) {
			value := f.str(h[key])
			switch name := http.CanonicalHeaderKey(key); {
			case !validHeader(key, value):
				f.add(h[key].path, "not a valid header")
			case name == "Content-Length" || name == "Transfer-Encoding" || name == "Connection" || name == "Content-Type":
				f.add(h[key].path, "is set by the server")
			case name == "Retry-After" && t.retryAfter != "":
				f.add(h[key].path, "contradicts retryAfter")
			}
			t.headers = append(t.headers, [2]string{key, value})
		}
	}
}

func validHeader(name, value string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c) }) &&
		!strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// stops reads hang, cut and garbage, which exclude each other.
func (f *faults) stops(o map[string]*node, t *turn) {
	if n := o["garbage"]; n != nil {
		body := "this is not what you asked for\n"
		switch {
		case n.kind == '"':
			t.garbage = &n.text
		case f.boolean(n):
			t.garbage = &body
		}
		for _, key := range []string{"text", "thinking", "tools", "chunks", "hang", "cut", "stopReason"} {
			if t.garbage != nil && o[key] != nil {
				f.add(o[key].path, "contradicts garbage, which is the whole answer")
			}
		}
	}
	if o["hang"] != nil && o["cut"] != nil {
		f.add(o["cut"].path, "contradicts hang; give one of them")
	}
	if n := o["cut"]; n != nil {
		f.stop(n, 'c', t)
	}
	if n := o["hang"]; n != nil {
		if n.kind != 't' {
			f.stop(n, 'h', t)
			return
		}
		t.hang = n.truth
		for _, key := range []string{"text", "thinking", "tools", "chunks", "stopReason"} {
			if t.hang && o[key] != nil {
				f.add(o[key].path, `contradicts hang, which never answers; use "hang": "mid-text"`)
			}
		}
	}
}

func (f *faults) stop(n *node, kind byte, t *turn) {
	switch {
	case n.kind == '0':
		after := int(f.integer(n, 0, 1_000_000))
		if after > len(t.pieces) {
			f.add(n.path, "the text has %d piece(s) only", len(t.pieces))
		}
		t.stop = stopPoint{kind, after}
	case n.kind == 't' && !n.truth:
	case n.kind == 't' || n.kind == '"' && n.text == "mid-text":
		if len(t.pieces) == 1 && utf8.RuneCountInString(t.text) > 1 {
			t.pieces = evenly(t.text, 2)
		}
		if len(t.pieces) < 2 {
			f.add(n.path, "there is no text with a middle; give a text of two characters or more")
			return
		}
		t.stop = stopPoint{kind, len(t.pieces) / 2}
	default:
		f.add(n.path, `want true, "mid-text" or a number of text pieces`)
	}
}

// compact returns JSON without insignificant space. raw is valid.
func compact(raw []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return string(raw)
	}
	return b.String()
}
