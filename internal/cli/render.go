package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/width"

	"github.com/drawbar/drawbar/execution"
)

// Renderer prints events for people: the agent's text to standard output; tools, questions and cost to standard error. Only one
// goroutine may use it at a time.
type Renderer struct {
	out, err io.Writer
	color    bool
	debug    bool
	status   *StatusLine
	layout   *markdown // of the agent's text; nil leaves it as it is
	midLine  bool      // standard output is in the middle of a line
	streamed bool      // the current message came in deltas
	said     bool      // something was written to standard output
	between  bool      // a message ended; an empty line separates it from the next one
	tools    tools
	context  contextFill
	run      execution.RunID // of the last event, if the run can be reached from elsewhere
	denial   string          // reason of the last denial; the failure of its call repeats it

	// Dir is the run's working directory: paths inside are shown relative to it.
	Dir string

	// Unasked hides permission questions, because the approval mode yolo answers them.
	Unasked bool

	// Window returns the context window of a model, 0 if unknown. Without it, the last line does not state how full the context is.
	Window func(agent, model string) int64

	// Unrecorded hides the run's id, because no record of it exists. It is set before the first event.
	Unrecorded bool
}

// NewRenderer returns a renderer for the app's streams. status may be nil.
func NewRenderer(app *App, debug bool, status *StatusLine) *Renderer {
	r := &Renderer{out: app.Out, err: app.Err, color: app.Color(app.Err), debug: debug, status: status, tools: tools{fold: status != nil}}
	if app.Markdown && IsTerminal(app.Out) {
		r.layout = &markdown{color: app.Color(app.Out), columns: app.Width}
	}
	return r
}

// Fold makes the renderer write a call of a tool when it is over, in one line, and reads in a row as one: for readers who see what runs
// meanwhile, or for a run that has ended.
func (r *Renderer) Fold() { r.tools.fold = true }

// Mute keeps the agent's text off standard output.
func (r *Renderer) Mute() { r.out = io.Discard }

// paint colours a text after removing control characters.
func (r *Renderer) paint(code, s string) string { return Paint(r.color, code, s) }

// Paint colours a text after removing control characters; an empty code leaves it as it is.
func Paint(color bool, code, s string) string {
	s = Printable(s)
	if !color || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// DiffLine returns a line of a difference for a terminal of so many columns, 0 for any: files may contain control characters.
func DiffLine(line string, columns int, color bool) string {
	code := ""
	switch {
	case strings.HasPrefix(line, "+"):
		code = Green
	case strings.HasPrefix(line, "-"):
		code = Red
	case strings.HasPrefix(line, "@"), strings.HasPrefix(line, "diff "):
		code = Dim
	}
	line = Printable(strings.ReplaceAll(line, "\t", "    "))
	if columns > 0 {
		line = Cut(line, columns)
	}
	return Paint(color, code, line)
}

// Codes for Paint.
const (
	Dim    = "2"
	Bold   = "1"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

// note writes a line to standard error, after ending an open line of standard output.
func (r *Renderer) note(format string, args ...any) {
	r.flush()
	r.endText()
	r.breakLine()
	r.status.above(r.err, fmt.Sprintf(format+"\n", args...))
}

func (r *Renderer) breakLine() {
	if r.midLine {
		fmt.Fprintln(r.out)
		r.midLine = false
	}
}

func (r *Renderer) say(text string) {
	if text = Printable(text); r.layout != nil {
		text = r.layout.take(text)
	}
	r.put(text)
}

// endText writes what the layout of the agent's text has kept.
func (r *Renderer) endText() {
	if r.layout != nil {
		r.put(r.layout.rest())
	}
}

func (r *Renderer) put(text string) {
	if text == "" {
		return
	}
	r.flush()
	r.said = true
	if r.between {
		text = "\n" + text
		r.between = false
	}
	r.status.Allow(false) // it must not be drawn behind a text that ends within a line
	r.status.above(r.out, text)
	r.midLine = !strings.HasSuffix(text, "\n")
	r.status.Allow(!r.midLine)
}

// QuestionID returns the id of an event's question, empty for other events.
func QuestionID(b execution.Body) execution.QuestionID {
	switch q := b.(type) {
	case execution.ApprovalRequired:
		return q.ID
	case execution.InputRequired:
		return q.ID
	}
	return ""
}

// AnsweredID returns the id of the question that an event ends, empty for other events.
func AnsweredID(b execution.Body) execution.QuestionID {
	switch b := b.(type) {
	case execution.ApprovalGranted:
		return b.ID
	case execution.ApprovalDenied:
		return b.ID
	case execution.QuestionWithdrawn:
		return b.ID
	}
	return ""
}

// QuestionText returns a question with its possible answers, to be written at once. pending is the number of questions that wait.
func (r *Renderer) QuestionText(b execution.Body, pending int) string {
	r.flush()
	r.endText()
	r.status.Hide()
	r.breakLine()
	if q, ok := b.(execution.ApprovalRequired); ok {
		which := ""
		if pending > 1 {
			which = fmt.Sprintf(" (1 of %d)", pending)
		}
		return r.block(Permission{q, r.Dir, r.run}, false, which)
	}
	q, _ := b.(execution.InputRequired)
	return r.paint(Yellow, "? "+q.Question) + "\n  your answer: "
}

// Question writes a question that the reader can answer, the first of those that wait.
func (r *Renderer) Question(e execution.Event, pending int) {
	r.status.Event(e)
	r.status.above(r.err, r.QuestionText(e.Body, pending))
}

// Event writes one event.
func (r *Renderer) Event(e execution.Event) {
	r.status.Event(e)
	r.context.event(e)
	if !r.Unrecorded {
		r.run = e.RunID
	}
	indent := ""
	if e.Parent != "" {
		indent = "  │ "
	}
	switch b := e.Body.(type) {
	case execution.StepStart, execution.StepEnd, execution.TokenUsage, execution.TurnEnd:
		if !r.tools.onlyReads() {
			r.flush()
		}
	case execution.TextDelta:
		if e.Parent == "" {
			r.streamed = true
			r.say(b.Delta)
		}
	case execution.MessageStop:
		if e.Parent == "" {
			if !r.streamed {
				r.say(b.Text)
			}
			r.streamed = false
			r.endText()
			r.breakLine()
			r.between = r.said
			r.status.Allow(true)
		}
	case execution.ThinkingStop:
		if r.debug && b.Thinking != "" {
			r.note("%s%s", indent, r.paint(Dim, "thinking: "+OneLine(b.Thinking, 200)))
		}
	case execution.ToolCallReady:
		r.begin(b.ToolCallID, b.ToolName, b.Input, indent)
	case execution.MCPToolCallStart:
		r.begin(b.ToolCallID, b.Server+"/"+b.ToolName, b.Input, indent)
	case execution.ToolResultEvent:
		r.over(b.ToolCallID, "", "", indent)
	case execution.MCPToolResult:
		r.over(b.ToolCallID, "", "", indent)
	case execution.ToolError:
		if b.Error == r.denial && b.Error != "" {
			r.tools.take(b.ToolCallID)
			break
		}
		r.over(b.ToolCallID, b.ToolName, cmp.Or(b.Error, "failed"), indent)
	case execution.MCPToolError:
		r.over(b.ToolCallID, b.ToolName, cmp.Or(b.Error, "failed"), indent)
	case execution.ShellStdoutDelta:
		r.printed(b.ToolCallID, b.Delta)
	case execution.ShellStderrDelta:
		r.printed(b.ToolCallID, b.Delta)
	case execution.ShellExit:
		r.exited(b.ToolCallID, b.ExitCode, indent)
	case execution.FileRead:
		if c := r.tools.find(b.ToolCallID); c != nil {
			c.read = shorten(Relative(r.Dir, b.Path))
		}
	case execution.FileCreate:
		r.changed(b.ToolCallID, "+", b.Path, "", indent)
	case execution.FileWrite:
		r.changed(b.ToolCallID, "~", b.Path, "", indent)
	case execution.FilePatch:
		r.changed(b.ToolCallID, "~", b.Path, b.Diff, indent)
	case execution.FileDelete:
		r.changed(b.ToolCallID, "-", b.Path, "", indent)
	case execution.SubagentSpawn:
		r.note("%s%s %s", indent, r.paint(Bold, "▸ sub-agent "+b.AgentName), r.paint(Dim, OneLine(b.Prompt, 120)))
	case execution.ApprovalRequired:
		if r.Unasked {
			break
		}
		r.note("%s%s %s", indent, r.paint(Yellow, "? "+b.Action), r.paint(Dim, OneLine(b.Detail, 200)))
	case execution.ApprovalGranted:
		if r.Unasked {
			break
		}
		if len(b.Input) > 0 {
			b.Detail = strings.TrimPrefix(b.Detail+"; instead: "+Relative(r.Dir, Summarize(b.Input)), "; ")
			if c := r.tools.find(b.ToolCallID); c != nil {
				c.what = Relative(r.Dir, Summarize(b.Input))
			}
		}
		r.note("%s%s", indent, r.paint(Green, "  allowed"+reasonText(b.Detail)))
	case execution.ApprovalDenied:
		r.denial = b.Reason
		if by, ok := strings.CutPrefix(b.Reason, "denied "); ok {
			r.note("%s%s", indent, r.paint(Red, "  denied "+OneLine(by, 200)))
			break
		}
		r.note("%s%s", indent, r.paint(Red, "  denied"+reasonText(b.Reason)))
	case execution.InputRequired:
		r.note("%s%s", indent, r.paint(Yellow, "? "+Printable(b.Question)))
	case execution.QuestionWithdrawn:
		r.note("%s%s", indent, r.paint(Dim, "  the question was withdrawn"))
	case execution.Retry:
		r.note("%s", r.paint(Yellow, "↻ "+retryText(b)+": "+OneLine(b.Reason, 200)))
	case execution.RateLimited:
		r.note("%s", r.paint(Yellow, "rate limited"+limitText(b)))
	case execution.ContextCompacted:
		r.note("%s", r.paint(Dim, "the agent compacted its context"))
	case execution.Interrupted:
		r.note("%s", r.paint(Yellow, "interrupted"))
	case execution.TurnLimit:
		r.note("%s", r.paint(Yellow, fmt.Sprintf("turn limit of %d reached", b.MaxTurns)))
	case execution.InputCancelled:
		r.note("%s", r.paint(Yellow, "a message was not delivered: "+b.Reason))
	case execution.Gap:
		r.note("%s", r.paint(Yellow, fmt.Sprintf("%d events were missed", b.Count)))
	case execution.Debug:
		if r.debug || b.Level == execution.DebugWarn {
			r.note("%s", r.paint(Dim, string(b.Level)+": "+OneLine(b.Message, 500)))
		}
	case execution.Log:
		if r.debug {
			r.note("%s", r.paint(Dim, string(b.Source)+": "+OneLine(b.Line, 500)))
		}
	case execution.Finished:
		r.flush()
		r.unfinished()
		if out := b.Result.Output; out != nil && b.Result.Status == execution.StatusCompleted && !r.said {
			// The answer came without a message event: text in the result only, or structured output.
			if out.Text != "" {
				r.say(out.Text)
			} else {
				r.say(string(out.Structured))
			}
		}
		r.endText()
		r.status.Hold(true)
		r.breakLine()
		r.finish(b.Result)
		r.status.Hold(false)
	}
}

// retryText describes a retry, with its number and delay if the agent stated them.
func retryText(b execution.Retry) string {
	text := "another attempt"
	if b.Attempt > 0 {
		text = fmt.Sprintf("attempt %d", b.Attempt)
		if b.MaxAttempts > 0 {
			text += fmt.Sprintf(" of %d", b.MaxAttempts)
		}
	}
	if b.DelayMs > 0 {
		text += " in " + (time.Duration(b.DelayMs) * time.Millisecond).String()
	}
	return text
}

// Answer prints the answer of a run alone, and why it failed.
func (r *Renderer) Answer(res execution.Result) {
	if out := res.Output; out != nil {
		r.say(cmp.Or(out.Text, string(out.Structured)))
		r.endText()
		r.breakLine()
	}
	r.failure(res)
}

// finish prints the outcome: the whole error, then a line with the cost.
func (r *Renderer) finish(res execution.Result) {
	r.failure(res)
	for _, d := range res.Degradation {
		if res.Status != execution.StatusUnsupported {
			fmt.Fprintln(r.err, r.paint(Dim, "degraded: "+d.Message))
		}
	}
	parts := []string{res.Agent}
	if res.Model != "" {
		parts = append(parts, res.Model)
	}
	parts = append(parts, (time.Duration(res.DurationMs) * time.Millisecond).Round(10*time.Millisecond).String())
	if res.Outcome() != execution.OutcomeRefused {
		parts = append(parts, Money(res.Cost))
	}
	if res.Usage != nil {
		parts = append(parts, fmt.Sprintf("%s in, %s out", Count(res.Usage.Input+res.Usage.Cached+res.Usage.CacheWrite), Count(res.Usage.Output)))
	}
	if r.Window != nil && res.Model != "" {
		if text := r.context.text(r.Window(res.Agent, res.Model)); text != "" {
			parts = append(parts, text)
		}
	}
	if res.UnknownLines > 0 {
		parts = append(parts, Number(res.UnknownLines, "line", "lines")+" could not be parsed")
	}
	fmt.Fprintln(r.err, r.paint(Dim, Printable(strings.Join(parts, " · "))))
	run := "run " + string(res.RunID)
	if r.Unrecorded {
		run = "not recorded"
	}
	if res.SessionID != "" {
		run += ", session " + execution.UnifiedSession(res.Agent, res.SessionID)
	}
	fmt.Fprintln(r.err, r.paint(Dim, Printable(run)))
}

// failure prints why a run did not complete: the whole error, or what it waits for.
func (r *Renderer) failure(res execution.Result) {
	if res.Error != nil {
		fmt.Fprintf(r.err, "%s %s\n", r.paint(Red, EndOf(res.Outcome(), res.Error.ErrorCode())+":"), Printable(res.Error.Message))
		if res.Error.Stderr != "" && res.Error.ErrorCode() != execution.CodeAborted && res.Error.ErrorCode() != execution.CodeInterrupted {
			fmt.Fprintf(r.err, "%s\n", r.paint(Dim, Printable(strings.TrimSpace(tail(res.Error.Stderr, 1000)))))
		}
		if hint, ok := res.Error.Metadata["hint"].(string); ok && hint != "" {
			fmt.Fprintf(r.err, "  try: %s\n", Printable(hint))
		}
	} else if res.Status != execution.StatusCompleted {
		line := string(res.Outcome())
		if asks := res.Asks(); asks != "" {
			line += ": " + asks
		}
		fmt.Fprintln(r.err, r.paint(Yellow, Printable(line)))
		if res.Continuation == nil || r.Unrecorded {
			return
		}
		switch res.Status {
		case execution.StatusAwaitingApproval:
			fmt.Fprintf(r.err, "  try: drawbar approve %[1]s, drawbar deny %[1]s --reason TEXT\n", res.RunID)
		case execution.StatusNeedsClarification:
			fmt.Fprintf(r.err, "  try: drawbar answer %s TEXT\n", res.RunID)
		}
	}
}

// EndOf formats an outcome, with the error code if that adds information.
func EndOf(o execution.Outcome, code execution.ErrorCode) string {
	switch o {
	case execution.OutcomeCompleted, execution.OutcomeCancelled, execution.OutcomeInterrupted:
		return string(o)
	}
	if code == "" {
		return string(o)
	}
	return string(o) + " (" + string(code) + ")"
}

// USD formats a sum for a table; an unknown one is "?".
func USD(sum float64, known bool) string {
	if !known {
		return "?"
	}
	return fmt.Sprintf("%.4f", sum)
}

// Money formats a cost. Without counted tokens the cost is unknown: the agent may not have reported them.
func Money(c *execution.Cost) string {
	switch {
	case c == nil:
		return "cost unknown"
	case c.TotalUSD == nil:
		return "price unknown"
	case c.Unpriced:
		return fmt.Sprintf("at least $%.4f (the rest is unknown)", *c.TotalUSD)
	case c.Source == execution.CostFromTable:
		return fmt.Sprintf("$%.4f (from the price table)", *c.TotalUSD)
	case c.Source == execution.CostFromSession:
		return fmt.Sprintf("$%.4f (from the agent's session file and the price table)", *c.TotalUSD)
	}
	return fmt.Sprintf("$%.4f", *c.TotalUSD)
}

// Count formats a number of tokens.
func Count(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1_000_000:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n/100_000)/10), ".0") + "M"
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

func reasonText(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + OneLine(reason, 200)
}

func limitText(b execution.RateLimited) string {
	switch {
	case b.ResetsAt > 0:
		return " until " + time.UnixMilli(b.ResetsAt).Format("15:04:05")
	case b.RetryAfterMs > 0:
		return fmt.Sprintf(" for %s", time.Duration(b.RetryAfterMs)*time.Millisecond)
	}
	return ""
}

// Summarize returns a tool's input in one line: its most telling field, or all of it.
func Summarize(input json.RawMessage) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(input, &m) != nil {
		return OneLine(string(input), 120)
	}
	for _, key := range []string{"command", "cmd", "file_path", "path", "notebook_path", "pattern", "query", "url", "description", "prompt", "text"} {
		if raw, ok := m[key]; ok {
			var s string
			if json.Unmarshal(raw, &s) == nil {
				return OneLine(s, 120)
			}
			return OneLine(string(raw), 120)
		}
	}
	if len(m) == 0 {
		return ""
	}
	return OneLine(string(input), 120)
}

func shorten(path string) string {
	if len(path) <= 100 {
		return Printable(path)
	}
	return Printable("…/" + filepath.Base(path))
}

// OneLine returns a text in one line of at most n characters.
func OneLine(s string, n int) string {
	s = strings.Join(strings.Fields(Printable(s)), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Fit returns a text in one line of at most that many columns of a terminal, where some characters take two.
func Fit(s string, columns int) string {
	return Cut(OneLine(s, len(s)), columns)
}

// Cut cuts a line without control characters to the width in columns.
func Cut(s string, columns int) string {
	if Columns(s) <= columns {
		return s
	}
	n := 0
	for i, r := range s {
		if n += runeColumns(r); n > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// Columns returns the width of a line on a terminal.
func Columns(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r), unicode.Is(unicode.Cf, r):
		return 0
	case r >= 0x1f300 && r <= 0x1faff: // pictures
		return 2
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-n:], "")
}

// Printable removes control characters from a text, which could move the terminal's cursor or change its state.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, s)
}
