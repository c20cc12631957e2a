package claude

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

const loginGuidance = "log in with: claude auth login, or set ANTHROPIC_API_KEY"

// notice returns the notice that Claude showed in place of the model's text when a call failed.
type notice struct {
	text   string
	word   string
	status int64
}

// recovered reports a failure that did not end the turn.
func (n *notice) recovered(s *cliagent.Sink) {
	code := cmp.Or(codeOf(n.status, n.word), execution.CodeProvider)
	s.Emit(execution.ErrorEvent{Code: code, Message: n.text, Recoverable: true})
}

// failureCode returns the code of a failed turn: by Claude's reason, by the model API's status, by the word of the
// notice, by texts of older versions.
func (p *parser) failureCode(v *resultForm, subtype string, o *outcome, message string) execution.ErrorCode {
	if code := cmp.Or(ends[subtype], ends[o.terminal]); code != "" {
		return code
	}
	text := strings.ToLower(message)
	if code := failures.Text(text); code != "" {
		return code
	}
	if code := failures.Status(cliagent.Count(v.APIErrorStatus)); code != "" {
		return code
	}
	if p.synthetic != nil {
		if code := codeOf(p.synthetic.status, p.synthetic.word); code != "" {
			return code
		}
	}
	switch {
	case o.stop == "refusal" || o.terminal == "image_error":
		return execution.CodeInvalidRequest
	case o.terminal == "api_error" || o.terminal == "model_error" || o.terminal == "malformed_tool_use_exhausted" ||
		strings.HasPrefix(text, "api error"):
		return execution.CodeProvider
	case v.StartupFailureReason.Kind() == jsonscan.String || o.terminal == "turn_setup_failed":
		return execution.CodeConfig
	}
	return execution.CodeAgentCrash
}

// codeOf returns the code of a failed call of the model API: by its status, by Claude's own name.
func codeOf(status int64, word string) execution.ErrorCode {
	return cmp.Or(failures.Status(status), failures.Word(word))
}

// ends are Claude's names for the end of a turn that failed.
var ends = map[string]execution.ErrorCode{
	"error_max_turns": execution.CodeTurnLimit, "max_turns": execution.CodeTurnLimit,
	"error_max_budget_usd": execution.CodeBudgetExceeded, "budget_exhausted": execution.CodeBudgetExceeded,
	"error_max_structured_output_retries": execution.CodeInvalidOutput, "structured_output_retry_exhausted": execution.CodeInvalidOutput,
	"prompt_too_long": execution.CodeContextExceeded, "blocking_limit": execution.CodeContextExceeded, "rapid_refill_breaker": execution.CodeContextExceeded,
}

// failures are Claude's error names, and phrases for errors without one.
var failures = cliagent.Failures{
	Words: []cliagent.Words{
		{Code: execution.CodeAuth, Names: []string{"authentication_failed", "oauth_org_not_allowed", "account_on_hold",
			"verification_required", "billing_error", "cloud_credential_error"}},
		{Code: execution.CodeRateLimited, Names: []string{"rate_limit"}},
		{Code: execution.CodeProvider, Names: []string{"overloaded", "server_error"}},
		{Code: execution.CodeInvalidRequest, Names: []string{"invalid_request"}},
		{Code: execution.CodeModelNotFound, Names: []string{"model_not_found"}},
		{Code: execution.CodeContextExceeded, Names: []string{"max_output_tokens"}},
	},
	Phrases: cliagent.Phrases{
		{Code: execution.CodeSessionNotFound, Parts: []string{"no conversation found", "requires a valid session id"}},
		{Code: execution.CodeValidation, Parts: []string{"is already in use"}},
		{Code: execution.CodeContextExceeded, Parts: []string{"prompt is too long"}},
		{Code: execution.CodeAuth, Parts: []string{"not logged in", "please run /login", "invalid api key",
			"credit balance is too low"}},
		{Code: execution.CodeValidation, Parts: []string{"is not a valid json schema"}},
		{Code: execution.CodeConfig, Parts: []string{"error: unknown option"}},
		{Code: execution.CodeValidation, Parts: []string{"error: option", "error: when using --print",
			"error: input must be provided"}},
		{Code: execution.CodeConfig, Parts: []string{"cannot be used with root", "invalid mcp configuration"}},
	},
}

// contextExceeded reads the numbers in the text of newer versions.
func contextExceeded(text string) execution.ContextExceeded {
	return cliagent.ContextNumbers(text, "request is ~", "%d tokens (limit %d)")
}

// startFailure derives from standard error why a process exited without a result line. It is nil if nothing is
// recognized.
func (p *parser) startFailure(exit process.Exit) *outcome {
	code, message := failures.Phrases.Complaint(exit)
	if code == "" || p.session != "" {
		return nil
	}
	o := &outcome{}
	o.fail(code, message)
	return o
}

// reason formats a failed call for a retry.
func reason(status int64, word string) string {
	switch {
	case status == 0 && (word == "" || word == "unknown"):
		return "the model API could not be reached"
	case status == 0:
		return word
	case word == "" || word == "unknown":
		return fmt.Sprintf("the model API answered %d", status)
	}
	return fmt.Sprintf("the model API answered %d (%s)", status, word)
}
