package agent

import (
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
	"github.com/drawbar/drawbar/internal/base/secret"
)

const (
	// holdLimit bounds how long the end of a delta that may be the beginning of a secret is kept back.
	holdLimit = time.Second
	// holdBytes bounds how much of one stream, and holdEvents how many events behind it, are kept back.
	holdBytes  = 16 << 10
	holdEvents = 4096
	// tellingBytes is how much of a known secret may be shown before it is known whether the rest follows.
	tellingBytes = 3
)

// hold takes the secrets out of the events of a run before anybody sees them. Models say a key in pieces of a few letters, so no delta
// alone shows it. A delta whose end may be the beginning of a secret therefore waits for the next of its stream, or for the
// stream's end; what even that does not decide moves to the next. The order of the events never changes: what comes after a kept
// event waits behind it, at most holdLimit. It runs under emit's exclusion.
type hold struct {
	secrets *secret.Redactor
	follow  deltas.Slimmer
	streams map[deltas.Key]*stream
	logs    map[execution.LogSource]*secret.Lines
	queue   []*heldEvent
}

type heldEvent struct {
	event execution.Event
	of    *stream // of a delta that cannot go as it is
	text  string  // its piece without secrets
	whole bool    // total replaces the text so far, which does not follow from the pieces
	total string
	by    *stream // the stream whose open end belongs to this event; nil when it can go
}

type stream struct {
	before byte   // the byte in front of open
	open   string // the end of the stream that may be the beginning of a secret
	shown  int    // so much of open was shown already, or its redaction
	last   *heldEvent
	since  time.Time
	// A stream that never had anything to keep back or to take out is passed on as it is; total is what another has shown.
	changed bool
	total   strings.Builder
}

func (it *heldEvent) add(text string) {
	it.text += text
	if it.whole {
		it.total += text
	}
}

func newHold(values []string) *hold {
	return &hold{secrets: secret.New(values), streams: map[deltas.Key]*stream{}}
}

// clean takes the secrets out of an event that stands for itself.
func (h *hold) clean(e execution.Event) execution.Event {
	switch b := e.Body.(type) {
	case execution.TextDelta, execution.ThinkingDelta, execution.ToolInputDelta, execution.ShellStdoutDelta, execution.ShellStderrDelta:
		if e.Raw != nil {
			e.Raw = secret.Deep(h.secrets, e.Raw)
		}
		return e
	case execution.Log:
		e.Body = h.line(b)
	default:
		e.Body = secret.Deep(h.secrets, e.Body)
	}
	e.Raw = secret.Deep(h.secrets, e.Raw)
	return e
}

// line takes out of a line of output what it only shows together with the lines before it.
func (h *hold) line(b execution.Log) execution.Log {
	lines := h.logs[b.Source]
	if lines == nil {
		if h.logs == nil {
			h.logs = map[execution.LogSource]*secret.Lines{}
		}
		lines = &secret.Lines{Redactor: h.secrets}
		h.logs[b.Source] = lines
	}
	b.Line = lines.Text(b.Line)
	return b
}

// push takes the next event, which clean has seen. It calls show with it at once where nothing is kept back.
func (h *hold) push(e execution.Event, now time.Time, show func(execution.Event)) {
	follows := h.follow.Follows(e)
	key, delta, ok := deltas.Of(e)
	for _, k := range deltas.Ends(e) {
		h.end(k)
	}
	if !ok {
		switch e.Body.(type) {
		case execution.Finished:
			h.endAll()
		case execution.ApprovalRequired, execution.InputRequired, execution.Interrupted, execution.Aborted, execution.Timeout, execution.Paused:
			for _, st := range h.streams {
				h.force(st) // nobody waits for a second to be asked, or to see that they were heard
			}
		}
		h.enqueue(heldEvent{event: e}, show)
		return
	}
	st := h.streams[key]
	if st == nil {
		st = &stream{}
		h.streams[key] = st
	}
	text, base := delta, st.shown
	if st.open != "" {
		text = st.open + delta
	}
	found := h.secrets.Find(text, st.before)
	open := found.Open
	if st.last != nil {
		if n := len(st.open); open >= n && found.Hide(base, n) == text[base:n] {
			st.last.add(text[base:n])
			base = n
		}
		st.last.by, st.last = nil, nil
	}
	it := heldEvent{event: e, text: found.Hide(base, open)}
	stated, _ := deltas.Accumulated(e.Body)
	if !follows {
		found := h.secrets.Find(stated, 0)
		end := found.Open
		if rest, ok := strings.CutSuffix(stated, text[open:]); ok {
			end = len(rest) // the stream knows more of what came before
		}
		it.whole, it.total = true, found.Hide(0, end)
	}
	if !st.changed && (it.text != delta || it.whole && it.total != stated) {
		st.changed = true
		st.total.WriteString(strings.TrimSuffix(stated, delta)) // what was shown so far, as it was said
	}
	if st.changed {
		it.of = st
	}
	if open > 0 {
		st.before = text[open-1]
	}
	st.open, st.shown, st.since = text[open:], max(0, base-open), now
	if len(st.open) > st.shown {
		it.by = st
	}
	h.enqueue(it, show)
	if n := len(st.open); n > holdBytes {
		h.force(st)
		st.before, st.open, st.shown = st.open[n-1], "", 0
	}
}

// enqueue puts an event behind those that are kept back, and lets the first of them go when too many wait behind it.
func (h *hold) enqueue(it heldEvent, show func(execution.Event)) {
	if len(h.queue) == 0 && it.by == nil {
		show(it.shown())
		return
	}
	kept := new(heldEvent)
	*kept = it
	if kept.by != nil {
		kept.by.last = kept
	}
	h.queue = append(h.queue, kept)
	if len(h.queue) > holdEvents {
		h.force(h.queue[0].by)
	}
}

// end closes a stream: the end that it kept back can no longer become a secret.
func (h *hold) end(k deltas.Key) {
	st := h.streams[k]
	if st == nil {
		return
	}
	if st.last != nil {
		st.last.add(h.secrets.Find(st.open, st.before).Hide(st.shown, len(st.open)))
		st.last.by = nil
	}
	delete(h.streams, k)
}

func (h *hold) endAll() {
	for k := range h.streams {
		h.end(k)
	}
}

// force lets the event of a stream go before it is known how its text goes on. So much of a secret that it would tell
// something is redacted on suspicion; the stream goes on being watched from where it was.
func (h *hold) force(st *stream) {
	if st == nil || st.last == nil {
		return
	}
	if tells(st.open) {
		st.last.add(secret.Mark)
	} else {
		st.last.add(st.open[st.shown:])
	}
	st.shown = len(st.open)
	st.last.by, st.last = nil, nil
}

// tells reports whether so much of a secret is there that it may not be shown. The scheme of an address is none.
func tells(open string) bool {
	for _, scheme := range []string{"https://", "http://"} {
		if strings.HasPrefix(scheme, open) {
			return false
		}
	}
	if _, rest, ok := strings.Cut(open, "://"); ok {
		open = rest
	}
	return len(open) > tellingBytes
}

// ready calls show with the events that can go, and says how long the first of the others may still be kept: 0 when nothing is.
func (h *hold) ready(now time.Time, show func(execution.Event)) (wait time.Duration) {
	n := 0
	for ; n < len(h.queue); n++ {
		it := h.queue[n]
		if it.by != nil {
			if wait = holdLimit - now.Sub(it.by.since); wait > 0 {
				break
			}
			h.force(it.by)
		}
		show(it.shown())
	}
	if n == len(h.queue) {
		wait = 0
	}
	clear(h.queue[:n])
	h.queue = append(h.queue[:0], h.queue[n:]...)
	return wait
}

// shown is the event as it goes.
func (it *heldEvent) shown() execution.Event {
	e := it.event
	if it.of == nil {
		return e
	}
	if _, delta, _ := deltas.Of(e); it.text != delta {
		e.Raw = nil // the agent's own line has what was taken out
	}
	e.Body = deltas.With(e.Body, it.text)
	if stated, _ := deltas.Accumulated(e.Body); stated == "" {
		return e
	}
	total := &it.of.total
	if it.whole {
		total.Reset()
		total.WriteString(it.total)
	} else {
		total.WriteString(it.text)
	}
	e.Body = deltas.WithAccumulated(e.Body, total.String())
	return e
}
