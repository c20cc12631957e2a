package execution

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends what MarshalJSON writes to b. A long run has many small events: the frequent ones are
// written here, byte for byte as encoding/json would, the others by encoding/json. On an error b is unchanged.
func (e Event) AppendJSON(b []byte) ([]byte, error) {
	if e.Body == nil {
		return b, fmt.Errorf("event %d of run %s has no body", e.Seq, e.RunID)
	}
	o := object(append(b, `{"schemaVersion":"`+SchemaVersion+`"`...)).
		text("type", string(e.Body.Type())).text("runId", string(e.RunID)).text("agent", e.Agent).number("timestamp", e.Time.UnixMilli())
	if c := e.Caller; c != nil {
		o = o.optional("assistantId", c.AssistantID).optional("turnId", c.TurnID).optional("correlationSessionId", c.CorrelationID)
	}
	if e.Seq != 0 {
		o = strconv.AppendUint(o.key("seq"), e.Seq, 10)
	}
	o = o.number("turn", int64(e.Turn)).optional("parentToolCallId", e.Parent).optional("origin", e.Origin)
	if len(e.Raw) > 0 {
		if raw, err := o.raw("raw", e.Raw); err == nil {
			o = raw
		} else { // not JSON: kept as a string
			o = o.text("raw", string(e.Raw))
		}
	}
	var err error
	switch body := e.Body.(type) {
	case TextDelta:
		o = o.text("delta", body.Delta).text("accumulated", body.Accumulated)
	case ThinkingDelta:
		o = o.text("delta", body.Delta).text("accumulated", body.Accumulated)
	case ToolInputDelta:
		o = o.text("toolCallId", body.ToolCallID).text("delta", body.Delta).text("inputAccumulated", body.InputAccumulated)
	case ShellStdoutDelta:
		o = o.text("delta", body.Delta).optional("toolCallId", body.ToolCallID)
	case ShellStderrDelta:
		o = o.text("delta", body.Delta).optional("toolCallId", body.ToolCallID)
	case ToolCallStart:
		o = o.text("toolCallId", body.ToolCallID).text("toolName", body.ToolName).text("inputAccumulated", body.InputAccumulated)
	case MessageStart:
		o = o.optional("messageId", body.MessageID)
	case MessageStop:
		o = o.text("text", body.Text)
	case ThinkingStart:
		o = o.optional("effort", string(body.Effort))
	case ThinkingStop:
		o = o.text("thinking", body.Thinking)
	case StepStart:
		o = o.number("turnIndex", int64(body.TurnIndex)).number("stepIndex", int64(body.StepIndex)).text("stepType", body.StepType)
	case StepEnd:
		o = o.number("turnIndex", int64(body.TurnIndex)).number("stepIndex", int64(body.StepIndex))
	case ShellStart:
		o = o.text("command", body.Command).text("cwd", body.Cwd).optional("toolCallId", body.ToolCallID)
	case ShellExit:
		o = o.number("exitCode", int64(body.ExitCode)).number("durationMs", body.DurationMs).optional("toolCallId", body.ToolCallID)
	case TokenUsage:
		o = o.number("inputTokens", body.InputTokens).number("outputTokens", body.OutputTokens).count("thinkingTokens", body.ThinkingTokens).
			count("cachedTokens", body.CachedTokens).count("cacheWriteTokens", body.CacheWriteTokens)
		if body.ModelCall {
			o = append(o.key("modelCall"), "true"...)
		}
		if body.FromSession {
			o = append(o.key("fromSession"), "true"...)
		}
	case ToolCallReady:
		o, err = o.text("toolCallId", body.ToolCallID).text("toolName", body.ToolName).raw("input", body.Input)
	case ToolResultEvent:
		o, err = o.text("toolCallId", body.ToolCallID).text("toolName", body.ToolName).raw("output", body.Output)
		o = o.number("durationMs", body.DurationMs)
	default:
		var rest []byte
		if rest, err = json.Marshal(body); len(rest) > 2 {
			o = append(append(o, ','), rest[1:len(rest)-1]...)
		}
	}
	if err != nil {
		return b, fmt.Errorf("encode %s event: %w", e.Body.Type(), err)
	}
	return append(o, '}'), nil
}

// object is a JSON object under construction, after its first member.
type object []byte

func (o object) key(name string) []byte {
	o = append(append(o, ',', '"'), name...)
	return append(o, '"', ':')
}

func (o object) text(name, v string) object { return appendQuoted(o.key(name), v) }

func (o object) optional(name, v string) object {
	if v == "" {
		return o
	}
	return o.text(name, v)
}

func (o object) number(name string, v int64) object { return strconv.AppendInt(o.key(name), v, 10) }

func (o object) raw(name string, v json.RawMessage) (object, error) {
	text, err := json.Marshal(v)
	return append(o.key(name), text...), err
}

// count appends a number unless it is 0.
func (o object) count(name string, v int64) object {
	if v == 0 {
		return o
	}
	return o.number(name, v)
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends a string as encoding/json does.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		if i += plainBytes(s[i:]); i == len(s) {
			break
		}
		size, c := 1, s[i]
		escaped := [6]byte{'\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15]}
		text := escaped[:]
		switch {
		case c >= utf8.RuneSelf:
			var r rune
			switch r, size = utf8.DecodeRuneInString(s[i:]); {
			case r == utf8.RuneError && size == 1:
				text = []byte(`\ufffd`)
			case r == '\u2028' || r == '\u2029':
				text = []byte{'\\', 'u', '2', '0', '2', hexDigits[r&15]}
			default:
				i += size
				continue
			}
		case c == '"' || c == '\\':
			text = []byte{'\\', c}
		case c == '\n':
			text = []byte(`\n`)
		case c == '\t':
			text = []byte(`\t`)
		case c == '\r':
			text = []byte(`\r`)
		case c == '\b':
			text = []byte(`\b`)
		case c == '\f':
			text = []byte(`\f`)
		}
		b = append(append(b, s[from:i]...), text...)
		i += size
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// plainBytes returns how many leading bytes of a string need no escape in JSON. It checks eight at a time.
func plainBytes(s string) (n int) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	// has reports, in the high bit of each byte, whether that byte is c. Bytes must be below 0x80.
	has := func(word, c uint64) uint64 { return (word ^ c*ones) - ones }
	for ; n+8 <= len(s); n += 8 {
		w := binary.LittleEndian.Uint64([]byte(s[n : n+8]))
		if (w|(w-0x20*ones)|has(w, '"')|has(w, '\\')|has(w, '<')|has(w, '>')|has(w, '&'))&highs != 0 {
			break
		}
	}
	for ; n < len(s); n++ {
		if c := s[n]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			break
		}
	}
	return n
}
