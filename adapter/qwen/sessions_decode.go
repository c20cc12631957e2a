package qwen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

type sessionRecordForm struct {
	_                                                                                 jsonscan.Camel
	Type, Subtype, UUID, ParentUUID, Timestamp, Cwd, Model, SystemPayload, Provenance jsonscan.Value
	Message                                                                           struct{ Parts jsonscan.Value }
	ToolCallResult                                                                    struct{ CallID, Status, ExecutionStatus jsonscan.Value }
	UsageMetadata                                                                     countsForm
	ForkedFrom                                                                        struct{ SessionID jsonscan.Value }
}

var sessionRecordShape jsonscan.Shape[sessionRecordForm]

// silentSubtypes are irrelevant to the conversation.
var silentSubtypes = []string{"slash_command", "ui_telemetry", "at_command", "attribution_snapshot",
	"background_task_completed", "realtime_message", "rewind", "agent_bootstrap", "agent_launch_prompt",
	"agent_retry", "agent_session_ready", "file_history_snapshot", "session_source", "session_model",
	"omni_recall", "session_sources_snapshot", "branch_checkpoint", "goal_state", "goal_runtime",
	"goal_turn_end", "turn_result", "session_artifact_event", "session_artifact_snapshot",
	"managed_session_header_v1", "managed_session_event_v1", "managed_session_commit_v1", ""}

// sessionDecoder reads Qwen's records: a tree of messages in the format of the model's content.
type sessionDecoder struct {
	b    *sessionfile.Builder
	c    *sessionfile.Conversation
	main bool
}

// Line reads a record.
func (d *sessionDecoder) Line(text []byte) bool {
	var v sessionRecordForm
	if !sessionRecordShape.Into(text, &v) {
		return false
	}
	at := sessionfile.Time(v.Timestamp)
	d.b.At(at)
	if d.main {
		d.b.Summary.Cwd = cmp.Or(v.Cwd.Str(), d.b.Summary.Cwd)
		d.b.Summary.ForkedFrom = cmp.Or(v.ForkedFrom.SessionID.Str(), d.b.Summary.ForkedFrom)
	}
	uuid, parent := v.UUID.Str(), v.ParentUUID.Str()
	var m *history.Message
	leaf := true
	switch kind := v.Type.Str(); kind {
	case "user":
		said, _, _ := sessionParts(v.Message.Parts)
		switch {
		case said == "":
		case v.Provenance.IsStr("system"), v.Subtype.IsStr("notification"), v.Subtype.IsStr("cron"):
			m = d.c.Note(uuid, said, at)
		default:
			m = d.c.Prompt(uuid, strings.TrimSuffix(said, "\n\n"), at) // Qwen appends them to a prompt from standard input
		}
	case "assistant":
		m = d.answer(&v)
	case "tool_result":
		m = d.results(&v)
	case "system":
		leaf = false
		d.system(&v)
	default:
		d.b.Unknown(kind)
		leaf = false
	}
	d.c.Link(uuid, parent, m, leaf)
	return true
}

// sessionParts splits content.
func sessionParts(parts jsonscan.Value) (said, thought string, calls []jsonscan.Value) {
	for _, e := range parts.Array {
		if call := e.Get("functionCall"); call.Kind() == jsonscan.Object {
			calls = append(calls, call)
			continue
		}
		text := e.Get("text").Str()
		if think, _ := e.Get("thought").Bool(); think {
			thought = sessionfile.AddText(thought, text)
		} else {
			said = sessionfile.AddText(said, text)
		}
	}
	return said, thought, calls
}

func (d *sessionDecoder) answer(v *sessionRecordForm) *history.Message {
	m := d.c.Message(v.UUID.Str(), history.RoleAssistant, sessionfile.Time(v.Timestamp))
	said, thought, calls := sessionParts(v.Message.Parts)
	m.Content, m.Thinking = said, thought
	for _, call := range calls {
		d.c.Call(m, call.Get("id").Str(), call.Get("name").Str(), call.Get("args").Raw())
	}
	if m.Model = v.Model.Str(); m.Model != "" && d.main {
		d.b.Summary.Model = m.Model
	}
	if t := &v.UsageMetadata; t.Whole.Kind() == jsonscan.Object {
		prompt, total := t.PromptTokenCount.Count(), t.TotalTokenCount.Count()
		u := execution.Usage{Cached: min(prompt, t.CachedContentTokenCount.Count()),
			Thinking: t.ThoughtsTokenCount.Count(), Output: t.CandidatesTokenCount.Count()}
		// Whether the candidates include thinking depends on the model API; the total does.
		if total > prompt {
			u.Output = total - prompt
		}
		u.Input = prompt - u.Cached
		u.Total = u.Input + u.Output + u.Cached
		m.TokenUsage = &u
	}
	if len(calls) == 0 && d.main {
		d.b.TurnEnd(execution.TurnCompleted)
	}
	return m
}

// results handles the results of tools, one or more per record.
func (d *sessionDecoder) results(v *sessionRecordForm) *history.Message {
	uuid, at := v.UUID.Str(), sessionfile.Time(v.Timestamp)
	var first *history.Message
	n := 0
	for _, e := range v.Message.Parts.Array {
		r := e.Get("functionResponse")
		if r.Kind() != jsonscan.Object {
			continue
		}
		id := uuid
		if n++; n > 1 {
			id = fmt.Sprintf("%s#%d", uuid, n)
		}
		res := d.c.Result(id, cmp.Or(r.Get("id").Str(), v.ToolCallResult.CallID.Str()), at)
		if res.ToolName == "" {
			res.ToolName = r.Get("name").Str()
		}
		response := r.Get("response")
		if text := response.Get("error"); text.Exists() {
			res.Output, res.IsError = sessionfile.Text(text), true
		} else if text := response.Get("output"); text.Exists() {
			res.Output = sessionfile.Text(text)
		} else {
			res.Output = string(response.Raw())
		}
		for _, status := range []jsonscan.Value{v.ToolCallResult.Status, v.ToolCallResult.ExecutionStatus} {
			res.IsError = res.IsError || status.IsStr("error") || status.IsStr("cancelled")
		}
		if first == nil {
			first = d.c.Find(id)
		}
	}
	return first
}

func (d *sessionDecoder) system(v *sessionRecordForm) {
	switch kind := v.Subtype.Str(); kind {
	case "custom_title":
		payload := v.SystemPayload
		from := sessionfile.TitleFromUser
		if s := payload.Get("titleSource").Str(); s == "auto" || s == "generated" {
			from = sessionfile.TitleFromAgent
		}
		d.b.Title(from, payload.Get("customTitle").Str())
	case "parent_session":
		if d.main {
			d.b.Summary.Parent = cmp.Or(v.SystemPayload.Get("parentSessionId").Str(), d.b.Summary.Parent)
		}
	case "chat_compression":
		info := v.SystemPayload.Get("info")
		saved := info.Get("originalTokenCount").Count() - info.Get("newTokenCount").Count()
		d.b.Event(execution.ContextCompacted{TokensSaved: max(0, saved)})
		d.c.Note(v.UUID.Str(), "the context was compressed", sessionfile.Time(v.Timestamp))
	case "notification", "cron", "mid_turn_user_message":
		if text := sessionfile.Text(v.SystemPayload.Get("displayText")); text != "" {
			if kind == "mid_turn_user_message" {
				d.c.Prompt(v.UUID.Str(), text, sessionfile.Time(v.Timestamp))
			} else {
				d.c.Note(v.UUID.Str(), text, sessionfile.Time(v.Timestamp))
			}
		}
	default:
		if !slices.Contains(silentSubtypes, kind) {
			d.b.Unknown("system/" + kind)
		}
	}
}
