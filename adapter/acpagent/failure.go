package acpagent

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// failure is why something was not carried out, as the agent stated it.
type failure struct {
	code    execution.ErrorCode
	message string
	login   bool // the agent demands a login
}

// failureOf reads an error of the agent. What it says in its data is more precise than its message.
func failureOf(spec Spec, fault jsonscan.Value) *failure {
	code, _ := fault.Get("code").Int()
	f := &failure{message: fault.Get("message").Str()}
	if details := detailsOf(fault.Get("data")); details != "" && !strings.Contains(f.message, details) {
		f.message = strings.TrimPrefix(f.message+": "+details, ": ")
	}
	f.message = cmp.Or(f.message, "error "+strconv.FormatInt(code, 10))
	if spec.Classify != nil {
		f.code = spec.Classify(code, f.message)
	}
	if f.code == "" {
		f.code = codeOfText(strings.ToLower(f.message))
	}
	switch {
	case code == codeAuthRequired && (f.code == "" || f.code == execution.CodeAuth):
		f.code, f.login = execution.CodeAuth, true
	case f.code != "":
	case code == codeNotFound:
		f.code = execution.CodeSessionNotFound
	case code == codeCancelled:
		f.code = execution.CodeInterrupted
	default:
		f.code = execution.CodeInternal
	}
	return f
}

// detailsOf is the text in the data of an error: agents have it as a text, or under one of these names.
func detailsOf(data jsonscan.Value) string {
	if data.Kind() == jsonscan.String {
		return data.Str()
	}
	for _, name := range []string{"details", "message", "errorMessage", "error", "reason"} {
		v := data.Get(name)
		if text := cmp.Or(v.Str(), v.Get("message").Str()); text != "" {
			return text
		}
	}
	return ""
}

// status finds the status of the model API in a text.
var status = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(401|403|404|408|429|400|5[0-9][0-9])\b`) })

// codeOfText is for what agents say in words only; text is in lower case. The first match counts.
func codeOfText(text string) execution.ErrorCode {
	for _, t := range []struct {
		part string
		code execution.ErrorCode
	}{
		{"session not found", execution.CodeSessionNotFound},
		{"unknown session", execution.CodeSessionNotFound},
		{"invalid session", execution.CodeSessionNotFound},
		{"no session", execution.CodeSessionNotFound},
		{"not logged in", execution.CodeAuth},
		{"authentication required", execution.CodeAuth},
		{"unauthorized", execution.CodeAuth},
		{"unauthenticated", execution.CodeAuth},
		{"api key", execution.CodeAuth},
		{"context length", execution.CodeContextExceeded},
		{"context_length_exceeded", execution.CodeContextExceeded},
		{"context window", execution.CodeContextExceeded},
		{"rate limit", execution.CodeRateLimited},
		{"too many requests", execution.CodeRateLimited},
		{"quota", execution.CodeRateLimited},
		{"model not found", execution.CodeModelNotFound},
		{"model_not_found", execution.CodeModelNotFound},
		{"overloaded", execution.CodeProvider},
		{"connection error", execution.CodeProvider},
		{"fetch failed", execution.CodeProvider},
		{"econnrefused", execution.CodeProvider},
		{"timed out", execution.CodeProvider},
	} {
		if strings.Contains(text, t.part) {
			return t.code
		}
	}
	switch m := status().FindString(text); {
	case m == "":
		return ""
	case m == "401" || m == "403":
		return execution.CodeAuth
	case m == "429":
		return execution.CodeRateLimited
	case m == "408" || m[0] == '5':
		return execution.CodeProvider
	}
	return execution.CodeInvalidRequest
}

// loginHint says what to type when the agent wants a login.
func loginHint(spec Spec, agent abilities) string {
	if spec.LoginHint != "" {
		return spec.LoginHint
	}
	var ways []string
	for _, m := range agent.logins {
		way := cmp.Or(m.Name, m.ID)
		if m.Description != "" && m.Description != way {
			way += " (" + m.Description + ")"
		}
		ways = append(ways, way)
	}
	if len(ways) == 0 {
		return "log in with the agent's own command"
	}
	return "log in with the agent's own command; it offers: " + strings.Join(ways, "; ")
}

// report shows why a turn failed, before the turn's end.
func (f *failure) report(hint string, s *cliagent.Sink) {
	switch f.code {
	case execution.CodeAuth:
		s.Emit(execution.AuthError{Message: f.message, Guidance: hint})
	case execution.CodeRateLimited:
		s.Emit(execution.RateLimitError{Message: f.message})
	case execution.CodeContextExceeded:
		s.Emit(execution.ContextExceeded{})
	default:
		s.Emit(execution.ErrorEvent{Code: f.code, Message: f.message})
	}
}

// result is the failure as a result or the end of a turn carries it.
func (f *failure) result(hint string) *execution.ResultError {
	e := execution.NewResultError(f.code, f.message)
	switch f.code {
	case execution.CodeInternal:
		e.Code = execution.FailureBackendExecution // the agent's failure, not ours
	case execution.CodeAuth:
		e.Metadata["hint"] = hint
	}
	return e
}

// err is the failure of a conversation that could not begin.
func (f *failure) err(spec Spec, agent abilities, doing string) *execution.Error {
	e := execution.Errorf(f.code, "%s cannot %s: %s", spec.Name, doing, f.message)
	e.Agent = spec.Name
	if f.code == execution.CodeAuth {
		e.Hint = loginHint(spec, agent)
	}
	return e
}
