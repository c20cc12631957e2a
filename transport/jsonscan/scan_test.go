package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func fileLines(tb testing.TB, name string) [][]byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

// documents are complete and broken values; encoding/json says which is which.
var documents = []string{
	"", " ", "\t\r\n", "\x00", "\ufeff{}", "\v1", "\f1", "\u00a01",
	"null", "true", "false", "nul", "nulll", "tru", "truE", "True", "fals", "falsey", "n", "t", "f", "none", "nan", "NaN", "Infinity", "undefined",
	"null null", "true,", ",true", "null\x00", " null ", "\nnull\r\n",
	"0", "-0", "-", "+1", "00", "01", "-01", "0x10", "1", "12", "-12", "1.", ".5", "-.5", "1.5", "1.5.5", "1e5", "1E5", "1e+5", "1e-5", "1e", "1e+", "1e-",
	"1e5.5", "1.e5", "0e0", "0.0", "-0.0", "-0e-0", "1e400", "-1e400", "1e-400", "1_000", "1 2", "--1", "1-", "2.", "0.", "0e", "1a", "１",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616", "99999999999999999999", "123456789012345678901234567890", "1.0", "1e2", "100e-2",
	`"`, `""`, `"a`, `a"`, `"a"`, `"a"b`, `"a" "b"`, `'a'`, `"\`, `"\"`, `"\\"`, `"\\\"`, `"\a"`, `"\'"`, `"\0"`, `"\x41"`, `"\/\b\f\n\r\t\"\\"`,
	`"\u"`, `"\u1"`, `"\u12"`, `"\u123"`, `"\u1234"`, `"\u12345"`, `"\u123g"`, `"\uG123"`, `"\u 123"`, `"\U0041"`, `"\u0041"`, `"\u0000"`, `"\u001f"`, `"\uFFFF"`, `"\ufffd"`, `"\u00e9"`, `"\u00E9"`,
	`"\ud83d\ude00"`, `"\uD83D\uDE00"`, `"\ud83d"`, `"\ude00"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\u0041"`, `"\ud83d\u00"`, `"\ud83d\`, `"\ud83d\u`, `"a\ud83d\ude00b\udc00c"`,
	"\"\x7f\"", "\"\x1f\"", "\"\x00\"", "\"\n\"", "\"\t\"", "\"a\rb\"", "\"aaaaaaaaaaaaa\x01\"", "\"aaaaaaaa\x1faaaaaaaaaaaaaaaaa\"", "\"\\\n\"", "\"\\\x00\"",
	"\"\x80\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "\"\xe2\x82\xac\"", "\"é\"", "\"日本語のテキスト\"", "\"😀 and text \xf0\x9f and more text\"", "\"\u2028\u2029\"", "\"<>&\"", "\xff", "\"\xa2\xdc\xa0\x9f\x82\"", "\"abcdefg\xa2\"", "\"\xe9\\u0041\xe9\\\"\"",
	"{", "}", "{}", "{ }", "{,}", "{:}", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1}", "{\"a\":1,}", "{,\"a\":1}", "{\"a\":1,,\"b\":2}", "{\"a\":1 \"b\":2}", "{\"a\" 1}", "{\"a\"::1}", "{a:1}", "{1:1}", "{null:1}", "{\"a\":1}}", "{\"a\":1]", "{\"a\":1},", "{{}}", "{[]}", "{\"a\":{}}", "{\"a\":[]}", "{\"a\":{},\"b\":[]}", "{\"a\":{]}", "{\"a\":[}}", "{\"a\nb\":1}", "{\"a\":1,\"a\":2}", "{\"\":1}", "{\"\\u0061\":1}", "{\"a\\q\":1}", "{\"a\":\"b\\q\"}", "{\"a\":tru}", "{\"a\":01}", "{\"a\":-}", "{\"a\":1.}", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\":\"x", "{\"a\":\"x\"", "{\"a\":\"x\",", "{\"a\":\"x\",\"", "{\"\xff\":1}", "{\"aaaaaaaaaaaaaaaaaaaaaaaaa\xff\":1}",
	" {\t\"a\"\r:\n1 , \"b\" : [ 1 , 2 ] , \"c\" : { } } ", "{\"a\":1}\n", "{\"a\":1}\r\n", "{\"a\":1}\x00", "{\"a\":1}{\"a\":1}", "{\"a\":1} x", "{\"a\"\v:1}", "{\"a\":\f1}",
	"[", "]", "[]", "[ ]", "[,]", "[1", "[1,", "[1,]", "[,1]", "[1]", "[1,2]", "[1 2]", "[1,,2]", "[1]]", "[[1]", "[1}", "[{}]", "[{]", "[{}", "[[],[[]],{}]", "[\"a\":1]", "[\"a\"]", "[\"a]", "[a]", "[1,\"a\",null,true,false,{},[],-0.5e1]", "[\n]", "[1\n,\n2]", "[\"\\\"]\"]", "[\"\x05\"]", "[tru]", "[nul]", "[1.]", "[-]", "[\x00]", "[1\x00]",
	`{"a":{"b":{"c":[{"d":[]}]}}}`, `{"a":{"b":{"c":[{"d":[}]}}}`, `[[[[[[[[[[]]]]]]]]]]`, `[[[[[[[[[[]]]]]]]]]`, `[{"a":[{"a":[{"a":1}]}]}]`, `[{"a":[{"a":[{"a":1]}]}]}`,
	`{"type":"a","event":{"type":"b","delta":{"text":"c\n","type":"d"}},"session_id":"e"}`,
	`{"event":{"type":"b"},"event":1,"event":{"index":2}}`, `{"event":{"type":"b","type":"c"},"event":[{"type":"d"}]}`,
}

var probe = NewKeySet("a", "type", "event", "event.type", "event.index", "event.delta.text", "session_id", "", "é", "\ufffd", `a.b`, `with\.dot`, "parent_tool_use_id")

var probePaths = [][]string{{"a"}, {"type"}, {"event"}, {"event", "type"}, {"event", "index"}, {"event", "delta", "text"}, {"session_id"}, {""}, {"é"}, {"\ufffd"}, {"a", "b"}, {"with.dot"}, {"parent_tool_use_id"}}

// check compares everything the package says about line with encoding/json.
func check(t *testing.T, line []byte) {
	t.Helper()
	before := bytes.Clone(line)
	v, err := Parse(line)
	if got, want := err == nil, json.Valid(line); got != want {
		t.Fatalf("Parse(%q) accepts: %v (%v), want %v", line, got, err, want)
	}
	dst := make([]Value, probe.Len())
	for i := range dst {
		dst[i] = Value{raw: []byte("1")}
	}
	fieldsErr := Fields(line, dst, probe)
	if err != nil {
		syntax, ok := errors.AsType[*SyntaxError](err)
		if !ok {
			t.Fatalf("Parse(%q) error is %T", line, err)
		}
		if o := syntax.Offset; o < 0 || o > len(line) {
			t.Fatalf("Parse(%q) error offset %d", line, o)
		}
		// All that precedes the offset begins a valid value, the byte at the offset does not continue it.
		checkOffset(t, line, syntax)
		if fieldsErr == nil || fieldsErr.Error() != err.Error() {
			t.Fatalf("Fields(%q) error %v, Parse %v", line, fieldsErr, err)
		}
		if v.Exists() {
			t.Fatalf("Parse(%q) returns %q with an error", line, v.Raw())
		}
	}
	if want := v.Kind() == Object; (fieldsErr == nil) != want || err == nil && !want && !errors.Is(fieldsErr, ErrNotObject) {
		t.Fatalf("Fields(%q) = %v for kind %v, Parse %v", line, fieldsErr, v.Kind(), err)
	}
	if fieldsErr != nil {
		for i := range dst {
			if dst[i].Exists() {
				t.Fatalf("Fields(%q) leaves slot %d set with error %v", line, i, fieldsErr)
			}
		}
	}
	if err == nil {
		if want := bytes.Trim(line, " \t\r\n"); !bytes.Equal(v.Raw(), want) {
			t.Fatalf("Raw of %q = %q", line, v.Raw())
		}
		compare(t, v)
		if fieldsErr == nil {
			compareFields(t, v, dst)
			again := make([]Value, probe.Len())
			if !v.Fields(again, probe) {
				t.Fatalf("Value.Fields(%q) = false", line)
			}
			compareFields(t, v, again)
		}
	}
	if !bytes.Equal(line, before) {
		t.Fatalf("line changed from %q to %q", before, line)
	}
}

func checkOffset(t *testing.T, line []byte, got *SyntaxError) {
	t.Helper()
	var want *json.SyntaxError
	var x any
	if !errors.As(json.Unmarshal(line, &x), &want) {
		t.Fatalf("encoding/json has no syntax error for %q", line)
	}
	// encoding/json counts the offending byte, except at the end of input.
	if int(want.Offset)-1 != got.Offset && (int(want.Offset) != got.Offset || got.Offset != len(line)) {
		t.Fatalf("offset in %q: got %d (%v), encoding/json %d (%v)", line, got.Offset, got, want.Offset, want)
	}
}

// compare walks v beside what encoding/json makes of the same bytes.
func compare(t *testing.T, v Value) {
	t.Helper()
	raw := v.Raw()
	var want any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&want); err != nil {
		t.Fatalf("encoding/json on %q: %v", raw, err)
	}
	if _, isNumber := v.Float(); isNumber && v.Kind() != Number {
		t.Fatalf("Float of %q", raw)
	}
	switch want := want.(type) {
	case nil:
		if v.Kind() != Null {
			t.Fatalf("kind of %q = %v", raw, v.Kind())
		}
	case bool:
		if got, ok := v.Bool(); !ok || got != want {
			t.Fatalf("Bool of %q = %v, %v", raw, got, ok)
		}
	case json.Number:
		var n int64
		nErr := json.Unmarshal(raw, &n)
		if got, ok := v.Int(); v.Kind() != Number || ok != (nErr == nil) || ok && got != n {
			t.Fatalf("Int of %q = %v, %v; want %v, %v", raw, got, ok, n, nErr)
		}
		var f float64
		fErr := json.Unmarshal(raw, &f)
		if got, ok := v.Float(); ok != (fErr == nil) || ok && got != f {
			t.Fatalf("Float of %q = %v, %v; want %v, %v", raw, got, ok, f, fErr)
		}
	case string:
		compareString(t, v, want)
	case []any:
		n := 0
		for i, e := range v.Array {
			if i != n {
				t.Fatalf("element %d of %q has index %d", n, raw, i)
			}
			compareRaw(t, e, want[i])
			n++
		}
		if n != len(want) || v.Kind() != Array {
			t.Fatalf("%q has %d elements, want %d", raw, n, len(want))
		}
	case map[string]any:
		seen := map[string]Value{}
		for k, e := range v.Object {
			seen[string(k)] = e
		}
		if len(seen) != len(want) || v.Kind() != Object {
			t.Fatalf("%q has %d members, want %d", raw, len(seen), len(want))
		}
		for k, w := range want {
			compareRaw(t, seen[k], w)
			if got := v.Get(k); !bytes.Equal(got.Raw(), seen[k].Raw()) {
				t.Fatalf("Get(%q) of %q = %q, want %q", k, raw, got.Raw(), seen[k].Raw())
			}
		}
	}
}

func compareRaw(t *testing.T, v Value, want any) {
	t.Helper()
	if !v.Exists() {
		t.Fatalf("member missing, want %v", want)
	}
	var got any
	dec := json.NewDecoder(bytes.NewReader(v.Raw()))
	dec.UseNumber()
	if err := dec.Decode(&got); err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Fatalf("value %q decodes to %#v (%v), want %#v", v.Raw(), got, err, want)
	}
	if s, ok := want.(string); ok {
		compareString(t, v, s)
	}
}

func compareString(t *testing.T, v Value, want string) {
	t.Helper()
	if got := v.Str(); v.Kind() != String || got != want {
		t.Fatalf("Str of %q = %q, want %q", v.Raw(), got, want)
	}
	if got := v.StrBytes([]byte("> ")); string(got) != "> "+want {
		t.Fatalf("StrBytes of %q = %q, want %q", v.Raw(), got, want)
	}
	if got, ok := v.Plain(); ok && string(got) != want || ok == strings.ContainsFunc(string(v.Raw()), func(r rune) bool { return r == '\\' || r >= 0x80 }) {
		t.Fatalf("Plain of %q = %q, %v", v.Raw(), got, ok)
	}
	if !v.IsStr(want) || v.IsStr(want+"x") || v.IsStr(want+"\ufffd") || len(want) > 0 && (v.IsStr(want[:len(want)-1]) || v.IsStr("")) {
		t.Fatalf("IsStr of %q against %q", v.Raw(), want)
	}
	if got := NewInterner(4).Str(v); got != want {
		t.Fatalf("interned %q = %q", v.Raw(), got)
	}
}

// compareFields checks Fields against Get, which compare has checked against encoding/json.
func compareFields(t *testing.T, v Value, got []Value) {
	t.Helper()
	for i, path := range probePaths {
		want := v
		for _, name := range path {
			want = want.Get(name)
		}
		if !bytes.Equal(got[i].raw, want.raw) || got[i].flags != want.flags {
			t.Fatalf("path %q of %q = %q (%d), want %q (%d)", path, v.Raw(), got[i].raw, got[i].flags, want.raw, want.flags)
		}
	}
}

// TestDocuments shifts every document through the places of an eight-byte word, alone and as an inner value.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, doc := range documents {
		for pad := range 9 {
			space := strings.Repeat(" ", pad)
			check(t, []byte(doc+space))
			check(t, []byte(space+doc))
			check(t, []byte(`{"a":`+doc+`,"`+space+`":1}`))
			check(t, []byte(`{"event":{"type":`+doc+`},"session_id":"`+space+`"}`))
			check(t, []byte(`[[`+doc+`,"`+space+`"]]`))
			check(t, []byte(`{"`+space+`":`+doc+`}`))
			check(t, []byte(`{"x":[`+doc+`]}`+space))
		}
	}
}

// TestEveryCutAndByte cuts real lines at every place and puts every interesting byte at every place.
func TestEveryCutAndByte(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"claude.jsonl", "codex.jsonl"} {
		for _, line := range fileLines(t, file) {
			check(t, line)
			for i := range line {
				if got, want := accepts(line[:i]), json.Valid(line[:i]); got != want {
					t.Fatalf("cut %q: accepted %v", line[:i], got)
				}
				old := line[i]
				for _, c := range []byte("\"\\{}[]:,0-9.eut \n\x00\x1f\x7f\x80\xff") {
					line[i] = c
					if got, want := accepts(line), json.Valid(line); got != want {
						t.Fatalf("byte %d as %q in %q: accepted %v", i, c, line, got)
					}
				}
				line[i] = old
			}
		}
	}
}

// accepts reports whether Parse and Fields, which must agree, accept line.
func accepts(line []byte) bool {
	var dst [16]Value
	_, err := Parse(line)
	fieldsErr := Fields(line, dst[:], probe)
	if errors.Is(fieldsErr, ErrNotObject) {
		fieldsErr = nil
	}
	if (err == nil) != (fieldsErr == nil) {
		panic(fmt.Sprintf("Parse %v, Fields %v on %q", err, fieldsErr, line))
	}
	return err == nil
}

func TestEveryByteInStrings(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for at := range 20 {
			content := []byte(strings.Repeat("x", 20))
			content[at] = byte(c)
			for _, form := range []string{`"%s"`, `{"%s":1}`, `{"a":"%s"}`, `{"b":{"%s":"y"}}`, `["%s"]`, `["%s","a long string behind"]`, `{"a":"%s","b":"a long string behind"}`} {
				check(t, fmt.Appendf(nil, form, content))
			}
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	forms := []struct{ name, open, inner, shut string }{
		{"arrays", "[", "1", "]"},
		{"objects", `{"a":`, "1", "}"},
		{"wanted objects", `{"event":`, "1", "}"},
		{"empty inside", "[", "{}", "]"},
		{"pairs", `[{"a":`, "null", "}]"},
		{"with siblings", `{"x":[1,"y"],"a":`, `"z"`, `,"b":{}}`},
	}
	for _, f := range forms {
		per := strings.Count(f.open, "[") + strings.Count(f.open, "{") - strings.Count(f.open, "]")
		for _, n := range []int{1, 2, 31, 32, 61, 62, 63, 64, 65, 66, 125, 126, 127, 128, 129, 190, 4999, 5000, 5001, 9998, 9999, 10000, 10001, 10002, 20000} {
			line := []byte(strings.Repeat(f.open, n) + f.inner + strings.Repeat(f.shut, n))
			depth := n * per
			if strings.HasPrefix(f.inner, "{") {
				depth++
			}
			if f.name == "with siblings" {
				depth = n + 1 // the innermost level has a container beside the value
			}
			_, err := Parse(line)
			if got, want := err == nil, json.Valid(line); got != want || want != (depth <= MaxDepth) {
				t.Errorf("%s, depth %d: accepted %v (%v), encoding/json %v", f.name, depth, got, err, want)
			}
			if got, want := errors.Is(err, ErrDepth), depth > MaxDepth; got != want {
				t.Errorf("%s, depth %d: ErrDepth %v, want %v: %v", f.name, depth, got, want, err)
			}
			if accepts(line) != (err == nil) {
				t.Errorf("%s, depth %d: Fields differs", f.name, depth)
			}
			// One bracket of the wrong kind at each of some levels.
			for _, level := range []int{0, 1, 62, 63, 64, 126, 127} {
				if at := len(line) - 1 - level; n > level && len(f.shut) == 1 {
					old := line[at]
					line[at] = old ^ 0x20
					if accepts(line) {
						t.Errorf("%s, depth %d: wrong bracket at level %d accepted", f.name, n, level)
					}
					line[at] = old
				}
			}
		}
	}
	for _, open := range []string{"[", `{"a":`, `{"event":`, `[{"a":`} {
		if _, err := Parse([]byte(strings.Repeat(open, 1<<20))); !errors.Is(err, ErrDepth) {
			t.Errorf("endless %s: %v", open, err)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	tests := []struct{ line, want string }{
		{`{"a":1,}`, `invalid json at byte 7: unexpected "}"`},
		{`{"a":`, `invalid json at byte 5: unexpected end of line`},
		{`{"a":1} x`, `invalid json at byte 8: unexpected "x"`},
		{"{\"a\":\"\x01\"}", `invalid json at byte 6: unexpected "\x01"`},
		{``, `invalid json at byte 0: unexpected end of line`},
		{strings.Repeat("[", 10001), `invalid json at byte 10000: more than 10000 nested containers`},
		{`{"` + strings.Repeat(`[\"`, 10001) + `":[}`, `invalid json at byte 30008: unexpected "}"`},
		{`{"` + strings.Repeat(`[\"`, 10001) + `"[`, `invalid json at byte 30006: unexpected "["`},
	}
	for _, tt := range tests {
		if _, err := Parse([]byte(tt.line)); err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%.40q) = %v, want %s", tt.line, err, tt.want)
		}
	}
}

func TestCount(t *testing.T) {
	for text, want := range map[string]int64{"5": 5, "5.0": 5, "5.5": 0, "1e2": 100, "-1": 0, "-1.5": 0, `"5"`: 0, "null": 0, "{}": 0,
		"1125899906842624": 1 << 50, "1125899906842625": 0, "99999999999999999999": 0, "1e300": 0} {
		v, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Count(); got != want {
			t.Errorf("%s counts as %d, want %d", text, got, want)
		}
	}
}
