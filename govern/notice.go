package govern

import (
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// NoticeKind is what a notice is about. The outcome of a turn of a run of many turns is one too.
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

// Notice is something that happens while a command works.
type Notice struct {
	Kind     NoticeKind
	TurnID   string
	Role     string
	Text     string           // for a person
	Progress *Progress        // of kind progress
	Event    *execution.Event // of kind event
}

// Progress is what is known while the work goes on.
type Progress struct {
	Turn, Role, Runtime string
	Worker              string // what does the work: the program's or the agent's name, or "a person"
	Stage               Stage
	PID                 int
	Since               time.Time // the work began
	At                  time.Time
	LastSign            time.Time // of life; zero before the first
	Deadline            time.Time
	Lines               int64    // of output, or events
	Doing               string   // the tool or step that is under way, where that is known
	CostUSD             *float64 // nil while unknown
	Tokens              int64
}

// Stage is where the work stands.
type Stage string

// The stages.
const (
	StageWaiting  Stage = "waiting"  // for a person
	StageStarting Stage = "starting" // no sign of life yet
	StageRunning  Stage = "running"
	StageStopping Stage = "stopping"
)

// String is the progress in one line: who works, since when, at what cost.
func (p Progress) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s) %s for %s", p.Role, p.Runtime, p.Worker, p.Stage, Took(p.At.Sub(p.Since)))
	if p.Doing != "" {
		fmt.Fprintf(&b, ": %s", p.Doing)
	}
	switch {
	case p.Stage == StageWaiting:
	case p.LastSign.IsZero():
		b.WriteString(", no sign of life yet")
	default:
		fmt.Fprintf(&b, ", last sign of life %s ago", Took(p.At.Sub(p.LastSign)))
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

// Took is a duration as a person reads it.
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
