package claude

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

type recordForm struct {
	_                                                                                         jsonscan.Camel
	Type, UUID, ParentUUID, LogicalParentUUID, IsSidechain, AgentID, IsMeta, IsCompactSummary jsonscan.Value
	Timestamp, Cwd, SessionID, RequestSessionID, Subtype, AiTitle, CustomTitle, Summary       jsonscan.Value
	HasUnknownModelCost, Attachment                                                           jsonscan.Value
	TotalCostUSD                                                                              jsonscan.Value `scan:"totalCostUSD"`
	ForkedFrom                                                                                struct{ SessionID jsonscan.Value }
	Message                                                                                   struct {
		_                                           jsonscan.Snake
		Role, ID, Model, Content, Usage, StopReason jsonscan.Value
	}
	CompactMetadata struct{ PreTokens, PostTokens jsonscan.Value }
	ToolUseResult   struct{ DurationMs jsonscan.Value }
}

var recordShape jsonscan.Shape[recordForm]

type sessionUsageForm struct {
	InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens jsonscan.Value
	OutputTokensDetails                                                       struct{ ThinkingTokens jsonscan.Value }
}

var sessionUsageShape jsonscan.Shape[sessionUsageForm]

// silentRecords are irrelevant to the conversation.
var silentRecords = []string{"queue-operation", "last-prompt", "mode", "permission-mode", "atis-latch",
	"api-request", "api-request-shape", "api-request-blob", "tools-used", "file-history-snapshot", "file-history-delta",
	"attribution-snapshot", "progress", "tag", "relocated", "agent-name", "agent-color", "agent-setting",
	"pr-link", "content-replacement", "worktree-state", "task-summary", "speculation-accept", "bridge-session"}

// sessionDecoder reads Claude's records: a tree of messages, in which an answer has one record per block.
type sessionDecoder struct {
	b    *sessionfile.Builder
	c    *sessionfile.Conversation
	main bool
}

// Line reads a record.
func (d *sessionDecoder) Line(text []byte) bool {
	var v recordForm
	if !recordShape.Into(text, &v) {
		return false
	}
	kind := v.Type.Str()
	c := d.c
	if side, _ := v.IsSidechain.Bool(); side && d.main {
		// Older versions keep sub-agents in the session's file, or in a separate file that names the session.
		if strings.HasPrefix(d.b.File.ID, "agent-") {
			d.b.Summary.Parent = v.SessionID.Str()
		} else {
			c = d.b.Subagent(cmp.Or(v.AgentID.Str(), "sidechain"), nil)
		}
	}
	switch kind {
	case "user", "assistant", "system", "attachment":
		d.common(&v)
	}
	switch kind {
	case "user":
		d.user(c, &v)
	case "assistant":
		d.assistant(c, &v)
	case "system":
		c.Link(v.UUID.Str(), parentOf(&v), nil, false)
		if v.Subtype.IsStr("compact_boundary") {
			d.b.Event(execution.ContextCompacted{TokensSaved: max(0, v.CompactMetadata.PreTokens.Count()-v.CompactMetadata.PostTokens.Count())})
		}
	case "attachment":
		d.attachment(c, &v)
	case "summary":
		d.b.Title(sessionfile.TitleFromAgent, v.Summary.Str())
	case "ai-title":
		d.b.Title(sessionfile.TitleFromAgent, v.AiTitle.Str())
	case "custom-title":
		d.b.Title(sessionfile.TitleFromUser, v.CustomTitle.Str())
	case "cost-state":
		if usd, ok := v.TotalCostUSD.Float(); ok && d.main {
			cost := execution.Cost{TotalUSD: &usd, Source: execution.CostFromAgent}
			// A sum that omits models is not a price.
			if unknown, _ := v.HasUnknownModelCost.Bool(); unknown {
				cost = execution.Cost{Unpriced: true}
			}
			d.b.Summary.Cost = &cost
		}
	default:
		if !slices.Contains(silentRecords, kind) {
			d.b.Unknown(kind)
		}
	}
	return true
}

// common reads the fields of every record of the tree.
func (d *sessionDecoder) common(v *recordForm) {
	d.b.At(sessionfile.Time(v.Timestamp))
	if !d.main {
		return
	}
	if cwd := v.Cwd.Str(); cwd != "" {
		d.b.Summary.Cwd = cwd
	}
	// A fork copies its parent's records and marks each; the answers of a fork made without a person only name the
	// session that requested them. The later record belongs to the nearer session.
	if from := v.ForkedFrom.SessionID.Str(); from != "" {
		d.b.Summary.ForkedFrom = from
	} else if from := v.RequestSessionID.Str(); from != "" && !v.SessionID.IsStr(from) {
		d.b.Summary.ForkedFrom = from
	}
}

// parentOf returns the previous record; after a compaction it has another name.
func parentOf(v *recordForm) string {
	return cmp.Or(v.ParentUUID.Str(), v.LogicalParentUUID.Str())
}

// notes are the starts of texts that Claude adds to the user's part of the conversation.
var notes = []string{"<command-name>", "<command-message>", "<local-command-", "<bash-input>", "<bash-stdout>", "<task-notification>", "<system-reminder>", "[Request interrupted by user"}

func isNote(text string) bool {
	return slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(text, n) })
}

func (d *sessionDecoder) user(c *sessionfile.Conversation, v *recordForm) {
	uuid, at := v.UUID.Str(), sessionfile.Time(v.Timestamp)
	var said []string
	results := 0
	if v.Message.Content.Kind() == jsonscan.String {
		said = append(said, v.Message.Content.Str())
	}
	var block streamjson.Block
	for _, e := range v.Message.Content.Array {
		if !streamjson.Blocks.From(e, &block) {
			continue
		}
		switch block.Type.Str() {
		case "text":
			said = append(said, block.Text.Str())
		case "tool_result":
			id := uuid
			if results++; results > 1 && id != "" {
				id = fmt.Sprintf("%s#%d", uuid, results)
			}
			r := c.Result(id, block.ToolUseID.Str(), at)
			r.Output, r.DurationMs = sessionfile.Text(block.Content), v.ToolUseResult.DurationMs.Count()
			r.IsError, _ = block.IsError.Bool()
			c.Link(id, parentOf(v), c.Find(id), true)
		case "image", "document":
			said = append(said, "["+block.Type.Str()+"]")
		}
	}
	text := strings.Join(said, "\n")
	if results > 0 {
		return // a text next to results is a reminder by Claude
	}
	meta, _ := v.IsMeta.Bool()
	summary, _ := v.IsCompactSummary.Bool()
	var m *history.Message
	if meta || summary || isNote(text) {
		m = c.Note(uuid, text, at)
	} else {
		m = c.Prompt(uuid, text, at)
	}
	c.Link(uuid, parentOf(v), m, true)
}

func (d *sessionDecoder) assistant(c *sessionfile.Conversation, v *recordForm) {
	uuid := v.UUID.Str()
	m := c.Message(cmp.Or(v.Message.ID.Str(), uuid), history.RoleAssistant, sessionfile.Time(v.Timestamp))
	c.Link(uuid, parentOf(v), m, true)
	if model := v.Message.Model.Str(); model != "" && model != "<synthetic>" {
		m.Model = model
		if d.main {
			d.b.Summary.Model = model
		}
	}
	if v.Message.Content.Kind() == jsonscan.String {
		m.Content = sessionfile.AddText(m.Content, v.Message.Content.Str())
	}
	spoke := false
	var block streamjson.Block
	for _, e := range v.Message.Content.Array {
		if !streamjson.Blocks.From(e, &block) {
			continue
		}
		switch block.Type.Str() {
		case "text":
			m.Content = sessionfile.AddText(m.Content, block.Text.Str())
			spoke = true
		case "thinking":
			m.Thinking = sessionfile.AddText(m.Thinking, block.Thinking.Str())
		case "tool_use", "server_tool_use", "mcp_tool_use":
			c.Call(m, block.ID.Str(), block.Name.Str(), block.Input.Raw())
		}
	}
	var u sessionUsageForm
	if sessionUsageShape.From(v.Message.Usage, &u) {
		// Every record of an answer repeats its usage; the last one is complete.
		usage := execution.Usage{Input: u.InputTokens.Count(), Output: u.OutputTokens.Count(),
			Cached: u.CacheReadInputTokens.Count(), CacheWrite: u.CacheCreationInputTokens.Count(),
			Thinking: u.OutputTokensDetails.ThinkingTokens.Count()}
		usage.Total = usage.Input + usage.Output + usage.Cached + usage.CacheWrite
		m.TokenUsage = &usage
	}
	if spoke && d.main && c == d.b.Main && v.Message.StopReason.IsStr("end_turn") {
		d.b.TurnEnd(execution.TurnCompleted)
	}
}

// attachment handles what Claude adds to the conversation, including messages that were typed while it worked.
func (d *sessionDecoder) attachment(c *sessionfile.Conversation, v *recordForm) {
	uuid := v.UUID.Str()
	var m *history.Message
	if a := v.Attachment; a.Get("type").IsStr("queued_command") {
		text := sessionfile.Text(a.Get("prompt"))
		switch {
		case text == "":
		case isNote(text), a.Get("commandMode").IsStr("task-notification"):
			m = c.Note(uuid, text, sessionfile.Time(v.Timestamp))
		default:
			m = c.Prompt(uuid, text, sessionfile.Time(v.Timestamp))
		}
	}
	c.Link(uuid, parentOf(v), m, false)
}
