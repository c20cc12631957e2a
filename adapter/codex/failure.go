package codex

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

const loginGuidance = "log in with: codex login, or give an API key to: codex login --with-api-key"

// failureOf reads the failure of a turn. info is app-server's classification, which exec omits.
func failureOf(message string, info jsonscan.Value) *cliagent.Failure {
	f := &cliagent.Failure{Code: codeOfInfo(info), Message: message}
	text := strings.ToLower(message)
	if body, ok := apiError(message); ok {
		// Codex passes on the body of a refused request unchanged.
		f.Message, text = body.message, strings.ToLower(body.message+" "+body.code)
		if f.Code == "" {
			f.Code = execution.CodeInvalidRequest
		}
	}
	// The text is more precise than a generic class.
	if code := codeOfText(text); code != "" && (f.Code == "" || f.Code == execution.CodeProvider || f.Code == execution.CodeInvalidRequest) {
		f.Code = code
	}
	if f.Code == "" {
		f.Code = execution.CodeInternal
	}
	f.Final = f.Code == execution.CodeRateLimited && (info.IsStr("usageLimitExceeded") || strings.Contains(text, "usage limit") || strings.Contains(text, "quota"))
	if f.Code == execution.CodeAuth {
		f.Hint = loginGuidance
	}
	return f
}

// codeOfInfo returns the code for codexErrorInfo: a name, or an object with the HTTP status under a name. It is empty
// for "other" and for unknown names.
func codeOfInfo(info jsonscan.Value) execution.ErrorCode {
	if name, ok := info.Plain(); ok {
		return failures.Word(string(name))
	}
	for _, detail := range info.Object {
		if !detail.Get("httpStatusCode").Exists() {
			return "" // not about the model API
		}
		status, _ := detail.Get("httpStatusCode").Int()
		return cmp.Or(failures.Status(status), execution.CodeProvider)
	}
	return ""
}

// failures are Codex's error names, and phrases for errors without one. A status of 404 refers to a URL as often as
// to a model.
var failures = cliagent.Failures{
	Statuses: map[int64]execution.ErrorCode{404: execution.CodeInvalidRequest},
	Words: []cliagent.Words{
		{Code: execution.CodeContextExceeded, Names: []string{"contextWindowExceeded"}},
		{Code: execution.CodeBudgetExceeded, Names: []string{"sessionBudgetExceeded"}},
		{Code: execution.CodeRateLimited, Names: []string{"usageLimitExceeded", "rateLimitExceeded"}},
		{Code: execution.CodeModelNotFound, Names: []string{"modelNotFound"}},
		{Code: execution.CodeAuth, Names: []string{"unauthorized"}},
		{Code: execution.CodeProvider, Names: []string{"flexUnavailable", "serverOverloaded", "policyCapacityUnavailable",
			"internalServerError"}},
		{Code: execution.CodeInvalidRequest, Names: []string{"badRequest", "cyberPolicy", "inferenceHookDenied",
			"misalignmentPolicyViolation", "tooManyDenials"}},
	},
	Phrases: cliagent.Phrases{
		{Code: execution.CodeSessionNotFound, Parts: []string{"no rollout found", "invalid session id"}},
		{Code: execution.CodeAuth, Parts: []string{"missing environment variable", "not logged in", "incorrect api key",
			"refresh token"}},
		{Code: execution.CodeContextExceeded, Parts: []string{"context window", "context_length_exceeded"}},
		{Code: execution.CodeRateLimited, Parts: []string{"usage limit", "quota", "rate limit"}},
		{Code: execution.CodeModelNotFound, Parts: []string{"model_not_found"}},
		{Code: execution.CodeInvalidRequest, Parts: []string{"input exceeds the maximum length"}},
		{Code: execution.CodeConfig, Parts: []string{"loading config", "failed to load configuration", "model provider", "codex home",
			"is no longer supported; remove this setting", "unexpected argument", "invalid value", "model instructions file"}},
		{Code: execution.CodeProvider, Parts: []string{"high demand", "at capacity", "stream disconnected", "error sending request",
			"connection failed", "timed out"}},
		{Code: execution.CodeModelNotFound, And: "does not exist", Parts: []string{"model"}},
		{Code: execution.CodeModelNotFound, And: "not supported", Parts: []string{"model"}},
	},
}

// codeOfText returns the code for a lower-case text. The first match counts.
func codeOfText(text string) execution.ErrorCode {
	if code := failures.Text(text); code != "" {
		return code
	}
	for _, before := range []string{"unexpected status ", "last status: "} {
		if _, rest, ok := strings.Cut(text, before); ok && len(rest) >= 3 {
			if status, err := strconv.ParseInt(rest[:3], 10, 64); err == nil {
				return failures.Status(status)
			}
		}
	}
	return ""
}

type apiBody struct{ message, code string }

var apiShape jsonscan.Shape[struct {
	Error  struct{ Message, Code, Type jsonscan.Value }
	Detail jsonscan.Value
}]

// apiError reads the body of a model API's reply that replaces a message.
func apiError(message string) (apiBody, bool) {
	if !strings.HasPrefix(message, "{") {
		return apiBody{}, false
	}
	v, _ := apiShape.Read([]byte(message))
	b := apiBody{message: cmp.Or(v.Error.Message.Str(), v.Detail.Str()), code: v.Error.Code.Str() + " " + v.Error.Type.Str()}
	return b, b.message != ""
}

// startError is the failure of a conversation that could not start.
func startError(f *cliagent.Failure, doing string) *execution.Error {
	e := execution.Errorf(f.Code, "codex: %s: %s", doing, f.Message)
	e.Agent = name
	if f.Code == execution.CodeAuth {
		e.Hint = loginGuidance
	}
	return e
}

// reconnect parses "Reconnecting... 1/5 (why)", Codex's note about a retry.
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

// retry returns the event for a retried model call.
func retry(attempt, most int, why string, info jsonscan.Value) execution.Retry {
	r := execution.Retry{Attempt: attempt, MaxAttempts: most, Reason: why}
	if f := failureOf(why, info); f.Code != execution.CodeInternal {
		r.Code = f.Code
	}
	return r
}
