package acpagent

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// flow is the text or thinking being streamed, by the agent itself or by a sub-agent.
type flow struct {
	cliagent.Speech
	id string // the agent's id of the message, empty if not stated
}

// update handles an update of a session. Outside a turn it belongs to the history of a loaded session, or to a
// finished turn, and makes no event. Updates of other sessions are ignored.
func (p *parser) update(s *cliagent.Sink) bool {
	if p.session.id != "" && !p.v.Params.SessionID.IsStr(p.session.id) {
		return p.v.Params.Update.SessionUpdate.Exists()
	}
	if p.settled {
		s.AlarmIn(replayQuiet)
	}
	kind, _ := p.v.Params.Update.SessionUpdate.Plain()
	switch string(kind) {
	case "agent_message_chunk":
		p.chunk(cliagent.SpeechText, s)
	case "agent_thought_chunk":
		p.chunk(cliagent.SpeechThinking, s)
	case "tool_call", "tool_call_update":
		if !p.toolUpdate(s) {
			return false
		}
	case "plan":
		p.showPlan(s)
	case "usage_update":
		p.usage(s)
	case "current_mode_update":
		p.session.mode = p.v.Params.Update.Whole.Get("currentModeId").Str()
	case "config_option_update":
		p.session.options = configOptions(p.v.Params.Update.Whole.Get("configOptions"))
	case "user_message_chunk", "available_commands_update", "session_info_update":
	default:
		return false
	}
	p.countCall(s)
	switch string(kind) {
	case "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan": // no other update shows that the model works
		p.awaitBehind(string(kind) == "agent_message_chunk", s)
	}
	return true
}

// awaitBehind sets the alarm for an agent that may wait for a background command, after a piece of its message.
func (p *parser) awaitBehind(message bool, s *cliagent.Sink) {
	if !p.behindRun || !p.running || p.cancelled || len(p.ahead.lines) > 0 {
		return
	}
	for _, c := range p.tools {
		message = message && c.ended
	}
	if p.behindDue = message; message {
		s.AlarmIn(behindWait)
	} else {
		s.AlarmIn(0)
	}
}

// parent returns the call that started the sub-agent of the update.
func (p *parser) parent() string {
	if p.spec.Parent == nil {
		return ""
	}
	about := p.v.Params.Update.Whole
	if !about.Exists() {
		about = p.v.Params.Whole.Get("toolCall") // of a permission request
	}
	return p.spec.Parent(about)
}

// flowOf returns the flow of the agent itself, or of a sub-agent.
func (p *parser) flowOf(parent string) *flow {
	if parent == "" {
		return &p.flow
	}
	f := p.subs[parent]
	if f == nil {
		f = &flow{Speech: cliagent.Speech{Parent: parent}}
		p.subs[parent] = f
	}
	return f
}

// chunk handles a piece of a text or of thinking.
func (p *parser) chunk(kind cliagent.SpeechKind, s *cliagent.Sink) {
	if !p.running {
		return
	}
	content := Content{Text: p.v.Params.Update.Content.Text.Str()}
	if !p.v.Params.Update.Content.Type.IsStr("text") {
		content = blockOf(p.v.Params.Update.Whole.Get("content"))
	}
	f := p.flowOf(p.parent())
	if content.Image != nil {
		p.endFlow(f, s)
		s.EmitFrom(f.Parent, execution.ImageOutput{MimeType: content.Image.MimeType, Base64: content.Image.Data})
		return
	}
	if content.Text == "" {
		return
	}
	if kind == cliagent.SpeechText && f.Parent == "" && (p.notice(s) || p.aside(content.Text, s)) {
		return
	}
	id := p.v.Params.Update.MessageID
	begins := f.Kind != kind || id.Kind() == jsonscan.String && !id.IsStr(f.id)
	if begins { // some agents part it from what was before by empty lines
		if content.Text = strings.TrimLeft(content.Text, "\r\n"); content.Text == "" {
			return
		}
	}
	if f.Parent == "" {
		p.failed = nil
		p.ensureStep(s)
	}
	if begins {
		p.endFlow(f, s)
		f.id = id.Str()
		f.Begin(kind, f.id, s)
	}
	f.Add(content.Text, s)
}

// notice handles a message that the program itself sent, recognized by its update.
func (p *parser) notice(s *cliagent.Sink) bool {
	if p.spec.Notice == nil {
		return false
	}
	n, ok := p.spec.Notice(p.v.Params.Update.Whole)
	if !ok {
		return false
	}
	p.closeFlow(s)
	if n.Failed != "" {
		p.failed = &failure{Failure: cliagent.Failure{Code: n.Failed, Message: n.Message}}
		return true
	}
	if !p.behindEnded(n.Call, n.End, s) && n.Message != "" {
		s.Emit(execution.Debug{Level: execution.DebugInfo, Message: n.Message})
	}
	return true
}

// aside handles a chunk that the program itself sent.
func (p *parser) aside(chunk string, s *cliagent.Sink) bool {
	if p.spec.Aside == nil {
		return false
	}
	a, ok := p.spec.Aside(chunk)
	if !ok {
		return false
	}
	p.closeFlow(s)
	switch {
	case a.Failed != "":
		p.failed = &failure{Failure: cliagent.Failure{Code: a.Failed, Message: a.Message}}
	case a.Retry != "":
		p.retries++
		s.Emit(execution.Retry{Attempt: p.retries, Reason: a.Message, Code: a.Retry})
	case a.Message != "":
		s.Emit(execution.Debug{Level: execution.DebugInfo, Message: a.Message})
	}
	return true
}

// closeFlow ends the agent's own text or thinking.
func (p *parser) closeFlow(s *cliagent.Sink) { p.endFlow(&p.flow, s) }

// endFlow ends a text or thinking.
func (p *parser) endFlow(f *flow, s *cliagent.Sink) {
	if kind, said := f.End(s); kind == cliagent.SpeechText && f.Parent == "" {
		p.text = said
	}
	f.id = ""
}

// endSubs ends what sub-agents left open.
func (p *parser) endSubs(s *cliagent.Sink) {
	for _, parent := range slices.Sorted(maps.Keys(p.subs)) {
		p.endFlow(p.subs[parent], s)
	}
	clear(p.subs)
}

// toolPlan is the tool name under which an agent's plan is shown.
const toolPlan = "update_plan"

// showPlan emits the agent's plan, which it sends as a whole with every change.
func (p *parser) showPlan(s *cliagent.Sink) {
	if !p.running {
		return
	}
	entries := clone(p.v.Params.Update.Whole.Get("entries"))
	if entries == nil {
		return
	}
	p.closeFlow(s)
	p.plans++
	id := "plan-" + strconv.Itoa(p.plans)
	s.Emit(execution.ToolCallStart{ToolCallID: id, ToolName: toolPlan})
	s.Emit(execution.ToolCallReady{ToolCallID: id, ToolName: toolPlan, Input: raw(map[string]any{"plan": entries})})
	s.Emit(execution.ToolResultEvent{ToolCallID: id, ToolName: toolPlan, Output: null})
}
