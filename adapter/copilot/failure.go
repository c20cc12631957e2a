package copilot

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// Noise reports whether a line of standard error is unrelated to a failure: this one follows every signal during a
// model call.
func (p *parser) Noise(line string) bool {
	return strings.HasPrefix(line, "Error executing prompt: Error: Cannot invoke native session after disposal")
}

// callFailure is a failed model call.
type callFailure struct {
	status    int64
	transport bool // no answer, or an incomplete one
	message   string
}

// callFailed records a failed model call. The next line shows its consequence.
func (p *parser) callFailed() bool {
	v := &p.values.Data
	if v.Whole.Kind() != jsonscan.Object {
		return false
	}
	p.call = &callFailure{status: cliagent.Count(v.StatusCode), transport: v.FailureKind.IsStr("transport"),
		message: providerMessage(v.ErrorMessage.Str())}
	return true
}

// providerMessage returns the model API's message. Copilot quotes its JSON: an error object, or a text.
func providerMessage(quoted string) string {
	v, err := jsonscan.Parse([]byte(quoted))
	if err != nil {
		return quoted
	}
	return cmp.Or(v.Str(), v.Get("message").Str(), v.Get("error").Get("message").Str())
}

// retry handles a failed model call that is retried.
func (p *parser) retry(s *cliagent.Sink) bool {
	reason := p.values.Data.Reason
	if !reason.Exists() && !p.values.Data.TurnID.Exists() {
		return false
	}
	p.ensureTurn(s)
	st := p.stream()
	p.endThought(st, s)
	p.endMessage(st, "", s)
	st.mused = false
	p.retries++
	code := codeOfRetry(reason.Str())
	words := "the model call failed"
	if c := p.call; c != nil {
		code = cmp.Or(failures.Status(c.status), code)
		words = c.words()
	}
	p.call = nil
	if code == execution.CodeRateLimited {
		s.Emit(execution.RateLimited{Status: cmp.Or(reason.Str(), "rate_limit")})
	}
	s.EmitFrom(st.parent, execution.Retry{Attempt: p.retries, Reason: words, Code: code})
	return true
}

func (c *callFailure) words() string {
	switch {
	case c.status == 0 && c.transport:
		return "the model API could not be reached or broke off: " + c.message
	case c.status == 0:
		return cmp.Or(c.message, "the model call failed")
	case c.message == "":
		return fmt.Sprintf("the model API answered %d", c.status)
	}
	return fmt.Sprintf("the model API answered %d (%s)", c.status, c.message)
}

// codeOfRetry returns the code of Copilot's reason to retry.
func codeOfRetry(reason string) execution.ErrorCode {
	switch {
	case strings.Contains(reason, "rate_limit"):
		return execution.CodeRateLimited
	case strings.Contains(reason, "auth"):
		return execution.CodeAuth
	}
	return execution.CodeProvider
}

// sessionError handles an error that usually ends the turn.
func (p *parser) sessionError(s *cliagent.Sink) bool {
	v := &p.values.Data
	if v.Message.Kind() != jsonscan.String {
		return false
	}
	p.ensureTurn(s)
	message := strings.TrimSpace(v.Message.Str())
	p.failure = failure(p.codeOfError(v.ErrorType.Str(), v.ErrorCode.Str(), strings.ToLower(message), cliagent.Count(v.StatusCode)), message)
	return true
}

// codeOfError returns the code of an error: by Copilot's category, by the model API's status, by the text, by the
// model call that failed before.
func (p *parser) codeOfError(category, detail, text string, status int64) execution.ErrorCode {
	if code := cmp.Or(failures.Word(category), failures.Text(text)); code != "" {
		return code
	}
	if strings.Contains(detail, "max_prompt_tokens_exceeded") {
		return execution.CodeContextExceeded
	}
	if code := failures.Status(status); code != "" {
		return code
	}
	if p.call != nil {
		return cmp.Or(failures.Status(p.call.status), execution.CodeProvider)
	}
	if category == "policy" {
		return execution.CodeInvalidRequest
	}
	return execution.CodeProvider
}

// failures are Copilot's error categories and phrases.
var failures = cliagent.Failures{
	Statuses: map[int64]execution.ErrorCode{413: execution.CodeContextExceeded},
	Words: []cliagent.Words{
		{Code: execution.CodeAuth, Names: []string{"authentication", "authorization"}},
		{Code: execution.CodeRateLimited, Names: []string{"rate_limit"}},
		{Code: execution.CodeContextExceeded, Names: []string{"context_limit"}},
		{Code: execution.CodeBudgetExceeded, Names: []string{"quota"}},
	},
	Phrases: cliagent.Phrases{
		{Code: execution.CodeSessionNotFound, Parts: []string{"no session, task, or name matched"}},
		{Code: execution.CodeAuth, Parts: []string{"no authentication information found", "authentication failed",
			"not authorized to use this copilot"}},
		{Code: execution.CodeContextExceeded, Parts: []string{"exceeds the model's prompt budget", "maximum context length",
			"context window"}},
		{Code: execution.CodeConfig, Parts: []string{"byok providers require an explicit model"}},
		{Code: execution.CodeModelNotFound, Parts: []string{"from --model flag is not available"}},
		{Code: execution.CodeBudgetExceeded, Parts: []string{"session limits"}},
		{Code: execution.CodeConfig, Parts: []string{"invalid command format"}},
		{Code: execution.CodeValidation, Parts: []string{"--attachment file type not supported"}},
		{Code: execution.CodeConfig, Parts: []string{"additional-mcp-config"}},
		{Code: execution.CodeInvalidRequest, Parts: []string{"does not support reasoning effort"}},
	},
}

// failure is why a turn failed.
func failure(code execution.ErrorCode, message string) *cliagent.Failure {
	f := &cliagent.Failure{Code: code, Message: message}
	switch code {
	case execution.CodeAuth:
		f.Hint = loginGuidance
	case execution.CodeContextExceeded:
		f.Context = cliagent.ContextNumbers(message, "after reserving output (", "%d tokens; limit %d")
	}
	return f
}

// startFailure derives from standard error why a process exited without its last line. It is nil if nothing is
// recognized.
func startFailure(exit process.Exit) *cliagent.Failure {
	code, message := failures.Phrases.Complaint(exit)
	if code == "" {
		return nil
	}
	return failure(code, message)
}
