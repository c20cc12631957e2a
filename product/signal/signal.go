// Package signal is how the parts of a product that work on one turn tell each other what the answer does not say: how sure they are, that they
// contradict each other, hand over, or need somebody (BYOH specification, connectivity).
package signal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Class is what a signal says.
type Class string

// The classes. The part before the dot is the message class.
const (
	AttentionRaise        Class = "attention.raise"
	ConfidenceHigh        Class = "confidence.high"
	ConfidenceMedium      Class = "confidence.medium"
	ConfidenceLow         Class = "confidence.low"
	ConfidenceBlocker     Class = "confidence.blocker" // it cannot go on
	ConflictActive        Class = "conflict.active"
	ConflictResolved      Class = "conflict.resolved"
	HandoffReady          Class = "handoff.ready"
	HandoffPartial        Class = "handoff.partial"
	EscalationInterrupt   Class = "escalation.interrupt" // stop everything
	EscalationUncertainty Class = "escalation.uncertainty"
)

var classes = []Class{AttentionRaise, ConfidenceHigh, ConfidenceMedium, ConfidenceLow, ConfidenceBlocker, ConflictActive, ConflictResolved, HandoffReady, HandoffPartial,
	EscalationInterrupt, EscalationUncertainty}

// Message is the message class: attention, confidence, conflict, handoff or escalation.
func (c Class) Message() string {
	m, _, _ := strings.Cut(string(c), ".")
	return m
}

// ConfidenceClass is the class of a confidence from 0 to 1: high from 0.8 on, medium from 0.4 on, low above 0, and a blocker at 0.
func ConfidenceClass(confidence float64) Class {
	switch {
	case confidence >= 0.8:
		return ConfidenceHigh
	case confidence >= 0.4:
		return ConfidenceMedium
	case confidence > 0:
		return ConfidenceLow
	}
	return ConfidenceBlocker
}

// Audience is for whom a signal is.
type Audience string

// The audiences.
const (
	Self        Audience = "self"
	Coordinator Audience = "coordinator"
	Selected    Audience = "selected" // whom Options.Selected names
	All         Audience = "all"
)

// Priority is how urgent a signal is.
type Priority string

// The priorities; empty is Normal. A critical signal is never taken for a repetition.
const (
	Low      Priority = "low"
	Normal   Priority = "normal"
	High     Priority = "high"
	Critical Priority = "critical"
)

// State is how far a signal is. The last three are final.
type State string

// The states.
const (
	Emitted    State = "emitted"
	Active     State = "active" // somebody was told
	Resolved   State = "resolved"
	Superseded State = "superseded" // by one that replaces it
	Expired    State = "expired"
)

// Final reports whether nothing follows.
func (s State) Final() bool { return s == Resolved || s == Superseded || s == Expired }

// Signal is what a part says.
type Signal struct {
	ID, ThreadID string
	Source       string
	Audience     Audience
	Class        Class
	Priority     Priority
	Confidence   *float64 // required for confidence and conflict
	Summary      string
	Details      string
	Replaces     string // id of one that this supersedes
	ExpiresAt    int    // the step at which it expires; 0 is never
	EmittedAt    time.Time
	State        State
	step         int // at which it was emitted
}

// Errors, for errors.Is.
var (
	ErrInvalid  = errors.New("the signal is not valid")
	ErrNotFound = errors.New("unknown signal")
	ErrFinal    = errors.New("the signal has ended")
)

// Options are the collaborators of a layer.
type Options struct {
	Now func() time.Time // nil is time.Now
	// Window is how long an equal signal (thread, source, class, audience) is a repetition; 0 is as long as the thread's step.
	Window time.Duration
	// Selected names the recipients of a signal for selected ones.
	Selected func(Signal) []string
	// Kept is how many ended signals of a thread are kept; 0 is 200. The oldest go first.
	Kept int
}

const (
	usualKept  = 200
	usualLimit = 50
)

// Layer carries signals. It is safe for concurrent use; handlers run without its lock.
type Layer struct {
	o        Options
	mu       sync.Mutex
	threads  map[string]*thread
	handlers []*func(Signal)
}

type thread struct {
	step    int
	signals []*Signal // oldest first
}

// New returns a layer.
func New(o Options) *Layer {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Kept <= 0 {
		o.Kept = usualKept
	}
	return &Layer{o: o, threads: map[string]*thread{}}
}

// On calls f with every signal, and again at each change of its state, until off is called. A panic of f does not reach who emits.
func (l *Layer) On(f func(Signal)) (off func()) {
	h := &f
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handlers = append(l.handlers, h)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.handlers = slices.DeleteFunc(l.handlers, func(have *func(Signal)) bool { return have == h })
	}
}

// tell calls the handlers; it returns how many there were.
func (l *Layer) tell(list ...Signal) int {
	l.mu.Lock()
	handlers := slices.Clone(l.handlers)
	l.mu.Unlock()
	for _, s := range list {
		for _, h := range handlers {
			func() {
				defer func() { _ = recover() }()
				(*h)(s)
			}()
		}
	}
	return len(handlers)
}

func (s Signal) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case strings.TrimSpace(s.ThreadID) == "" || strings.TrimSpace(s.Source) == "" || strings.TrimSpace(s.Summary) == "":
		return bad("it needs a thread, a source and a summary")
	case !slices.Contains([]Audience{Self, Coordinator, Selected, All}, s.Audience):
		return bad("the audience %q is unknown", s.Audience)
	case !slices.Contains(classes, s.Class):
		return bad("the class %q is unknown", s.Class)
	case !slices.Contains([]Priority{Low, Normal, High, Critical}, s.Priority):
		return bad("the priority %q is unknown", s.Priority)
	case s.ExpiresAt < 0:
		return bad("it expires at step %d", s.ExpiresAt)
	}
	m := s.Class.Message()
	switch {
	case s.Confidence == nil && (m == "confidence" || m == "conflict"):
		return bad("%s needs a confidence", s.Class)
	case s.Confidence == nil:
		return nil
	case math.IsNaN(*s.Confidence) || *s.Confidence < 0 || *s.Confidence > 1:
		return bad("the confidence %v is not from 0 to 1", *s.Confidence)
	case m == "confidence" && ConfidenceClass(*s.Confidence) != s.Class:
		return bad("a confidence of %v is %s, not %s", *s.Confidence, ConfidenceClass(*s.Confidence), s.Class)
	}
	return nil
}

// Emit sends a signal and returns it as it is then. A repetition is not sent: the signal that is repeated is returned.
func (l *Layer) Emit(s Signal) (Signal, error) {
	if s.Priority == "" {
		s.Priority = Normal
	}
	if err := s.check(); err != nil {
		return s, err
	}
	l.mu.Lock()
	t := l.threads[s.ThreadID]
	var replaced *Signal
	if s.Replaces != "" {
		if t != nil {
			replaced = t.find(s.Replaces)
		}
		if replaced == nil {
			l.mu.Unlock()
			return s, fmt.Errorf("%s: %w in its thread", s.Replaces, ErrNotFound)
		}
	}
	if t == nil {
		t = &thread{}
		l.threads[s.ThreadID] = t
	}
	now := l.o.Now()
	if had := t.repeated(s, now, l.o.Window); had != nil {
		same := *had
		l.mu.Unlock()
		return same, nil
	}
	var changed []Signal
	if replaced != nil {
		if replaced.State.Final() {
			l.mu.Unlock()
			return s, fmt.Errorf("%s: %w: %s", s.Replaces, ErrFinal, replaced.State)
		}
		replaced.State = Superseded
		changed = append(changed, *replaced)
	}
	s.ID, s.EmittedAt, s.State, s.step = "sig_"+rand.Text(), now, Emitted, t.step
	if c := s.Confidence; c != nil {
		own := *c
		s.Confidence = &own
	}
	kept := s
	t.signals = append(t.signals, &kept)
	t.prune(l.o.Kept)
	l.mu.Unlock()
	if l.tell(append(changed, s)...) == 0 {
		return s, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if kept.State == Emitted { // a handler may have resolved it
		kept.State = Active
	}
	return kept, nil
}

func (t *thread) find(id string) *Signal {
	for _, s := range t.signals {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// repeated returns the signal that s repeats.
func (t *thread) repeated(s Signal, now time.Time, window time.Duration) *Signal {
	if s.Priority == Critical {
		return nil
	}
	for _, had := range t.signals {
		switch {
		case had.State.Final() || had.Source != s.Source || had.Class != s.Class || had.Audience != s.Audience:
		case s.Priority == High && s.Class.Message() == "escalation" && had.Summary != s.Summary:
		case window == 0 && had.step == t.step, window > 0 && now.Sub(had.EmittedAt) <= window:
			return had
		}
	}
	return nil
}

// prune forgets the oldest of many ended signals.
func (t *thread) prune(kept int) {
	ended := 0
	for _, s := range t.signals {
		if s.State.Final() {
			ended++
		}
	}
	t.signals = slices.DeleteFunc(t.signals, func(s *Signal) bool {
		if ended > kept && s.State.Final() {
			ended--
			return true
		}
		return false
	})
}

// Recipients are the names of those a signal is for: the coordinator is "coordinator".
func (l *Layer) Recipients(s Signal) (names []string) {
	switch s.Audience {
	case Self:
		return []string{s.Source}
	case Coordinator:
		return []string{"coordinator"}
	case Selected:
		if l.o.Selected != nil {
			return l.o.Selected(s)
		}
		return nil
	}
	names = []string{"coordinator"}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.threads[s.ThreadID]; t != nil {
		for _, had := range t.signals {
			if !slices.Contains(names, had.Source) {
				names = append(names, had.Source)
			}
		}
	}
	return names
}

// Resolve ends a signal; one that is resolved stays so, one that ended otherwise is ErrFinal.
func (l *Layer) Resolve(id string) (Signal, error) {
	l.mu.Lock()
	for _, t := range l.threads {
		s := t.find(id)
		if s == nil {
			continue
		}
		if s.State == Resolved {
			defer l.mu.Unlock()
			return *s, nil
		}
		if s.State.Final() {
			defer l.mu.Unlock()
			return *s, fmt.Errorf("%s: %w: %s", id, ErrFinal, s.State)
		}
		s.State = Resolved
		now := *s
		l.mu.Unlock()
		l.tell(now)
		return now, nil
	}
	l.mu.Unlock()
	return Signal{}, fmt.Errorf("%s: %w", id, ErrNotFound)
}

// Query selects signals of a thread. Zero values select all, but States: emitted and active ones.
type Query struct {
	ThreadID, Source string
	Message          string // message class
	Class            Class
	Priority         Priority
	States           []State
	Since, Before    time.Time
	Oldest           bool // first; else the newest
	Limit            int  // 0 is 50
}

// Query returns signals.
func (l *Layer) Query(q Query) (list []Signal) {
	if len(q.States) == 0 {
		q.States = []State{Emitted, Active}
	}
	if q.Limit <= 0 {
		q.Limit = usualLimit
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.threads[q.ThreadID]
	if t == nil {
		return nil
	}
	for _, s := range t.signals {
		if (q.Source == "" || s.Source == q.Source) && (q.Message == "" || s.Class.Message() == q.Message) && (q.Class == "" || s.Class == q.Class) &&
			(q.Priority == "" || s.Priority == q.Priority) && slices.Contains(q.States, s.State) && (q.Since.IsZero() || s.EmittedAt.After(q.Since)) && (q.Before.IsZero() || s.EmittedAt.Before(q.Before)) {
			list = append(list, *s)
		}
	}
	if !q.Oldest {
		slices.Reverse(list)
	}
	return list[:min(len(list), q.Limit)]
}

// Advance begins the next step of a thread: repetitions count anew, and signals whose step has come expire.
func (l *Layer) Advance(threadID string) {
	l.mu.Lock()
	t := l.threads[threadID]
	if t == nil {
		t = &thread{}
		l.threads[threadID] = t
	}
	t.step++
	var expired []Signal
	for _, s := range t.signals {
		if !s.State.Final() && s.ExpiresAt > 0 && s.ExpiresAt <= t.step {
			s.State = Expired
			expired = append(expired, *s)
		}
	}
	l.mu.Unlock()
	l.tell(expired...)
}

// Forget drops a thread and its signals.
func (l *Layer) Forget(threadID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.threads, threadID)
}
