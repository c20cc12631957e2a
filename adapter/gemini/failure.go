package gemini

import (
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

const (
	loginGuidance = "set GEMINI_API_KEY, or run gemini once in a terminal and log in with a Google account"
	// gatewayGuidance is for the login that Gemini selects, and then refuses, if only the URL of a model API is set.
	gatewayGuidance = `name the login in ~/.gemini/settings.json: {"security":{"auth":{"selectedType":"gemini-api-key"}}}; ` +
		"GOOGLE_GEMINI_BASE_URL alone makes gemini choose one that it refuses"
	trustGuidance = "trust the directory in gemini once, or set GEMINI_CLI_TRUST_WORKSPACE=true"
)

// failureOf reads the error of a result: the name of its class, and a message that usually contains the model API's
// reply.
func failureOf(class, message string) *cliagent.Failure {
	f := &cliagent.Failure{Message: message}
	body, inner := apiError(message)
	if inner {
		f.Message = body.message
	} else if said, ok := strings.CutPrefix(message, "[API Error: "); ok {
		if end := strings.LastIndexByte(said, ']'); end > 0 {
			f.Message = said[:end] // advice for a person at a terminal follows
		}
	}
	lower := strings.ToLower(message)
	if f.Code = failures.Word(class); f.Code == "" && inner {
		f.Code = failures.Status(body.status)
	}
	f.Code = failures.Sharper(f.Code, lower)
	if f.Code == "" {
		f.Code = execution.CodeInternal
		if strings.HasPrefix(message, "[API Error:") {
			f.Code = execution.CodeProvider
		}
	}
	f.Final = f.Code == execution.CodeRateLimited && (class == "TerminalQuotaError" || strings.Contains(lower, "per day") || strings.Contains(lower, "daily"))
	advise(f, lower)
	return f
}

// advise says what to type next, if known.
func advise(f *cliagent.Failure, lower string) {
	switch {
	case strings.Contains(lower, "invalid auth method"):
		f.Hint = gatewayGuidance
	case f.Code == execution.CodeAuth:
		f.Hint = loginGuidance
	case f.Code == execution.CodeConfig && strings.Contains(lower, "trusted directory"):
		f.Hint = trustGuidance
	case f.Code == execution.CodeConfig:
		f.Hint = "look at ~/.gemini/settings.json and .gemini/settings.json"
	}
}

// failures are Gemini's error names, and phrases for errors without one.
var failures = cliagent.Failures{
	Statuses: map[int64]execution.ErrorCode{499: execution.CodeProvider}, // an aborted call
	Words: []cliagent.Words{
		{Code: execution.CodeAuth, Names: []string{"FatalAuthenticationError", "UnauthorizedError", "ForbiddenError",
			"AccountSuspendedError", "ValidationRequiredError"}},
		{Code: execution.CodeInvalidRequest, Names: []string{"FatalInputError", "BadRequestError"}},
		{Code: execution.CodeConfig, Names: []string{"FatalConfigError", "FatalSandboxError", "FatalUntrustedWorkspaceError"}},
		{Code: execution.CodeTurnLimit, Names: []string{"FatalTurnLimitedError"}},
		{Code: execution.CodeInterrupted, Names: []string{"FatalCancellationError"}},
		{Code: execution.CodeRateLimited, Names: []string{"TerminalQuotaError", "RetryableQuotaError"}},
		{Code: execution.CodeModelNotFound, Names: []string{"ModelNotFoundError"}},
	},
	Phrases: cliagent.Phrases{
		{Code: execution.CodeAuth, Parts: []string{"api key not valid", "api_key_invalid", "api key expired", "invalid auth method",
			"set an auth method", "gemini_api_key environment variable", "authentication required"}},
		{Code: execution.CodeSessionNotFound, Parts: []string{"invalid session identifier", "no previous sessions"}},
		{Code: execution.CodeContextExceeded, Parts: []string{"exceeds the maximum number of tokens", "input token count"}},
		{Code: execution.CodeRateLimited, Parts: []string{"quota", "rate limit"}},
		{Code: execution.CodeConfig, Parts: []string{"not running in a trusted directory", "unknown argument",
			"please fix the configuration"}},
		{Code: execution.CodeProvider, Parts: []string{"incomplete json segment", "fetch failed", "terminated", "socket hang up",
			"econnreset", "econnrefused", "overloaded"}},
	},
}

// apiBody is an error reply of the Gemini API.
type apiBody struct {
	status  int64
	message string
}

var apiShape jsonscan.Shape[struct {
	Error struct{ Code, Message jsonscan.Value }
}]

// apiError finds the body of the model API's reply in a text. Its message may contain another body.
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
		v, is := apiShape.Read(body)
		if !is || v.Error.Message.Kind() != jsonscan.String {
			break
		}
		ok = true
		if status, is := v.Error.Code.Int(); is {
			b.status = status
		}
		b.message = v.Error.Message.Str()
		text = b.message
	}
	return b, ok
}

// outcomeOf returns the outcome of a turn that ended with a text and a failure; nil is none.
func outcomeOf(text string, f *cliagent.Failure) *cliagent.Outcome {
	o := &cliagent.Outcome{Reason: execution.TurnCompleted, Text: text, Failure: f}
	switch {
	case f == nil:
	case f.Code == execution.CodeInterrupted:
		o.Reason, o.Failure = execution.TurnInterrupted, nil
	case f.Code == execution.CodeTurnLimit:
		o.Reason, o.Failure = execution.TurnLimitReached, nil
	default:
		o.Reason = execution.TurnFailed
	}
	return o
}
