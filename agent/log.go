package agent

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync"

	"github.com/drawbar/drawbar/execution"
)

// eventLog keeps the events of a run for any number of readers. It is limited to max events: when full, the
// oldest quarter is dropped, and a reader that missed them receives a Gap with their count. Events that a
// holding reader has not read are kept up to twice the limit. It is safe for concurrent use.
type eventLog struct {
	mu      sync.Mutex
	ring    []execution.Event // an event is at its Seq modulo the length, which is a power of two
	base    uint64            // Seq of the oldest event
	next    uint64            // Seq of the next event
	max     int
	closed  bool
	lifted  bool // the source does not wait for a holding reader until one reads again
	holders int
	readers map[*reader]struct{}
	room    chan struct{} // closed and replaced when a holding reader advances or holding is lifted
}

type reader struct {
	next uint64 // first Seq not yet returned
	hold bool
	wake chan struct{} // buffered, one signal is enough
}

func newEventLog(max int) *eventLog {
	return &eventLog{base: 1, next: 1, max: max, readers: map[*reader]struct{}{}, room: make(chan struct{})}
}

// append adds a stamped event and wakes the readers.
func (l *eventLog) append(e execution.Event, last bool) {
	l.mu.Lock()
	if l.kept() >= l.max {
		l.dropLocked()
	}
	if l.kept() == len(l.ring) {
		l.growLocked()
	}
	*l.at(l.next) = e
	l.next++
	l.closed = l.closed || last
	for r := range l.readers {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
	l.mu.Unlock()
}

// quarter returns how many events to drop at once.
func (l *eventLog) quarter() uint64 { return uint64(max(l.max/4, 1)) }

func (l *eventLog) dropLocked() {
	drop := l.quarter()
	if need, held := l.heldLocked(); held && l.kept() < 2*l.max {
		drop = min(drop, need-l.base)
	}
	for ; drop > 0; drop-- {
		*l.at(l.base) = execution.Event{}
		l.base++
	}
}

// kept returns the number of kept events.
func (l *eventLog) kept() int { return int(l.next - l.base) } //nolint:gosec // at most twice max

func (l *eventLog) at(seq uint64) *execution.Event { return &l.ring[seq&uint64(len(l.ring)-1)] }

func (l *eventLog) growLocked() {
	old := eventLog{ring: l.ring}
	l.ring = make([]execution.Event, max(2*len(old.ring), readBatch))
	for seq := l.base; seq < l.next; seq++ {
		*l.at(seq) = *old.at(seq)
	}
}

// heldLocked returns the oldest event that a holding reader still needs.
func (l *eventLog) heldLocked() (need uint64, held bool) {
	if l.holders == 0 {
		return 0, false
	}
	need = math.MaxUint64
	for r := range l.readers {
		if r.hold {
			need, held = min(need, max(r.next, l.base)), true
		}
	}
	return need, held
}

// full returns a channel to wait on if a holding reader is about to lose events, nil otherwise.
func (l *eventLog) full() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holders == 0 || l.lifted || l.kept() < l.max {
		return nil
	}
	if need, held := l.heldLocked(); held && need < l.base+l.quarter() {
		return l.room
	}
	return nil
}

// lift releases a source that full makes wait, until a holding reader reads again.
func (l *eventLog) lift() {
	l.mu.Lock()
	if l.holders > 0 {
		l.lifted = true
		l.roomLocked()
	}
	l.mu.Unlock()
}

func (l *eventLog) roomLocked() {
	close(l.room)
	l.room = make(chan struct{})
}

const readBatch = 256

// read yields the events after seq, then live ones until the end.
func (l *eventLog) read(ctx context.Context, after uint64, hold bool) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		r := &reader{next: min(after, math.MaxUint64-1) + 1, hold: hold, wake: make(chan struct{}, 1)}
		l.enter(r)
		defer l.leave(r)
		buf := make([]execution.Event, 0, readBatch)
		for {
			gap, events, ended := l.take(r, buf[:0])
			left := len(events)
			if gap.Count > 0 {
				head := execution.Event{Seq: gap.To, Body: gap}
				if len(events) > 0 {
					head.Time, head.RunID, head.Agent = events[0].Time, events[0].RunID, events[0].Agent
				}
				if !yield(head, nil) {
					return
				}
			}
			for _, e := range events {
				if ctx.Err() != nil {
					break
				}
				if !yield(e, nil) {
					return
				}
				left--
			}
			switch {
			case left == 0 && ended:
				return
			case ctx.Err() != nil:
				yield(execution.Event{}, fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx)))
				return
			case len(events) > 0:
				continue
			}
			select {
			case <-r.wake:
			case <-ctx.Done():
			}
		}
	}
}

func (l *eventLog) enter(r *reader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers[r] = struct{}{}
	if r.hold {
		l.holders++
	}
}

func (l *eventLog) leave(r *reader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.readers, r)
	if r.hold {
		l.holders--
		l.roomLocked()
	}
}

// take advances a reader by at most one batch. ended means that nothing follows the returned events.
func (l *eventLog) take(r *reader, buf []execution.Event) (gap execution.Gap, events []execution.Event, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.next < l.base {
		gap = execution.Gap{Count: l.base - r.next, From: r.next, To: l.base - 1}
		r.next = l.base
	}
	if r.next < l.next {
		for ; r.next < l.next && len(buf) < readBatch; r.next++ {
			buf = append(buf, *l.at(r.next))
		}
	}
	if r.hold && len(buf) > 0 {
		l.lifted = false
		l.roomLocked()
	}
	return gap, buf, l.closed && r.next >= l.next
}
