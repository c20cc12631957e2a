package claude

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

const (
	recType = iota
	recUUID
	recParent
	recLogicalParent
	recSidechain
	recAgent
	recMeta
	recCompactSummary
	recTime
	recCwd
	recSession
	recRequestSession
	recForked
	recRole
	recMessageID
	recModel
	recContent
	recUsage
	recStop
	recSubtype
	recAITitle
	recCustomTitle
	recSummary
	recCost
	recCostUnknown
	recAttachment
	recBefore
	recAfter
	recDuration
	recCount
)

var recordKeys = jsonscan.NewKeySet("type", "uuid", "parentUuid", "logicalParentUuid", "isSidechain", "agentId", "isMeta", "isCompactSummary",
	"timestamp", "cwd", "sessionId", "requestSessionId", "forkedFrom.sessionId", "message.role", "message.id", "message.model", "message.content",
	"message.usage", "message.stop_reason", "subtype", "aiTitle", "customTitle", "summary", "totalCostUSD", "hasUnknownModelCost", "attachment",
	"compactMetadata.preTokens", "compactMetadata.postTokens", "toolUseResult.durationMs")

var sessionUsageKeys = jsonscan.NewKeySet("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens_details.thinking_tokens")

var sessionBlockKeys = jsonscan.NewKeySet("type", "text", "thinking", "id", "name", "input", "tool_use_id", "content", "is_error")

// silentRecords say nothing about the conversation.
var silentRecords = map[string]bool{"queue-operation": true, "last-prompt": true, "mode": true, "permission-mode": true, "atis-latch": true,
	"api-request": true, "api-request-shape": true, "api-request-blob": true, "tools-used": true, "file-history-snapshot": true, "file-history-delta": true,
	"attribution-snapshot": true, "progress": true, "tag": true, "relocated": true, "agent-name": true, "agent-color": true, "agent-setting": true,
	"pr-link": true, "content-replacement": true, "worktree-state": true, "task-summary": true, "speculation-accept": true, "bridge-session": true}

// sessionDecoder reads Claude's records: a tree of messages, in which an answer has one record for each of its blocks.
type sessionDecoder struct {
	b    *sessionfile.Builder
	c    *sessionfile.Conversation
	main bool
}

// Line reads a record.
func (d *sessionDecoder) Line(text []byte) bool {
	var v [recCount]jsonscan.Value
	if jsonscan.Fields(text, v[:], recordKeys) != nil {
		return false
	}
	kind := v[recType].Str()
	c := d.c
	if side, _ := v[recSidechain].Bool(); side && d.main {
		// Older versions keep sub-agents in the session's file, or in a file of their own that names the session.
		if strings.HasPrefix(d.b.File.ID, "agent-") {
			d.b.Summary.Parent = v[recSession].Str()
		} else {
			c = d.b.Subagent(cmp.Or(v[recAgent].Str(), "sidechain"), nil)
		}
	}
	switch kind {
	case "user", "assistant", "system", "attachment":
		d.common(v[:])
	}
	switch kind {
	case "user":
		d.user(c, v[:])
	case "assistant":
		d.assistant(c, v[:])
	case "system":
		c.Link(v[recUUID].Str(), parentOf(v[:]), nil, false)
		if v[recSubtype].IsStr("compact_boundary") {
			d.b.Event(execution.ContextCompacted{TokensSaved: max(0, sessionfile.Int(v[recBefore])-sessionfile.Int(v[recAfter]))})
		}
	case "attachment":
		d.attachment(c, v[:])
	case "summary":
		d.b.Title(sessionfile.TitleFromAgent, v[recSummary].Str())
	case "ai-title":
		d.b.Title(sessionfile.TitleFromAgent, v[recAITitle].Str())
	case "custom-title":
		d.b.Title(sessionfile.TitleFromUser, v[recCustomTitle].Str())
	case "cost-state":
		if usd, ok := v[recCost].Float(); ok && d.main {
			cost := execution.Cost{TotalUSD: &usd, Source: execution.CostFromAgent}
			// A sum that leaves models out is no price.
			if unknown, _ := v[recCostUnknown].Bool(); unknown {
				cost = execution.Cost{Unpriced: true}
			}
			d.b.Summary.Cost = &cost
		}
	default:
		if !silentRecords[kind] {
			d.b.Unknown(kind)
		}
	}
	return true
}

// common reads what every record of the tree has.
func (d *sessionDecoder) common(v []jsonscan.Value) {
	d.b.At(sessionfile.Time(v[recTime]))
	if !d.main {
		return
	}
	if cwd := v[recCwd].Str(); cwd != "" {
		d.b.Summary.Cwd = cwd
	}
	// A fork copies the records of its parent and says so in each; the answers of a fork made without a person only name the
	// session that asked for them. The later record is of the nearer session.
	if from := v[recForked].Str(); from != "" {
		d.b.Summary.ForkedFrom = from
	} else if from := v[recRequestSession].Str(); from != "" && !v[recSession].IsStr(from) {
		d.b.Summary.ForkedFrom = from
	}
}

// parentOf is the record before; behind a compaction it is named otherwise.
func parentOf(v []jsonscan.Value) string {
	return cmp.Or(v[recParent].Str(), v[recLogicalParent].Str())
}

// notes begin texts that Claude writes into the user's part of the conversation.
var notes = []string{"<command-name>", "<command-message>", "<local-command-", "<bash-input>", "<bash-stdout>", "<task-notification>", "<system-reminder>", "[Request interrupted by user"}

func isNote(text string) bool {
	for _, n := range notes {
		if strings.HasPrefix(text, n) {
			return true
		}
	}
	return false
}

func (d *sessionDecoder) user(c *sessionfile.Conversation, v []jsonscan.Value) {
	uuid, at := v[recUUID].Str(), sessionfile.Time(v[recTime])
	var said []string
	results := 0
	if v[recContent].Kind() == jsonscan.String {
		said = append(said, v[recContent].Str())
	}
	var block [9]jsonscan.Value
	for _, e := range v[recContent].Array {
		if !e.Fields(block[:], sessionBlockKeys) {
			continue
		}
		switch block[0].Str() {
		case "text":
			said = append(said, block[1].Str())
		case "tool_result":
			id := uuid
			if results++; results > 1 && id != "" {
				id = fmt.Sprintf("%s#%d", uuid, results)
			}
			r := c.Result(id, block[6].Str(), at)
			r.Output, r.DurationMs = sessionfile.Text(block[7]), sessionfile.Int(v[recDuration])
			r.IsError, _ = block[8].Bool()
			c.Link(id, parentOf(v), c.Find(id), true)
		case "image", "document":
			said = append(said, "["+block[0].Str()+"]")
		}
	}
	text := strings.Join(said, "\n")
	if results > 0 {
		return // a text beside results is a reminder of Claude's
	}
	meta, _ := v[recMeta].Bool()
	summary, _ := v[recCompactSummary].Bool()
	var m *adapter.SessionMessage
	if meta || summary || isNote(text) {
		m = c.Note(uuid, text, at)
	} else {
		m = c.Prompt(uuid, text, at)
	}
	c.Link(uuid, parentOf(v), m, true)
}

func (d *sessionDecoder) assistant(c *sessionfile.Conversation, v []jsonscan.Value) {
	uuid := v[recUUID].Str()
	m := c.Message(cmp.Or(v[recMessageID].Str(), uuid), adapter.RoleAssistant, sessionfile.Time(v[recTime]))
	c.Link(uuid, parentOf(v), m, true)
	if model := v[recModel].Str(); model != "" && model != "<synthetic>" {
		m.Model = model
		if d.main {
			d.b.Summary.Model = model
		}
	}
	if v[recContent].Kind() == jsonscan.String {
		m.Content = sessionfile.AddText(m.Content, v[recContent].Str())
	}
	spoke := false
	var block [9]jsonscan.Value
	for _, e := range v[recContent].Array {
		if !e.Fields(block[:], sessionBlockKeys) {
			continue
		}
		switch block[0].Str() {
		case "text":
			m.Content = sessionfile.AddText(m.Content, block[1].Str())
			spoke = true
		case "thinking":
			m.Thinking = sessionfile.AddText(m.Thinking, block[2].Str())
		case "tool_use", "server_tool_use", "mcp_tool_use":
			c.Call(m, block[3].Str(), block[4].Str(), block[5].Raw())
		}
	}
	var u [5]jsonscan.Value
	if v[recUsage].Fields(u[:], sessionUsageKeys) {
		// Every record of an answer repeats its usage; the last one is complete.
		usage := execution.Usage{Input: sessionfile.Int(u[0]), Output: sessionfile.Int(u[1]), Cached: sessionfile.Int(u[2]), CacheWrite: sessionfile.Int(u[3]), Thinking: sessionfile.Int(u[4])}
		usage.Total = usage.Input + usage.Output + usage.Cached + usage.CacheWrite
		m.TokenUsage = &usage
	}
	if spoke && d.main && c == d.b.Main && v[recStop].IsStr("end_turn") {
		d.b.TurnEnd(execution.TurnCompleted)
	}
}

// attachment is what Claude puts beside the conversation. A message that was typed while it worked is among it.
func (d *sessionDecoder) attachment(c *sessionfile.Conversation, v []jsonscan.Value) {
	uuid := v[recUUID].Str()
	var m *adapter.SessionMessage
	if a := v[recAttachment]; a.Get("type").IsStr("queued_command") {
		text := sessionfile.Text(a.Get("prompt"))
		switch {
		case text == "":
		case isNote(text), a.Get("commandMode").IsStr("task-notification"):
			m = c.Note(uuid, text, sessionfile.Time(v[recTime]))
		default:
			m = c.Prompt(uuid, text, sessionfile.Time(v[recTime]))
		}
	}
	c.Link(uuid, parentOf(v), m, false)
}
