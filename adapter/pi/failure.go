package pi

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

const neededNode = "22.19.0"

const loginGuidance = "start pi and type /login, or set the key of the model's provider, such as ANTHROPIC_API_KEY"

// startFailures begin the lines of standard error that say why Pi did not start.
var startFailures = []string{"No session found matching", "No models available", "Error: ", "No API key"}

var failures = cliagent.Failures{Phrases: cliagent.Phrases{
	{Code: execution.CodeAgentNotInstalled, Parts: []string{"does not provide an export named"}, And: "node:"},
	{Code: execution.CodeSessionNotFound, Parts: []string{"no session found matching"}},
	{Code: execution.CodeAuth, Parts: []string{"no api key found", "no models available", "authentication failed", "invalid api key", "oauth token refresh failed"}},
	{Code: execution.CodeContextExceeded, Parts: []string{"maximum context length", "context length exceeded", "context_length_exceeded",
		"prompt is too long", "exceeds the context window", "input token count"}},
	{Code: execution.CodeRateLimited, Parts: []string{"rate limit", "too many requests", "quota", "usage limit"}},
	{Code: execution.CodeProvider, Parts: []string{"overloaded", "stream ended", "terminated", "fetch failed", "connection error", "socket hang up", "econnreset", "econnrefused", "timed out"}},
}}

// failureOf classifies Pi's message of a failed turn: "STATUS: BODY", where the body is the model API's JSON, or text.
func failureOf(message string) *cliagent.Failure {
	f := &cliagent.Failure{Message: cmp.Or(strings.TrimSpace(message), "pi ended the turn with an error and did not say which")}
	head, rest, ok := strings.Cut(f.Message, ":")
	if status, err := strconv.ParseInt(head, 10, 64); ok && err == nil {
		f.Code = failures.Status(status)
		f.Message = providerMessage(strings.TrimSpace(rest))
	}
	f.Code = cmp.Or(failures.Sharper(f.Code, strings.ToLower(f.Message)), execution.CodeProvider)
	if f.Code == execution.CodeAuth {
		f.Hint = loginGuidance
		f.Message, _, _ = strings.Cut(f.Message, "\n") // Pi's own hint names files of its installation
	}
	return f
}

// providerMessage returns the model API's message, with or without an error object around it.
func providerMessage(body string) string {
	v, err := jsonscan.Parse([]byte(body))
	if err != nil {
		return body
	}
	return cmp.Or(v.Get("message").Str(), v.Get("error").Get("message").Str(), body)
}
