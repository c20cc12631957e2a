package turnruntime

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/governance/protocol"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// vendor reads what known programs state about themselves in the records of their JSON output: model, session, usage, cost,
// and why a turn failed. A record counts by its fields. What a program says in words, to a person or in a log, never does: a
// line that talks of a rate limit is no rate limit.
type vendor struct {
	now     func() time.Time
	model   string
	session string

	input, output int64
	usd           *float64
	counted       bool
	retries       int
	doing         string

	failed  *fault    // of the last turn; nil when it went well
	resetAt time.Time // of a limit that is used up
}

// fault is why a provider refused, as its program stated it.
type fault struct {
	code    execution.ErrorCode
	message string
	final   bool // waiting a little is of no use
}

const (
	recType = iota
	recSubtype
	recSession
	recModel
	recIsError
	recStatus
	recErrorType
	recTerminal
	recResult
	recErrors
	recCost
	recUsage
	recModels
	recSince
	recThread
	recError
	recLimitStatus
	recLimitReset
	recContent
	recItem
	recErrorStatus
	recWord
	recCount
)

var recordKeys = jsonscan.NewKeySet("type", "subtype", "session_id", "model", "is_error", "api_error_status", "api_error_type",
	"terminal_reason", "result", "errors", "total_cost_usd", "usage", "modelUsage", "model_usage_since_last_result",
	"thread_id", "error.message", "rate_limit_info.status", "rate_limit_info.resetsAt", "message.content", "item", "error_status", "error")

// line takes a line of standard output. piece says that it is a piece of a message whose whole comes in a line of its own.
func (v *vendor) line(data []byte) (piece bool) {
	if len(data) < 2 || data[0] != '{' {
		return false
	}
	var r [recCount]jsonscan.Value
	if jsonscan.Fields(data, r[:], recordKeys) != nil {
		return false
	}
	typ, _ := r[recType].Plain()
	if string(typ) == "stream_event" {
		return true
	}
	switch string(typ) {
	case "system":
		if r[recSubtype].IsStr("init") {
			v.model, v.session = cmp.Or(r[recModel].Str(), v.model), cmp.Or(r[recSession].Str(), v.session)
		}
		if r[recSubtype].IsStr("api_retry") {
			// It tries again; if it ends like that, this is why.
			v.retries++
			if code := cliagent.CodeOfStatus(cliagent.Count(r[recErrorStatus])); code != "" {
				v.failed = &fault{code: code, message: "the model API answered " + strconv.FormatInt(cliagent.Count(r[recErrorStatus]), 10)}
			}
		}
	case "assistant":
		if !r[recWord].Exists() {
			v.failed = nil // the model has answered
		}
		for _, c := range r[recContent].Array {
			if c.Get("type").IsStr("tool_use") {
				v.doing = c.Get("name").Str()
			}
		}
	case "rate_limit_event":
		v.resetAt = time.Time{}
		if r[recLimitStatus].IsStr("rejected") {
			if at := cliagent.Count(r[recLimitReset]); at > 0 {
				v.resetAt = time.Unix(at, 0)
			}
		}
	case "result":
		if r[recSubtype].Exists() {
			v.claudeResult(&r)
		}
	case "thread.started":
		v.session = cmp.Or(r[recThread].Str(), v.session)
	case "item.started":
		v.doing = r[recItem].Get("type").Str()
	case "turn.completed":
		v.failed = nil
		if u := r[recUsage]; u.Exists() {
			// The numbers are those of the whole thread, so the last ones count.
			v.input, v.output, v.counted = cliagent.Count(u.Get("input_tokens")), cliagent.Count(u.Get("output_tokens")), true
		}
	case "turn.failed":
		if r[recError].Exists() {
			v.failed = codexFault(r[recError].Str())
		}
	}
	return false
}

// claudeResult is the end of a turn of Claude Code, and of what speaks its stream-json.
func (v *vendor) claudeResult(r *[recCount]jsonscan.Value) {
	v.session = cmp.Or(r[recSession].Str(), v.session)
	v.doing = ""
	switch {
	case r[recSince].Kind() == jsonscan.Object:
		// Newer versions state what is new since the last result; the totals may hold earlier processes of the session.
		v.addModels(r[recSince])
	default:
		u := r[recUsage]
		v.input = cliagent.Count(u.Get("input_tokens")) + cliagent.Count(u.Get("cache_read_input_tokens")) + cliagent.Count(u.Get("cache_creation_input_tokens"))
		v.output, v.usd = cliagent.Count(u.Get("output_tokens")), nil
		if total, ok := r[recCost].Float(); ok {
			v.usd = &total
		}
		v.counted = v.counted || u.Exists() || v.usd != nil
		if v.model == "" {
			for name := range r[recModels].Object {
				v.model = string(name)
				break
			}
		}
	}
	v.failed = nil
	if failed, _ := r[recIsError].Bool(); !failed && r[recSubtype].IsStr("success") {
		return
	}
	f := &fault{message: r[recResult].Str()}
	if f.message == "" {
		var lines []string
		for _, e := range r[recErrors].Array {
			lines = append(lines, e.Str())
		}
		f.message = strings.Join(lines, "; ")
	}
	switch status, subtype, terminal := cliagent.Count(r[recStatus]), r[recSubtype].Str(), r[recTerminal].Str(); {
	case subtype == "error_max_turns" || terminal == "max_turns":
		f.code = execution.CodeTurnLimit
	case subtype == "error_max_budget_usd" || terminal == "budget_exhausted":
		f.code = execution.CodeBudgetExceeded
	case terminal == "prompt_too_long" || terminal == "blocking_limit":
		f.code = execution.CodeContextExceeded
	case r[recErrorType].IsStr("billing_error"):
		f.code = execution.CodeAuth
	case status > 0:
		f.code = cliagent.CodeOfStatus(status)
	case terminal == "api_error" || terminal == "model_error":
		f.code = execution.CodeProvider
	}
	if f.code != "" {
		v.failed = f
	}
}

// addModels adds a usage object by model.
func (v *vendor) addModels(models jsonscan.Value) {
	for name, m := range models.Object {
		v.model = cmp.Or(v.model, string(name))
		v.input += cliagent.Count(m.Get("inputTokens")) + cliagent.Count(m.Get("cacheReadInputTokens")) + cliagent.Count(m.Get("cacheCreationInputTokens"))
		v.output += cliagent.Count(m.Get("outputTokens"))
		if usd, ok := m.Get("costUSD").Float(); ok {
			sum := usd
			if v.usd != nil {
				sum += *v.usd
			}
			v.usd = &sum
		}
		v.counted = true
	}
}

// codexFault is the failure of a turn of Codex. It states the status of the provider in a fixed form, or passes on the
// provider's own error object.
func codexFault(message string) *fault {
	f := &fault{message: message}
	if strings.HasPrefix(message, "{") {
		var v [4]jsonscan.Value
		if jsonscan.Fields([]byte(message), v[:], errorKeys) == nil {
			f.message = cmp.Or(v[0].Str(), message)
			f.code = codeOfWord(cmp.Or(v[1].Str(), v[2].Str()), v[2].Str())
			if f.code == "" {
				f.code = cliagent.CodeOfStatus(cliagent.Count(v[3]))
			}
		}
	}
	for _, form := range []string{"unexpected status ", "exceeded retry limit, last status: "} {
		rest, ok := strings.CutPrefix(message, form)
		if !ok || len(rest) < 3 || f.code != "" {
			continue
		}
		if status, err := strconv.ParseInt(rest[:3], 10, 64); err == nil {
			f.code = cliagent.CodeOfStatus(status)
		}
	}
	switch {
	case f.code != "":
	case strings.HasPrefix(message, "You've hit your usage limit"):
		f.code, f.final = execution.CodeRateLimited, true
	case strings.HasPrefix(message, "stream disconnected before completion"):
		f.code = execution.CodeProvider
	default:
		return nil
	}
	return f
}

var errorKeys = jsonscan.NewKeySet("error.message", "error.code", "error.type", "status")

// codeOfWord is the word for a provider's own name of an error.
func codeOfWord(words ...string) execution.ErrorCode {
	for _, w := range words {
		switch w {
		case "rate_limit_exceeded", "rate_limit_error", "usage_limit_reached", "insufficient_quota":
			return execution.CodeRateLimited
		case "invalid_api_key", "authentication_error", "permission_error", "billing_error":
			return execution.CodeAuth
		case "context_length_exceeded":
			return execution.CodeContextExceeded
		case "model_not_found", "not_found_error":
			return execution.CodeModelNotFound
		case "server_error", "overloaded_error", "api_error", "server_is_overloaded":
			return execution.CodeProvider
		case "invalid_request_error":
			return execution.CodeInvalidRequest
		}
	}
	return ""
}

// longestPause is how far away the end of a limit may be for another attempt to be worth its place.
const longestPause = 10 * time.Minute

// outcome is the fault as an outcome; false when there is none.
func (v *vendor) outcome() (Outcome, bool) {
	if v.failed == nil {
		return Outcome{}, false
	}
	row := v.failed.code.Row()
	o := Outcome{Class: classOf(v.failed.code), Detail: v.failed.message, Transient: row.Retryable && !v.failed.final}
	if v.failed.code == execution.CodeRateLimited && !v.resetAt.IsZero() {
		o.RetryAfter = max(0, v.resetAt.Sub(v.now()))
		o.Hint = "the limit is over at " + v.resetAt.UTC().Format(time.RFC3339) + "; then: drawbar govern step --resume"
	}
	o.settle(v.failed.code)
	return o, true
}

// settle says what helps, and that an attempt is wasted on a limit that is far from over.
func (o *Outcome) settle(code execution.ErrorCode) {
	if o.RetryAfter > longestPause {
		o.Transient = false
	}
	if o.Hint != "" {
		return
	}
	switch code {
	case execution.CodeAuth:
		o.Hint = "log in to the agent (drawbar auth), then: drawbar govern step --resume"
	case execution.CodeModelNotFound:
		o.Hint = "name another model in " + protocol.ConfigFile + ", then: drawbar govern step --resume"
	default:
		o.Hint = "drawbar govern step --resume"
	}
}

// classOf is the word of the governed record for a code.
func classOf(code execution.ErrorCode) string {
	switch code {
	case execution.CodeBudgetExceeded:
		return "budget_exceeded"
	case execution.CodeTurnLimit:
		return "turn_limit"
	case execution.CodeSpawn, execution.CodeAgentNotInstalled, execution.CodeAgentNotFound, execution.CodeUnknownAgent:
		return ClassSpawn
	case execution.CodeCapability:
		return ClassUnsupported
	case execution.CodeInactivityTimeout:
		return ClassStalled
	case execution.CodeAgentCrash:
		return ClassSubprocess
	}
	return string(code.Row().Class)
}

// meta is what was stated of the work; nil when nothing was.
func (v *vendor) meta() (*protocol.AdapterMeta, *protocol.Cost) {
	if v.model == "" && v.session == "" && !v.counted {
		return nil, nil
	}
	m := &protocol.AdapterMeta{Model: v.model, SessionID: v.session}
	if v.retries > 0 {
		m.Retries = &v.retries
	}
	if !v.counted {
		return m, nil
	}
	total := v.input + v.output
	m.InputTokens, m.OutputTokens, m.TotalTokens, m.CostUSD = &v.input, &v.output, &total, v.usd
	c := &protocol.Cost{InputTokens: v.input, OutputTokens: v.output}
	if v.usd != nil {
		c.USD = *v.usd
	}
	return m, c
}
