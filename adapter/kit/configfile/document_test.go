package configfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// step is one change of a document: a value to set, or cut to take one out.
type step struct {
	path  string
	value any
}

type cutMark struct{}

var cut = cutMark{}

func apply(t *testing.T, format Format, text string, steps ...step) string {
	t.Helper()
	d, err := Parse(format, "file", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		p, err := ParsePath(s.path)
		if err != nil {
			t.Fatal(err)
		}
		if s.value == cut {
			if ok, err := d.Unset(p); err != nil || !ok {
				t.Fatalf("unset %s: %v %v", s.path, ok, err)
			}
			continue
		}
		if err := d.Set(p, s.value); err != nil {
			t.Fatalf("set %s: %v", s.path, err)
		}
	}
	return string(d.Bytes())
}

var edits = []struct {
	name   string
	format Format
	text   string
	steps  []step
	want   string
}{
	{"json: empty file", JSON, "", []step{{"a.b", 1}}, "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"},
	{"json: white space only", JSON, " \n", []step{{"a", "x"}}, "{\n  \"a\": \"x\"\n}\n"},
	{"json: empty object", JSON, "{}", []step{{"a", true}}, "{\n  \"a\": true\n}"},
	{"json: replaced", JSON, "{\n  \"a\": 1,\n  \"b\": 2\n}\n", []step{{"a", "x"}}, "{\n  \"a\": \"x\",\n  \"b\": 2\n}\n"},
	{"json: added behind the last", JSON, "{\n\t\"a\": 1\n}\n", []step{{"b", []string{"x", "y"}}}, "{\n\t\"a\": 1,\n\t\"b\": [\n\t\t\"x\",\n\t\t\"y\"\n\t]\n}\n"},
	{"json: minified", JSON, `{"a":{"b":1},"c":[]}`, []step{{"a.d", map[string]any{"e": 1, "f": []string{"g", "h"}}}}, `{"a":{"b":1,"d":{"e":1,"f":["g","h"]}},"c":[]}`},
	{"json: one line with spaces", JSON, `{"a": 1, "b": {}}`, []step{{"b.c", 2}, {"d", []string{"x", "y"}}}, `{"a": 1, "b": {"c": 2}, "d": ["x", "y"]}`},
	{"json: merged", JSON, "{\n    \"permissions\": {\n        \"allow\": [\"Read\"]\n    }\n}", []step{{"permissions", map[string]any{"deny": []string{"Bash"}}}},
		"{\n    \"permissions\": {\n        \"allow\": [\"Read\"],\n        \"deny\": [\n            \"Bash\"\n        ]\n    }\n}"},
	{"json: CRLF and mark", JSON, "\xef\xbb\xbf{\r\n  \"a\": 1\r\n}\r\n", []step{{"b", map[string]any{"c": 1}}}, "\xef\xbb\xbf{\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"c\": 1\r\n  }\r\n}\r\n"},
	{"json: key twice", JSON, `{"a": 1, "a": 2}`, []step{{"a", 3}}, `{"a": 1, "a": 3}`},
	{"json: key twice, taken out", JSON, "{\n  \"a\": 1,\n  \"b\": 0,\n  \"a\": 2\n}", []step{{"a", cut}}, "{\n  \"b\": 0\n}"},
	{"json: null on the way", JSON, `{"a": null}`, []step{{"a.b", 1}}, `{"a": {"b": 1}}`},
	{"json: dots and quotes in keys", JSON, `{}`, []step{{`mcpServers."a.b"."say \"hi\""`, 1}}, "{\n  \"mcpServers\": {\n    \"a.b\": {\n      \"say \\\"hi\\\"\": 1\n    }\n  }\n}"},
	{"json: html is not escaped", JSON, `{}`, []step{{"a", "<b>&"}}, "{\n  \"a\": \"<b>&\"\n}"},
	{"json: first taken out", JSON, "{\n  \"a\": 1,\n  \"b\": 2\n}", []step{{"a", cut}}, "{\n  \"b\": 2\n}"},
	{"json: last taken out", JSON, "{\n  \"a\": 1,\n  \"b\": 2\n}", []step{{"b", cut}}, "{\n  \"a\": 1\n}"},
	{"json: only one taken out", JSON, "{\n  \"a\": 1\n}", []step{{"a", cut}}, "{}"},
	{"json: taken out of one line", JSON, `{"a": 1, "b": 2, "c": 3}`, []step{{"b", cut}, {"c", cut}}, `{"a": 1}`},
	{"jsonc: comments stay", JSONC, "// top\n{\n  // about a\n  \"a\": 1, // one\n  /* b */ \"b\": 2 // two\n  // end\n}\n// bottom\n", []step{{"a", 3}, {"c", 4}},
		"// top\n{\n  // about a\n  \"a\": 3, // one\n  /* b */ \"b\": 2, // two\n  // end\n  \"c\": 4\n}\n// bottom\n"},
	{"jsonc: trailing comma stays", JSONC, "{\n  \"a\": 1,\n}\n", []step{{"b", 2}}, "{\n  \"a\": 1,\n  \"b\": 2,\n}\n"},
	{"jsonc: comment in an empty object", JSONC, "{\n  // nothing yet\n}\n", []step{{"a", 1}}, "{\n  // nothing yet\n  \"a\": 1\n}\n"},
	{"jsonc: taken out between comments", JSONC, "{\n  // a\n  \"a\": 1, // one\n  // b\n  \"b\": 2, // two\n}", []step{{"b", cut}}, "{\n  // a\n  \"a\": 1, // one\n  // b\n // two\n}"},
	{"jsonc: an element more", JSONC, "{\n  \"l\": [\n    // one\n    {\"a\": 1}, // 1\n    2 // two\n  ]\n}", []step{{"l", []any{map[string]any{"a": 1}, 2, "x"}}},
		"{\n  \"l\": [\n    // one\n    {\"a\": 1}, // 1\n    2, // two\n    \"x\"\n  ]\n}"},
	{"jsonc: an element less", JSONC, "{\n  \"l\": [\n    // one\n    1,\n    2, // two\n    3 // three\n  ]\n}", []step{{"l", []any{1, 3}}},
		"{\n  \"l\": [\n    // one\n    1,\n    // two\n    3 // three\n  ]\n}"},
	{"jsonc: another element", JSONC, "{\"l\": [1, /* two */ 2, 3]}", []step{{"l", []any{1, "x", 3}}}, "{\"l\": [1, /* two */ \"x\", 3]}"},
	{"jsonc: another list", JSONC, "{\"l\": [1, /* two */ 2, 3]}", []step{{"l", []any{4, 5}}}, "{\"l\": [4, 5]}"},
	{"jsonc: the last element less", JSONC, "{\"l\": [1, 2]}", []step{{"l", []any{1}}}, "{\"l\": [1]}"},
	{"jsonc: comma in a comment", JSONC, "{\"a\": 1 /* , */ , \"b\": 2}", []step{{"a", cut}}, "{/* , */  \"b\": 2}"},

	{"json5: everything else stays", JSON5, "// top\n{\n\t// about a\n\ta: 'x', // one, two\n\t$b: +.5, c: [0xFF, NaN,],\n\t'd e': { f: \"it's\\\n more\" },\n}\n", []step{{"a", "it's"}, {"g", map[string]any{"h": 1, "i-j": 2}}, {`"d e".k`, true}},
		"// top\n{\n\t// about a\n\ta: \"it's\", // one, two\n\t$b: +.5, c: [0xFF, NaN,],\n\t'd e': { f: \"it's\\\n more\", k: true },\n\tg: {\n\t\th: 1,\n\t\t\"i-j\": 2\n\t},\n}\n"},
	{"json5: taken out", JSON5, "{\n  // a\n  a: 0x1, // one\n  'b': 2 // two\n}\n", []step{{"a", cut}, {"b", cut}}, "{\n  // a\n  // one\n // two\n}\n"},
	{"json5: keys in quotes", JSON5, "{'a':1,b:2}", []step{{"b", 3}, {"c", 4}}, `{'a':1,b:3,"c":4}`},
	{"json5: one line", JSON5, "{a: {b: 1}}", []step{{"a.c", []string{"d"}}}, `{a: {b: 1, c: ["d"]}}`},
	{"json5: same number", JSON5, "{a: 0x10}", []step{{"a", 16}}, "{a: 0x10}"},
	{"json5: empty file", JSON5, "", []step{{"a.b", 1}}, "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"},
	{"json5: key in two forms", JSON5, `{a: 1, "\u0061": 2, \u0061: 3, 'b': 4}`, []step{{"a", cut}}, "{'b': 4}"},

	{"toml: empty file", TOML, "", []step{{"a", 1}}, "a = 1\n"},
	{"toml: empty file, table", TOML, "", []step{{"a.b.c", "x"}}, "[a.b]\nc = \"x\"\n"},
	{"toml: replaced, comment stays", TOML, "# top\nmodel = \"a\" # why\nother = 1\n", []step{{"model", "b"}}, "# top\nmodel = \"b\" # why\nother = 1\n"},
	{"toml: added at the top", TOML, "# top\n\n[t]\nx = 1\n", []step{{"model", "b"}}, "# top\nmodel = \"b\"\n\n[t]\nx = 1\n"},
	{"toml: added at the top without anything there", TOML, "[t]\nx = 1\n", []step{{"model", "b"}}, "model = \"b\"\n\n[t]\nx = 1\n"},
	{"toml: added behind the last at the top", TOML, "a = 1\n\n[t]\nx = 1\n", []step{{"model", "b"}}, "a = 1\nmodel = \"b\"\n\n[t]\nx = 1\n"},
	{"toml: added to a section", TOML, "[t]\n  x = 1 # one\n\n# about u\n[u]\ny = 2", []step{{"t.z", []string{"q"}}, {"u.w", 1.0}}, "[t]\n  x = 1 # one\n  z = [\"q\"]\n\n# about u\n[u]\ny = 2\nw = 1.0\n"},
	{"toml: quoted header", TOML, "[mcp_servers.\"a.b\"]\ncommand = 'x'\n", []step{{`mcp_servers."a.b".command`, "y"}, {`mcp_servers."c d"`, Pairs{{"command", "z"}, {"env", Pairs{{"A.B", "v"}}}}}},
		"[mcp_servers.\"a.b\"]\ncommand = \"y\"\n\n[mcp_servers.\"c d\"]\ncommand = \"z\"\n\n[mcp_servers.\"c d\".env]\n\"A.B\" = \"v\"\n"},
	{"toml: inline table", TOML, "env = { A = \"1\", B = \"2\" } # e\n", []step{{"env.C", "3"}, {"env.A", cut}, {"env.B", "4"}}, "env = { B = \"4\", C = \"3\" } # e\n"},
	{"toml: empty inline table", TOML, "env = {}\n", []step{{"env.C.D", "3"}}, "env = { C.D = \"3\" }\n"},
	{"toml: dotted keys", TOML, "a.b.c = 1\n[t]\nx.y = 2\n", []step{{"a.b.d", 2}, {"t.x.z", map[string]any{"w": 1}}}, "a.b.c = 1\na.b.d = 2\n[t]\nx.y = 2\nx.z = { w = 1 }\n"},
	{"toml: parent of a sub-table", TOML, "[a.b.c]\nx = 1\n", []step{{"a.b.y", 2}}, "[a.b]\ny = 2\n\n[a.b.c]\nx = 1\n"},
	{"toml: list of tables stays", TOML, "[[l]]\nx = 1\n[l.sub]\ny = 1\n\n[[l]]\nx = 2\n", []step{{"m.n", 1}}, "[[l]]\nx = 1\n[l.sub]\ny = 1\n\n[[l]]\nx = 2\n\n[m]\nn = 1\n"},
	{"toml: section taken out", TOML, "[a]\nx = 1\n[a.b]\ny = 1\n\n# about c\n[c]\nz = 1\n", []step{{"a", cut}}, "# about c\n[c]\nz = 1\n"},
	{"toml: key taken out", TOML, "x = \"\"\"\na = 1\n\"\"\"\ny = [\n  1, # one ]\n]\nz = 2\n", []step{{"x", cut}, {"y", cut}}, "z = 2\n"},
	{"toml: CRLF", TOML, "a = 1\r\n\r\n[t]\r\nx = 1\r\n", []step{{"t.y", 2}, {"u", map[string]any{"v": 1}}}, "a = 1\r\n\r\n[t]\r\nx = 1\r\ny = 2\r\n\r\n[u]\r\nv = 1\r\n"},
	{"toml: no line end at the end", TOML, "a = 1", []step{{"b", 2}}, "a = 1\nb = 2\n"},
	{"toml: dates and odd numbers stay", TOML, "d = 1979-05-27T07:32:00Z\nh = 0xff\nf = 1e3\n", []step{{"x", 1}}, "d = 1979-05-27T07:32:00Z\nh = 0xff\nf = 1e3\nx = 1\n"},
	{"toml: value becomes a table's", TOML, "a = 1\n", []step{{"b", map[string]string{"c": "line\nbreak \"q\""}}}, "a = 1\n\n[b]\nc = \"line\\nbreak \\\"q\\\"\"\n"},

	{"yaml: empty file", YAML, "", []step{{"a.b", "x"}}, "a:\n  b: x\n"},
	{"yaml: comments only", YAML, "# top\n", []step{{"a", 1}}, "# top\na: 1\n"},
	{"yaml: replaced, comment stays", YAML, "# top\na: 1 # one\nb: 'x # y' # two\n", []step{{"a", 2}, {"b", "z"}}, "# top\na: 2 # one\nb: z # two\n"},
	{"yaml: added deep", YAML, "a:\n    b: 1\n\n# about c\nc: 2\n", []step{{"a.d", []string{"x", "y: z"}}, {"e.f", true}}, "a:\n    b: 1\n    d:\n      - x\n      - \"y: z\"\n\n# about c\nc: 2\ne:\n  f: true\n"},
	{"yaml: list replaced", YAML, "a:\n  - x\n  - y # why\nb: 1\n", []step{{"a", []string{"z"}}}, "a:\n  - z\nb: 1\n"},
	{"yaml: block text replaced", YAML, "a: |\n  # no comment\n  text\n\nb: 1\n", []step{{"a", "q"}}, "a: q\n\nb: 1\n"},
	{"yaml: taken out", YAML, "a: 1\nb:\n  c: 1\n  d: 2\n# about e\ne: 3\n", []step{{"b.c", cut}, {"a", cut}}, "b:\n  d: 2\n# about e\ne: 3\n"},
	{"yaml: last of a mapping taken out", YAML, "a:\n  b: 1\nc: 1\n", []step{{"a.b", cut}}, "a: {}\nc: 1\n"},
	{"yaml: flow mapping", YAML, "a: {x: 1, \"y z\": two} # c\nb: 1\n", []step{{"a.w", "v"}, {"a.x", cut}}, "a: {y z: two, w: v} # c\nb: 1\n"},
	{"yaml: null on the way", YAML, "a:\nb: 1\n", []step{{"a.c", 1}}, "a:\n  c: 1\nb: 1\n"},
	{"yaml: CRLF", YAML, "a: 1\r\nb: 2\r\n", []step{{"b", 3}, {"c.d", 4}}, "a: 1\r\nb: 3\r\nc:\r\n  d: 4\r\n"},
	{"yaml: no line end at the end", YAML, "a: 1", []step{{"b", 2}}, "a: 1\nb: 2"},
	{"yaml: words that are no text", YAML, "", []step{{"a", "yes"}, {"b", "1"}, {"c", ""}, {"d", "-x"}}, "a: \"yes\"\nb: \"1\"\nc: \"\"\nd: \"-x\"\n"},
	{"yaml: anchors elsewhere", YAML, "base: &b\n  x: 1\nuse:\n  <<: *b\n  y: 2\n", []step{{"use.z", 3}}, "base: &b\n  x: 1\nuse:\n  <<: *b\n  y: 2\n  z: 3\n"},
	{"yaml: umlauts before the colon", YAML, "grüße: 1\nkey: 2\n", []step{{"grüße", 3}}, "grüße: 3\nkey: 2\n"},
}

func TestEdit(t *testing.T) {
	t.Parallel()
	for _, c := range edits {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := apply(t, c.format, c.text, c.steps...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		format Format
		text   string
		want   string
	}{
		{"json: comment", JSON, "{\n  // hi\n}", "f:2:3: "},
		{"json: trailing comma", JSON, "{\"a\": 1,\n}", "f:2:1: "},
		{"json: cut off", JSON, "{\"a\": ", "f:1:6: "},
		{"json: list", JSON, " [1]", "f:1:2: the top level is a list, not an object"},
		{"json: text", JSON, `"x"`, "the top level is a string"},
		{"json: null", JSON, `null`, "the top level is null"},
		{"json: two values", JSON, "{} {}", "f:1:4: "},
		{"json: nested deep", JSON, strings.Repeat("[", 100000), "nested more than 200 levels"},
		{"json: garbage", JSON, "\x01\x02", "f:1:1: "},
		{"json: NUL", JSON, "{}\x00", "f:1:3: contains a NUL byte"},
		{"jsonc: cut off", JSONC, "{\n /* ", "f:2:"},
		{"jsonc: list", JSONC, "// c\n[]", "the top level is a list"},
		{"json5: cut off", JSON5, "{\n  a: 'b", "f:2:8: unterminated text"},
		{"json5: comment cut off", JSON5, "{} /* ", "f:1:4: unterminated comment"},
		{"json5: no comma", JSON5, "{a: 1 b: 2}", "f:1:7: want a comma or '}'"},
		{"json5: only a comma", JSON5, "{a: [,]}", "f:1:6: want a value"},
		{"json5: no colon", JSON5, "{a 1}", "f:1:4: want a colon"},
		{"json5: dash in a key", JSON5, "{a-b: 1}", "f:1:3: want a colon"},
		{"json5: escape in a key", JSON5, `{a\u002d: 1}`, "f:1:3: want a key"},
		{"json5: word", JSON5, "{a: yes}", "f:1:5: want a value"},
		{"json5: octal", JSON5, "{a: 010}", "f:1:5: want a value"},
		{"json5: octal escape", JSON5, `{a: '\01'}`, "f:1:7: octal escape"},
		{"json5: escape cut off", JSON5, `{a: '\u12'}`, "f:1:8: want 4 hexadecimal digits"},
		{"json5: two lines", JSON5, "{a: 'b\nc'}", "f:1:7: unterminated text"},
		{"json5: two values", JSON5, "{} {}", "f:1:4: text after the end"},
		{"json5: list", JSON5, "[1]", "the top level is a list"},
		{"json5: nested deep", JSON5, "{a:" + strings.Repeat("[", 100000), "f:1:203: is nested more than 200 levels"},
		{"toml: cut off", TOML, "a = 1\nb = \"x", "f:2:"},
		{"toml: key twice", TOML, "a = 1\na = 2\n", "f:2:1: "},
		{"toml: nested deep", TOML, "a = " + strings.Repeat("[", 100000), "nested more than 200 levels"},
		{"yaml: list", YAML, "- a\n", "the top level is a list"},
		{"yaml: text", YAML, "hello", "the top level is a string"},
		{"yaml: cut off", YAML, "a: [1\nb: \"x", "f:"},
		{"yaml: key twice", YAML, "a: 1\na: 2\n", "f:2:1: "},
		{"yaml: two documents", YAML, "a: 1\n---\nb: 2\n", "more than one YAML document"},
		{"yaml: unknown alias", YAML, "a: *x\n", "f:1:"},
		{"no format", "ini", "", `"ini" is not a configuration format`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(c.format, "f", []byte(c.text))
			var fault *SyntaxError
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") && c.format != TOML {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		format Format
		text   string
		path   Path
		value  any
		want   string
	}{
		{"through a list", JSON, `{"a": [1]}`, Path{"a", "b"}, 1, "a is a list, not an object"},
		{"through text", TOML, `a = "x"`, Path{"a", "b", "c"}, 1, "a is a string, not an object"},
		{"into a list of tables", TOML, "[[a]]\nb = 1\n", Path{"a", "b"}, 1, "a is a list, not an object"},
		{"the whole document", JSON, `{}`, nil, 1, "accepts an object only"},
		{"null in TOML", TOML, "", Path{"a"}, nil, "would change more than the value"},
		{"a channel", JSON, `{}`, Path{"a"}, make(chan int), "cannot be a chan int"},
		{"not a number", JSON, `{}`, Path{"a"}, []any{float64(1), map[string]any{"x": nan}}, "not a number"},
		{"an alias's target", YAML, "a: &x\n  b: 1\nc: *x\n", Path{"a", "b"}, 2, "would change more than the value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse(c.format, "f", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Set(c.path, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if string(d.Bytes()) != c.text {
				t.Errorf("the document changed: %q", d.Bytes())
			}
		})
	}
}

// A merge that fails half way leaves nothing of itself.
func TestMergeIsAtomic(t *testing.T) {
	t.Parallel()
	const text = `{"b": [1]}`
	d, err := Parse(JSON, "f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Merge(nil, map[string]any{"a": 1, "b": map[string]any{"c": make(chan int)}}); err == nil {
		t.Error("no error")
	}
	if err := d.Merge(Path{"b"}, map[string]any{"c": 1}); err != nil {
		t.Error(err) // an object replaces a list
	}
	if got := string(d.Bytes()); got != `{"b": {"c": 1}}` {
		t.Error(got)
	}
}

func TestParsePath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want Path
		err  string
	}{
		{in: "a", want: Path{"a"}},
		{in: `a."b.c".d`, want: Path{"a", "b.c", "d"}},
		{in: `'a "b"'.c`, want: Path{`a "b"`, "c"}},
		{in: `"a\nb"`, want: Path{"a\nb"}},
		{in: "a b.c-d_e", want: Path{"a b", "c-d_e"}},
		{in: "", err: "empty key"}, {in: "a..b", err: "empty key"}, {in: ".a", err: "empty key"}, {in: "a.", err: "empty key"},
		{in: `"a`, err: "unterminated"}, {in: `'a`, err: "unterminated"}, {in: `"a"b`, err: "want a dot"}, {in: `a"b"`, err: "be quoted"},
		{in: "a\nb", err: "be quoted"}, {in: `""`, err: "empty key"},
	} {
		p, err := ParsePath(c.in)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: got %v, want %q", c.in, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, p); diff != "" || err != nil {
			t.Errorf("%q: %v %s", c.in, err, diff)
		}
		if again, err := ParsePath(p.String()); err != nil || !cmp.Equal(again, p) {
			t.Errorf("%q: %s reads as %q, %v", c.in, p, again, err)
		}
	}
}

// greedy is a syntax whose edits change more than they should.
type greedy struct{ jsonSyntax }

func (greedy) set(_ []byte, path Path, v any) ([]byte, error) {
	return []byte(`{"` + path[0] + `": ` + literal(v) + `, "more": 1}`), nil
}
func (greedy) unset([]byte, Path) ([]byte, error) { return []byte(`{}`), nil }

func init() { syntaxes["greedy"] = greedy{} }

// Whatever an editor does wrong, the document does not take it.
func TestWrongEditIsRefused(t *testing.T) {
	t.Parallel()
	const text = `{"a": 1, "b": 2}`
	d, err := Parse("greedy", "f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Set(Path{"a"}, 2); !errors.Is(err, ErrUnsafe) {
		t.Errorf("set: %v", err)
	}
	if _, err := d.Unset(Path{"a"}); !errors.Is(err, ErrUnsafe) {
		t.Errorf("unset: %v", err)
	}
	if string(d.Bytes()) != text {
		t.Errorf("%s", d.Bytes())
	}
}
