package gemini

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// maxSaid bounds the stored fatal error message, maxEarly the retries that wait for the session, maxNote the lines of
// a note.
const (
	maxSaid  = 4 << 10
	maxEarly = 64
	maxNote  = 8
)

// stderr reads Gemini's standard error: notes about retried model calls, which have no other trace, and the fatal
// error before there is a session.
type stderr struct {
	said    strings.Builder
	note    string // the first line of a multi-line note about a retry
	lines   int    // of the note
	dump    bool   // a printed object follows
	help    bool   // the rest of the help after a wrong argument
	early   []execution.Body
	session bool
	// late is for conversations, whose log Gemini holds back until it exits: retries are only counted, and unknown
	// lines do not indicate a new output format.
	late    bool
	retries int
}

// noise are the prefixes of irrelevant lines.
var noise = []string{"Warning: ", "YOLO mode is enabled", "256-color support not detected", "Ripgrep is not available", "[STARTUP] ", "Loaded cached credentials",
	"Approval mode overridden", "Error executing tool ", "Error when talking to Gemini API", "Error when talking to API",
	"(node:", "(Use `node --trace", "Cleanup timed out", "[INFO] ", "[DEBUG] ", "MCP ", "Hook ", "Data collection is disabled",
	"Registering notification handlers", "Server '", "Scheduling MCP", "Executing MCP", "Flash-Lite", "Session cleanup"}

// line handles one line of standard error.
func (e *stderr) line(line []byte, s *cliagent.Sink) {
	text := strings.TrimRight(string(line), " \t")
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "" || e.help:
	case strings.HasPrefix(text, "Attempt "):
		e.note, e.lines = text, 1
		e.attempt(s)
	case e.note != "":
		e.note += " " + trimmed
		e.lines++
		e.attempt(s)
	case strings.HasPrefix(trimmed, "at "), e.dump && (strings.HasPrefix(text, " ") || trimmed == "}" || trimmed == "{"):
	case strings.HasPrefix(text, "MCP issues detected"):
		// Gemini never states which server it is.
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "gemini: an MCP server did not start; gemini mcp list shows those of its settings"})
	case begins(text, noise):
		e.dump = strings.HasPrefix(text, "Error")
	case trimmed == "}" || trimmed == "{" || strings.HasPrefix(text, "  ") && !e.session && e.said.Len() == 0:
	default:
		e.dump = false
		e.help = strings.HasPrefix(text, "Usage: ")
		switch {
		case e.help:
		case !e.session:
			e.give(trimmed)
		case !e.late:
			s.Unknown(process.Stderr, line)
		case s.Debug():
			s.Emit(execution.Log{Source: execution.LogStderr, Line: strings.ToValidUTF8(string(line), "\uFFFD")})
		}
	}
}

// attempt parses a note about a retry once it is complete: a model API's message may have several lines.
func (e *stderr) attempt(s *cliagent.Sink) {
	if !strings.Contains(e.note, "Retrying ") && !strings.Contains(e.note, "Max attempts reached") && e.lines < maxNote {
		return
	}
	e.dump = true
	if r, ok := retry(e.note); ok {
		e.again(r, s)
	}
	e.note = ""
}

// Noise reports whether a line of standard error is unrelated to a failure.
func (p *oneShot) Noise(line string) bool { return isNoise(line) }

// isNoise recognizes the printed object after an error by the lines that remain without the stack trace.
func isNoise(line string) bool {
	return line == "{" || line == "}" || strings.HasPrefix(line, "status: ") || begins(line, noise) && !strings.HasPrefix(line, "Error ")
}

func begins(text string, with []string) bool {
	return slices.ContainsFunc(with, func(w string) bool { return strings.HasPrefix(text, w) })
}

// give keeps the messages before there is a session.
func (e *stderr) give(text string) {
	if e.said.Len()+len(text) > maxSaid {
		return
	}
	if e.said.Len() > 0 {
		e.said.WriteByte(' ')
	}
	e.said.WriteString(text)
}

// again handles a retried model call.
func (e *stderr) again(r execution.Retry, s *cliagent.Sink) {
	if e.retries++; e.late {
		return
	}
	events := []execution.Body{r}
	if r.Code == execution.CodeRateLimited {
		events = []execution.Body{execution.RateLimited{Status: "retrying", RetryAfterMs: r.DelayMs}, r}
	}
	for _, b := range events {
		switch {
		case e.session:
			s.Emit(b)
		case len(e.early) < maxEarly:
			e.early = append(e.early, b)
		}
	}
}

// begun reports what arrived before the session started on the other stream.
func (e *stderr) begun(s *cliagent.Sink) {
	e.session = true
	for _, b := range e.early {
		s.Emit(b)
	}
	e.early = nil
	e.said.Reset()
}

// retry parses "Attempt 2 failed with status 429. Retrying with backoff... ERROR" and its variants. By default Gemini
// gives up after ten attempts; the note does not state the number.
func retry(text string) (r execution.Retry, ok bool) {
	digits, rest, ok := strings.Cut(strings.TrimPrefix(text, "Attempt "), " ")
	attempt, err := strconv.Atoi(digits)
	if !ok || err != nil || attempt < 0 || !strings.HasPrefix(rest, "failed") || !strings.Contains(rest, "Retrying ") {
		return r, false
	}
	r.Attempt = attempt
	why := strings.TrimSpace(strings.TrimPrefix(rest, "failed"))
	status := int64(0)
	if after, found := strings.CutPrefix(why, "with status "); found && len(after) >= 3 {
		status, _ = strconv.ParseInt(after[:3], 10, 64)
	}
	if head, after, found := strings.Cut(why, "Retrying after "); found {
		why = head
		if ms, _, found := strings.Cut(after, "ms"); found {
			if n, err := strconv.ParseInt(strings.TrimSpace(ms), 10, 64); err == nil && n >= 0 {
				r.DelayMs = n
			}
		}
	}
	r.Reason = strings.TrimRight(strings.TrimSpace(strings.TrimLeft(why, ":")), ". ")
	if body, is := apiError(text); is {
		r.Reason = body.message
		if status == 0 {
			status = body.status
		}
	} else if head, tail, found := strings.Cut(r.Reason, "Retrying with backoff..."); found {
		r.Reason = strings.TrimRight(cmp.Or(strings.TrimSpace(tail), head), ". {")
	}
	r.Code = failures.Status(status)
	if r.Code == "" {
		r.Code = failures.Text(strings.ToLower(text))
	}
	if r.Code == "" {
		r.Code = execution.CodeProvider
	}
	return r, true
}

// failure returns why Gemini exited without a result, nil if unknown. The exit codes are its documented ones; others
// mean nothing, because some are the remainder of a status.
func (e *stderr) failure(exit int) *cliagent.Failure {
	said := e.said.String()
	f := &cliagent.Failure{Message: said, Code: failures.Text(strings.ToLower(said))}
	switch exit {
	case 41:
		f.Code = execution.CodeAuth
		if f.Message == "" {
			f.Message = "gemini found no credential"
		}
	case 42:
		if f.Code != execution.CodeSessionNotFound {
			f.Code = execution.CodeValidation
		}
	case 44, 52, 55:
		f.Code = execution.CodeConfig
	case 53:
		f.Code = execution.CodeTurnLimit
	case 54:
		f.Code = execution.CodeInternal
	case 0, 130:
		return nil
	default:
		if f.Code == "" || e.session {
			return nil
		}
	}
	if f.Message == "" {
		f.Message = "gemini ended with code " + strconv.Itoa(exit) + " and said nothing"
	}
	advise(f, strings.ToLower(said))
	return f
}
