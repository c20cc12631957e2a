package turnresult

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/drawbar/drawbar/govern/protocol"
)

const small = `{"schema_version":"1.0","turn_id":"turn_1","verification":{"status":"pass"}}`

func utf16Of(s string, order binary.AppendByteOrder) []byte {
	b := order.AppendUint16(nil, 0xfeff)
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

func TestDecodeTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, rationale string
	}{
		{"plain", " \n" + small + "\n", ""},
		{"byte order mark", "\ufeff" + small, "byte_order_mark_removed"},
		{"UTF-16 little", string(utf16Of(small, binary.LittleEndian)), "utf16_decoded"},
		{"UTF-16 big", string(utf16Of(small, binary.BigEndian)), "utf16_decoded"},
		{"Latin-1", "{\"schema_version\":\"1.0\",\"turn_id\":\"turn_1\",\"verification\":{\"status\":\"pass\"},\"summary\":\"caf\xe9\"}", "invalid_utf8_replaced"},
		{"fence", "Here it is:\n```json\n" + small + "\n```\nDone.", "taken_from_fenced_block"},
		{"indented fence of tildes", "  ~~~~\n" + small + "\n  ~~~~", "taken_from_fenced_block"},
		{"fence with Windows lines", "```json\r\n" + small + "\r\n```\r\n", "taken_from_fenced_block"},
		{"fence beside another", "```json\n{\"name\":\"x\"}\n```\n```json\n" + small + "\n```\n", "taken_from_fenced_block"},
		{"prose in front", "I wrote {braces} and {\"some\": \"json\"}.\n" + small, "taken_from_prose"},
		{"prose behind", small + "\nThat is all {really}.", "taken_from_prose"},
		{"prose beside a fenced snippet", "```json\n{\"name\":\"x\"}\n```\n" + small, "taken_from_prose"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			raw, changes, err := Decode([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if raw.Len() < 3 || filled(raw.At("turn_id")) != "turn_1" {
				t.Errorf("got %v", raw.Keys())
			}
			if c.rationale == "" && len(changes) != 0 || c.rationale != "" && (len(changes) != 1 || changes[0].Rationale != c.rationale || changes[0].Field != "$") {
				t.Errorf("changes %+v, want %q", changes, c.rationale)
			}
			if _, err := protocol.Marshal(changes); err != nil {
				t.Errorf("a change that cannot be written: %v", err)
			}
		})
	}
	raw, changes, err := Decode([]byte("```\n{\"name\":\"x\"}\n```"))
	if err != nil || !raw.Has("name") || len(changes) != 1 {
		t.Errorf("the only fenced object: %v %v", changes, err)
	}
	if raw, _, err := Decode([]byte("{}")); err != nil || raw.Len() != 0 {
		t.Errorf("an empty object: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text   string
		line, column int
		message      string
	}{
		{"nothing", "", 1, 1, "empty"},
		{"blank", " \n\t", 1, 1, "empty"},
		{"prose", "\n  done", 2, 3, "no JSON object"},
		{"array", "[1]", 1, 1, "array"},
		{"string", "\n\"done\"", 2, 1, "string"},
		{"null", "null", 1, 1, "null"},
		{"truncated", "{\n \"turn_id\": \"turn_1\", \"verification\": {\"status\": \"pass\"}, \"dec", 2, 62, "unexpected end"},
		{"truncated behind prose", "Here: {\"turn_id\": \"turn_1\", \"inner\": {\"turn_id\": \"x\"}, \"dec", 1, 1, "no JSON object"},
		{"comma", "{\"turn_id\": \"turn_1\",\n}", 2, 1, "invalid character '}'"},
		{"two results", small + "\n" + small, 2, 1, "second JSON object"},
		{"two fenced results", "```\n" + small + "\n```\n```\n" + small + "\n```", 5, 1, "second JSON object"},
		{"two fenced objects", "```\n{\"a\":1}\n```\n```\n{\"b\":1}\n```", 5, 1, "second JSON object"},
		{"twin key", "{\"turn_id\":\"a\",\n\"turn_id\":\"b\"}", 2, 9, `"turn_id" appears twice`},
		{"inner twin key", `{"turn_id":"a","decisions":[{"id":"1","x":[{"y":{}}],"id":"2"}]}`, 1, 57, `"id" appears twice`},
		{"twin key in a fence", "ok\n```\n{\"turn_id\":\"a\",\"turn_id\":\"b\"}\n```", 3, 24, "appears twice"},
		{"braces without end", strings.Repeat("{", 1<<18), 1, 2, "not JSON"},
		{"open objects without end", strings.Repeat(`{"a":`, 1<<16), 1, 0, "not JSON"},
		{"deep", strings.Repeat("[", 1<<18), 1, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Decode([]byte(c.text))
			var e *DecodeError
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if e.Line != c.line || c.column > 0 && e.Column != c.column || !strings.Contains(e.Message, c.message) {
				t.Errorf("got %d:%d %s, want %d:%d %s", e.Line, e.Column, e.Message, c.line, c.column, c.message)
			}
			if !strings.HasPrefix(e.Error(), "line ") || len(e.Error()) > 300 {
				t.Errorf("message %q", e.Error())
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("```json\n" + small + "\n```"))
	f.Add([]byte("text {" + small + "} {\"a\":"))
	f.Add(utf16Of(small, binary.LittleEndian))
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, changes, err := Decode(data)
		if err != nil {
			var e *DecodeError
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 {
				t.Fatalf("%v", err)
			}
			return
		}
		text, err := protocol.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := protocol.Marshal(changes); err != nil {
			t.Fatal(err)
		}
		again, changes, err := Decode(text)
		if err != nil || len(changes) != 0 {
			t.Fatalf("what was decoded does not decode: %v %v", changes, err)
		}
		if second, _ := protocol.Marshal(again); string(second) != string(text) {
			t.Fatalf("%s became %s", text, second)
		}
	})
}
