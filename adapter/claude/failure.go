package claude

import (
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

const loginGuidance = "log in with: claude auth login, or set ANTHROPIC_API_KEY"

// notice is what Claude said in the model's place when a call failed.
type notice struct {
	text   string
	word   string
	status int64
}

// mend reports a failure that did not end the turn.
func (n *notice) mend(s *cliagent.Sink) {
	code := cliagent.CodeOfStatus(n.status)
	if code == "" {
		code = codeOfWord(n.word)
	}
	if code == "" {
		code = execution.CodeProvider
	}
	s.Emit(execution.ErrorEvent{Code: code, Message: n.text, Recoverable: true})
}

// failureCode finds the word for a failed turn: by Claude's reason, by the status of the model API, by the word of the
// message in the model's place, by texts of versions that say it no other way.
func (p *parser) failureCode(v *[resultKeyCount]jsonscan.Value, subtype string, o *outcome) execution.ErrorCode {
	switch {
	case subtype == "error_max_turns" || o.terminal == "max_turns":
		return execution.CodeTurnLimit
	case subtype == "error_max_budget_usd" || o.terminal == "budget_exhausted":
		return execution.CodeBudgetExceeded
	case subtype == "error_max_structured_output_retries" || o.terminal == "structured_output_retry_exhausted":
		return execution.CodeInvalidOutput
	case o.terminal == "prompt_too_long" || o.terminal == "blocking_limit" || o.terminal == "rapid_refill_breaker":
		return execution.CodeContextExceeded
	}
	text := strings.ToLower(o.message)
	if code := phrases.Code(text); code != "" {
		return code
	}
	if status := cliagent.Count(v[resultStatus]); status != 0 {
		return cliagent.CodeOfStatus(status)
	}
	if p.synthetic != nil {
		if code := cliagent.CodeOfStatus(p.synthetic.status); code != "" {
			return code
		}
		if code := codeOfWord(p.synthetic.word); code != "" {
			return code
		}
	}
	switch {
	case o.stop == "refusal" || o.terminal == "image_error":
		return execution.CodeInvalidRequest
	case o.terminal == "api_error" || o.terminal == "model_error" || o.terminal == "malformed_tool_use_exhausted" ||
		strings.HasPrefix(text, "api error"):
		return execution.CodeProvider
	case v[resultStartup].Kind() == jsonscan.String || o.terminal == "turn_setup_failed":
		return execution.CodeConfig
	}
	return execution.CodeAgentCrash
}

// codeOfWord is the word for Claude's own name of a failed call, empty for one that says nothing.
func codeOfWord(word string) execution.ErrorCode {
	switch word {
	case "authentication_failed", "oauth_org_not_allowed", "account_on_hold", "verification_required", "billing_error", "cloud_credential_error":
		return execution.CodeAuth
	case "rate_limit":
		return execution.CodeRateLimited
	case "overloaded", "server_error":
		return execution.CodeProvider
	case "invalid_request":
		return execution.CodeInvalidRequest
	case "model_not_found":
		return execution.CodeModelNotFound
	case "max_output_tokens":
		return execution.CodeContextExceeded
	}
	return ""
}

// phrases are for what Claude says in no other way.
var phrases = cliagent.Phrases{
	{Part: "no conversation found", Code: execution.CodeSessionNotFound},
	{Part: "requires a valid session id", Code: execution.CodeSessionNotFound},
	{Part: "is already in use", Code: execution.CodeValidation},
	{Part: "prompt is too long", Code: execution.CodeContextExceeded},
	{Part: "not logged in", Code: execution.CodeAuth},
	{Part: "please run /login", Code: execution.CodeAuth},
	{Part: "invalid api key", Code: execution.CodeAuth},
	{Part: "credit balance is too low", Code: execution.CodeAuth},
	{Part: "is not a valid json schema", Code: execution.CodeValidation},
	{Part: "error: unknown option", Code: execution.CodeConfig},
	{Part: "error: option", Code: execution.CodeValidation},
	{Part: "error: when using --print", Code: execution.CodeValidation},
	{Part: "error: input must be provided", Code: execution.CodeValidation},
	{Part: "cannot be used with root", Code: execution.CodeConfig},
	{Part: "invalid mcp configuration", Code: execution.CodeConfig},
}

// contextExceeded reads the numbers that newer versions put into the text.
func contextExceeded(text string) execution.ContextExceeded {
	return cliagent.ContextNumbers(text, "request is ~", "%d tokens (limit %d)")
}

// startFailure is the outcome of a process that went away without a result line but said why on standard error. It is
// nil when nothing is understood.
func (p *parser) startFailure(exit process.Exit) *outcome {
	code, message := phrases.Complaint(exit)
	if code == "" || p.session != "" {
		return nil
	}
	return &outcome{reason: execution.TurnFailed, code: code, message: message}
}

// reason words a failed call for a retry.
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
