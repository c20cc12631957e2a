package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/modelserver/cassette"
)

// asked is a request in the form in which requests are compared.
type asked struct {
	end          endpoint
	method, path string // the path without its query
	side         string
	request      *request
	dir          string   // working directory
	rounds       []string // what was said in each, without noise
	body         []byte   // JSON without identity
}

// askedOf prepares a decoded request.
func askedOf(end endpoint, method, path, side string, r *request, body []byte) *asked {
	path, _, _ = strings.Cut(path, "?")
	a := &asked{end: end, method: method, path: path, side: side, request: r, body: anonymous(body)}
	a.dir = dirOf(append([]string{r.system}, r.rounds...)...)
	for _, text := range r.rounds {
		a.rounds = append(a.rounds, said(text, a.dir))
	}
	return a
}

// known is an exchange of a cassette.
type known struct {
	cassette.Exchange
	asked *asked
	used  int
}

// prepare decodes a recorded request as it was decoded when it was received.
func prepare(x cassette.Exchange) (*known, error) {
	r, err := http.NewRequest(x.Request.Method, "http://127.0.0.1"+x.Request.Path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("request.path is %q, which is not one of a URL", x.Request.Path)
	}
	end, q := route(r, r.URL.Path)
	if end == endGenerate || end == endCount {
		if err := q.decode(x.Request.Body, http.Header{}); err != nil {
			return nil, fmt.Errorf("request.body is not one for %s: %w", r.URL.Path, err)
		}
	}
	return &known{Exchange: x, asked: askedOf(end, r.Method, x.Request.Path, x.Request.Side, q, x.Request.Body)}, nil
}

// difference is one thing that two requests do not share.
type difference struct{ what, recorded, received string }

// same compares texts without noise. What was removed as a secret stands for any text: the other machine has other secrets.
func same(recorded, received string) bool {
	return recorded == received || strings.Contains(recorded, secret.Mark) && wildcard(recorded, received, secret.Mark)
}

// text describes the difference, with the places where both begin to differ.
func (d difference) text() string {
	from := 0
	for from < min(len(d.recorded), len(d.received)) && d.recorded[from] == d.received[from] {
		from++
	}
	return fmt.Sprintf("%s: recorded %s, received %s", d.what, excerpt(d.recorded, from), excerpt(d.received, from))
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

// differences compares a recorded request with a received one of the same endpoint and wire. strict compares everything but noise;
// otherwise it is the model, the form of the answer, and what was said: not the system prompt, the tools and the settings.
func differences(rec, got *asked, strict bool) (list []difference) {
	add := func(what, recorded, received string) {
		if !same(recorded, received) {
			list = append(list, difference{what, recorded, received})
		}
	}
	a, b := rec.request, got.request
	if rec.end != endGenerate {
		add("the path", rec.path, got.path)
	}
	add("the kind of request", sideName(rec.side), sideName(got.side))
	add("the model", a.model, b.model)
	add("streaming", fmt.Sprint(a.stream), fmt.Sprint(b.stream))
	add("a stream as one list", fmt.Sprint(a.array), fmt.Sprint(b.array))
	if rec.end == endGenerate || rec.end == endCount {
		for i := range min(len(rec.rounds), len(got.rounds)) {
			add(roundName(i, len(got.rounds)), rec.rounds[i], got.rounds[i])
		}
		add("the number of messages before each answer", fmt.Sprint(len(rec.rounds)), fmt.Sprint(len(got.rounds)))
		add("the schema of the answer", canonical(a.schema, ""), canonical(b.schema, ""))
	}
	if strict || rec.end == endUnknown {
		list = append(list, compareJSON(rec, got)...)
	}
	return list
}

func sideName(kind string) string {
	if kind == "" {
		return "turn"
	}
	return kind
}

func roundName(i, count int) string {
	if count == 1 {
		return "the message"
	}
	return fmt.Sprintf("message %d", i+1)
}

// canonical returns JSON with sorted keys and without noise in its texts, and any other text without noise.
func canonical(raw []byte, dir string) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return plain(string(raw), dir)
	}
	return plain(string(marshal([]any{v})), dir)
}

// compareJSON compares two bodies value by value.
func compareJSON(rec, got *asked) (list []difference) {
	var a, b any
	if json.Unmarshal(rec.body, &a) != nil || json.Unmarshal(got.body, &b) != nil {
		if x, y := plain(string(rec.body), rec.dir), plain(string(got.body), got.dir); !same(x, y) {
			list = append(list, difference{"the body", x, y})
		}
		return list
	}
	var walk func(path string, a, b any, depth int)
	walk = func(path string, a, b any, depth int) {
		switch x := a.(type) {
		case map[string]any:
			y, ok := b.(map[string]any)
			if !ok || depth == deepest {
				break
			}
			keys := map[string]bool{}
			for k := range x {
				keys[k] = true
			}
			for k := range y {
				keys[k] = true
			}
			sorted := make([]string, 0, len(keys))
			for k := range keys {
				sorted = append(sorted, k)
			}
			sort.Strings(sorted)
			for _, k := range sorted {
				walk(joinPath(path, k), x[k], y[k], depth+1)
			}
			return
		case []any:
			y, ok := b.([]any)
			if !ok || depth == deepest || len(x) != len(y) {
				break
			}
			for i := range x {
				walk(fmt.Sprintf("%s[%d]", path, i), x[i], y[i], depth+1)
			}
			return
		}
		if s, t := valueText(a, rec.dir), valueText(b, got.dir); !same(s, t) {
			list = append(list, difference{path, s, t})
		}
	}
	walk("", a, b, 0)
	return list
}

func valueText(v any, dir string) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return plain(v, dir)
	}
	return plain(string(marshal([]any{v})), dir)
}
