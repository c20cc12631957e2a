package modelserver

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// endpoint is what a request asks the server to do.
type endpoint string

const (
	endGenerate  endpoint = "generate"
	endCount     endpoint = "count_tokens"
	endModels    endpoint = "models"
	endProbe     endpoint = "probe"
	endWebSocket endpoint = "websocket"
	endUnknown   endpoint = "unknown"
)

// sideRefused is the kind of a request that could not be understood, or that no script answers.
const sideRefused = "refused"

// Texts by which programs' own requests are known even though they offer tools like a turn. They are looked for in
// requests of that program only, so that nobody's prompt is taken for one.
var sideTexts = []struct{ caller, kind, where, text string }{
	{"claude", "compaction", "last", "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."},
	{"claude", "question", "last", "<system-reminder>This is a side question from the user."},
	{"codex", "compaction", "last", "You are performing a CONTEXT CHECKPOINT COMPACTION."},
	{"qwen", "memory", "any", "Managed memory directory"},
}

// titleTask is how programs tell a model to name or sum up a conversation, in the system prompt of a request
// without tools.
var titleTask = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)\btitle generator\b|\bnaming a (coding )?session\b|` +
		`\b(generate|write|create|provide|come up with|suggest|summarize)\b.{0,80}\b(title|name|description|summary)\b.{0,80}` +
		`\b(session|conversation|chat|thread)\b|\bsummarize (this|the) (coding )?conversation\b`)
})

// longestTitleTask bounds the system prompt that is searched for one: the prompt of a real turn is far longer.
const longestTitleTask = 16 << 10

// sideKind returns what kind of side request r is, or "" for a turn of the conversation. A side request is one that
// the program makes for itself: it must never use up a scripted turn.
//
// Absence of tools alone proves nothing: agents run with tools switched off, and plain API clients have none. So a
// request counts as a turn until something speaks against it.
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
		// Claude asks for thinking or manages it in every turn, with --tools "" too, and in no task of its own.
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

// sideText is what a side request is answered with when the script does not say: a value of the wanted schema, and
// a text in the form that the task insists on.
func sideText(kind string, r *request) string {
	if present(r.schema) {
		return string(marshal(example(newNode(r.schema, ""), 0)))
	}
	if kind == "compaction" {
		return "<summary>ok</summary>"
	}
	return "ok"
}

// example returns a small value that fits a JSON Schema, as far as plain types, enums and constants go.
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
