package jsonscan

import (
	"strings"
	"testing"
)

type tokensForm struct{ InputTokens, OutputTokens Value }

type lineForm struct {
	Type, ParentToolUseID, PartialJSON Value
	Event                              struct {
		Whole Value `scan:"."`
		Delta struct{ Text Value }
		Odd   Value `scan:"toolUseID"`
	}
	Message struct {
		_ Camel
		tokensForm
		StopReason, MCPServers, UUID Value
		Deep                         struct{ CacheReadTokens Value }
		Back                         struct {
			_       Snake
			IsError Value
		}
	}
	tokensForm
	Reached Value `scan:"a.b\\.c"`
}

var testShape Shape[lineForm]

func TestShapePaths(t *testing.T) {
	t.Parallel()
	want := `type parent_tool_use_id partial_json event event.delta.text event.toolUseID message.inputTokens message.outputTokens ` +
		`message.stopReason message.mcpServers message.uuid message.deep.cacheReadTokens message.back.is_error input_tokens output_tokens a.b\.c`
	if got := strings.Join(testShape.Paths(), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestShapeReads(t *testing.T) {
	line := []byte(`{"type":"x","input_tokens":1,"event":{"delta":{"text":"hi"},"toolUseID":"7"},"message":{"inputTokens":2,"deep":{"cacheReadTokens":3}},"a":{"b.c":true},"zz":1}`)
	check := func(how string, v lineForm, ok bool) {
		t.Helper()
		if !ok || v.Type.Str() != "x" || v.Event.Delta.Text.Str() != "hi" || v.Event.Odd.Str() != "7" || v.Event.Whole.Kind() != Object ||
			string(v.InputTokens.Raw()) != "1" || string(v.Message.InputTokens.Raw()) != "2" || string(v.Message.Deep.CacheReadTokens.Raw()) != "3" ||
			v.Reached.Kind() != True || v.ParentToolUseID.Exists() || v.OutputTokens.Exists() {
			t.Errorf("%s: %v %+v", how, ok, v)
		}
	}
	v, ok := testShape.Read(line)
	check("Read", v, ok)
	object, _ := Parse(line)
	v, ok = testShape.Of(object)
	check("Of", v, ok)
	for _, bad := range []string{`[1]`, `{"type":`, ``} {
		if testShape.Into([]byte(bad), &v) || v.Type.Exists() || v.Event.Whole.Exists() {
			t.Errorf("%s leaves %+v", bad, v)
		}
	}
	if v, ok := testShape.Of(Value{}); ok || v.Type.Exists() {
		t.Error("a missing value is an object")
	}
	if n := testing.AllocsPerRun(100, func() { testShape.Into(line, &v) }); n != 0 {
		t.Errorf("Into makes %v allocations", n)
	}
}

// TestShapeMisdeclared: a type that is no picture of a message is found by the first use.
func TestShapeMisdeclared(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(){
		"another field": func() { new(Shape[struct{ A, B string }]).Paths() },
		"a pointer":     func() { new(Shape[struct{ A *Value }]).Paths() },
		"no struct":     func() { new(Shape[Value]).Paths() },
		"twice": func() {
			new(Shape[struct {
				A Value
				B Value `scan:"a"`
			}]).Paths()
		},
		"Camel at the end": func() {
			new(Shape[struct {
				A Value
				_ Camel
			}]).Paths()
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it compiles", name)
				}
			}()
			use()
		}()
	}
}
