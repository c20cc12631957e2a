package codex

import (
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// maxFatal bounds what is kept of the message with which Codex gives up.
const maxFatal = 4 << 10

// stderr reads Codex's standard error: log lines, of which those of refused tool calls are the only trace of the
// refusal, and the message with which Codex gives up before there is a conversation.
type stderr struct {
	fatal  string   // empty as long as there was none
	usage  bool     // the rest of the help that follows a wrong argument
	early  []string // refusals that overtook the begin of the session on the other stream
	denied int
}

// maxEarly bounds the refusals that wait for the session.
const maxEarly = 64

// line reads one line of standard error.
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

// give keeps what Codex says when it gives up.
func (e *stderr) give(text string) {
	switch {
	case len(e.fatal)+len(text) > maxFatal:
	case e.fatal == "":
		e.fatal = text
	default:
		e.fatal += " " + text
	}
}

// logLine reads a line of Codex's log: a time, a level, a module, and what it says.
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

// refused is about a tool call that Codex did not carry out. A refusal of its own is shown; what a person refused is
// known already.
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

// begun shows what came before the session.
func (e *stderr) begun(s *cliagent.Sink) {
	early := e.early
	e.early = nil
	for _, why := range early {
		e.refused(why, s)
	}
}

// failure is why Codex gave up, nil if it did not say.
func (e *stderr) failure() *cliagent.Failure {
	if e.fatal == "" {
		return nil
	}
	return failureOf(e.fatal, jsonscan.Value{})
}

// Noise reports whether a line of standard error says nothing about a failure: what Codex lacks and does without.
func (p *appParser) Noise(line string) bool {
	return strings.Contains(line, "could not find bubblewrap") || strings.HasPrefix(line, "WARNING: proceeding")
}
