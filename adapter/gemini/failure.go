package gemini

import (
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

const (
	loginGuidance = "set GEMINI_API_KEY, or run gemini once in a terminal and log in with a Google account"
	// gatewayGuidance is for the login that Gemini picks by itself where only the address of a model API is set, and then refuses.
	gatewayGuidance = `name the login in ~/.gemini/settings.json: {"security":{"auth":{"selectedType":"gemini-api-key"}}}; ` +
		"GOOGLE_GEMINI_BASE_URL alone makes gemini choose one that it refuses"
	trustGuidance = "trust the directory in gemini once, or set GEMINI_CLI_TRUST_WORKSPACE=true"
)

// failure is why a turn failed, as Gemini stated it.
type failure struct {
	code    execution.ErrorCode
	message string
	hint    string
	final   bool // another attempt is of no use before something changes, whatever the table says of the code
}

// failureOf reads the error of a result: the name of its class, and a message that mostly holds the model API's answer.
func failureOf(class, message string) *failure {
	f := &failure{message: message}
	body, inner := apiError(message)
	if inner {
		f.message = body.message
	} else if said, ok := strings.CutPrefix(message, "[API Error: "); ok {
		if end := strings.LastIndexByte(said, ']'); end > 0 {
			f.message = said[:end] // what follows is advice for a person at a terminal
		}
	}
	lower := strings.ToLower(message)
	switch {
	case classes[class] != "":
		f.code = classes[class]
	case inner:
		f.code = body.code()
	}
	// What the text says is more precise than a class or a status that stands for many things.
	if code := codeOfText(lower); code != "" && (f.code == "" || f.code == execution.CodeInvalidRequest || f.code == execution.CodeProvider) {
		f.code = code
	}
	if f.code == "" {
		f.code = execution.CodeInternal
		if strings.HasPrefix(message, "[API Error:") {
			f.code = execution.CodeProvider
		}
	}
	f.final = f.code == execution.CodeRateLimited && (class == "TerminalQuotaError" || strings.Contains(lower, "per day") || strings.Contains(lower, "daily"))
	f.advise(lower)
	return f
}

// advise says what to type next, where that is known.
func (f *failure) advise(lower string) {
	switch {
	case strings.Contains(lower, "invalid auth method"):
		f.hint = gatewayGuidance
	case f.code == execution.CodeAuth:
		f.hint = loginGuidance
	case f.code == execution.CodeConfig && strings.Contains(lower, "trusted directory"):
		f.hint = trustGuidance
	case f.code == execution.CodeConfig:
		f.hint = "look at ~/.gemini/settings.json and .gemini/settings.json"
	}
}

// classes are the errors that Gemini has names for.
var classes = map[string]execution.ErrorCode{
	"FatalAuthenticationError":     execution.CodeAuth,
	"UnauthorizedError":            execution.CodeAuth,
	"ForbiddenError":               execution.CodeAuth,
	"AccountSuspendedError":        execution.CodeAuth,
	"ValidationRequiredError":      execution.CodeAuth,
	"FatalInputError":              execution.CodeInvalidRequest,
	"BadRequestError":              execution.CodeInvalidRequest,
	"FatalConfigError":             execution.CodeConfig,
	"FatalSandboxError":            execution.CodeConfig,
	"FatalUntrustedWorkspaceError": execution.CodeConfig,
	"FatalTurnLimitedError":        execution.CodeTurnLimit,
	"FatalCancellationError":       execution.CodeInterrupted,
	"TerminalQuotaError":           execution.CodeRateLimited,
	"RetryableQuotaError":          execution.CodeRateLimited,
	"ModelNotFoundError":           execution.CodeModelNotFound,
}

// codeOfText is for what is said in words only; text is in lower case. The first match counts.
func codeOfText(text string) execution.ErrorCode {
	for _, t := range []struct {
		part string
		code execution.ErrorCode
	}{
		{"api key not valid", execution.CodeAuth},
		{"api_key_invalid", execution.CodeAuth},
		{"api key expired", execution.CodeAuth},
		{"invalid auth method", execution.CodeAuth},
		{"set an auth method", execution.CodeAuth},
		{"gemini_api_key environment variable", execution.CodeAuth},
		{"authentication required", execution.CodeAuth},
		{"invalid session identifier", execution.CodeSessionNotFound},
		{"no previous sessions", execution.CodeSessionNotFound},
		{"exceeds the maximum number of tokens", execution.CodeContextExceeded},
		{"input token count", execution.CodeContextExceeded},
		{"quota", execution.CodeRateLimited},
		{"rate limit", execution.CodeRateLimited},
		{"not running in a trusted directory", execution.CodeConfig},
		{"unknown argument", execution.CodeConfig},
		{"please fix the configuration", execution.CodeConfig},
		{"incomplete json segment", execution.CodeProvider},
		{"fetch failed", execution.CodeProvider},
		{"terminated", execution.CodeProvider},
		{"socket hang up", execution.CodeProvider},
		{"econnreset", execution.CodeProvider},
		{"econnrefused", execution.CodeProvider},
		{"overloaded", execution.CodeProvider},
	} {
		if strings.Contains(text, t.part) {
			return t.code
		}
	}
	return ""
}

// apiBody is an answer of the Gemini API that is an error.
type apiBody struct {
	status  int64
	message string
}

func (b apiBody) code() execution.ErrorCode { return codeOfStatus(b.status) }

// codeOfStatus is the word for a status of the model API, empty for none.
func codeOfStatus(status int64) execution.ErrorCode {
	switch {
	case status == 401 || status == 403:
		return execution.CodeAuth
	case status == 404:
		return execution.CodeModelNotFound
	case status == 429:
		return execution.CodeRateLimited
	case status == 408 || status == 499 || status >= 500 && status < 600:
		return execution.CodeProvider
	case status >= 400 && status < 500:
		return execution.CodeInvalidRequest
	}
	return ""
}

var apiKeys = jsonscan.NewKeySet("error.code", "error.message")

// apiError finds the body of the model API's answer in a text. Its message may be such a body again.
func apiError(text string) (b apiBody, ok bool) {
	for range 3 {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		var body json.RawMessage
		if json.NewDecoder(strings.NewReader(text[at:])).Decode(&body) != nil {
			break
		}
		var v [2]jsonscan.Value
		if jsonscan.Fields(body, v[:], apiKeys) != nil || v[1].Kind() != jsonscan.String {
			break
		}
		ok = true
		if status, is := v[0].Int(); is {
			b.status = status
		}
		b.message = v[1].Str()
		text = b.message
	}
	return b, ok
}

// report shows why a turn failed, before the turn's end.
func (f *failure) report(s *cliagent.Sink) {
	switch f.code {
	case execution.CodeAuth:
		s.Emit(execution.AuthError{Message: f.message, Guidance: f.hint})
	case execution.CodeRateLimited:
		s.Emit(execution.RateLimitError{Message: f.message})
	case execution.CodeContextExceeded:
		s.Emit(execution.ContextExceeded{})
	case execution.CodeInterrupted, execution.CodeTurnLimit:
	default:
		s.Emit(execution.ErrorEvent{Code: f.code, Message: f.message})
	}
}

// reason is how a turn ends that failed so.
func (f *failure) reason() execution.TurnEndReason {
	switch f.code {
	case execution.CodeInterrupted:
		return execution.TurnInterrupted
	case execution.CodeTurnLimit:
		return execution.TurnLimitReached
	}
	return execution.TurnFailed
}

// result is the failure as a result or the end of a turn carries it.
func (f *failure) result() *execution.ResultError {
	e := execution.NewResultError(f.code, f.message)
	if f.code == execution.CodeInternal {
		e.Code = execution.FailureBackendExecution // the agent's failure, not ours
	}
	if f.hint != "" {
		e.Metadata["hint"] = f.hint
	}
	if f.final {
		e.Retryable, e.Recoverable = false, false
	}
	return e
}

// fill states the failure in the run's result.
func (f *failure) fill(res *execution.Result) {
	if f.code == execution.CodeTurnLimit {
		res.Status, res.ExitReason = execution.StatusDeferred, execution.ExitTurnLimit
		return
	}
	res.Status, res.Error = execution.StatusFailed, f.result()
	if f.code == execution.CodeInterrupted {
		res.ExitReason = execution.ExitInterrupted
	}
}
