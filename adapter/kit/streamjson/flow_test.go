package streamjson

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
)

// vendor is the least that an agent does: it notes blocks that begin, and keeps back pieces that are a notice.
type vendor struct {
	Flow
	atOnce bool
	begun  []Kind
	held   string
}

func (v *vendor) Begin(_ *Stream, kind Kind, _ *cliagent.Sink) bool {
	v.begun = append(v.begun, kind)
	return v.atOnce
}

func (v *vendor) Keep(_ *Stream, kind Kind, piece []byte, _ *cliagent.Sink) bool {
	if kind == Text && strings.HasPrefix(string(piece), "notice") {
		v.held = string(piece)
		return false
	}
	return true
}

func newVendor(atOnce bool) *vendor {
	v := &vendor{atOnce: atOnce}
	v.Flow = New(v, &toolcall.Table{Tools: toolcall.Tools{toolcall.Read: {"read"}}, Input: toolcall.Input{Path: "path"}})
	return v
}

// line reads one event of a message.
func (v *vendor) line(t *testing.T, event string, s *cliagent.Sink) bool {
	t.Helper()
	if !v.Scan([]byte(`{"type":"stream_event","event":` + event + `}`)) {
		t.Fatalf("%s is no line", event)
	}
	st := v.Stream()
	switch typ := v.V.Event.Type.Str(); typ {
	case "content_block_delta":
		return v.Delta(st, s)
	case "content_block_start":
		return v.BlockStart(st, s)
	case "content_block_stop":
		return v.BlockStop(st, s)
	default:
		t.Fatalf("%s is no event", typ)
		return false
	}
}

func sketch(t *testing.T, s *cliagent.Sink) string {
	t.Helper()
	var parts []string
	for _, e := range s.Take() {
		text := string(e.Body.Type())
		switch b := e.Body.(type) {
		case execution.TextDelta:
			text += fmt.Sprintf(" %q of %q", b.Delta, b.Accumulated)
		case execution.ThinkingDelta:
			text += fmt.Sprintf(" %q of %q", b.Delta, b.Accumulated)
		case execution.ToolInputDelta:
			text += fmt.Sprintf(" %q of %q", b.Delta, b.InputAccumulated)
		case execution.MessageStop:
			text += fmt.Sprintf(" %q", b.Text)
		case execution.ThinkingStop:
			text += fmt.Sprintf(" %q", b.Thinking)
		case execution.ToolCallReady:
			text += " " + string(b.Input)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func start(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func delta(i int, kind, member, piece string) string {
	p, _ := json.Marshal(piece)
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, i, kind, member, p)
}

func text(i int, piece string) string { return delta(i, "text_delta", "text", piece) }

func stop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func TestBlocks(t *testing.T) {
	t.Parallel()
	tool := `{"type":"tool_use","id":"c","name":"read"}`
	for _, tt := range []struct {
		name    string
		atOnce  bool
		lines   []string
		unknown int
		want    string
	}{
		{"a text", true, []string{start(0, `{"type":"text","text":""}`), text(0, "a"), text(0, "é"), text(0, ""), stop(0), stop(0)}, 0,
			`message_start, text_delta "a" of "a", text_delta "é" of "aé", message_stop "aé"`},
		{"a text with its first words", true, []string{start(0, `{"type":"text","text":"x"}`), stop(0)}, 0, `message_start, text_delta "x" of "x", message_stop "x"`},
		{"an empty text at once", true, []string{start(0, `{"type":"text"}`), stop(0)}, 0, `message_start, message_stop ""`},
		{"an empty text", false, []string{start(0, `{"type":"text"}`), stop(0)}, 0, ``},
		{"a text without a start", true, []string{text(0, "a"), stop(0)}, 0, `message_start, text_delta "a" of "a", message_stop "a"`},
		{"a text behind its end", true, []string{text(0, "a"), stop(0), text(0, "b")}, 0,
			`message_start, text_delta "a" of "a", message_stop "a", message_start, text_delta "b" of "b"`},
		{"a block in the place of another", true, []string{text(0, "a"), start(0, `{"type":"thinking","thinking":"t"}`)}, 0,
			`message_start, text_delta "a" of "a", message_stop "a", thinking_start, thinking_delta "t" of "t"`},
		{"a thought", false, []string{delta(1, "thinking_delta", "thinking", "t"), stop(1)}, 0, `thinking_start, thinking_delta "t" of "t", thinking_stop "t"`},
		{"a call", true, []string{start(0, tool), delta(0, "input_json_delta", "partial_json", `{"pa`), delta(0, "input_json_delta", "partial_json", `th":1}`), stop(0)}, 0,
			`tool_call_start, tool_input_delta "{\"pa" of "{\"pa", tool_input_delta "th\":1}" of "{\"path\":1}", tool_call_ready {"path":1}`},
		{"a call without an input", true, []string{start(0, tool), stop(0)}, 0, `tool_call_start, tool_call_ready {}`},
		{"a call with half an input", true, []string{start(0, tool), delta(0, "input_json_delta", "partial_json", `{"pa`), stop(0)}, 0,
			`tool_call_start, tool_input_delta "{\"pa" of "{\"pa"`},
		{"an input without a call", true, []string{delta(0, "input_json_delta", "partial_json", `{}`)}, 1, ``},
		{"a piece of another kind", true, []string{start(0, tool), text(0, "x")}, 1, `tool_call_start`},
		{"signatures and other blocks", true, []string{text(0, "a"), delta(0, "signature_delta", "signature", "s"), start(1, `{"type":"redacted_thinking"}`), text(1, "x"), stop(1)}, 0,
			`message_start, text_delta "a" of "a"`},
		{"a block without a type", true, []string{start(0, `{}`)}, 1, ``},
		{"a piece without a known type", true, []string{delta(0, "smell_delta", "smell", "x")}, 1, ``},
		{"an end without a start", true, []string{stop(3)}, 0, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, s := newVendor(tt.atOnce), cliagent.NewSink(false)
			unknown := 0
			for _, line := range tt.lines {
				if !v.line(t, line, s) {
					unknown++
				}
			}
			if got := sketch(t, s); got != tt.want || unknown != tt.unknown {
				t.Errorf("%d lines are unknown, got %s\nwant %s", unknown, got, tt.want)
			}
		})
	}
}

// TestBegin: the vendor hears of each block before its first event, and of one that only a piece begins, too.
func TestBegin(t *testing.T) {
	t.Parallel()
	v, s := newVendor(true), cliagent.NewSink(false)
	v.line(t, text(0, "a"), s)
	v.line(t, start(1, `{"type":"tool_use","id":"c","name":"n"}`), s)
	v.line(t, start(2, `{"type":"other"}`), s)
	if want := []Kind{Text, Tool, Other}; !slices.Equal(v.begun, want) {
		t.Errorf("heard of %v, want %v", v.begun, want)
	}
}

// TestKeep: a piece that is not kept is put back into its text, or becomes one of its own.
func TestKeep(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{true, false} {
		v, s := newVendor(false), cliagent.NewSink(false)
		v.line(t, text(0, "a "), s)
		v.line(t, text(0, "notice"), s)
		want := `text_delta "notice" of "a notice"`
		if !open {
			v.line(t, stop(0), s)
			want = `message_start, text_delta "notice" of "notice", message_stop "notice"`
		}
		s.Take()
		v.Put(&v.Main, v.held, s)
		if got := sketch(t, s); got != want {
			t.Errorf("open %v: %s", open, got)
		}
	}
}

// TestBlockBound: the index of a block comes from outside and must not decide how much memory is used.
func TestBlockBound(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"-1", "4096", "5000000", "1.5", `"0"`, "99999999999999999999"} {
		v, s := newVendor(true), cliagent.NewSink(false)
		for _, line := range []string{`{"type":"content_block_start","index":` + index + `,"content_block":{"type":"text"}}`,
			`{"type":"content_block_delta","index":` + index + `,"delta":{"type":"text_delta","text":"x"}}`} {
			if v.line(t, line, s) || len(v.Main.blocks) != 0 {
				t.Errorf("index %s: %d blocks", index, len(v.Main.blocks))
			}
		}
	}
}

// TestSteps: a step begins once, numbers go on, and its end closes what is open.
func TestSteps(t *testing.T) {
	t.Parallel()
	v, s := newVendor(true), cliagent.NewSink(false)
	v.Turn = 2
	v.StartStep(&v.Main, "m1", s)
	v.StartStep(&v.Main, "m2", s)
	v.line(t, text(0, "a"), s)
	v.EndStep(&v.Main, s)
	v.EndStep(&v.Main, s)
	v.StartStep(&v.Main, "m3", s)
	events := s.Take()
	var got []string
	for _, e := range events {
		b, _ := json.Marshal(e.Body)
		got = append(got, string(e.Body.Type())+" "+strings.ReplaceAll(string(b), `"`, ""))
	}
	want := `step_start {turnIndex:2,stepIndex:0,stepType:model}
message_start {messageId:m1}
text_delta {delta:a,accumulated:a}
message_stop {text:a}
step_end {turnIndex:2,stepIndex:0}
step_start {turnIndex:2,stepIndex:1,stepType:model}`
	if strings.Join(got, "\n") != want || v.Last != "a" || v.Main.Message != "m3" {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// TestSubs: a line belongs to the sub-agent whose call it names; its text is not the agent's last.
func TestSubs(t *testing.T) {
	t.Parallel()
	v, s := newVendor(true), cliagent.NewSink(false)
	for _, parent := range []string{`"b"`, `"a"`, `null`, `""`, `7`} {
		v.Scan([]byte(`{"type":"assistant","parent_tool_use_id":` + parent + `}`))
		st := v.Stream()
		v.Text(st, "by "+st.Parent, s)
	}
	subs := v.Subs()
	if len(subs) != 2 || subs[0].Parent != "a" || subs[1] != v.Sub("b") || v.Last != "by " {
		t.Errorf("%d sub-agents, the last text is %q", len(subs), v.Last)
	}
	for i, e := range s.Take() {
		if want := []string{"b", "a", "", "", ""}[i/3]; e.Parent != want {
			t.Errorf("event %d is from %q, want %q", i, e.Parent, want)
		}
	}
	v.Drop(subs[0])
	if v.Sub("a") != nil {
		t.Error("the sub-agent is still there")
	}
}

// TestCount adds up what it reports, and reports nothing of nothing.
func TestCount(t *testing.T) {
	t.Parallel()
	v, s := newVendor(true), cliagent.NewSink(false)
	v.Count("p", execution.Usage{}, s)
	v.Count("p", execution.Usage{Input: 1, Output: 2, Total: 3}, s)
	v.Counted = execution.Usage{}
	v.Count("", execution.Usage{Input: 1, Total: 1}, s)
	if events := s.Take(); len(events) != 2 || events[0].Parent != "p" || v.Counted.Total != 1 || v.Total.Total != 4 {
		t.Errorf("%d events, counted %d, in total %d", len(events), v.Counted.Total, v.Total.Total)
	}
}
