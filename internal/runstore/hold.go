package runstore

import (
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/secret"
)

const (
	// holdLimit bounds how long the end of a delta that may be the beginning of a secret is kept back.
	holdLimit = time.Second
	// holdBytes bounds how much of one stream, and holdEvents how many events behind it, are kept back.
	holdBytes  = 16 << 10
	holdEvents = 4096
	// tellingBytes is how much of a known secret may be written when nobody knows yet whether the rest follows.
	tellingBytes = 3
)

// hold sits between the queue and the file. Models say a key in pieces of a few letters, so no delta alone shows it; the
// end of a delta that may be the beginning of a secret is therefore moved to the next delta of the same stream, or comes out
// when the stream ends. The order of the events never changes: what comes after a kept event waits behind it, at most
// holdLimit. It is used by one goroutine.
type hold struct {
	secrets *secret.Redactor
	streams map[streamKey]*stream
	logs    map[execution.LogSource]*secret.Lines
	queue   []*heldEvent
}

type heldEvent struct {
	event execution.Event
	text  string  // of a delta: what is written
	total string  // of a delta that states the text so far: what is written of that
	delta bool    // text replaces the delta's own
	by    *stream // the stream whose open end belongs to this event; nil when it can be written
}

type stream struct {
	before byte   // the byte in front of open
	open   string // the end of the stream that may be the beginning of a secret
	shown  int    // so much of open was written already, or its redaction
	last   *heldEvent
	since  time.Time
}

func (it *heldEvent) add(text string) {
	it.text += text
	if it.total != "" {
		it.total += text
	}
}

func newHold(s *secret.Redactor) *hold {
	return &hold{secrets: s, streams: map[streamKey]*stream{}, logs: map[execution.LogSource]*secret.Lines{}}
}

// push takes the next event.
func (h *hold) push(e execution.Event, now time.Time) {
	key, delta, ok := deltaOf(e)
	for _, k := range endsOf(e) {
		h.end(k)
	}
	if !ok {
		if _, last := e.Body.(execution.Finished); last {
			h.endAll()
		}
		h.enqueue(&heldEvent{event: h.log(e)})
		return
	}
	st := h.streams[key]
	if st == nil {
		st = &stream{}
		h.streams[key] = st
	}
	if st.last != nil {
		st.last.by, st.last = nil, nil
	}
	text, base := st.open+delta, st.shown
	found := h.secrets.Find(text, st.before)
	open := found.Open
	it := &heldEvent{event: e, delta: true, text: found.Hide(base, open)}
	if it.text != delta {
		it.event.Raw = nil // the agent's own line has what was taken out
	}
	if stated, _ := accumulatedOf(e.Body); stated != "" {
		found := h.secrets.Find(stated, 0)
		it.total = found.Hide(0, found.Open)
	}
	if open > 0 {
		st.before = text[open-1]
	}
	st.open, st.shown, st.since = text[open:], max(0, base-open), now
	if len(st.open) > st.shown {
		st.last, it.by = it, st
	}
	h.enqueue(it)
	if n := len(st.open); n > holdBytes {
		h.force(st)
		st.before, st.open, st.shown = st.open[n-1], "", 0
	}
}

// log takes out of a line of output what it only shows together with the lines before it.
func (h *hold) log(e execution.Event) execution.Event {
	b, ok := e.Body.(execution.Log)
	if !ok {
		return e
	}
	lines := h.logs[b.Source]
	if lines == nil {
		lines = &secret.Lines{Redactor: h.secrets}
		h.logs[b.Source] = lines
	}
	if clean := lines.Text(b.Line); clean != b.Line {
		b.Line = clean
		e.Body, e.Raw = b, nil
	}
	return e
}

// enqueue lets the first event go when too many wait behind it.
func (h *hold) enqueue(it *heldEvent) {
	h.queue = append(h.queue, it)
	if len(h.queue) > holdEvents {
		h.force(h.queue[0].by)
	}
}

// end closes a stream: what it kept back is no beginning of anything any more.
func (h *hold) end(k streamKey) {
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

// tells reports whether so much of a secret is there that it may not be written. The scheme of an address is none.
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

// ready takes out the events that can be written, and says how long the first of the others may still be kept: 0 when
// nothing is.
func (h *hold) ready(now time.Time) (out []execution.Event, wait time.Duration) {
	n := 0
	for ; n < len(h.queue); n++ {
		it := h.queue[n]
		if it.by != nil {
			if wait = holdLimit - now.Sub(it.by.since); wait > 0 {
				break
			}
			h.force(it.by)
		}
		e := it.event
		if it.delta {
			e.Body = withDelta(e.Body, it.text)
			if it.total != "" {
				e.Body = withAccumulated(e.Body, it.total)
			}
		}
		out = append(out, e)
	}
	if n == len(h.queue) {
		wait = 0
	}
	h.queue = append(h.queue[:0], h.queue[n:]...)
	return out, wait
}
