package codex

import (
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// maxFatal bounds the stored part of a fatal error message.
const maxFatal = 4 << 10

// stderr reads Codex's standard error: log lines, which are the only trace of refused tool calls, and the fatal error
// before a conversation starts.
type stderr struct {
	fatal  string   // empty if there was none
	usage  bool     // the rest of the help after a wrong argument
	early  []string // refusals that arrived before the session started on the other stream
	denied int
}

// maxEarly bounds the refusals that wait for the session.
const maxEarly = 64

// line handles one line of standard error.
func (e *stderr) line(line []byte, s *cliagent.Sink) {
	text := strings.TrimSpace(string(line))
	switch {
	case text == "" || e.usage:
	case e.logLine(text, s):
	case strings.HasPrefix(text, "WARNING: proceeding"):
	case strings.HasPrefix(text, "Error"), strings.HasPrefix(text, "error: "), strings.HasPrefix(text, "Failed to "):
		e.usage = strings.HasPrefix(text, "error: ")
		e.give(strings.TrimPrefix(strings.TrimPrefix(text, "Error: "), "error: "))
	case strings.HasPrefix(text, "in `") && e.fatal != "":
		e.give(text)
	default:
		s.Unknown(process.Stderr, line)
	}
}

// give keeps a fatal error message.
func (e *stderr) give(text string) {
	switch {
	case len(e.fatal)+len(text) > maxFatal:
	case e.fatal == "":
		e.fatal = text
	default:
		e.fatal += " " + text
	}
}

// logLine parses a line of Codex's log: time, level, module, message.
func (e *stderr) logLine(text string, s *cliagent.Sink) bool {
	stamp, rest, ok := strings.Cut(text, " ")
	if !ok || len(stamp) < len("2026-11-20T11:44:46Z") || stamp[4] != '-' || stamp[10] != 'T' || !strings.HasSuffix(stamp, "Z") {
		return false
	}
	level, rest, ok := strings.Cut(strings.TrimSpace(rest), " ")
	switch level {
	case "ERROR", "WARN", "INFO", "DEBUG", "TRACE":
	default:
		return false
	}
	if module, said, found := strings.Cut(rest, ": "); ok && found && level == "ERROR" && module == "codex_core::tools::router" {
		e.refused(strings.TrimPrefix(said, "error="), s)
	}
	return true
}

// refused handles a tool call that Codex did not carry out. Its own refusal is reported; a person's is already known.
func (e *stderr) refused(why string, s *cliagent.Sink) {
	if s.SessionID() == "" {
		if len(e.early) < maxEarly {
			e.early = append(e.early, why)
		}
		return
	}
	byPolicy := strings.Contains(why, "approval policy is Never") || strings.Contains(why, "rejected by user approval settings")
	switch {
	case byPolicy:
		e.denied++
		tool := toolShell
		if strings.HasPrefix(why, "patch rejected") {
			tool = toolPatch
		}
		s.Emit(execution.ApprovalDenied{ID: execution.QuestionID(fmt.Sprintf("%s/denied/%d", s.SessionID(), e.denied)), Reason: why, ToolName: tool})
	case strings.Contains(why, "rejected by user"):
	default:
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "codex did not carry out a tool call: " + why})
	}
}

// begun reports what came before the session.
func (e *stderr) begun(s *cliagent.Sink) {
	early := e.early
	e.early = nil
	for _, why := range early {
		e.refused(why, s)
	}
}

// failure returns the fatal error, nil for none.
func (e *stderr) failure() *cliagent.Failure {
	if e.fatal == "" {
		return nil
	}
	return failureOf(e.fatal, jsonscan.Value{})
}

// Noise reports whether a line of standard error is unrelated to a failure: an optional dependency that Codex lacks.
func (p *appParser) Noise(line string) bool {
	return strings.Contains(line, "could not find bubblewrap") || strings.HasPrefix(line, "WARNING: proceeding")
}
