package copilot

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var sessionRecordShape jsonscan.Shape[struct {
	_                                            jsonscan.Camel
	Type, Data, ID, Timestamp, ParentID, AgentID jsonscan.Value
}]

var sessionAnswerShape jsonscan.Shape[struct {
	_                                                                               jsonscan.Camel
	MessageID, Model, Content, ToolRequests, ReasoningText, APICallID, OutputTokens jsonscan.Value
}]

var sessionResultShape jsonscan.Shape[struct {
	_                             jsonscan.Camel
	ToolCallID, Success, ToolName jsonscan.Value
	Result                        struct{ Content jsonscan.Value }
	Error                         struct {
		Message jsonscan.Value
		Whole   jsonscan.Value `scan:"."`
	}
	ShellExecution struct{ ExitCode jsonscan.Value }
}]

// silentPrefixes are prefixes of record types that are irrelevant to the conversation.
var silentPrefixes = []string{"session.", "hook.", "permission.", "mcp.", "mcp_app.", "model.", "assistant.", "user_input.", "elicitation.", "external_tool.",
	"command.", "commands.", "sampling.", "sandbox.", "skill.", "subagent.", "tool.", "tool_search.", "workflow.", "exit_plan_mode.",
	"auto_mode_switch.", "session_limits_exhausted.", "pending_messages.", "capabilities.", "ui.", "agent.", "human_response.", "system.", "prompt_cache_break"}

// knownSessionTypes are the known types of message families, where a prefix would hide new ones.
var knownSessionTypes = []string{"assistant.turn_start", "assistant.turn_end", "assistant.turn_retry", "assistant.idle",
	"assistant.intent", "assistant.reasoning", "assistant.usage", "assistant.message_start", "assistant.server_tool_progress",
	"tool.execution_start", "tool.execution_partial_result", "tool.execution_progress", "tool.shell_output",
	"tool.user_requested", "subagent.configured", "subagent.completed", "subagent.failed", "subagent.selected",
	"subagent.deselected", "system.message", "model.call_start", "model.call_finished", "model.call_failure",
	"model.call_final_result"}

// sessionDecoder reads Copilot's records: a chain of events, in which those of sub-agents name their agent.
type sessionDecoder struct {
	b     *sessionfile.Builder
	c     *sessionfile.Conversation
	usage map[string]execution.Usage // of model calls without an answer so far
	calls int                        // tools of the main conversation's last answer
}

// Line reads a record. workspace.yaml alone is an empty conversation.
func (d *sessionDecoder) Line(text []byte) bool {
	v, ok := sessionRecordShape.Read(text)
	if !ok {
		return strings.HasSuffix(d.b.File.Path, workspaceFile)
	}
	kind, data, at := v.Type.Str(), v.Data, sessionfile.Time(v.Timestamp)
	d.b.At(at)
	c := d.c
	agent := v.AgentID.Str()
	if agent != "" {
		c = d.b.Subagent(agent, nil)
	}
	var m *history.Message
	switch kind {
	case "session.start", "session.resume":
		d.b.Summary.Model = cmp.Or(data.Get("selectedModel").Str(), d.b.Summary.Model)
		d.b.Summary.Cwd = cmp.Or(data.Get("context").Get("cwd").Str(), d.b.Summary.Cwd)
		d.b.Summary.Parent = cmp.Or(data.Get("detachedFromSpawningParentSessionId").Str(), d.b.Summary.Parent)
	case "session.context_changed":
		d.b.Summary.Cwd = cmp.Or(data.Get("cwd").Str(), d.b.Summary.Cwd)
	case "session.model_change":
		if agent == "" {
			d.b.Summary.Model = cmp.Or(data.Get("newModel").Str(), d.b.Summary.Model)
		}
	case "session.title_changed":
		d.b.Title(sessionfile.TitleFromAgent, data.Get("title").Str())
	case "session.usage_record":
		d.used(data.Get("usage"))
	case "session.error":
		m = c.Note(v.ID.Str(), data.Get("message").Str(), at)
	case "session.compaction_complete":
		if ok, _ := data.Get("success").Bool(); ok {
			summary := data.Get("summaryContent").Str()
			d.b.Event(execution.ContextCompacted{Summary: summary, TokensSaved: data.Get("tokensRemoved").Count()})
			m = c.Note(v.ID.Str(), summary, at)
		}
	case "session.shutdown":
		// It ends the session for its program. A resumed session continues.
		d.b.Event(execution.SessionEnd{SessionID: d.b.File.ID, TurnCount: d.b.Turns()})
	case "user.message":
		m = c.Prompt(cmp.Or(data.Get("messageId").Str(), v.ID.Str()), data.Get("content").Str(), at)
	case "assistant.message":
		m = d.answer(c, data, v.ID.Str(), at, agent == "")
	case "assistant.turn_end":
		if agent == "" && d.calls == 0 {
			d.b.TurnEnd(execution.TurnCompleted)
		}
	case "abort":
		d.b.TurnEnd(execution.TurnInterrupted)
	case "tool.execution_complete":
		m = d.result(c, data, v.ID.Str(), at)
	case "subagent.started":
		if agent != "" {
			d.b.Subagent(agent, func(a *history.Subagent) {
				a.Name, a.Description = cmp.Or(data.Get("agentDisplayName").Str(), data.Get("agentName").Str()), data.Get("agentDescription").Str()
				a.ToolCallID = data.Get("toolCallId").Str()
			})
		}
	case "system.notification":
		m = c.Note(v.ID.Str(), data.Get("content").Str(), at)
	default:
		if !knownSessionType(kind) {
			d.b.Unknown(kind)
		}
	}
	c.Link(v.ID.Str(), v.ParentID.Str(), m, agent == "" && m != nil)
	return true
}

func knownSessionType(kind string) bool {
	if slices.Contains(knownSessionTypes, kind) {
		return true
	}
	for _, family := range []string{"assistant.", "tool.", "subagent.", "system.", "model."} {
		if strings.HasPrefix(kind, family) {
			return strings.HasSuffix(kind, "_delta") || strings.HasPrefix(kind, "assistant.fusion_")
		}
	}
	return slices.ContainsFunc(silentPrefixes, func(p string) bool { return strings.HasPrefix(kind, p) })
}

func (d *sessionDecoder) used(v jsonscan.Value) {
	var t tokenForm
	if len(d.usage) > 1000 || !tokenShape.From(v, &t) {
		return
	}
	d.usage[t.APICallID.Str()] = t.used()
}

func (d *sessionDecoder) answer(c *sessionfile.Conversation, data jsonscan.Value, event string, at time.Time, main bool) *history.Message {
	v, ok := sessionAnswerShape.Of(data)
	if !ok {
		return nil
	}
	// An answer may come in chunks that share its id.
	m := c.Message(cmp.Or(v.MessageID.Str(), event), history.RoleAssistant, at)
	m.Content = sessionfile.AddText(m.Content, v.Content.Str())
	m.Thinking = sessionfile.AddText(m.Thinking, v.ReasoningText.Str())
	m.Model = v.Model.Str()
	if m.Model != "" && main {
		d.b.Summary.Model = m.Model
	}
	n := 0
	for _, e := range v.ToolRequests.Array {
		n++
		c.Call(m, e.Get("toolCallId").Str(), e.Get("name").Str(), e.Get("arguments").Raw())
	}
	if main {
		d.calls = n
	}
	if u, ok := d.usage[v.APICallID.Str()]; ok {
		delete(d.usage, v.APICallID.Str())
		m.TokenUsage = &u
	}
	return m
}

func (d *sessionDecoder) result(c *sessionfile.Conversation, data jsonscan.Value, event string, at time.Time) *history.Message {
	v, ok := sessionResultShape.Of(data)
	if !ok {
		return nil
	}
	r := c.Result(event, v.ToolCallID.Str(), at)
	r.Output = cmp.Or(sessionfile.Text(v.Result.Content), sessionfile.Text(v.Error.Message), sessionfile.Text(v.Error.Whole))
	if ok, said := v.Success.Bool(); said && !ok {
		r.IsError = true
	}
	if code, ok := v.ShellExecution.ExitCode.Int(); ok && code != 0 {
		r.IsError = true
	}
	return c.Find(event)
}
