package configfile

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestJSON5Values: every form of json5.org, as the document's value.
func TestJSON5Values(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"1": int64(1), "+1": int64(1), "-1": int64(-1), ".5": 0.5, "-.5": -0.5, "5.": int64(5), "5.e1": 50.0, "1e3": 1000.0, "0x1F": int64(31), "-0Xa": int64(-10),
		"0xFFFFFFFFFFFFFFFFFFFF": 0xFFFFFFFFFFFFFFFFFFFF.0p0, "1e999": "1e999", "Infinity": "Infinity", "-Infinity": "-Infinity", "+NaN": "+NaN",
		"true": true, "false": false, "null": nil,
		`'a "b"'`: `a "b"`, `"it's"`: "it's", `'\''`: "'", `'\b\f\n\r\t\v\0\\\/\q'`: "\b\f\n\r\t\v\x00\\/q", `'\x41\u00e9'`: "Aé",
		`'\ud83d\ude00 \ud83d \ude00\u0041'`: "😀 \ufffd \ufffdA", `'\ud83d\u0041'`: "\ufffdA", "'a\\\nb\\\r\nc\\\u2028d\u2028e\tf'": "abcd\u2028e\tf",
		"[1,'a',[],{},]": []any{int64(1), "a", []any{}, map[string]any{}},
		"{a:1,$_é9:2,\\u0062\u200c:3,'c d':4,\"e\":5,null:6,}": map[string]any{"a": int64(1), "$_é9": int64(2), "b\u200c": int64(3), "c d": int64(4), "e": int64(5), "null": int64(6)},
	} {
		before := "\ufeff\v\f\u00a0\ufeff\u3000//,}\r{/*{*/x/**/:\n" + text
		if _, err := Parse(JSON5, "f", []byte(before+"//")); err == nil {
			t.Errorf("%s: no error without the end", text)
		}
		d, err := Parse(JSON5, "f", []byte(before+"//\u2029,\u2028/*,*/}//"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, _ := d.Get(Path{"x"}); !equal(got, want) {
			t.Errorf("%s: %s", text, cmp.Diff(want, got))
		}
	}
}

// TestJSON5KeepsEverythingElse edits single members at random; every other line stays byte by byte, and so does the comment beside
// the member.
func TestJSON5KeepsEverythingElse(t *testing.T) {
	t.Parallel()
	forms := []string{"0x1F", "+.5", "'it\\'s, }'", `"a // b"`, "NaN", "[1, /* , */ 'x',]", "{ y: 'z', }", "null", "'two\\\n  lines'"}
	keys := []string{"a", "$b", "'c d'", `"e-f"`, "\\u0067", "h"}
	names := []string{"a", "$b", "c d", "e-f", "g", "h"}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		var members []string
		value := map[string]int{}
		for i, key := range keys {
			value[names[i]] = len(members)
			members = append(members, fmt.Sprintf("    %s: %s, // comment, %d }", key, forms[r.IntN(len(forms))], i))
		}
		text := func() string { return "{ // open\n  x: {\n" + strings.Join(members, "\n") + "\n  },\n}\n" }
		d, err := Parse(JSON5, "f", []byte(text()))
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			i := r.IntN(len(names))
			path := Path{"x", names[i]}
			at := value[names[i]]
			_, comment, _ := strings.Cut(members[at], ", // comment")
			before := string(d.Bytes())
			if _, ok := d.Get(path); !ok {
				continue
			}
			if r.IntN(4) == 0 {
				if ok, err := d.Unset(path); err != nil || !ok {
					t.Fatalf("seed %d: %v %v\n%s", seed, ok, err, before)
				}
				members[at] = "// comment" + comment
			} else {
				v := fmt.Sprintf("new %d", r.IntN(100))
				if err := d.Set(path, v); err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, before)
				}
				members[at] = fmt.Sprintf("    %s: %q, // comment%s", keys[i], v, comment)
			}
			alone := regexp.MustCompile(`(?m)^ +// comment`) // may keep the indentation of its member
			if diff := cmp.Diff(text(), alone.ReplaceAllString(string(d.Bytes()), "// comment")); diff != "" {
				t.Fatalf("seed %d: %s\n%s", seed, path, diff)
			}
		}
		if err := d.Set(Path{"x", "added"}, 1); err != nil {
			t.Fatal(err)
		}
		for _, line := range members {
			if !strings.Contains(string(d.Bytes()), line+"\n") {
				t.Fatalf("seed %d: %q is gone:\n%s", seed, line, d.Bytes())
			}
		}
	}
}
