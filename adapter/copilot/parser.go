package copilot

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// lineForm is a line, read in one pass.
type lineForm struct {
	_                        jsonscan.Camel
	Type, AgentID, Timestamp jsonscan.Value
	Data                     struct {
		Whole jsonscan.Value `scan:"."`
		// messages
		DeltaContent, MessageID, Content, ReasoningText, ToolRequests, Model jsonscan.Value
		// tools and sub-agents
		requestForm
		InputDelta, Stream, Text, Success, FileEdits, AgentName, Cancelled jsonscan.Value
		Result                                                             struct {
			Whole                    jsonscan.Value `scan:"."`
			Content, DetailedContent jsonscan.Value
		}
		ShellExecution struct{ ExitCode jsonscan.Value }
		// failures
		StatusCode, FailureKind, ErrorMessage, ErrorType, Message, ErrorCode, Reason, TurnID jsonscan.Value
		Error                                                                                struct {
			Whole         jsonscan.Value `scan:"."`
			Message, Code jsonscan.Value
		}
	}
}

var lineShape jsonscan.Shape[lineForm]

// ignoredTypes are lines that are irrelevant to the conversation or repeat other lines.
var ignoredTypes = []string{"agent.interrupted", "assistant.intent", "assistant.server_tool_progress",
	"assistant.streaming_delta", "assistant.usage", "capabilities.changed", "commands.changed",
	"human_response.recorded", "model.call_final_result", "model.call_finished", "model.call_start",
	"pending_messages.modified", "prompt_cache_break", "sandbox.decision", "subagent.configured",
	"subagent.deselected", "subagent.selected", "system.message", "system.notification",
	"tool.execution_progress", "tool.user_requested", "tool_search.activated", "user.message"}

// ignoredGroups are groups of such lines, by prefixes of their types.
var ignoredGroups = []string{"assistant.fusion_phase_", "auto_mode_switch.", "command.", "elicitation.", "exit_plan_mode.", "external_tool.", "hook.",
	"mcp.", "mcp_app.", "permission.", "sampling.", "session.", "session_limits_exhausted.", "skill.context_", "ui.", "user_input.", "workflow."}

var _ cliagent.Parser = (*parser)(nil)

// parser converts the lines of a one-shot run to events. It belongs to one run.
type parser struct {
	cliagent.OneShot
	req     execution.Request
	session string // chosen here, because Copilot reports it last
	model   string

	lingers bool // a model call has ended, and neither a tool nor another call has started since

	names  *jsonscan.Interner
	values lineForm

	begun bool // the session was reported
	open  bool // the turn is open

	main  stream
	subs  map[string]*stream // sub-agents by Copilot's id
	calls toolcall.Calls

	retries  int
	call     *callFailure      // the last failed model call
	failure  *cliagent.Failure // the failure that ends the turn, unless it continues
	aborted  bool
	final    *final // the last line
	lastText string
}

func newParser(req execution.Request) cliagent.Parser {
	names := jsonscan.NewInterner(256)
	p := &parser{OneShot: name, req: req, session: cliagent.NewUUID(), names: names, subs: map[string]*stream{}, calls: toolcall.NewCalls(tools, names)}
	p.calls.Cwd = req.Run.Cwd
	for _, m := range req.Run.MCPServers {
		p.calls.Servers[m.Name] = ""
	}
	if len(req.Tools) > 0 {
		p.calls.Servers[cliagent.CallerTools] = ""
	}
	return p
}

// Line is one line of Copilot's output.
func (p *parser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if src == process.Stderr || !lineShape.Into(line, &p.values) || !p.message(line, s) {
		s.Unknown(src, line)
	}
}

// lingering is how long Copilot may be silent after a model call, without running tools or further calls.
const lingering = 5 * time.Second

// works cancels the alarm: there is work to do.
func (p *parser) works(s *cliagent.Sink) {
	if p.lingers {
		p.lingers = false
		s.AlarmIn(0)
	}
}

// Alarm reports why an answered run does not end: Copilot waits for its background commands.
func (p *parser) Alarm(s *cliagent.Sink) {
	if p.lingers && p.final == nil {
		s.Emit(execution.Debug{Level: execution.DebugWarn,
			Message: "copilot has answered and waits for a command that still runs; interrupt the run, or give it a --timeout"})
	}
}

// message dispatches a line. It returns false for an unknown one.
func (p *parser) message(line []byte, s *cliagent.Sink) bool {
	typ, _ := p.values.Type.Plain()
	d := &p.values.Data
	switch string(typ) {
	case "assistant.message_delta":
		return p.delta(s)
	case "assistant.tool_call_delta":
		return p.toolDelta(s)
	case "assistant.reasoning_delta":
		return p.thought(s)
	case "assistant.message_start":
		return p.messageStart(s)
	case "assistant.message":
		return p.messageDone(s)
	case "assistant.reasoning":
		return p.wholeThought(s)
	case "assistant.turn_start":
		p.works(s)
		return p.stepStart(s)
	case "assistant.turn_end":
		p.lingers = true
		s.AlarmIn(lingering)
		return p.stepEnd(s)
	case "assistant.turn_retry":
		return p.retry(s)
	case "assistant.idle":
		p.aborted = p.aborted || d.Whole.Get("aborted").IsTrue()
		return true
	case "abort":
		p.aborted = true
		return true
	case "model.call_failure":
		return p.callFailed()
	case "tool.execution_start":
		p.works(s)
		return p.toolStarted(s)
	case "tool.shell_output":
		return p.shellOutput(s)
	case "tool.execution_partial_result":
		return p.partialResult(s)
	case "tool.execution_complete":
		return p.toolDone(s)
	case "subagent.started":
		p.stream().parent = d.ToolCallID.Str()
		return true
	case "subagent.completed", "subagent.failed":
		return p.subagentDone(s)
	case "session.error":
		return p.sessionError(s)
	case "result":
		return p.result(line, s)
	}
	return p.note(string(typ), d.Whole, s)
}

// note handles a line about the session or the program.
func (p *parser) note(typ string, data jsonscan.Value, s *cliagent.Sink) bool {
	switch typ {
	case "session.tools_updated":
		if model := data.Get("model").Str(); model != "" {
			p.model = model
		}
		p.begin(s)
		return true
	case "session.model_change", "session.auto_mode_resolved":
		for _, key := range []string{"newModel", "chosenModel"} {
			if model := data.Get(key).Str(); model != "" {
				p.model = model
			}
		}
		return true
	case "session.mcp_servers_loaded":
		for _, server := range data.Get("servers").Array {
			p.server(server.Get("name").Str(), server.Get("status").Str(), server.Get("error").Str(), s)
		}
		return true
	case "session.skills_loaded":
		for _, skill := range data.Get("skills").Array {
			if name := skill.Get("name").Str(); name != "" {
				s.Emit(execution.SkillLoaded{SkillName: name, Source: skill.Get("source").Str()})
			}
		}
		return true
	case "session.mcp_server_status_changed":
		p.calls.Servers[data.Get("serverName").Str()] = ""
		return true
	case "session.warning":
		return p.tell(execution.DebugWarn, data, s)
	case "session.info":
		return p.tell(execution.DebugInfo, data, s)
	case "session.compaction_complete":
		return p.compacted(data, s)
	case "session.truncation":
		s.Emit(execution.ContextCompacted{TokensSaved: cliagent.Count(data.Get("tokensRemovedDuringTruncation"))})
		return true
	case "skill.invoked":
		s.EmitFrom(p.stream().parent, execution.SkillInvoked{SkillName: data.Get("name").Str()})
		return true
	}
	return slices.Contains(ignoredTypes, typ) || slices.ContainsFunc(ignoredGroups, func(group string) bool { return strings.HasPrefix(typ, group) })
}

// server records an MCP server and warns about one that failed to start.
func (p *parser) server(name, status, reason string, s *cliagent.Sink) {
	p.calls.Servers[name] = status
	if status == "failed" || status == "needs-auth" {
		if reason != "" {
			reason = ": " + reason
		}
		s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "MCP server " + name + ": " + status + reason})
	}
}

// quietInfo are notes that repeat other lines.
var quietInfo = []string{"model_retry", "file_created", "file_edited", "cancellation"}

// tell emits a note that Copilot shows to the user.
func (p *parser) tell(level execution.DebugLevel, data jsonscan.Value, s *cliagent.Sink) bool {
	if text := data.Get("message").Str(); text != "" && !slices.Contains(quietInfo, data.Get("infoType").Str()) {
		s.Emit(execution.Debug{Level: level, Message: text})
	}
	return true
}

func (p *parser) compacted(data jsonscan.Value, s *cliagent.Sink) bool {
	if !data.Get("success").IsTrue() {
		return true
	}
	saved := cliagent.Count(data.Get("tokensRemoved"))
	if saved == 0 {
		saved = max(0, cliagent.Count(data.Get("preCompactionTokens"))-cliagent.Count(data.Get("postCompactionTokens")))
	}
	s.Emit(execution.ContextCompacted{Summary: data.Get("summaryContent").Str(), TokensSaved: saved})
	return true
}

// begin emits the session before anything that belongs to it.
func (p *parser) begin(s *cliagent.Sink) {
	if p.begun {
		return
	}
	p.begun = true
	s.Emit(execution.SessionStart{SessionID: p.session, Model: p.model, Cwd: p.req.Run.Cwd})
}

// ensureTurn opens the turn if necessary.
func (p *parser) ensureTurn(s *cliagent.Sink) {
	p.begin(s)
	if !p.open {
		p.open = true
		s.Emit(execution.TurnStart{})
	}
}

// spoken records that the model works: an earlier failure was not the end.
func (p *parser) spoken(s *cliagent.Sink) {
	p.ensureTurn(s)
	if p.failure != nil {
		s.Emit(execution.ErrorEvent{Code: p.failure.Code, Message: p.failure.Message, Recoverable: true})
		p.failure = nil
	}
}

// stream returns the conversation of the line: the agent's own or a sub-agent's.
func (p *parser) stream() *stream {
	if p.values.AgentID.Kind() != jsonscan.String {
		return &p.main
	}
	id := p.names.Str(p.values.AgentID)
	st := p.subs[id]
	if st == nil {
		st = &stream{sub: true}
		p.subs[id] = st
	}
	if st.parent == "" {
		st.parent = p.values.Data.Whole.Get("parentToolCallId").Str()
	}
	return st
}
