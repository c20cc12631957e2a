package qwen

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

const (
	loginGuidance = "set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, or run qwen and type /auth"
	nodeGuidance  = "put Node.js " + neededNode + " or later before it on PATH"
	neededNode    = "22"
)

// Exit codes of Qwen for failures without a result.
const (
	exitTurnLimit = 53
	exitBudget    = 55
)

// codeOf returns the code of a failure and its text without Qwen's wrapping: by the status of the model API, else by
// the text.
func codeOf(message string) (execution.ErrorCode, string) {
	message = strings.TrimSpace(message)
	fromAPI := false
	if inner, ok := strings.CutPrefix(message, noticeMark); ok {
		fromAPI = true
		// Advice may follow the bracket, for a person at Qwen's own terminal.
		if end := strings.LastIndexByte(inner, ']'); end >= 0 {
			inner = inner[:end]
		}
		message = strings.TrimSpace(inner)
	}
	text := strings.ToLower(message)
	code := failures.Text(text)
	if code == "" && fromAPI {
		code = cliagent.CodeOfStatus(status(message))
	}
	switch {
	case code != "":
	case fromAPI:
		code = execution.CodeProvider
	default:
		code = execution.CodeAgentCrash
	}
	return code, cmp.Or(message, "qwen failed without a reason")
}

// status returns the status of the model API that a failure starts with or mentions, 0 for none.
func status(message string) int64 {
	digits, _, _ := strings.Cut(message, " ")
	if _, named, ok := strings.Cut(message, "(Status: "); ok {
		digits, _, _ = strings.Cut(named, ")")
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}

// failures are the messages of Qwen and of model APIs.
var failures = cliagent.Failures{
	Phrases: cliagent.Phrases{
		{Code: execution.CodeSessionNotFound, Parts: []string{"no saved session found", "failed to fork session",
			"failed to load forked session"}},
		{Code: execution.CodeValidation, Parts: []string{"already exists (active or archived)", "is already in use"}},
		{Code: execution.CodeSessionNotFound, Parts: []string{"invalid --session-id"}},
		{Code: execution.CodeAuth, Parts: []string{"no auth type is selected", "missing api key", "api key not found",
			"environment variable not found", "invalid auth method", "please re-authenticate", "qwen oauth free tier",
			"incorrect api key", "invalid api key"}},
		{Code: execution.CodeRateLimited, Parts: []string{"quota exhausted", "qwen oauth quota exceeded"}},
		{Code: execution.CodeContextExceeded, Parts: []string{"context_length_exceeded", "context length exceeded",
			"maximum context length", "prompt is too long", "range of input length should be"}},
		{Code: execution.CodeModelNotFound, Parts: []string{"model_not_found"}},
		{Code: execution.CodeInvalidOutput, Parts: []string{"instead of calling the structured_output tool"}},
		{Code: execution.CodeValidation, Parts: []string{"--json-schema"}},
		{Code: execution.CodeInvalidOutput, Parts: []string{"loop detection halted"}},
		{Code: execution.CodeConfig, Parts: []string{"invalid json in --mcp-config", "unknown argument", "invalid values",
			"settings file"}},
		{Code: execution.CodeModelNotFound, And: "does not exist", Parts: []string{"model"}},
	},
}

// startFailure returns the outcome of a process that exited without a result but gave a reason, by its exit code or
// on standard error. It is nil if nothing is recognized.
func (p *parser) startFailure(exit process.Exit) *cliagent.Outcome {
	switch {
	case exit.Stopped || exit.Signal != "" || exit.Code <= 0:
		return nil
	case exit.Code == exitTurnLimit:
		return &cliagent.Outcome{Reason: execution.TurnLimitReached, Text: p.Last}
	}
	if o := nodeFailure(exit); o != nil {
		return o
	}
	message := complaint(exit.StderrTail)
	switch code := failures.Text(strings.ToLower(message)); {
	case exit.Code == exitBudget:
		return failed(execution.CodeBudgetExceeded, message)
	case code != "":
		return failed(code, message)
	}
	return nil
}

// nodeFailure recognizes a missing or outdated Node.js, for which Qwen Code shows a stack trace at most.
func nodeFailure(exit process.Exit) *cliagent.Outcome {
	tail := exit.StderrTail
	found := ""
	if i := strings.LastIndex(tail, "\nNode.js v"); i >= 0 {
		found, _, _ = strings.Cut(tail[i+len("\nNode.js v"):], "\n")
	}
	var message string
	switch {
	case exit.Code == 127 && strings.Contains(tail, "node"):
		message = fmt.Sprintf("qwen needs Node.js %s or later, and there is no node on PATH", neededNode)
	case found != "" && isOldNode(found):
		message = fmt.Sprintf("qwen needs Node.js %s or later, and crashes in version %s, the first on PATH", neededNode, strings.TrimSpace(found))
	default:
		return nil
	}
	return failed(execution.CodeAgentNotInstalled, message)
}

// isOldNode reports whether a version of Node.js is older than Qwen Code needs.
func isOldNode(version string) bool {
	major, _, _ := strings.Cut(strings.TrimSpace(version), ".")
	n, err := strconv.Atoi(major)
	needed, _ := strconv.Atoi(neededNode)
	return err == nil && n < needed
}

// complaint returns the part of standard error that is not noise. The message about a wrong flag is the first line,
// before the whole help.
func complaint(tail string) string {
	var lines []string
	for line := range strings.Lines(tail) {
		line = strings.TrimSpace(line)
		if line == "" || isNoise([]byte(line)) {
			continue
		}
		if len(lines) == 5 || strings.HasPrefix(line, "Usage: qwen ") {
			break
		}
		lines = append(lines, strings.TrimPrefix(line, "Error: "))
	}
	return strings.ToValidUTF8(strings.Join(lines, " "), "\uFFFD")
}

// noise is what Qwen writes to standard error in every run, or repeats from the other stream.
var noise = [][]byte{
	[]byte("Ripgrep not available: "), []byte("Warning: running headless with --yolo"),
	[]byte("Retrying provider attempt "), []byte("Retrying in "), []byte("Falling back from "),
	[]byte("Could not parse message into JSON: "), []byte("From chunk: "), []byte("[API Error: "), []byte("Operation cancelled."),
	[]byte("Reached max session turns for this session."), []byte("Note: --json-schema is active."), []byte("[qwen-code] Waiting for API capacity"),
}

func isNoise(line []byte) bool {
	return slices.ContainsFunc(noise, func(n []byte) bool { return bytes.HasPrefix(line, n) })
}

// Noise reports whether a line of standard error is unrelated to a failure.
func (p *parser) Noise(line string) bool { return isNoise([]byte(line)) }

// stderrLine reads a line of standard error. It returns false for an unknown one.
func stderrLine(line []byte, s *cliagent.Sink) bool {
	line = bytes.TrimSpace(line)
	if isNoise(line) {
		return true
	}
	for _, told := range []string{"Warning: ", "Approval mode overridden", "\u26a0 ", "WARNING: "} {
		if bytes.HasPrefix(line, []byte(told)) {
			s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "qwen: " + strings.ToValidUTF8(string(line), "\uFFFD")})
			return true
		}
	}
	return false
}
