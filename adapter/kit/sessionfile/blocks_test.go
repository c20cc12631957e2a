package sessionfile

import (
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// TestBlocks: the blocks of the Messages API become a message, calls and results.
func TestBlocks(t *testing.T) {
	t.Parallel()
	parse := func(text string) jsonscan.Value {
		v, err := jsonscan.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	b := newBuilder(adapter.Host{}, history.File{ID: "s"})
	m, called := b.Main.Answer("1", parse(`[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"tool_use","id":"c","name":"ls","input":{}}]`), Time(parse("1")))
	if m.Content != "a\nb" || m.Thinking != "hm" || !called || len(m.ToolCalls) != 1 || m.ToolCalls[0].ToolName != "ls" {
		t.Errorf("%+v", m)
	}
	said := b.Main.Results("2", parse(`[{"type":"text","text":"go on"},{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"x"}]`), Time(parse("2")), func(r Block) (string, bool) {
		return Text(r.Content), r.IsError.IsTrue()
	})
	r := b.Main.Find("2/c")
	if said != "go on" || r == nil || r.ToolResult.ToolName != "ls" || r.ToolResult.Output != "x" || !r.ToolResult.IsError {
		t.Errorf("%q %+v", said, r)
	}
	if m, called := b.Main.Answer("3", parse(`"plain"`), Time(parse("3"))); m.Content != "plain" || called {
		t.Errorf("%+v", m)
	}
	if said := b.Main.Results("4", parse(`"plain"`), Time(parse("4")), nil); said != "plain" {
		t.Error(said)
	}
}
