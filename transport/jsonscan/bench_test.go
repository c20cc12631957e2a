package jsonscan

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"
	"testing"
)

var claudeKeys = NewKeySet("type", "event", "session_id", "parent_tool_use_id", "uuid", "message")

var claudePaths = NewKeySet("type", "event.type", "event.index", "event.delta.type", "event.delta.text", "session_id")

var codexKeys = NewKeySet("method", "params", "id", "result", "error", "emittedAtMs")

// benchSets holds lines of about the mean length of long streams: 350 bytes for Claude, 690 for Codex.
func benchSets(tb testing.TB) []struct {
	name  string
	lines [][]byte
	keys  *KeySet
} {
	var deltas, items [][]byte
	words := strings.Fields("the parser reads every line and keeps what a caller wants while text flows on in small pieces with \\n breaks")
	for i := range 4096 {
		text := strings.Join(words[i%8:i%8+4+i%7], " ")
		deltas = append(deltas, fmt.Appendf(nil, `{"type":"stream_event","event":{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":"%s"}},"session_id":"f8221b98-cb5e-4f75-b620-470f4a8a7840","parent_tool_use_id":null,"uuid":"eae41219-c51a-437b-b19d-%012x","timestamp":"2026-11-20T11:44:59.407Z","api_message_id":"msg_scripted00100311475"}`, i%4, text, i))
		items = append(items, fmt.Appendf(nil, `{"method":"item/completed","params":{"item":{"type":"commandExecution","id":"call_%d","command":"/bin/bash -lc 'go test ./...'","cwd":"/home/user/project","processId":null,"source":"agent","status":"completed","commandActions":[{"type":"unknown","command":"go test ./..."}],"aggregatedOutput":"%s","exitCode":0,"durationMs":%d},"threadId":"01a1f8c6-2133-7672-b1df-0223692ee827","turnId":"01a1f8c6-214e-7743-b373-291761c3db0e","contentTokenCount":null,"completedAtMs":%d},"emittedAtMs":%d}`, i, strings.Repeat(text+" ", 1+i%8), i, 1795175096000+int64(i), 1795175096000+int64(i)))
	}
	big := []byte(`{"type":"user","message":{"content":"` + strings.Repeat("a line of a file that a tool has read, ", 1<<15) + `"}}`)
	return []struct {
		name  string
		lines [][]byte
		keys  *KeySet
	}{
		{"claude_delta", deltas, claudeKeys},
		{"claude_paths", deltas, claudePaths},
		{"claude_mixed", fileLines(tb, "claude.jsonl"), claudeKeys},
		{"codex_item", items, codexKeys},
		{"codex_mixed", fileLines(tb, "codex.jsonl"), codexKeys},
		{"megabyte", [][]byte{big}, claudeKeys},
	}
}

func benchLines(b *testing.B, lines [][]byte, f func(line []byte)) {
	var size int
	for _, l := range lines {
		size += len(l)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		f(lines[n%len(lines)])
		n++
	}
	perSecond := float64(n) / b.Elapsed().Seconds()
	b.ReportMetric(perSecond*float64(size)/float64(len(lines))/1e6, "MB/s")
	b.ReportMetric(perSecond/1e6, "Mlines/s")
	b.ReportMetric(float64(size)/float64(len(lines)), "B/line")
}

func BenchmarkParse(b *testing.B) {
	for _, set := range benchSets(b) {
		b.Run(set.name, func(b *testing.B) {
			benchLines(b, set.lines, func(line []byte) {
				if _, err := Parse(line); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkFields(b *testing.B) {
	for _, set := range benchSets(b) {
		b.Run(set.name, func(b *testing.B) {
			var dst [8]Value
			benchLines(b, set.lines, func(line []byte) {
				if err := Fields(line, dst[:], set.keys); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkNested reads an inner object by a second and third call, which claude_paths does in one.
func BenchmarkNested(b *testing.B) {
	event := NewKeySet("type", "index", "delta")
	delta := NewKeySet("type", "text")
	var dst, inner, innermost [8]Value
	benchLines(b, benchSets(b)[0].lines, func(line []byte) {
		if err := Fields(line, dst[:], claudeKeys); err != nil {
			b.Fatal(err)
		}
		dst[1].Fields(inner[:], event)
		inner[2].Fields(innermost[:], delta)
	})
}

func BenchmarkEncodingJSON(b *testing.B) {
	for _, set := range benchSets(b) {
		b.Run("valid/"+set.name, func(b *testing.B) {
			benchLines(b, set.lines, func(line []byte) {
				if !json.Valid(line) {
					b.Fatal("not valid")
				}
			})
		})
		b.Run("fields/"+set.name, func(b *testing.B) {
			benchLines(b, set.lines, func(line []byte) {
				var m struct {
					Type, UUID, Method     string
					SessionID              string `json:"session_id"`
					ParentToolUseID        string `json:"parent_tool_use_id"`
					Event, Message, Params json.RawMessage
				}
				if err := json.Unmarshal(line, &m); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkStringEnd compares ways to find the end of a string: eight bytes at a time for all three kinds of stops, or
// IndexByte for the quote and one pass more for backslashes and control characters.
func BenchmarkStringEnd(b *testing.B) {
	for _, size := range []int{4, 12, 36, 200, 4096, 1 << 20} {
		line := []byte(strings.Repeat("x", size) + `","next":"value"}`)
		b.Run(fmt.Sprintf("words/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if end, _ := scanString(line, 0); end != size+1 {
					b.Fatal(end)
				}
			}
		})
		b.Run(fmt.Sprintf("indexbyte/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				end := bytes.IndexByte(line, '"')
				content := line[:end]
				if bytes.IndexByte(content, '\\') >= 0 || firstControl(content) >= 0 {
					b.Fatal(end)
				}
			}
		})
	}
}

func firstControl(b []byte) int {
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		if m := (x - 0x20*ones) &^ x & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if b[i] < 0x20 {
			return i
		}
	}
	return -1
}
