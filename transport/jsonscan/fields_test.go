package jsonscan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestFields(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		paths []string
		line  string
		want  []string
	}{
		{"order of paths", []string{"b", "a"}, `{"a":1,"b":2}`, []string{"2", "1"}},
		{"absent and null", []string{"a", "b"}, `{"b":null}`, []string{"", "null"}},
		{"last wins", []string{"a"}, `{"a":1,"a":2,"b":3}`, []string{"2"}},
		{"escaped key", []string{"a"}, `{"\u0061":1}`, []string{"1"}},
		{"escape of the last key", []string{"é\n"}, `{"\u00e9\n":1}`, []string{"1"}},
		{"long escaped key", []string{strings.Repeat("k", 90)}, `{"` + strings.Repeat(`\u006b`, 90) + `":1}`, []string{"1"}},
		{"empty key", []string{""}, `{"":1}`, []string{"1"}},
		{"path", []string{"a.b.c", "a.b", "a"}, `{"a":{"b":{"c":1}}}`, []string{"1", `{"c":1}`, `{"b":{"c":1}}`}},
		{"path into a string", []string{"a.b"}, `{"a":"b"}`, []string{""}},
		{"path into an array", []string{"a.b"}, `{"a":[{"b":1}]}`, []string{""}},
		{"outer repeats as object", []string{"a.b", "a.c"}, `{"a":{"b":1},"a":{"c":2}}`, []string{"", "2"}},
		{"outer repeats as null", []string{"a", "a.b"}, `{"a":{"b":1},"a":null}`, []string{"null", ""}},
		{"deep repeat", []string{"a.b.c"}, `{"a":{"b":{"c":1},"b":[]}}`, []string{""}},
		{"dot in a name", []string{`a\.b`, "a.b", `c\\d`}, `{"a.b":1,"a":{"b":2},"c\\d":3}`, []string{"1", "2", "3"}},
		{"path twice", []string{"a", "a"}, `{"a":1}`, []string{"1", ""}},
		{"seven, eight, sixteen, more", []string{"1234567", "12345678", "1234567890123456", "12345678901234567", "12345678x01234567"}, `{"1234567":1,"12345678":2,"1234567890123456":3,"12345678901234567":4,"12345678x01234567":5,"12345678y01234567":6}`, []string{"1", "2", "3", "4", "5"}},
		{"key at the end of the line", []string{"b"}, `{"a":1,"b":2}`, []string{"2"}},
		{"zero bytes are part of a key", []string{"a", "a\x00"}, `{"a\u0000":1}`, []string{"", "1"}},
		{"invalid bytes in a key", []string{"\ufffd", "a long name \ufffd"}, "{\"\xff\":1,\"a long name \xc0\":2}", []string{"1", "2"}},
		{"other names only", []string{"a"}, `{"b":{"a":1},"c":[{"a":2}]}`, []string{""}},
		{"no names", nil, `{"b":1}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ks := NewKeySet(tt.paths...)
			for pad := range 10 {
				for _, line := range []string{tt.line, strings.TrimSuffix(tt.line, "}") + strings.Repeat(" ", pad) + `}`, strings.Repeat(" ", pad) + tt.line, strings.TrimSuffix(tt.line, "}") + `,"zz":"` + strings.Repeat("z", pad) + `"}`} {
					dst := make([]Value, ks.Len()+1)
					dst[ks.Len()] = Value{raw: []byte("7")}
					if err := Fields([]byte(line), dst, ks); err != nil {
						t.Fatalf("%s: %v", line, err)
					}
					for i, want := range tt.want {
						if got := string(dst[i].Raw()); got != want {
							t.Errorf("%s: %q = %s, want %s", line, tt.paths[i], got, want)
						}
					}
					if string(dst[ks.Len()].Raw()) != "7" {
						t.Error("a slot beyond the key set was touched")
					}
				}
			}
		})
	}
}

// TestPathBeyondDepth follows a path deeper than the limit, where no other part of the scanner counts levels.
func TestPathBeyondDepth(t *testing.T) {
	t.Parallel()
	ks := NewKeySet(strings.Repeat("a.", MaxDepth) + "a")
	var dst [1]Value
	for _, n := range []int{MaxDepth, MaxDepth + 1} {
		line := []byte(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
		err := Fields(line, dst[:], ks)
		if got, want := errors.Is(err, ErrDepth), n > MaxDepth; got != want || (err == nil) == want || dst[0].Exists() {
			t.Errorf("depth %d: %v, value %q", n, err, dst[0].Raw())
		}
	}
}

func TestFieldsShortDst(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic with a dst that is too short")
		}
	}()
	_ = Fields([]byte(`{}`), make([]Value, 1), NewKeySet("a", "b"))
}

// TestManyKeys has more keys than any seed can place without collisions, many of them equal in both words.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	var names []string
	var line strings.Builder
	line.WriteByte('{')
	for i := range 3000 {
		name := fmt.Sprintf("same_start_%d_same_end", i)
		if i%3 == 0 {
			name = fmt.Sprint("k", i)
		}
		names = append(names, name)
		fmt.Fprintf(&line, `"%s":%d,"%s_not":-1,`, name, i, name)
	}
	line.WriteString(`"last":0}`)
	ks := NewKeySet(names...)
	dst := make([]Value, ks.Len())
	if err := Fields([]byte(line.String()), dst, ks); err != nil {
		t.Fatal(err)
	}
	for i := range dst {
		if n, ok := dst[i].Int(); !ok || n != int64(i) {
			t.Fatalf("%s = %d, %v", names[i], n, ok)
		}
	}
}

func TestZeroValue(t *testing.T) {
	t.Parallel()
	number, err := Parse([]byte("12"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []Value{{}, number} {
		got := v.Get("a").Get("b")
		if got.Exists() || got.Kind() != Invalid || got.Str() != "" || got.IsStr("") || string(got.StrBytes([]byte("x"))) != "x" || got.Raw() != nil {
			t.Errorf("member of %q: %+v", v.Raw(), got)
		}
		if _, ok := got.Int(); ok {
			t.Error("Int of nothing")
		}
		if _, ok := got.Float(); ok {
			t.Error("Float of nothing")
		}
		if _, ok := got.Bool(); ok {
			t.Error("Bool of nothing")
		}
		dst := []Value{number}
		if v.Fields(dst, NewKeySet("a")) || dst[0].Exists() {
			t.Error("Fields of no object")
		}
		for range v.Object {
			t.Error("members of no object")
		}
		for range v.Array {
			t.Error("elements of no array")
		}
	}
}

func TestIterationStops(t *testing.T) {
	t.Parallel()
	v, err := Parse([]byte(`{"a":[1,2,3],"b":2,"c":3}`))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	v.Object(func([]byte, Value) bool { n++; return n < 2 })
	v.Get("a").Array(func(int, Value) bool { n++; return false })
	if n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
}

func TestValuesCannotGrowIntoTheLine(t *testing.T) {
	t.Parallel()
	line := []byte(`{"a":"x","b":2}`)
	var dst [1]Value
	if err := Fields(line, dst[:], NewKeySet("a")); err != nil {
		t.Fatal(err)
	}
	_ = append(dst[0].Raw(), "!!!!"...)
	v, _ := Parse(line)
	for k, e := range v.Object {
		_, _ = append(k, "!!!!"...), append(e.Raw(), "!!!!"...)
	}
	plain, _ := dst[0].Plain()
	_ = append(plain, "!!!!"...)
	if string(line) != `{"a":"x","b":2}` {
		t.Errorf("line is now %s", line)
	}
}

func TestNoAllocations(t *testing.T) {
	line := []byte(`{"type":"x","n":-12,"f":1.5e3,"s":"a\n\u00e9","l":[1,{"a":2}],"b":true,"\u0074wo":2,"event":{"delta":{"text":"y"}}}`)
	ks := NewKeySet("type", "n", "f", "s", "l", "event.delta.text", "two")
	var dst [8]Value
	var buf [32]byte
	in := NewInterner(16)
	in.Bytes([]byte("x"))
	got := testing.AllocsPerRun(100, func() {
		v, err := Parse(line)
		if err != nil || Fields(line, dst[:], ks) != nil || !v.Fields(dst[:], ks) {
			t.Fatal("not accepted")
		}
		n, _ := dst[1].Int()
		f, _ := dst[2].Float()
		if n != -12 || f != 1500 || !dst[3].IsStr("a\né") || string(dst[3].StrBytes(buf[:0])) != "a\né" || in.Str(dst[0]) != "x" || !dst[5].IsStr("y") || !v.Get("two").Exists() {
			t.Fatal("wrong values")
		}
		for _, e := range dst[4].Array {
			for range e.Object {
				n++
			}
		}
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func TestInterner(t *testing.T) {
	in := NewInterner(8)
	long := strings.Repeat("l", 65)
	for _, s := range []string{"", "a", "Bash", "mcp__echo__echo", "toolu_scripted00100195611", long[:64], long} {
		for range 2 {
			if got := in.Bytes([]byte(s)); got != s {
				t.Errorf("Bytes(%q) = %q", s, got)
			}
		}
	}
	b := []byte("toolu_scripted00100195611")
	in.Bytes(b)
	if n := testing.AllocsPerRun(100, func() { in.Bytes(b) }); n != 0 {
		t.Errorf("%v allocations for a known string", n)
	}
	name := in.Bytes(b)
	b[0] = 'X'
	if name != "toolu_scripted00100195611" {
		t.Error("the string shares the caller's bytes")
	}
	for i := range 10000 {
		if s := fmt.Sprint("id", i); in.Bytes([]byte(s)) != s {
			t.Fatal(s)
		}
	}
	if n := 2 * len(in.places); n < 8 || n > 16 {
		t.Errorf("%d strings kept", n)
	}
	in.Bytes([]byte(long))
	for _, place := range in.places {
		if len(place[0]) > longestInterned || len(place[1]) > longestInterned {
			t.Errorf("a string of %d bytes is kept", max(len(place[0]), len(place[1])))
		}
	}
	var zero Interner
	if zero.Bytes([]byte("a")) != "a" {
		t.Error("zero interner")
	}
}
