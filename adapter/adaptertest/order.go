package adaptertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// CheckOrder checks the whole stream of one run, as a reader sees it, against the ordering contract of the agent-mux
// specification and against the run's result. It reports every violation, joined.
//
// The contract: numbers and times ascend; the session comes first and its end last; turns do not overlap and contain
// everything an agent does; thinking precedes text within one generation; a tool call starts, becomes ready and ends
// once, contains its shell events and precedes its file events; a question precedes its one answer, and its tool
// waits; a message is queued, then taken or cancelled; nothing of the agent follows the terminal error; finished
// comes once and last, with the result. Text, usage and cost of the result equal those of the stream. For a reader
// that was too slow the stream has a gap: then only numbers, times and the end are checked.
func CheckOrder(events []execution.Event, result execution.Result) error {
	o := newOrder()
	for i, e := range events {
		o.event(i, e, i == len(events)-1)
	}
	o.end(events, result)
	return errors.Join(o.faults...)
}

// toolState is the state of a tool call.
type toolState struct {
	started, ready, ended bool
	shell                 bool
	question              execution.QuestionID
}

type order struct {
	faults  []error
	seq     uint64
	gap     bool
	last    execution.Event
	session bool
	ended   bool // session_end seen
	turns   int
	open    bool
	steps   map[int]bool // steps of the open turn; true while open
	texts   map[string]*strings.Builder
	talking map[string]bool // a message of this parent has text and is open
	tools   map[string]*toolState
	asked   map[execution.QuestionID]bool // true while unanswered
	inputs  map[execution.InputID]bool    // true while neither taken nor cancelled
	retried bool
	text    strings.Builder
	usage   execution.Usage
	usd     float64
	priced  bool
	errorAt int // index of the last error event, -1 for none
	after   string
}

func newOrder() *order {
	return &order{steps: map[int]bool{}, texts: map[string]*strings.Builder{}, talking: map[string]bool{}, tools: map[string]*toolState{},
		asked: map[execution.QuestionID]bool{}, inputs: map[execution.InputID]bool{}, errorAt: -1}
}

func (o *order) addf(e execution.Event, format string, args ...any) {
	kind := execution.EventType("no body")
	if e.Body != nil {
		kind = e.Body.Type()
	}
	o.faults = append(o.faults, fmt.Errorf("event %d %s: %s", e.Seq, kind, fmt.Sprintf(format, args...)))
}

// content are the groups of events that an agent produces within a turn.
var content = []string{"text", "thinking", "tool", "file", "shell", "mcp", "subagent"}

func (o *order) event(i int, e execution.Event, last bool) {
	o.head(e, last)
	if e.Body == nil {
		return
	}
	if gap, ok := e.Body.(execution.Gap); ok {
		o.gap = true
		if gap.Count != gap.To-gap.From+1 {
			o.addf(e, "counts %d lost events from %d to %d", gap.Count, gap.From, gap.To)
		}
		o.seq = gap.To
		return
	}
	if o.gap {
		return
	}
	group := execution.EventGroup(e.Body.Type())
	o.place(e, group)
	o.account(e)
	if o.errorAt >= 0 && (slices.Contains(content, group) || e.Body.Type() == "turn_start" || group == "interaction" || group == "image") {
		o.after = string(e.Body.Type())
	}
	if group == "error" {
		o.errorAt, o.after = i, ""
	}
	switch group {
	case "session", "turn":
		if e.Parent == "" {
			o.frame(e)
		}
	case "text", "thinking":
		o.speech(e)
	case "tool", "mcp", "file", "shell":
		o.work(e)
	case "interaction", "drawbar":
		o.exchange(e)
	}
	if retry, ok := e.Body.(execution.Retry); ok && retry.Attempt > 0 {
		o.retried = true // the next attempt starts anew
		clear(o.tools)
	}
}

// head checks what every event has.
func (o *order) head(e execution.Event, last bool) {
	if e.Body == nil {
		o.addf(e, "has no body")
		return
	}
	if _, gap := e.Body.(execution.Gap); !gap && e.Seq != o.seq+1 {
		o.addf(e, "follows number %d", o.seq)
	}
	o.seq = e.Seq
	if e.Time.IsZero() || e.Time.Before(o.last.Time) {
		o.addf(e, "its time %v is before %v", e.Time, o.last.Time)
	}
	if e.RunID == "" || o.last.RunID != "" && e.RunID != o.last.RunID {
		o.addf(e, "is of run %q, the previous one of %q", e.RunID, o.last.RunID)
	}
	if e.Agent == "" {
		o.addf(e, "names no agent")
	}
	if e.Terminal() != last {
		if last {
			o.addf(e, "is the last event and not finished")
		} else {
			o.addf(e, "is not the last event")
		}
	}
	o.last = e
}

// place checks the session and the turn around an event.
func (o *order) place(e execution.Event, group string) {
	kind := e.Body.Type()
	switch group {
	case "debug", "drawbar", "control", "error", "limits":
	case "session":
		if kind != "session_start" && !o.session {
			o.addf(e, "comes before session_start")
		}
	default:
		if !o.session && kind != "cost" && kind != "token_usage" {
			o.addf(e, "comes before session_start")
		}
	}
	if o.ended && group != "debug" && group != "drawbar" {
		o.addf(e, "comes after session_end")
	}
	inTurn := slices.Contains(content, group) || kind == "step_start" || kind == "step_end" || kind == "approval_request" || kind == "input_required" || kind == "image_output"
	if inTurn && !o.open {
		o.addf(e, "is outside any turn")
	}
	if o.open && e.Turn != o.turns-1 {
		o.addf(e, "says turn %d within turn %d", e.Turn, o.turns-1)
	}
}

// frame checks sessions, turns and steps of the agent itself.
func (o *order) frame(e execution.Event) {
	switch b := e.Body.(type) {
	case execution.SessionStart:
		o.session = true
	case execution.SessionEnd:
		o.ended = true
		if o.open {
			o.addf(e, "comes within turn %d", o.turns-1)
		}
		if b.TurnCount != o.turns {
			o.addf(e, "counts %d turns of %d", b.TurnCount, o.turns)
		}
	case execution.TurnStart:
		if o.open {
			o.addf(e, "comes within turn %d", o.turns-1)
		}
		if b.TurnIndex != o.turns {
			o.addf(e, "has index %d, want %d", b.TurnIndex, o.turns)
		}
		o.turns++
		o.open = true
		clear(o.steps)
		clear(o.talking)
		clear(o.texts)
	case execution.TurnEnd:
		if !o.open {
			o.addf(e, "ends no turn")
		}
		if b.TurnIndex != o.turns-1 {
			o.addf(e, "has index %d, want %d", b.TurnIndex, o.turns-1)
		}
		if b.Reason == "" {
			o.addf(e, "has no reason")
		}
		o.open = false
	case execution.StepStart:
		if b.TurnIndex != o.turns-1 {
			o.addf(e, "says turn %d, want %d", b.TurnIndex, o.turns-1)
		}
		o.steps[b.StepIndex] = true
	case execution.StepEnd:
		if b.TurnIndex != o.turns-1 {
			o.addf(e, "says turn %d, want %d", b.TurnIndex, o.turns-1)
		}
		if !o.steps[b.StepIndex] {
			o.addf(e, "ends step %d, which is not open", b.StepIndex)
		}
		o.steps[b.StepIndex] = false
	}
}

// speech checks messages and thinking, separately for each sub-agent.
func (o *order) speech(e execution.Event) {
	switch b := e.Body.(type) {
	case execution.MessageStart:
		o.said(e.Parent).Reset()
		o.talking[e.Parent] = false
	case execution.TextDelta:
		o.said(e.Parent).WriteString(b.Delta)
		o.talking[e.Parent] = true
		if !strings.HasSuffix(b.Accumulated, b.Delta) {
			o.addf(e, "its accumulated text does not end with it")
		}
	case execution.MessageStop:
		if said := o.said(e.Parent).String(); said != b.Text {
			o.addf(e, "its text %q is not that of its deltas %q", short(b.Text), short(said))
		}
		o.said(e.Parent).Reset()
		o.talking[e.Parent] = false
	case execution.ThinkingStart, execution.ThinkingDelta, execution.ThinkingStop:
		if o.talking[e.Parent] {
			o.addf(e, "comes after text of the same message")
		}
	}
}

// said returns the text of a message so far.
func (o *order) said(parent string) *strings.Builder {
	b := o.texts[parent]
	if b == nil {
		b = &strings.Builder{}
		o.texts[parent] = b
	}
	return b
}

// account adds up what the result must state.
func (o *order) account(e execution.Event) {
	switch b := e.Body.(type) {
	case execution.TextDelta:
		if e.Parent == "" {
			o.text.WriteString(b.Delta)
		}
	case execution.TokenUsage:
		o.usage = o.usage.Add(execution.Usage{Input: b.InputTokens, Output: b.OutputTokens, Thinking: b.ThinkingTokens, Cached: b.CachedTokens,
			CacheWrite: b.CacheWriteTokens, Total: b.InputTokens + b.OutputTokens + b.CachedTokens + b.CacheWriteTokens})
	case execution.CostEvent:
		if b.Cost.TotalUSD != nil {
			o.usd, o.priced = o.usd+*b.Cost.TotalUSD, true
		}
	}
}

// end checks what requires the whole stream.
func (o *order) end(events []execution.Event, result execution.Result) {
	add := func(format string, args ...any) { o.faults = append(o.faults, fmt.Errorf(format, args...)) }
	if len(events) == 0 {
		add("no events")
		return
	}
	if f, ok := events[len(events)-1].Body.(execution.Finished); ok && !sameResult(f.Result, result) {
		add("finished carries another result (%s %s) than the run (%s %s)", f.Result.Status, f.Result.ExitReason, result.Status, result.ExitReason)
	}
	if o.last.RunID != result.RunID {
		add("the events are of run %q, the result of %q", o.last.RunID, result.RunID)
	}
	if o.gap {
		return
	}
	if o.open {
		add("turn %d has no end", o.turns-1)
	}
	if result.Status == execution.StatusCompleted && o.session && !o.ended {
		add("the session has no end")
	}
	if result.TurnCount != o.turns {
		add("the result counts %d turns, the stream %d", result.TurnCount, o.turns)
	}
	for id, waits := range o.inputs {
		if waits {
			add("message %s was neither taken nor cancelled", id)
		}
	}
	o.failure(result, add)
	if !o.retried && result.Text != o.text.String() {
		add("the result's text %q is not that of the deltas %q", short(result.Text), short(o.text.String()))
	}
	if !o.usage.IsZero() && (result.Usage == nil || *result.Usage != o.usage) {
		add("the result's usage %+v is not that of the stream %+v", result.Usage, o.usage)
	}
	if o.priced && (result.Cost == nil || result.Cost.TotalUSD == nil || !near(*result.Cost.TotalUSD, o.usd)) {
		add("the result's cost is not that of the stream, %g USD", o.usd)
	}
}

// failure checks that a failed run reports it in its stream, and that nothing of the agent follows.
func (o *order) failure(result execution.Result, add func(string, ...any)) {
	if result.Status != execution.StatusFailed || result.Error == nil {
		return
	}
	switch result.Error.Code {
	case execution.FailureTimeout, execution.FailureCancelled, execution.FailureBudgetExceeded:
		return // the control events report it
	}
	switch {
	case o.errorAt < 0:
		add("the run failed with %s, but its stream has no error event", result.Error.Code)
	case o.after != "":
		add("%s follows the terminal error", o.after)
	}
}

func sameResult(a, b execution.Result) bool {
	return a.Status == b.Status && a.ExitReason == b.ExitReason && a.RunID == b.RunID && a.Text == b.Text && a.TurnCount == b.TurnCount &&
		a.Error.ErrorCode() == b.Error.ErrorCode()
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func short(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
