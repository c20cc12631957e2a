package agent

import (
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
	"github.com/drawbar/drawbar/internal/base/secret"
)

const (
	// holdLimit is how long the end of a delta that may begin a secret is held.
	holdLimit = time.Second
	// holdBytes and holdEvents limit the held text of one stream and the held events after it.
	holdBytes  = 16 << 10
	holdEvents = 4096
	// tellingBytes is how much of a known secret may be shown before the rest is known.
	tellingBytes = 3
)

// hold removes secrets from a run's events before anybody sees them. Models emit a key in pieces of a few
// letters, so a single delta does not reveal it. A delta whose end may begin a secret therefore waits for the
// next one of its stream, or for the stream's end; an undecided rest moves to the next delta. The order of the
// events never changes: events after a held one wait too, at most holdLimit. It runs under emit's exclusion.
type hold struct {
	secrets *secret.Redactor
	follow  deltas.Slimmer
	streams map[deltas.Key]*stream
	logs    map[execution.LogSource]*secret.Lines
	queue   []*heldEvent
}

type heldEvent struct {
	event execution.Event
	of    *stream // of a delta that must change
	text  string  // its piece without secrets
	whole bool    // total replaces the accumulated text, which does not follow from the pieces
	total string
	by    *stream // the stream whose open end belongs to this event; nil if it can be shown
}

type stream struct {
	before byte   // the byte before open
	open   string // the end of the stream that may begin a secret
	shown  int    // this much of open was already shown or redacted
	last   *heldEvent
	since  time.Time
	// A stream without any secret is passed on unchanged; total is what another one has shown.
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

// clean removes secrets from an event that is complete by itself.
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

// line removes secrets from a line of output that appear only together with earlier lines.
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

// push adds the next event, after clean. It calls show immediately if nothing is held.
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
				h.force(st) // questions and acknowledgements must not wait
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
			end = len(rest) // the stream knows more of the preceding text
		}
		it.whole, it.total = true, found.Hide(0, end)
	}
	if !st.changed && (it.text != delta || it.whole && it.total != stated) {
		st.changed = true
		st.total.WriteString(strings.TrimSuffix(stated, delta)) // the original of what was shown so far
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

// enqueue adds an event after the held ones and releases the first of them when too many wait.
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

// end closes a stream: its held end can no longer become a secret.
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

// force releases a stream's event before the following text is known. A revealing part of a possible secret is
// redacted; the stream is still checked from where it was.
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

// tells reports whether enough of a secret is present to hide it. The scheme of an address is not.
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

// ready calls show with the events that can be shown and returns how long the first of the others may still be
// held; 0 if none is.
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

// shown returns the event as readers see it.
func (it *heldEvent) shown() execution.Event {
	e := it.event
	if it.of == nil {
		return e
	}
	if _, delta, _ := deltas.Of(e); it.text != delta {
		e.Raw = nil // the agent's raw line contains what was removed
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
