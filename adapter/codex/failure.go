package codex

import (
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

const loginGuidance = "log in with: codex login, or give an API key to: codex login --with-api-key"

// failure is why a turn failed, as Codex stated it.
type failure struct {
	code    execution.ErrorCode
	message string
	final   bool // another attempt is of no use before something changes, whatever the table says of the code
}

// failureOf reads the failure of a turn. info is app-server's classification, which exec leaves out.
func failureOf(message string, info jsonscan.Value) *failure {
	f := &failure{code: codeOfInfo(info), message: message}
	text := strings.ToLower(message)
	if body, ok := apiError(message); ok {
		// Codex passes on the body of a refused request as it is.
		f.message, text = body.message, strings.ToLower(body.message+" "+body.code)
		if f.code == "" {
			f.code = execution.CodeInvalidRequest
		}
	}
	// What the text says is more precise than a class that stands for many things.
	if code := codeOfText(text); code != "" && (f.code == "" || f.code == execution.CodeProvider || f.code == execution.CodeInvalidRequest) {
		f.code = code
	}
	if f.code == "" {
		f.code = execution.CodeInternal
	}
	f.final = f.code == execution.CodeRateLimited && (info.IsStr("usageLimitExceeded") || strings.Contains(text, "usage limit") || strings.Contains(text, "quota"))
	return f
}

// codeOfInfo is the word for codexErrorInfo: a name, or an object with the HTTP status under a name. It is empty for
// "other" and for what is not known.
func codeOfInfo(info jsonscan.Value) execution.ErrorCode {
	if name, ok := info.Plain(); ok {
		switch string(name) {
		case "contextWindowExceeded":
			return execution.CodeContextExceeded
		case "sessionBudgetExceeded":
			return execution.CodeBudgetExceeded
		case "usageLimitExceeded", "rateLimitExceeded":
			return execution.CodeRateLimited
		case "modelNotFound":
			return execution.CodeModelNotFound
		case "unauthorized":
			return execution.CodeAuth
		case "flexUnavailable", "serverOverloaded", "policyCapacityUnavailable", "internalServerError":
			return execution.CodeProvider
		case "badRequest", "cyberPolicy", "misalignmentPolicyViolation", "tooManyDenials", "inferenceHookDenied":
			return execution.CodeInvalidRequest
		}
		return ""
	}
	for _, detail := range info.Object {
		if !detail.Get("httpStatusCode").Exists() {
			return "" // not about the model API
		}
		status, _ := detail.Get("httpStatusCode").Int()
		if code := codeOfStatus(status); code != "" {
			return code
		}
		return execution.CodeProvider
	}
	return ""
}

// codeOfStatus is the word for a status of the model API, empty for none.
func codeOfStatus(status int64) execution.ErrorCode {
	switch {
	case status == 401 || status == 403:
		return execution.CodeAuth
	case status == 429:
		return execution.CodeRateLimited
	case status == 408 || status >= 500:
		return execution.CodeProvider
	case status >= 400:
		return execution.CodeInvalidRequest
	}
	return ""
}

// codeOfText is for what Codex says in words only; text is in lower case. The first match counts.
func codeOfText(text string) execution.ErrorCode {
	for _, t := range []struct {
		part string
		code execution.ErrorCode
	}{
		{"no rollout found", execution.CodeSessionNotFound},
		{"invalid session id", execution.CodeSessionNotFound},
		{"missing environment variable", execution.CodeAuth},
		{"not logged in", execution.CodeAuth},
		{"incorrect api key", execution.CodeAuth},
		{"refresh token", execution.CodeAuth},
		{"context window", execution.CodeContextExceeded},
		{"context_length_exceeded", execution.CodeContextExceeded},
		{"usage limit", execution.CodeRateLimited},
		{"quota", execution.CodeRateLimited},
		{"rate limit", execution.CodeRateLimited},
		{"model_not_found", execution.CodeModelNotFound},
		{"input exceeds the maximum length", execution.CodeInvalidRequest},
		{"loading config", execution.CodeConfig},
		{"failed to load configuration", execution.CodeConfig},
		{"model provider", execution.CodeConfig},
		{"codex home", execution.CodeConfig},
		{"is no longer supported; remove this setting", execution.CodeConfig},
		{"unexpected argument", execution.CodeConfig},
		{"invalid value", execution.CodeConfig},
		{"not inside a trusted directory", execution.CodeConfig},
		{"model instructions file", execution.CodeConfig},
		{"output schema file", execution.CodeConfig},
		{"high demand", execution.CodeProvider},
		{"at capacity", execution.CodeProvider},
		{"stream disconnected", execution.CodeProvider},
		{"error sending request", execution.CodeProvider},
		{"connection failed", execution.CodeProvider},
		{"timed out", execution.CodeProvider},
	} {
		if strings.Contains(text, t.part) {
			return t.code
		}
	}
	if strings.Contains(text, "model") && (strings.Contains(text, "does not exist") || strings.Contains(text, "not supported")) {
		return execution.CodeModelNotFound
	}
	for _, before := range []string{"unexpected status ", "last status: "} {
		if _, rest, ok := strings.Cut(text, before); ok && len(rest) >= 3 {
			if status, err := strconv.ParseInt(rest[:3], 10, 64); err == nil {
				return codeOfStatus(status)
			}
		}
	}
	return ""
}

type apiBody struct{ message, code string }

var apiKeys = jsonscan.NewKeySet("error.message", "error.code", "error.type", "detail")

// apiError reads the body of an answer of the model API that stands in place of a message.
func apiError(message string) (apiBody, bool) {
	if !strings.HasPrefix(message, "{") {
		return apiBody{}, false
	}
	var v [4]jsonscan.Value
	if jsonscan.Fields([]byte(message), v[:], apiKeys) != nil {
		return apiBody{}, false
	}
	b := apiBody{message: v[0].Str(), code: v[1].Str() + " " + v[2].Str()}
	if b.message == "" {
		b.message = v[3].Str()
	}
	return b, b.message != ""
}

// report shows why a turn failed, before the turn's end.
func (f *failure) report(s *cliagent.Sink) {
	switch f.code {
	case execution.CodeAuth:
		s.Emit(execution.AuthError{Message: f.message, Guidance: loginGuidance})
	case execution.CodeRateLimited:
		s.Emit(execution.RateLimitError{Message: f.message})
	case execution.CodeContextExceeded:
		s.Emit(execution.ContextExceeded{})
	default:
		s.Emit(execution.ErrorEvent{Code: f.code, Message: f.message})
	}
}

// result is the failure as a result or the end of a turn carries it.
func (f *failure) result() *execution.ResultError {
	e := execution.NewResultError(f.code, f.message)
	switch f.code {
	case execution.CodeInternal:
		e.Code = execution.FailureBackendExecution // the agent's failure, not ours
	case execution.CodeAuth:
		e.Metadata["hint"] = loginGuidance
	}
	if f.final {
		e.Retryable, e.Recoverable = false, false
	}
	return e
}

// err is the failure of a conversation that could not begin.
func (f *failure) err(doing string) *execution.Error {
	e := execution.Errorf(f.code, "codex: %s: %s", doing, f.message)
	e.Agent = name
	if f.code == execution.CodeAuth {
		e.Hint = loginGuidance
	}
	return e
}

// reconnect reads "Reconnecting... 1/5 (why)", Codex's note that a model call is tried again.
func reconnect(message string) (attempt, most int, why string, ok bool) {
	rest, ok := strings.CutPrefix(message, "Reconnecting... ")
	if !ok {
		return 0, 0, "", false
	}
	counts, why, _ := strings.Cut(rest, " ")
	first, second, ok := strings.Cut(counts, "/")
	attempt, err1 := strconv.Atoi(first)
	most, err2 := strconv.Atoi(second)
	if !ok || err1 != nil || err2 != nil || attempt < 0 || most < 0 {
		return 0, 0, "", false
	}
	return attempt, most, strings.TrimSuffix(strings.TrimPrefix(why, "("), ")"), true
}

// retry is the event for a model call that is tried again.
func retry(attempt, most int, why string, info jsonscan.Value) execution.Retry {
	r := execution.Retry{Attempt: attempt, MaxAttempts: most, Reason: why}
	if f := failureOf(why, info); f.code != execution.CodeInternal {
		r.Code = f.code
	}
	return r
}
