package acpagent

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// failure is why a request failed, as the agent stated it.
type failure struct {
	cliagent.Failure
	login bool // the agent requires a login
}

// failureOf reads an error of the agent. Its data is more precise than its message.
func failureOf(spec Spec, fault jsonscan.Value) *failure {
	code, _ := fault.Get("code").Int()
	f := &failure{Failure: cliagent.Failure{Message: fault.Get("message").Str()}}
	if details := detailsOf(fault.Get("data")); details != "" && !strings.Contains(f.Message, details) {
		f.Message = strings.TrimPrefix(f.Message+": "+details, ": ")
	}
	f.Message = cmp.Or(f.Message, "error "+strconv.FormatInt(code, 10))
	if spec.Classify != nil {
		f.Code = spec.Classify(code, f.Message)
	}
	if f.Code == "" {
		f.Code = CodeOfText(f.Message)
	}
	switch {
	case code == codeAuthRequired && (f.Code == "" || f.Code == execution.CodeAuth):
		f.Code, f.login = execution.CodeAuth, true
	case f.Code != "":
	case code == codeNotFound:
		f.Code = execution.CodeSessionNotFound
	case code == codeCancelled:
		f.Code = execution.CodeInterrupted
	default:
		f.Code = execution.CodeInternal
	}
	return f
}

// detailsOf returns the text in an error's data: the data itself, or a member of one of these names.
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

// status finds a status of the model API in a text.
var status = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(401|403|404|408|429|400|5[0-9][0-9])\b`) })

// failures are agents' phrases. A status of 404 refers to a URL as often as to a model.
var failures = cliagent.Failures{
	Statuses: map[int64]execution.ErrorCode{404: execution.CodeInvalidRequest},
	Phrases: cliagent.Phrases{
		{Code: execution.CodeSessionNotFound, Parts: []string{"session not found", "unknown session", "invalid session", "no session"}},
		{Code: execution.CodeAuth, Parts: []string{"not logged in", "authentication required", "unauthorized", "unauthenticated",
			"api key", "invalid x-api-key"}},
		{Code: execution.CodeContextExceeded, Parts: []string{"context length", "context_length_exceeded", "context window"}},
		{Code: execution.CodeRateLimited, Parts: []string{"rate limit", "too many requests", "quota"}},
		{Code: execution.CodeModelNotFound, Parts: []string{"model not found", "model_not_found"}},
		{Code: execution.CodeProvider, Parts: []string{"overloaded", "connection error", "fetch failed", "econnrefused", "timed out"}},
	},
}

// CodeOfText returns the code for an agent's description of a failure: for its words, or a status of the model API in
// it; empty if it has neither.
func CodeOfText(text string) execution.ErrorCode {
	text = strings.ToLower(text)
	n, _ := strconv.ParseInt(status().FindString(text), 10, 64) // three digits, or empty and 0
	return cmp.Or(failures.Text(text), failures.Status(n))
}

// loginHint returns what to type when the agent requires a login.
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

// err returns the failure of a conversation that could not start.
func (f *failure) err(spec Spec, agent abilities, doing string) *execution.Error {
	e := execution.Errorf(f.Code, "%s cannot %s: %s", spec.Name, doing, f.Message)
	e.Agent = spec.Name
	if f.Code == execution.CodeAuth {
		e.Hint = loginHint(spec, agent)
	}
	return e
}
