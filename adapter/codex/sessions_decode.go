package codex

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

type recordForm struct {
	Type, Timestamp, Ordinal, ID, Instructions, RecordType jsonscan.Value
	Payload                                                struct {
		Type  jsonscan.Value
		Whole jsonscan.Value `scan:"."`
	}
}

var recordShape jsonscan.Shape[recordForm]

var metaShape jsonscan.Shape[struct {
	ID, Cwd, ForkedFromID, ParentThreadID, Timestamp, SubagentHistoryStartOrdinal jsonscan.Value
	ForkedFromOrdinalExclusive                                                    jsonscan.Value
	Source                                                                        struct {
		Subagent struct {
			ThreadSpawn struct{ ParentThreadID jsonscan.Value }
		}
	}
}]

type itemForm struct {
	Type, ID, Role, Content, Name, Namespace, Arguments, Input, CallID, Output, Summary, Action jsonscan.Value
	Author                                                                                      jsonscan.Value
	InternalChatMessageMetadataPassthrough                                                      struct{ ContentItemKinds jsonscan.Value }
}

var itemShape jsonscan.Shape[itemForm]

// silentEvents repeat other records for display, or are irrelevant to the conversation.
var silentEvents = []string{"user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content",
	"agent_reasoning_section_break", "item_started", "task_started", "turn_started", "thread_settings_applied",
	"exec_command_begin", "exec_command_end", "mcp_tool_call_begin", "mcp_tool_call_end", "patch_apply_begin",
	"patch_apply_end", "web_search_begin", "web_search_end", "view_image_tool_call", "turn_diff", "plan_update",
	"entered_review_mode", "exited_review_mode", "undo_started", "undo_completed", "contextTextscompacted",
	"warning", "background_event", "stream_error", "image_generation_begin", "image_generation_end",
	"thread_goal_updated", "hook_started", "hook_completed", "collab_agent_spawn_end", "collab_agent_interaction_end",
	"collab_waiting_end", "collab_close_end", "deprecation_notice", "model_reroute", "dynamic_tool_call_request",
	"dynamic_tool_call_response"}

var silentRecords = []string{"world_state", "inter_agent_communication_metadata", "state", "session_state"}

// outcome is how a tool call ended, which Codex records before the output.
type outcome struct {
	failed     bool
	durationMs int64
}

// sessionDecoder reads Codex's records. A model call consists of several items, which end with its usage.
type sessionDecoder struct {
	b *sessionfile.Builder
	c *sessionfile.Conversation

	begun     bool             // the thread's own meta was read
	ancestors map[string]int64 // how much of another thread's file belongs to this one; nil before the lookup
	below     int64            // records from this ordinal on are skipped, 0 for none
	own       int64            // records before this ordinal are a parent's, copied for a sub-agent

	answer   string // id of the current answer
	last     string // the previous one, or the same
	records  bool   // usage has records of its own
	total    execution.Usage
	outcomes map[string]outcome
	numbered int
}

// Line reads a record.
func (d *sessionDecoder) Line(text []byte) bool {
	var v recordForm
	if !recordShape.Into(text, &v) {
		return false
	}
	at := sessionfile.Time(v.Timestamp)
	kind := v.Type.Str()
	if kind == "session_meta" {
		d.meta(v.Payload.Whole)
		d.b.At(cmpTime(sessionfile.Time(v.Payload.Whole.Get("timestamp")), at))
		return true
	}
	ordinal, numbered := v.Ordinal.Int()
	if numbered && (d.below > 0 && ordinal >= d.below || ordinal < d.own) {
		return true
	}
	d.b.At(at)
	switch kind {
	case "response_item":
		d.item(v.Payload.Whole, at)
	case "event_msg":
		d.event(v.Payload.Type.Str(), v.Payload.Whole)
	case "turn_context":
		if model := v.Payload.Whole.Get("model").Str(); model != "" {
			d.b.Summary.Model = model
		}
		if cwd := v.Payload.Whole.Get("cwd").Str(); cwd != "" {
			d.b.Summary.Cwd = cwd
		}
	case "token_usage_record":
		d.records = true
		d.usage(v.Payload.Whole.Get("usage"))
	case "compacted":
		d.c.Note(d.number("compacted"), v.Payload.Whole.Get("message").Str(), at)
		d.b.Event(execution.ContextCompacted{Summary: v.Payload.Whole.Get("message").Str()})
	case "":
		// The first releases started a file with the meta, without a type.
		if v.RecordType.Exists() {
			break
		}
		if !v.ID.Exists() {
			d.b.Unknown("")
		}
	default:
		switch {
		case slices.Contains(silentRecords, kind):
		case !v.Payload.Whole.Exists() && isItem(kind): // and wrote items without an envelope
			line, err := jsonscan.Parse(text)
			if err != nil {
				return false
			}
			d.item(line, at)
		default:
			d.b.Unknown(kind)
		}
	}
	return true
}

func cmpTime(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

func isItem(kind string) bool {
	return kind == "message" || kind == "reasoning" || strings.HasSuffix(kind, "_call") || strings.HasSuffix(kind, "_call_output")
}

// meta handles the start of a file. Another thread's meta starts a file that this thread continues, or is part of the
// history that was copied for a sub-agent.
func (d *sessionDecoder) meta(payload jsonscan.Value) {
	v, ok := metaShape.Of(payload)
	if !ok {
		return
	}
	if id := v.ID.Str(); id != d.b.File.ID && id != "" {
		if !d.begun {
			if d.ancestors == nil {
				d.ancestors = map[string]int64{}
				for _, a := range ancestry(d.b.Host, d.b.File) {
					d.ancestors[a.id] = a.below
				}
			}
			d.below = d.ancestors[id]
		}
		return
	}
	d.begun, d.below = true, 0
	d.b.Summary.Cwd = cmp.Or(v.Cwd.Str(), d.b.Summary.Cwd)
	d.b.Summary.Parent = cmp.Or(v.ParentThreadID.Str(), v.Source.Subagent.ThreadSpawn.ParentThreadID.Str())
	if d.b.Summary.Parent == "" {
		d.b.Summary.ForkedFrom = v.ForkedFromID.Str()
	}
	d.own = v.SubagentHistoryStartOrdinal.Count()
}

func (d *sessionDecoder) number(what string) string {
	d.numbered++
	return what + "-" + strconv.Itoa(d.numbered)
}

// speak returns the current answer.
func (d *sessionDecoder) speak(id string, at time.Time) *history.Message {
	if m := d.c.Find(d.answer); m != nil {
		return m
	}
	d.answer = cmp.Or(id, d.number("answer"))
	d.last = d.answer
	m := d.c.Message(d.answer, history.RoleAssistant, at)
	m.Model = d.b.Summary.Model
	return m
}

func (d *sessionDecoder) item(payload jsonscan.Value, at time.Time) {
	var v itemForm
	if !itemShape.From(payload, &v) {
		return
	}
	kind, id := v.Type.Str(), v.ID.Str()
	switch {
	case kind == "message":
		d.message(&v, id, at)
	case kind == "agent_message": // between agents
		d.answer = ""
		var parts []string
		for _, e := range v.Content.Array {
			parts = append(parts, orText(e.Get("text").Str(), e.Get("encrypted_content").Str()))
		}
		if text := strings.Join(parts, "\n"); d.b.Summary.Parent != "" {
			d.c.Prompt(id, text, at)
		} else {
			d.c.Note(id, text, at)
		}
	case kind == "reasoning":
		m := d.speak(id, at)
		m.Thinking = sessionfile.AddText(m.Thinking, orText(sessionfile.Text(v.Summary), sessionfile.Text(v.Content)))
	case strings.HasSuffix(kind, "_output"):
		d.answer = ""
		call := v.CallID.Str()
		o := d.outcomes[call]
		r := d.c.Result(orText(id, d.number("output")), call, at)
		r.Output, r.IsError, r.DurationMs = output(v.Output), o.failed, o.durationMs
		delete(d.outcomes, call)
	case strings.HasSuffix(kind, "_call"):
		name := orText(v.Name.Str(), strings.TrimSuffix(kind, "_call"))
		if space := v.Namespace.Str(); space != "" {
			name = space + "." + name
		}
		d.c.Call(d.speak(id, at), orText(v.CallID.Str(), id), name, input(&v))
	case kind == "ghost_snapshot", kind == "compaction", kind == "compaction_summary", kind == "contextTextscompaction":
	default:
		d.b.Unknown("response_item/" + kind)
	}
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// input returns the input of a call as JSON. Codex stores the arguments of functions as text.
func input(v *itemForm) []byte {
	for _, text := range []string{v.Arguments.Str(), v.Input.Str()} {
		if text != "" {
			return sessionfile.Input(text)
		}
	}
	return v.Action.Raw()
}

// output returns a tool's output, in any release's format.
func output(v jsonscan.Value) string {
	if v.Kind() != jsonscan.Object {
		return sessionfile.Text(v)
	}
	if c := v.Get("content"); c.Exists() {
		return sessionfile.Text(c)
	}
	return string(v.Raw())
}

// contextTexts are the starts of texts that Codex adds to the user's part of the conversation.
var contextTexts = []string{"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions instructions>", "<skill>", "<turn_aborted>",
	"<subagent_notification>", "<user_shell_command>", "<model_switch>", "<multi_agent_mode>", "<apps_instructions>", "<skills_instructions>"}

func (d *sessionDecoder) message(v *itemForm, id string, at time.Time) {
	text := sessionfile.Text(v.Content)
	switch v.Role.Str() {
	case "assistant":
		m := d.speak(id, at)
		m.Content = sessionfile.AddText(m.Content, text)
	case "user":
		d.answer = ""
		if kinds := v.InternalChatMessageMetadataPassthrough.ContentItemKinds; kinds.Kind() == jsonscan.Array {
			typed := false
			for _, k := range kinds.Array {
				typed = typed || strings.HasPrefix(k.Str(), "user.")
			}
			if !typed {
				return
			}
		} else {
			for _, c := range contextTexts {
				if strings.HasPrefix(text, c) {
					return
				}
			}
		}
		d.c.Prompt(id, text, at)
	}
}

func (d *sessionDecoder) event(kind string, payload jsonscan.Value) {
	switch kind {
	case "token_count":
		if info := payload.Get("info"); !d.records && info.Kind() == jsonscan.Object {
			// The count is repeated when nothing was used.
			if sum, _ := usageOf(info.Get("total_token_usage")); sum != d.total {
				d.total = sum
				d.usage(info.Get("last_token_usage"))
			}
		}
	case "item_completed":
		item := payload.Get("item")
		status, code := item.Get("status").Str(), item.Get("exit_code")
		o := outcome{failed: status == "failed" || status == "declined"}
		if n, ok := code.Int(); ok && n != 0 {
			o.failed = true
		}
		if dur := item.Get("duration"); dur.Kind() == jsonscan.Object {
			o.durationMs = dur.Get("secs").Count()*1000 + dur.Get("nanos").Count()/1e6
		}
		if id := item.Get("id").Str(); id != "" && o != (outcome{}) && len(d.outcomes) < 1000 {
			d.outcomes[id] = o
		}
	case "task_complete", "turn_complete":
		d.answer = ""
		d.b.TurnEnd(execution.TurnCompleted)
	case "turn_aborted":
		d.answer = ""
		d.b.TurnEnd(execution.TurnInterrupted)
	case "error":
		d.answer = ""
		d.c.Note(d.number("error"), payload.Get("message").Str(), time.Time{})
	case "thread_name_updated":
		d.b.Title(sessionfile.TitleFromUser, orText(payload.Get("thread_name").Str(), payload.Get("name").Str()))
	case "thread_rolled_back":
		d.rollback(payload.Get("num_turns").Count())
	default:
		if !slices.Contains(silentEvents, kind) {
			d.b.Unknown("event_msg/" + kind)
		}
	}
}

// rollback marks the last turns, which the user undid.
func (d *sessionDecoder) rollback(turns int64) {
	var active []*history.Message
	d.c.Each(func(m *history.Message) {
		if !m.Inactive {
			active = append(active, m)
		}
	})
	for i := len(active) - 1; i >= 0 && turns > 0; i-- {
		active[i].Inactive = true
		if active[i].Role == history.RoleUser {
			turns--
		}
	}
}

// usage sets the usage of the answer, and ends it. Other usage of Codex counts for the last answer.
func (d *sessionDecoder) usage(v jsonscan.Value) {
	u, _ := usageOf(v)
	if m := d.c.Find(cmp.Or(d.answer, d.last)); m != nil && !u.IsZero() {
		if m.TokenUsage != nil {
			u = u.Add(*m.TokenUsage)
		}
		m.TokenUsage = &u
	}
	d.answer = ""
}
