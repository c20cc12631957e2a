package modelserver

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// endpoint is the kind of a request.
type endpoint string

const (
	endGenerate  endpoint = "generate"
	endCount     endpoint = "count_tokens"
	endModels    endpoint = "models"
	endProbe     endpoint = "probe"
	endWebSocket endpoint = "websocket"
	endUnknown   endpoint = "unknown"
)

// sideRefused is the kind of an invalid request, or of one without a script.
const sideRefused = "refused"

// Texts that identify programs' internal requests although they offer tools like a turn. They are only searched in
// requests of that program, so that a user's prompt does not match.
var sideTexts = []struct{ caller, kind, where, text string }{
	{"claude", "compaction", "last", "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."},
	{"claude", "question", "last", "<system-reminder>This is a side question from the user."},
	{"claude", "suggestion", "last", "[SUGGESTION MODE: Suggest what the user might naturally type next into Claude Code.]"},
	{"codex", "compaction", "last", "You are performing a CONTEXT CHECKPOINT COMPACTION."},
	{"codex", "title", "any", "Your task is to generate a very short title for a conversation"},
	{"qwen", "memory", "any", "Managed memory directory"},
}

// titleTask matches how programs ask a model to name or summarize a conversation, in the system prompt of a request
// without tools.
var titleTask = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)\btitle generator\b|\bnaming a (coding )?session\b|\bgenerates concise session titles\b|` +
		`\b(generate|write|create|provide|come up with|suggest|summarize)\b.{0,80}\b(title|name|description|summary)\b.{0,80}` +
		`\b(session|conversation|chat|thread)\b|\bsummarize (this|the) (coding )?conversation\b`)
})

// longestTitleTask bounds the system prompt that is searched: that of a real turn is far longer.
const longestTitleTask = 16 << 10

// sideKind returns the kind of side request of r, or "" for a turn of the conversation. A side request is internal to
// the program and must never use up a scripted turn.
//
// Missing tools alone prove nothing: agents run with tools disabled, and plain API clients have none. So a request
// counts as a turn unless there is other evidence.
func sideKind(end endpoint, r *request, contains []string) string {
	if end != endGenerate {
		return string(end)
	}
	for _, text := range contains {
		if strings.Contains(r.system, text) || strings.Contains(r.last, text) {
			return "script"
		}
	}
	for _, known := range sideTexts {
		if known.caller != r.caller {
			continue
		}
		if strings.Contains(r.last, known.text) || known.where == "any" && strings.Contains(r.system, known.text) {
			return known.kind
		}
	}
	if r.caller == "codex" && r.kind != "" && r.kind != "turn" {
		return r.kind
	}
	if r.tools > 0 {
		return ""
	}
	if r.maxTokens == 0 || r.maxTokens == 1 {
		return "quota"
	}
	if r.caller == "claude" && r.reasons {
		// Claude requests or configures thinking in every turn, also with --tools "", and in no internal task.
		return ""
	}
	if len(r.system) <= longestTitleTask && titleTask().MatchString(r.system) {
		return "title"
	}
	switch r.caller {
	case "claude":
		// The structured output of a turn is a tool.
		if present(r.schema) || strings.Contains(r.model, "haiku") {
			return "task"
		}
	case "gemini", "qwen":
		// A turn always declares functions; summaries, routing and next-speaker checks never do.
		return "task"
	default:
		if r.wire == WireGemini && !r.stream && strings.Contains(r.model, "flash-lite") {
			return "task"
		}
	}
	return ""
}

// sideText returns the default answer to a side request: a value of the requested schema, and a text in the format
// that the task requires.
func sideText(kind string, r *request) string {
	if present(r.schema) {
		return string(marshal(example(newNode(r.schema, ""), 0)))
	}
	if kind == "compaction" {
		return "<summary>ok</summary>"
	}
	return "ok"
}

// example returns a small value that fits a JSON Schema of plain types, enums and constants.
func example(schema *node, depth int) any {
	o := map[string]*node{}
	for _, m := range schema.members() {
		o[m.key] = m.value
	}
	if n := o["const"]; n != nil {
		return n.value()
	}
	if first := o["enum"].first(); first != nil {
		return first.value()
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if first := o[key].first(); first != nil && depth < deepest {
			return example(first, depth+1)
		}
	}
	kind := ""
	if n := o["type"]; n != nil {
		kind = n.text
		if first := n.first(); first != nil {
			kind = first.text
		}
	}
	switch strings.ToLower(kind) { // Gemini writes types in capitals
	case "string":
		return "ok"
	case "integer", "number":
		return 0
	case "boolean":
		return false
	case "array":
		return []any{}
	case "null":
		return nil
	}
	value := object{}
	if n := o["properties"]; n != nil && depth < deepest {
		for _, m := range n.members() {
			value[m.key] = example(m.value, depth+1)
		}
	}
	return value
}

// first returns the first element of a list, or nil.
func (n *node) first() *node {
	if n == nil {
		return nil
	}
	if items := n.items(); len(items) > 0 {
		return items[0]
	}
	return nil
}

// value returns n as encoding/json would decode it.
func (n *node) value() any {
	switch n.kind {
	case '"':
		return n.text
	case '0':
		return json.Number(n.text)
	case 't':
		return n.truth
	case '{', '[':
		return n.raw
	}
	return nil
}
