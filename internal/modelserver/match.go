package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/drawbar/drawbar/internal/base/jsontext"
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
func (m *memory) askedOf(end endpoint, method, path, side string, r *request, body []byte) *asked {
	path, _, _ = strings.Cut(path, "?")
	a := &asked{end: end, method: method, path: path, side: side, request: r, body: anonymous(body)}
	a.dir = dirOf(append([]string{r.system}, r.rounds...)...)
	for _, text := range r.rounds {
		a.rounds = append(a.rounds, m.of(text, a.dir))
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
func (m *memory) prepare(x cassette.Exchange) (*known, error) {
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
	return &known{Exchange: x, asked: m.askedOf(end, r.Method, x.Request.Path, x.Request.Side, q, x.Request.Body)}, nil
}

// differences compares a recorded request with a received one of the same endpoint and wire. strict compares everything but noise;
// otherwise it is the model, the form of the answer, and what was said: not the system prompt, the tools and the settings.
func differences(rec, got *asked, strict bool) (list []jsontext.Difference) {
	add := func(what, recorded, received string) {
		if !jsontext.Same(recorded, received) {
			list = append(list, jsontext.Difference{What: what, Recorded: recorded, Received: received})
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
		list = append(list, jsontext.Compare("the body", rec.body, got.body, func(text string) string { return plain(text, rec.dir) },
			func(text string) string { return plain(text, got.dir) })...)
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
