package claude

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// makeStream makes a stream of about the given number of lines in the shape of recorded ones: partial messages with
// thinking, text and a tool call each, the whole lines that repeat them, results of tools, a result every ten messages.
func makeStream(lines int) []byte {
	var b bytes.Buffer
	n := 0
	put := func(format string, args ...any) {
		fmt.Fprintf(&b, format, args...)
		b.WriteByte('\n')
		n++
	}
	const session = "0fbf5644-ab7b-434c-a22c-321f96fc5b19"
	uuid := func() string {
		return fmt.Sprintf("%08x-32a4-49f2-86ba-%012x", n*2654435761&0xffffffff, n)
	}
	words := strings.Fields("the quick brown fox jumps over a lazy dog while \\\"quoted\\\" text and\\n new lines pass by, 3.14 times, — naïve café")
	event := func(format string, args ...any) {
		put(`{"type":"stream_event","event":%s,"session_id":"%s","parent_tool_use_id":null,"uuid":"%s","thinking_display":"updates","api_message_id":"msg_01%020d"}`,
			fmt.Sprintf(format, args...), session, uuid(), n/100)
	}
	init := func() {
		put(`{"type":"system","subtype":"init","cwd":"/work-dir","session_id":"%s","tools":["Bash","Edit","Read","Write"],"mcp_servers":[],"model":"claude-opus-5-5","permissionMode":"default","claude_code_version":"2.1.329","uuid":"%s"}`, session, uuid())
	}
	for message := 0; n < lines || message%10 != 0; message++ {
		if message%10 == 0 {
			init()
		}
		id := fmt.Sprintf("msg_01%020d", message)
		usage := `{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":100,"output_tokens":1}`
		whole := func(content string) {
			put(`{"type":"assistant","message":{"content":[%s],"id":"%s","model":"claude-opus-5-5","role":"assistant","stop_reason":null,"stop_sequence":null,"type":"message","usage":%s,"context_management":null},"parent_tool_use_id":null,"session_id":"%s","uuid":"%s","timestamp":"2026-11-20T11:42:05.133Z","request_id":"req_1"}`,
				content, id, usage, session, uuid())
		}
		put(`{"type":"system","subtype":"status","status":"requesting","session_id":"%s","uuid":"%s"}`, session, uuid())
		event(`{"message":{"content":[],"id":"%s","model":"claude-opus-5-5","role":"assistant","stop_reason":null,"stop_sequence":null,"type":"message","usage":%s},"type":"message_start"}`, id, usage)
		var said strings.Builder
		event(`{"content_block":{"signature":"","thinking":"","type":"thinking"},"index":0,"type":"content_block_start"}`)
		for i := range 20 {
			w := words[(message+i)%len(words)] + " and then "
			said.WriteString(w)
			event(`{"delta":{"thinking":"%s","type":"thinking_delta"},"index":0,"type":"content_block_delta"}`, w)
			put(`{"type":"system","subtype":"thinking_tokens","estimated_tokens":%d,"estimated_tokens_delta":2,"session_id":"%s","uuid":"%s"}`, i*2, session, uuid())
		}
		whole(`{"thinking":"` + said.String() + `","signature":"c2ln","type":"thinking"}`)
		event(`{"index":0,"type":"content_block_stop"}`)
		said.Reset()
		event(`{"content_block":{"text":"","type":"text"},"index":1,"type":"content_block_start"}`)
		for i := range 80 {
			w := words[(message+i)%len(words)] + " " + words[(message*7+i)%len(words)] + " "
			said.WriteString(w)
			event(`{"delta":{"text":"%s","type":"text_delta"},"index":1,"type":"content_block_delta"}`, w)
		}
		whole(`{"text":"` + said.String() + `","type":"text"}`)
		event(`{"index":1,"type":"content_block_stop"}`)
		tool := fmt.Sprintf("toolu_%020d", message)
		name, input := "Bash", `{"command":"go test ./... 2>&1 | tail -20","description":"run the tests of the module"}`
		if message%2 == 1 {
			name, input = "Write", `{"file_path":"/work-dir/a.txt","content":"`+said.String()+`"}`
		}
		event(`{"content_block":{"id":"%s","input":{},"name":"%s","type":"tool_use"},"index":2,"type":"content_block_start"}`, tool, name)
		for at := 0; at < len(input); at += 24 {
			piece := input[at:min(at+24, len(input))]
			event(`{"delta":{"partial_json":"%s","type":"input_json_delta"},"index":2,"type":"content_block_delta"}`,
				strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(piece))
		}
		whole(`{"id":"` + tool + `","input":` + input + `,"name":"` + name + `","type":"tool_use"}`)
		event(`{"index":2,"type":"content_block_stop"}`)
		event(`{"delta":{"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta","usage":{"output_tokens":20}}`)
		event(`{"type":"message_stop"}`)
		detail := `{"stdout":"ok  \tmodule\t0.01s","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}`
		if name == "Write" {
			detail = `{"type":"create","filePath":"/work-dir/a.txt","content":"` + said.String() + `","structuredPatch":[],"originalFile":null,"userModified":false}`
		}
		put(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"%s","type":"tool_result","content":"ok  \tmodule\t0.01s","is_error":false}]},"parent_tool_use_id":null,"session_id":"%s","uuid":"%s","timestamp":"2026-11-20T11:42:07.180Z","tool_use_result":%s,"tool_result_meta":[{"id":"%s","permission_decision":{"decision":"accept","source":"config"}}]}`,
			tool, session, uuid(), detail, tool)
		if message%10 == 9 {
			models := `{"claude-opus-5-5":{"inputTokens":1000,"outputTokens":200,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":0.008}}`
			put(`{"duration_api_ms":27,"stop_reason":"end_turn","session_id":"%s","total_cost_usd":0.008,"usage":{"input_tokens":1000,"output_tokens":200},"modelUsage":%s,"permission_denials":[],"terminal_reason":"completed","is_error":false,"num_turns":1,"subtype":"success","result":"done","type":"result","uuid":"%s","model_usage_since_last_result":%s}`,
				session, models, uuid(), models)
		}
	}
	return b.Bytes()
}

// BenchmarkParse parses 200,000 lines; every line is interpreted. One operation is the whole stream.
func BenchmarkParse(b *testing.B) {
	stream := makeStream(200_000)
	lines := bytes.Split(bytes.TrimSuffix(stream, []byte{'\n'}), []byte{'\n'})
	if _, res := cliagent.Replay(newParser(request()), stream, nil, process.Exit{}, false); res.UnknownLines > 0 || res.Status != execution.StatusCompleted {
		b.Fatalf("%d lines are unknown, the status is %s", res.UnknownLines, res.Status)
	}
	events := uint64(0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		p := newParser(request())
		s := cliagent.NewSink(false)
		for i, line := range lines {
			p.Line(process.Stdout, line, s)
			if i%64 == 63 {
				s.Take()
			}
		}
		p.Exit(process.Exit{}, s)
		events += s.EventCount()
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(len(lines))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mlines/s")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(events), "allocs/event")
	b.ReportMetric(float64(len(stream))/float64(len(lines)), "B/line")
	b.ReportMetric(float64(events)/float64(b.N), "events/op")
}

// BenchmarkLongText is one text in many pieces: what is accumulated must not be copied for each of them.
func BenchmarkLongText(b *testing.B) {
	for _, pieces := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(pieces), func(b *testing.B) {
			start := []byte(`{"type":"stream_event","event":{"content_block":{"text":"","type":"text"},"index":0,"type":"content_block_start"},"parent_tool_use_id":null}`)
			piece := []byte(`{"type":"stream_event","event":{"delta":{"text":"a piece of text of some length, ","type":"text_delta"},"index":0,"type":"content_block_delta"},"parent_tool_use_id":null}`)
			for b.Loop() {
				p := newParser(request())
				s := cliagent.NewSink(false)
				p.Line(process.Stdout, start, s)
				for range pieces {
					p.Line(process.Stdout, piece, s)
					s.Take()
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(pieces), "ns/piece")
		})
	}
}
