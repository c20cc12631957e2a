package copilot

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// failure is why a turn failed, in the words of both sides.
type failure struct {
	code    execution.ErrorCode
	message string
}

// callFailure is a model call that failed.
type callFailure struct {
	status    int64
	transport bool // no answer, or one that broke off
	message   string
}

var callKeys = jsonscan.NewKeySet("statusCode", "failureKind", "errorMessage")

// callFailed notes a failed model call. What becomes of it, the next line says.
func (p *parser) callFailed(data jsonscan.Value) bool {
	var v [3]jsonscan.Value
	if !data.Fields(v[:], callKeys) {
		return false
	}
	p.call = &callFailure{status: number(v[0]), transport: v[1].IsStr("transport"), message: providerMessage(v[2].Str())}
	return true
}

// providerMessage is what the model API said. Copilot quotes its answer as JSON: an error object, or a text.
func providerMessage(quoted string) string {
	v, err := jsonscan.Parse([]byte(quoted))
	if err != nil {
		return quoted
	}
	if v.Kind() == jsonscan.String {
		return v.Str()
	}
	return cmp.Or(v.Get("message").Str(), v.Get("error").Get("message").Str())
}

// retry is a failed model call that is tried again.
func (p *parser) retry(data jsonscan.Value, s *cliagent.Sink) bool {
	reason := data.Get("reason")
	if !reason.Exists() && !data.Get("turnId").Exists() {
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
		if byStatus := codeOfStatus(c.status); byStatus != "" {
			code = byStatus
		}
		words = c.words()
	}
	p.call = nil
	if code == execution.CodeRateLimited {
		s.Emit(execution.RateLimited{Status: cmp.Or(reason.Str(), "rate_limit")})
	}
	emit(s, st.parent, execution.Retry{Attempt: p.retries, Reason: words, Code: code})
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

// codeOfRetry is the word for Copilot's reason to try again.
func codeOfRetry(reason string) execution.ErrorCode {
	switch {
	case strings.Contains(reason, "rate_limit"):
		return execution.CodeRateLimited
	case strings.Contains(reason, "auth"):
		return execution.CodeAuth
	}
	return execution.CodeProvider
}

// codeOfStatus is the word for a status of the model API, empty for none.
func codeOfStatus(status int64) execution.ErrorCode {
	switch {
	case status == 401 || status == 403:
		return execution.CodeAuth
	case status == 404:
		return execution.CodeModelNotFound
	case status == 413:
		return execution.CodeContextExceeded
	case status == 429:
		return execution.CodeRateLimited
	case status == 408 || status >= 500:
		return execution.CodeProvider
	case status >= 400:
		return execution.CodeInvalidRequest
	}
	return ""
}

var errorKeys = jsonscan.NewKeySet("errorType", "message", "statusCode", "errorCode")

// sessionError is what ends a turn, as a rule.
func (p *parser) sessionError(data jsonscan.Value, s *cliagent.Sink) bool {
	var v [4]jsonscan.Value
	if !data.Fields(v[:], errorKeys) || v[1].Kind() != jsonscan.String {
		return false
	}
	p.ensureTurn(s)
	f := &failure{message: strings.TrimSpace(v[1].Str())}
	f.code = p.codeOfError(v[0].Str(), v[3].Str(), strings.ToLower(f.message), number(v[2]))
	p.failure = f
	return true
}

// codeOfError finds the word for an error: by Copilot's category, by the status of the model API, by the text, by the
// model call that failed before.
func (p *parser) codeOfError(category, detail, text string, status int64) execution.ErrorCode {
	switch category {
	case "authentication", "authorization":
		return execution.CodeAuth
	case "rate_limit":
		return execution.CodeRateLimited
	case "context_limit":
		return execution.CodeContextExceeded
	case "quota":
		return execution.CodeBudgetExceeded
	}
	if code := codeOfText(text); code != "" {
		return code
	}
	if strings.Contains(detail, "max_prompt_tokens_exceeded") {
		return execution.CodeContextExceeded
	}
	if code := codeOfStatus(status); code != "" {
		return code
	}
	if p.call != nil {
		if code := codeOfStatus(p.call.status); code != "" {
			return code
		}
		return execution.CodeProvider
	}
	if category == "policy" {
		return execution.CodeInvalidRequest
	}
	return execution.CodeProvider
}

// codeOfText is for what Copilot says in no other way; text is in lower case.
func codeOfText(text string) execution.ErrorCode {
	for _, t := range []struct {
		part string
		code execution.ErrorCode
	}{
		{"no session, task, or name matched", execution.CodeSessionNotFound},
		{"no authentication information found", execution.CodeAuth},
		{"authentication failed", execution.CodeAuth},
		{"not authorized to use this copilot", execution.CodeAuth},
		{"exceeds the model's prompt budget", execution.CodeContextExceeded},
		{"maximum context length", execution.CodeContextExceeded},
		{"context window", execution.CodeContextExceeded},
		{"byok providers require an explicit model", execution.CodeConfig},
		{"from --model flag is not available", execution.CodeModelNotFound},
		{"session limits", execution.CodeBudgetExceeded},
		{"invalid command format", execution.CodeConfig},
		{"--attachment file type not supported", execution.CodeValidation},
		{"additional-mcp-config", execution.CodeConfig},
		{"does not support reasoning effort", execution.CodeInvalidRequest},
	} {
		if strings.Contains(text, t.part) {
			return t.code
		}
	}
	return ""
}

// contextExceeded reads the numbers that are in the text.
func contextExceeded(text string) execution.ContextExceeded {
	var e execution.ContextExceeded
	if _, rest, ok := strings.Cut(text, "after reserving output ("); ok {
		if n, err := fmt.Sscanf(rest, "%d tokens; limit %d", &e.UsedTokens, &e.MaxTokens); err != nil || n != 2 {
			return execution.ContextExceeded{}
		}
	}
	return e
}

// announce makes the event of a failure.
func (f *failure) announce(s *cliagent.Sink) {
	switch f.code {
	case execution.CodeAuth:
		s.Emit(execution.AuthError{Message: f.message, Guidance: loginGuidance})
	case execution.CodeRateLimited:
		s.Emit(execution.RateLimitError{Message: f.message})
	case execution.CodeContextExceeded:
		s.Emit(contextExceeded(f.message))
	default:
		s.Emit(execution.ErrorEvent{Code: f.code, Message: f.message, Recoverable: f.code.Row().Retryable})
	}
}

// startFailure is why a process went away without its last line, as far as standard error says. It is nil when nothing is
// understood.
func startFailure(exit process.Exit) *failure {
	if exit.Stopped || exit.Signal != "" || exit.Code <= 0 {
		return nil
	}
	text := strings.TrimSpace(exit.StderrTail)
	code := codeOfText(strings.ToLower(text))
	if code == "" {
		return nil
	}
	return &failure{code: code, message: strings.ToValidUTF8(strings.TrimPrefix(text, "Error: "), "\uFFFD")}
}
