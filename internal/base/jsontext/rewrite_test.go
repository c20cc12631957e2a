package jsontext

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestRewriteStream(t *testing.T) {
	t.Parallel()
	change := func(s string) string { return strings.ReplaceAll(s, "/old/dir", "/n") }
	event := func(data string) string { return "event: x\ndata: " + data + "\n\n" }
	for _, tt := range []struct {
		name     string
		in, want []string
	}{
		{"whole", []string{event(`{"a":"at /old/dir/f"}`)}, []string{event(`{"a":"at /n/f"}`)}},
		{"split", []string{
			event(`{"type":"d","index":1,"delta":{"text":"see /o"}}`),
			event(`{"type":"d","index":0,"delta":{"text":"other"}}`),
			event(`{"type":"d","index":1,"delta":{"text":"ld/"}}`),
			event(`{"type":"d","index":1,"delta":{"text":"dir/f and"}}`),
			event(`{"type":"d","index":1,"delta":{"text":" more"}}`),
		}, []string{
			event(`{"type":"d","index":1,"delta":{"text":"see /n"}}`),
			event(`{"type":"d","index":0,"delta":{"text":"other"}}`),
			event(`{"type":"d","index":1,"delta":{"text":""}}`),
			event(`{"type":"d","index":1,"delta":{"text":"/f and"}}`),
			event(`{"type":"d","index":1,"delta":{"text":" more"}}`),
		}},
		{"twice, in tool input", []string{
			event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":\"/old"}}]}}]}`),
			event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"/dir\",\"b\":\"/old/d"}}]}}]}`),
			event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"ir\"}"}}]}}]}`),
			"data: [DONE]\n\n",
		}, []string{
			event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":\"/n\",\"b\":\"/n"}}]}}]}`),
			event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":""}}]}}]}`),
			event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}}]}`),
			"data: [DONE]\n\n",
		}},
		{"lines of JSON", []string{`{"text":"/old/"}` + "\n", `{"text":"dir"}` + "\n"}, []string{`{"text":"/n"}` + "\n", `{"text":""}` + "\n"}},
		{"nothing to do", []string{event(`{"a" : "\u0041"}`), ": ping\n\n", "data: x\ndata: y\n\n"}, []string{event(`{"a" : "\u0041"}`), ": ping\n\n", "data: x\ndata: y\n\n"}},
		{"no JSON", []string{"data: /old/dir\n\n"}, []string{"data: /n\n\n"}},
	} {
		if got := RewriteStream(tt.in, change); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
	in := `{"/old/dir":["/old/dir",{"x":"/old/dir/\"y\""},1]}`
	if got := string(Rewrite([]byte(in), change)); got != `{"/old/dir":["/n",{"x":"/n/\"y\""},1]}` {
		t.Error(got)
	}
}

// FuzzRewrite: a text is found however a stream cuts it, and everything else of the joined text stays.
func FuzzRewrite(f *testing.F) {
	f.Add("see /old/dir and /old/dir", uint8(3), uint8(5))
	f.Add("/old/dir", uint8(0), uint8(4))
	f.Fuzz(func(t *testing.T, text string, a, b uint8) {
		if strings.ToValidUTF8(text, "") != text {
			return
		}
		runes := []rune(text)
		i, j := min(int(a), len(runes)), min(int(a)+int(b), len(runes))
		var pieces []string
		for _, part := range []string{string(runes[:i]), string(runes[i:j]), string(runes[j:])} {
			pieces = append(pieces, `data: {"index":0,"t":`+string(encode(part))+"}\n\n")
		}
		change := func(s string) string { return strings.ReplaceAll(s, "/old/dir", "<>") }
		var got strings.Builder
		for _, piece := range RewriteStream(pieces, change) {
			start, end, ok := dataOf(piece)
			var v struct{ T string }
			if err := json.Unmarshal([]byte(piece[start:end]), &v); err != nil || !ok {
				t.Fatalf("%q: %v", piece, err)
			}
			got.WriteString(v.T)
		}
		if want := change(text); got.String() != want {
			t.Errorf("%q in pieces %q: got %q, want %q", text, pieces, got.String(), want)
		}
	})
}
