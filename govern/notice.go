package govern

import (
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// NoticeKind is the subject of a notice. The outcome of a turn within Run is also a kind.
type NoticeKind string

const (
	NoticeStarted    NoticeKind = "started"
	NoticeAssigned   NoticeKind = "assigned"
	NoticeIntent     NoticeKind = "intent"
	NoticeDispatched NoticeKind = "dispatched"
	NoticeProgress   NoticeKind = "progress"
	NoticeEvent      NoticeKind = "event"
	NoticeLog        NoticeKind = "log"
	NoticeOutput     NoticeKind = "output"
	NoticeHook       NoticeKind = "hook"
	NoticeRejected   NoticeKind = "rejected"
	NoticeRetry      NoticeKind = "retry"
	NoticeApproved   NoticeKind = "approved"
	NoticeMended     NoticeKind = "mended"
	NoticeWarning    NoticeKind = "warning"
)

// Notice reports something that happens while a method works.
type Notice struct {
	Kind     NoticeKind
	TurnID   string
	Role     string
	Text     string           // for a person
	Progress *Progress        // for kind progress
	Event    *execution.Event // for kind event
}

// Progress is the progress of running work.
type Progress struct {
	Turn, Role, Runtime string
	Worker              string // the program's or agent's name, or "a person"
	Stage               Stage
	PID                 int
	Since               time.Time // start of the work
	At                  time.Time
	LastSign            time.Time // last activity; zero before the first
	Deadline            time.Time
	Lines               int64    // lines of output, or events
	Doing               string   // the current tool or step, if known
	CostUSD             *float64 // nil if unknown
	Tokens              int64
}

// Stage is the stage of the work.
type Stage string

// The stages.
const (
	StageWaiting  Stage = "waiting"  // for a person
	StageStarting Stage = "starting" // no activity yet
	StageRunning  Stage = "running"
	StageStopping Stage = "stopping"
)

// String returns the progress on one line: worker, duration and cost.
func (p Progress) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s) %s for %s", p.Role, p.Runtime, p.Worker, p.Stage, Took(p.At.Sub(p.Since)))
	if p.Doing != "" {
		fmt.Fprintf(&b, ": %s", p.Doing)
	}
	switch {
	case p.Stage == StageWaiting:
	case p.LastSign.IsZero():
		b.WriteString(", no activity yet")
	default:
		fmt.Fprintf(&b, ", last activity %s ago", Took(p.At.Sub(p.LastSign)))
	}
	if p.Tokens > 0 {
		fmt.Fprintf(&b, ", %d tokens", p.Tokens)
	}
	if p.CostUSD != nil {
		fmt.Fprintf(&b, ", $%.4f", *p.CostUSD)
	}
	if !p.Deadline.IsZero() {
		if left := p.Deadline.Sub(p.At); left > 0 {
			fmt.Fprintf(&b, ", %s left", Took(left))
		}
	}
	return b.String()
}

// Took formats a duration for people.
func Took(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(time.Second).String()
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}
