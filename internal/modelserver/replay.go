package modelserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/internal/base/jsontext"
	"github.com/drawbar/drawbar/internal/base/linefile"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/modelserver/cassette"
)

// ReplayOptions are the optional parts of a Replayer.
type ReplayOptions struct {
	// Strict compares everything in a request but noise: the system prompt, the tools and the settings too.
	Strict bool
	// Log receives one JSON line per finished request, as of a Server; its turn is the index of the recorded exchange.
	Log io.Writer
	// Logger receives the HTTP server's messages; nil discards them.
	Logger *slog.Logger
}

// Replayer answers requests from a cassette. It is an http.Handler, safe for concurrent use.
//
// A request gets the answer of the first recorded exchange that is the same and was not used yet, or of the last one that is
// the same. Requests are the same if they differ in noise only: ids, dates, times, addresses, paths of the home, temporary and
// working directory, what agents add to messages, headers, and the order of keys. Any other request is refused with what
// differs from the nearest one. Where the working directory differs, answers have the one of the request.
type Replayer struct {
	reception
	name string
	opts ReplayOptions
	said memory
	cut  error

	mu   sync.Mutex
	list []*known
}

var _ http.Handler = (*Replayer)(nil)

// OpenReplay reads a cassette. The error has the line and the fault.
func OpenReplay(path string, o ReplayOptions) (*Replayer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	list, err := cassette.Read(f)
	if err != nil && len(list) == 0 {
		return nil, err
	}
	p := &Replayer{reception: newReception(o.Log), name: path, opts: o, cut: err}
	for _, x := range list {
		r, err := p.said.prepare(x)
		if err != nil {
			return nil, &linefile.LineError{Line: x.Line, Err: err}
		}
		p.list = append(p.list, r)
	}
	if len(p.list) == 0 {
		return nil, &linefile.LineError{Line: 1, Err: fmt.Errorf("nothing is recorded after it")}
	}
	return p, nil
}

// Listen serves as Server.Listen does.
func (p *Replayer) Listen(ctx context.Context, addr string) (*Running, error) {
	return listen(ctx, addr, p, p.opts.Logger)
}

// Cut returns the line that a recorder that was killed left unfinished, nil if there is none. The exchanges before it answer.
func (p *Replayer) Cut() error { return p.cut }

// Unused returns how many recorded exchanges answered no request, and how many there are.
func (p *Replayer) Unused() (unused, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.list {
		if r.used == 0 {
			unused++
		}
	}
	return unused, len(p.list)
}

// ServeHTTP answers one request.
func (p *Replayer) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.receive(w, r, p.answer) }

func (p *Replayer) answer(x *exchange, body []byte) {
	secrets := secret.New(keysOf(x.http))
	x.request.redact(secrets)
	got := p.said.askedOf(x.end, x.http.Method, x.http.URL.EscapedPath(), x.side, x.request, scrub(body, secrets))
	index, rec, why := p.find(got)
	x.note(func(e *Request) { e.Turn, e.Exhausted = index, rec == nil })
	if rec == nil {
		x.refuse(http.StatusBadRequest, why)
		return
	}
	a := rec.Answer
	if rec.asked.dir != "" && got.dir != "" && rec.asked.dir != got.dir {
		before, after := rec.asked.dir, got.dir
		a.Rewrite(func(text string) string {
			if text = jsontext.ReplacePath(text, before, after); escaped(before) != before { // as the input of a tool has it
				text = jsontext.ReplacePath(text, escaped(before), escaped(after))
			}
			return text
		})
	}
	x.replay(a)
}

// escaped returns a text as it stands in a JSON string.
func escaped(text string) string {
	q := quote([]byte(text))
	return string(q[1 : len(q)-1])
}

// find returns the exchange that answers a request, or why there is none.
func (p *Replayer) find(got *asked) (index int, rec *known, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	index = -1
	for i, r := range p.list {
		if !r.asked.comparable(got) || len(differences(r.asked, got, p.opts.Strict)) > 0 {
			continue
		}
		index, rec = i, r
		if r.used == 0 {
			break
		}
	}
	if rec == nil && got.end == endGenerate && got.side != "" || got.end == endCount && rec == nil {
		// A program's own small requests repeat what was said, cut and counted in ways of their own; the conversation does not
		// depend on them.
		for i, r := range p.list {
			if r.asked.comparable(got) && r.asked.side == got.side && r.asked.request.stream == got.request.stream && !p.opts.Strict {
				index, rec = i, r
				if r.used == 0 {
					break
				}
			}
		}
	}
	if rec == nil {
		return -1, nil, p.explain(got)
	}
	rec.used++
	return index, rec, ""
}

// comparable reports whether two requests are of the same endpoint and wire.
func (a *asked) comparable(b *asked) bool {
	if a.end != b.end || a.method != b.method || a.request.wire != b.request.wire && a.end != endUnknown {
		return false
	}
	return a.end == endGenerate || a.end == endCount || a.path == b.path
}

// explain says what differs from the nearest recorded request.
func (p *Replayer) explain(got *asked) string {
	var nearest *known
	var diffs []jsontext.Difference
	best := -1
	for _, r := range p.list {
		if !r.asked.comparable(got) {
			continue
		}
		list := differences(r.asked, got, p.opts.Strict)
		if near := nearness(r, got, list); near > best {
			nearest, diffs, best = r, list, near
		}
	}
	advice := "; record it with: drawbar model record --append --to " + p.name
	if nearest == nil {
		return fmt.Sprintf("model replay: %s has no recorded request for %s %s%s", p.name, got.method, got.path, advice)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "model replay: no recorded request is the same; the nearest one is in line %d of %s", nearest.Line, p.name)
	for _, d := range jsontext.Describe(diffs) {
		b.WriteString("; " + d)
	}
	return b.String() + advice
}

// nearness is greater for a request that shares more.
func nearness(r *known, got *asked, list []jsontext.Difference) int {
	near := 0
	if r.asked.side == got.side {
		near += 1 << 40
	}
	for i := range min(len(r.asked.rounds), len(got.rounds)) {
		a, b := r.asked.rounds[i], got.rounds[i]
		if a != b {
			for k := 0; k < min(len(a), len(b), 1<<16) && a[k] == b[k]; k++ {
				near += 8
			}
			break
		}
		near += 1 << 30
	}
	if r.used == 0 {
		near += 4
	}
	return near - min(len(list), 1<<20)
}

// redact removes secrets from the texts that are compared, as a recording does.
func (r *request) redact(s *secret.Redactor) {
	r.system, r.last = s.Text(r.system), s.Text(r.last)
	for i, text := range r.rounds {
		r.rounds[i] = s.Text(text)
	}
}

// replay writes a recorded answer.
func (x *exchange) replay(a cassette.Answer) {
	h := x.w.Header()
	for name, value := range a.Header {
		h.Set(name, value)
	}
	pieces := a.Stream
	switch {
	case a.JSON != nil:
		pieces = []string{string(a.JSON)}
	case a.Text != "":
		pieces = []string{a.Text}
	case a.Base64 != nil:
		pieces = []string{string(a.Base64)}
	}
	if a.Stream == nil && !a.Cut {
		h.Set("Content-Length", fmt.Sprint(len(strings.Join(pieces, ""))))
	}
	x.w.WriteHeader(a.Status)
	x.note(func(e *Request) { e.Status = a.Status })
	for _, piece := range pieces {
		if x.http.Context().Err() != nil || !x.put([]byte(piece)) {
			x.note(func(e *Request) { e.Outcome = OutcomeClientGone })
			return
		}
	}
	if a.Cut {
		x.stop('c')
	}
	x.note(func(e *Request) { e.Outcome = OutcomeAnswered })
}
