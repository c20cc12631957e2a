package codex

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonrpc"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// lineForm is a line of codex app-server, read in one pass.
type lineForm struct {
	_                         jsonscan.Camel
	ID, Method, Result, Error jsonscan.Value
	Params                    struct {
		Whole                                                           jsonscan.Value `scan:"."`
		ThreadID, TurnID, ItemID, RequestID, Delta, Item, Turn, Message jsonscan.Value
		TokenUsage                                                      struct{ Total, Last tokensForm }
	}
}

var lineShape jsonscan.Shape[lineForm]

// idle are notifications that a run ignores.
var idle = []string{"thread/status/changed", "thread/archived", "thread/deleted", "thread/unarchived", "thread/closed",
	"thread/reverted", "thread/name/updated", "thread/section/changed", "thread/attachment/updated", "thread/goal/updated",
	"thread/prediction/updated", "thread/goal/cleared", "thread/queue/changed", "project/changed", "thread/project/updated",
	"thread/environment/connected", "thread/environment/disconnected", "thread/settings/updated", "hook/started", "hook/completed",
	"item/autoApprovalReview/started", "item/autoApprovalReview/completed", "autoApprovalReview/strictReviewRequired",
	"command/exec/outputDelta", "process/outputDelta", "process/exited", "item/commandExecution/terminalInteraction",
	"item/fileChange/outputDelta", "item/fileChange/patchUpdated", "item/mcpToolCall/progress", "item/reasoning/summaryPartAdded",
	"mcpServer/oauthLogin/completed", "mcpServer/event/stream/notification", "account/updated", "account/gatewayOAuth/changed",
	"account/login/completed", "externalAgentConfig/import/progress", "externalAgentConfig/import/completed", "fs/changed",
	"thread/compacted", "model/verification", "modelProvider/authRecoveryStarted", "modelProvider/authRecoveryCompleted",
	"turn/moderationMetadata", "model/safetyBuffering/updated", "windowsSandbox/setupCompleted"}

var _ cliagent.Parser = (*appParser)(nil)

// appParser converts a conversation with codex app-server to events. It belongs to one run.
type appParser struct {
	req   execution.Request
	key   string      // key to log in with, empty for the existing login
	input []inputItem // of the first turn
	names *jsonscan.Interner
	v     lineForm // being read
	err   stderr

	calls jsonrpc.Calls[call] // our requests without a reply
	ready bool                // the thread exists and the first turn was requested
	threads
	turnState
	inbox
	asking

	model   string
	retries int
	plans   int
	limits  string // the rate limit that was last reported
}

// call is a request to Codex.
type call struct {
	method string
	say    execution.Say // of a message
	turn   string        // the turn it was meant for
}

func newAppParser(req execution.Request, key string) *appParser {
	return &appParser{req: req, key: key, names: jsonscan.NewInterner(256), model: req.Run.Model,
		threads: threads{main: newConversation(""), subs: map[string]*conversation{}, spawns: map[string]bool{}},
		asking:  asking{requests: map[string]*request{}, patches: map[string][]string{}}}
}

// Open starts the handshake.
func (p *appParser) Open(s *cliagent.Sink) {
	m, err := messageOf(p.req)
	if err != nil {
		s.Fail(execution.Errorf(execution.CodeOf(err), "codex: %w", err))
		return
	}
	p.input = m.input()
	p.starting = true
	p.ask(s, call{method: "initialize"}, newInitialize(p.req.Run.Interactive))
}

// ask sends a request.
func (p *appParser) ask(s *cliagent.Sink, c call, params any) {
	s.Write(jsonrpc.Message{ID: p.calls.Add(c), Method: c.method, Params: params}.Line())
}

// Line handles one line of Codex's output.
func (p *appParser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	switch {
	case src == process.Stderr:
		p.err.line(line, s)
	case len(line) == 0:
	case !lineShape.Into(line, &p.v) || !p.message(s):
		if len(strings.TrimSpace(string(line))) > 0 {
			s.Unknown(src, line)
		}
	}
}

// message dispatches a line. It returns false for an unknown one.
func (p *appParser) message(s *cliagent.Sink) bool {
	if !p.v.Method.Exists() {
		return p.response(s)
	}
	if p.v.ID.Exists() {
		return p.request(s)
	}
	method, _ := p.v.Method.Plain()
	p.unannounced(s)
	switch string(method) {
	case "item/agentMessage/delta", "item/plan/delta":
		return p.delta(s, flowText)
	case "item/reasoning/textDelta", "item/reasoning/summaryTextDelta":
		return p.delta(s, flowThinking)
	case "item/commandExecution/outputDelta":
		return p.delta(s, flowCommand)
	case "item/started":
		return p.item(s, false)
	case "item/completed":
		return p.item(s, true)
	case "thread/tokenUsage/updated":
		return p.usage(s)
	case "turn/started":
		return p.turnStarted(s)
	case "turn/completed":
		return p.turnCompleted(s)
	case "error":
		return p.error(s)
	case "serverRequest/resolved":
		return p.resolved(s)
	case "account/rateLimits/updated":
		return p.rateLimits(s)
	case "turn/plan/updated":
		return p.plan(s)
	case "thread/started":
		return p.threadStarted()
	case "warning", "guardianWarning":
		p.note(s, execution.DebugWarn, p.v.Params.Message)
		return true
	case "configWarning", "deprecationNotice", "windows/worldWritableWarning":
		p.note(s, execution.DebugInfo, p.v.Params.Whole.Get("summary"))
		return true
	case "mcpServer/startupStatus/updated":
		if params := p.v.Params.Whole; params.Get("status").IsStr("failed") {
			p.note(s, execution.DebugWarn, params.Get("error"))
		}
		return true
	case "model/rerouted":
		params := p.v.Params.Whole
		if to := params.Get("toModel").Str(); to != "" && p.of(p.names.Str(p.v.Params.ThreadID)) == p.main {
			p.model = to
			s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "codex: the model API answers with model " + to + " instead of " + params.Get("fromModel").Str()})
		}
		return true
	}
	return slices.Contains(idle, string(method)) || slices.Contains(quiet, string(method))
}

func (p *appParser) note(s *cliagent.Sink, level execution.DebugLevel, text jsonscan.Value) {
	if t := text.Str(); t != "" {
		s.Emit(execution.Debug{Level: level, Message: "codex: " + t})
	}
}

// threadStarted records the name of a sub-agent.
func (p *appParser) threadStarted() bool {
	thread := p.v.Params.Whole.Get("thread")
	id, name := thread.Get("id").Str(), thread.Get("agentNickname").Str()
	if id != "" && name != "" {
		if p.agents.names == nil {
			p.agents.spawned(id, p.agents.calls[id])
		}
		p.agents.names[id] = name
	}
	return id != ""
}

// faultForm is why a turn or a model call failed.
type faultForm struct{ Message, CodexErrorInfo, AdditionalDetails jsonscan.Value }

var callFaultShape jsonscan.Shape[struct {
	_         jsonscan.Camel
	Error     faultForm
	WillRetry jsonscan.Value
}]

// error handles a retry, or the failure that turn/completed repeats.
func (p *appParser) error(s *cliagent.Sink) bool {
	v, _ := callFaultShape.Of(p.v.Params.Whole)
	if !v.Error.Message.Exists() {
		return false
	}
	if again, _ := v.WillRetry.Bool(); !again {
		return true
	}
	message := v.Error.Message.Str()
	attempt, most, why, ok := reconnect(message)
	if !ok {
		why = message
	}
	if details := v.Error.AdditionalDetails.Str(); details != "" {
		why = details
	}
	p.retries++
	c := p.of(p.names.Str(p.v.Params.ThreadID))
	p.from(c, s).emit(retry(attempt, most, why, v.Error.CodexErrorInfo))
	return true
}

// rateLimits reports a reached limit once. Every turn repeats the state of the limits.
func (p *appParser) rateLimits(s *cliagent.Sink) bool {
	limits := p.v.Params.Whole.Get("rateLimits")
	if !limits.Exists() {
		return false
	}
	e := execution.RateLimited{Limit: limits.Get("limitId").Str(), Status: limits.Get("rateLimitReachedType").Str()}
	for _, window := range []string{"primary", "secondary"} {
		w := limits.Get(window)
		if used, ok := w.Get("usedPercent").Float(); ok && used >= 100 {
			e.Limit, e.ResetsAt = strings.TrimPrefix(e.Limit+"/"+window, "/"), max(e.ResetsAt, w.Get("resetsAt").Count()*1000)
			if e.Status == "" {
				e.Status = "rate_limit_reached"
			}
			break
		}
	}
	if e.Status != "" && e.Status+e.Limit != p.limits {
		s.Emit(e)
	}
	if p.limits = e.Status + e.Limit; e.Status == "" {
		p.limits = ""
	}
	return true
}

// Exit returns the outcome that Codex stated. If it is empty, the kit judges by the exit.
func (p *appParser) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	res := execution.Result{Model: p.model, SessionID: p.main.id, Retries: p.retries}
	u := p.main.meter.spent
	for _, c := range p.subs {
		u = u.Add(c.meter.spent)
	}
	if !u.IsZero() {
		res.Usage = &u
	}
	switch f := p.err.failure(); {
	case p.turn == "" && !p.starting:
		p.last.Fill(&res)
	case !exit.Stopped && exit.Code != 0 && f != nil:
		newOutcome(p.req, "", f).Fill(&res)
	}
	return res
}
