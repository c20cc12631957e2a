package modelserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseFaults(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script, want string }{
		{"empty", ``, "script: "},
		{"syntax", "{\n \"turns\": [}", "script: line 2, column 12: invalid character"},
		{"two values", `{"turns":[]} {}`, "script: line 1, column 14"},
		{"not UTF-8", "{\"turns\":[{\"text\":\"\xff\"}]}", "script: not UTF-8"},
		{"no object", `[]`, "script: want an object, have a list"},
		{"nothing", `{}`, `script: has no turns; give "turns" or "scripts"`},
		{"unknown key", `{"turns":[],"tunrs":1}`, `tunrs: unknown key; did you mean "turns"?`},
		{"unknown turn key", `{"turns":[{"txet":"a","text":"a"}]}`, `turns[0].txet: unknown key; did you mean "text"?`},
		{"far key", `{"turns":[{"zzzzzzzz":1,"text":"a"}]}`, `turns[0].zzzzzzzz: unknown key; known here: text, thinking`},
		{"foreign key", `{"turns":[{"tools":[{"name":"a","args":{}}]}]}`, `turns[0].tools[0].args: unknown key; use "input"`},
		{"odd key", `{"turns":[{"a.b":1,"text":"a"}]}`, `turns[0]."a.b": unknown key`},
		{"key twice", `{"turns":[{"text":"a","text":"b"}]}`, `turns[0].text: key given twice`},
		{"turns no list", `{"turns":{}}`, `turns: want a list, have an object`},
		{"turn no object", `{"turns":[null]}`, `turns[0]: want an object, have null`},
		{"empty turn", `{"turns":[{}]}`, `turns[0]: says nothing`},
		{"text no string", `{"turns":[{"text":1}]}`, `turns[0].text: want a string, have a number`},
		{"tool without name", `{"turns":[{"tools":[{}]}]}`, `turns[0].tools[0]: has no name`},
		{"tool input string", `{"turns":[{"tools":[{"name":"a","input":"x"}]}]}`, `turns[0].tools[0].input: want an object, have a string`},
		{"custom input object", `{"turns":[{"tools":[{"name":"a","custom":true,"input":{}}]}]}`, `turns[0].tools[0].input: want a string, have an object`},
		{"custom input missing", `{"turns":[{"tools":[{"name":"a","custom":true}]}]}`, `turns[0].tools[0]: a custom call needs an input`},
		{"custom no bool", `{"turns":[{"tools":[{"name":"a","custom":"yes"}]}]}`, `turns[0].tools[0].custom: want true or false, have a string`},
		{"usage negative", `{"turns":[{"text":"a","usage":{"input":-1}}]}`, `turns[0].usage.input: want a whole number from 0`},
		{"usage fraction", `{"turns":[{"text":"a","usage":{"output":1.5}}]}`, `turns[0].usage.output: want a whole number`},
		{"usage unknown", `{"turns":[{"text":"a","usage":{"cacheread":1}}]}`, `turns[0].usage.cacheread: unknown key; did you mean "cacheRead"?`},
		{"thinking above output", `{"turns":[{"text":"a","usage":{"output":5,"thinking":6}}]}`, `turns[0].usage: thinking 6 is more than output 5`},
		{"chunks too many", `{"turns":[{"text":"äb","chunks":3}]}`, `turns[0].chunks: want a whole number from 1 to 2, have 3`},
		{"chunks zero", `{"turns":[{"text":"ab","chunks":0}]}`, `turns[0].chunks: want a whole number from 1`},
		{"chunks without text", `{"turns":[{"thinking":"x","chunks":2}]}`, `turns[0].chunks: there is no text to cut`},
		{"chunks differ", `{"turns":[{"text":"ab","chunks":["a","c"]}]}`, `turns[0].chunks: the pieces do not make up the text`},
		{"chunks item", `{"turns":[{"chunks":["a",1]}]}`, `turns[0].chunks[1]: want a string, have a number`},
		{"chunks kind", `{"turns":[{"text":"ab","chunks":true}]}`, `turns[0].chunks: want a number of pieces or the list of them`},
		{"delay too long", `{"turns":[{"text":"a","delayMs":600001}]}`, `turns[0].delayMs: want a whole number from 0 to 600000`},
		{"delay no number", `{"turns":[{"text":"a","chunkDelayMs":"1"}]}`, `turns[0].chunkDelayMs: want a number, have a string`},
		{"status", `{"turns":[{"status":200}]}`, `turns[0].status: want a whole number from 400 to 599, have 200`},
		{"status and text", `{"turns":[{"status":500,"text":"a"}]}`, `turns[0].text: contradicts status`},
		{"error without status", `{"turns":[{"text":"a","error":{}}]}`, `turns[0].error: needs a status`},
		{"retry without status", `{"turns":[{"text":"a","retryAfter":1}]}`, `turns[0].retryAfter: needs a status`},
		{"retry negative", `{"turns":[{"status":429,"retryAfter":-1}]}`, `turns[0].retryAfter: want a whole number from 0`},
		{"header twice", `{"turns":[{"status":429,"retryAfter":1,"headers":{"retry-after":"2"}}]}`, `turns[0].headers.retry-after: contradicts retryAfter`},
		{"header name", `{"turns":[{"text":"a","headers":{"a b":"2"}}]}`, `turns[0].headers."a b": not a valid header`},
		{"header value", `{"turns":[{"text":"a","headers":{"a":"1\n2"}}]}`, `turns[0].headers.a: not a valid header`},
		{"header of ours", `{"turns":[{"text":"a","headers":{"content-length":"2"}}]}`, `turns[0].headers.content-length: is set by the server`},
		{"hang and text", `{"turns":[{"text":"a","hang":true}]}`, `turns[0].text: contradicts hang`},
		{"hang and cut", `{"turns":[{"text":"a b","hang":1,"cut":1}]}`, `turns[0].cut: contradicts hang`},
		{"hang word", `{"turns":[{"text":"a b","hang":"later"}]}`, `turns[0].hang: want true, "mid-text" or a number`},
		{"cut without text", `{"turns":[{"thinking":"a","cut":true}]}`, `turns[0].cut: there is no text with a middle`},
		{"cut of one character", `{"turns":[{"text":"a","cut":"mid-text"}]}`, `turns[0].cut: there is no text with a middle`},
		{"cut after the end", `{"turns":[{"text":"abc","chunks":3,"cut":4}]}`, `turns[0].cut: the text has 3 piece(s) only`},
		{"garbage and text", `{"turns":[{"text":"a","garbage":"x"}]}`, `turns[0].text: contradicts garbage`},
		{"garbage number", `{"turns":[{"garbage":1}]}`, `turns[0].garbage: want true or false`},
		{"match empty", `{"turns":[{"text":"a","match":{}}]}`, `turns[0].match: empty`},
		{"match unknown", `{"turns":[{"text":"a","match":{"contain":"x"}}]}`, `turns[0].match.contain: unknown key; did you mean "contains"?`},
		{"repeat zero", `{"turns":[{"text":"a","repeat":0}]}`, `turns[0].repeat: want a whole number from 1`},
		{"never reached", `{"turns":[{"text":"a","repeat":true},{"text":"b"}]}`, `turns[1]: never reached: turns[0] is repeated for ever`},
		{"exhausted word", `{"turns":[],"onExhausted":"stop"}`, `onExhausted: want "error", "last" or "text:SOME TEXT", have "stop"`},
		{"last of nothing", `{"turns":[],"onExhausted":"last"}`, `onExhausted: "last" needs a turn`},
		{"defaults", `{"turns":[],"defaults":{"modell":"x"}}`, `defaults.modell: unknown key; did you mean "model"?`},
		{"model empty", `{"turns":[],"defaults":{"model":""}}`, `defaults.model: empty`},
		{"side unknown", `{"turns":[],"side":{"tools":[]}}`, `side.tools: unknown key`},
		{"side contains empty", `{"turns":[],"side":{"contains":[""]}}`, `side.contains[0]: empty`},
		{"script id", `{"scripts":{"a/b":{"turns":[]}}}`, `scripts.a/b: id must be letters`},
		{"script without turns", `{"scripts":{"a":{}}}`, `scripts.a: has no turns`},
		{"script in script", `{"scripts":{"a":{"turns":[],"scripts":{}}}}`, `scripts.a.scripts: unknown key`},
		{"turn of a script", `{"scripts":{"a":{"turns":[{"text":2}]}}}`, `scripts.a.turns[0].text: want a string`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := Parse([]byte(tt.script))
			var faults *ScriptError
			if !errors.As(err, &faults) || s != nil {
				t.Fatalf("Parse = %v, %v, want a *ScriptError", s, err)
			}
			if len(faults.Faults) != 1 {
				t.Errorf("%d faults, want 1", len(faults.Faults))
			}
			if !strings.Contains(err.Error(), "\n  "+tt.want) {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestParseReportsEveryFault(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`{"turns":[{"text":1},{"tools":[{"nam":"a"}]},{"status":9}],"side":{"x":1},"scripts":{"b":{"turns":3}}}`))
	var faults *ScriptError
	if !errors.As(err, &faults) {
		t.Fatalf("Parse: %v", err)
	}
	var paths []string
	for _, f := range faults.Faults {
		paths = append(paths, f.Path)
	}
	for _, want := range []string{"turns[0].text", "turns[1].tools[0].nam", "turns[1].tools[0]", "turns[2].status", "side.x", "scripts.b.turns"} {
		if !slices.Contains(paths, want) {
			t.Errorf("faults at %q, want one at %s", paths, want)
		}
	}
	_, err = Parse([]byte(`{"turns":[` + strings.Repeat(`{},`, 60) + `{}]}`))
	if !strings.Contains(err.Error(), "61 fault(s)") || !strings.Contains(err.Error(), "and 11 more") {
		t.Errorf("error of many faults = %v", err)
	}
	if _, err = Parse([]byte(`{"turns":[` + strings.Repeat(`{},`, maxFaults) + `{}]}`)); !strings.Contains(err.Error(), "1001 fault(s)") {
		t.Errorf("error of too many faults = %v", err)
	}
	deep := `{"turns":[{"tools":[{"name":"a","input":{"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}]}]}`
	if _, err = Parse([]byte(deep)); err != nil {
		t.Errorf("deep input: %v", err)
	}
	if _, err = Parse(make([]byte, MaxScriptBytes+1)); !strings.Contains(err.Error(), "more than 16777216") {
		t.Errorf("error of a huge script = %v", err)
	}
}

// TestEveryTurnKey has one check per key of a turn that fails when the key is ignored, and none may be missing.
func TestEveryTurnKey(t *testing.T) {
	t.Parallel()
	w := wires[0]
	text := func(t *testing.T, a answer) string { return w.decode(t, true, a.body).Text }
	checks := map[string]struct {
		turns string
		check func(t *testing.T, s *Server, url string)
	}{
		"text": {`{"text":"the text"}`, func(t *testing.T, _ *Server, url string) {
			if got := text(t, w.ask(t, url, true, "hi")); got != "the text" {
				t.Errorf("text = %q", got)
			}
		}},
		"thinking": {`{"thinking":"deep"}`, func(t *testing.T, _ *Server, url string) {
			if got := w.decode(t, true, w.ask(t, url, true, "hi").body).Thinking; got != "deep" {
				t.Errorf("thinking = %q", got)
			}
		}},
		"tools": {`{"tools":[{"name":"f","input":{"a":1}}]}`, func(t *testing.T, _ *Server, url string) {
			got := w.decode(t, true, w.ask(t, url, true, "hi").body)
			if !slices.Equal(got.Tools, []call{{"f", "", `{"a":1}`}}) {
				t.Errorf("tools = %+v", got.Tools)
			}
		}},
		"usage": {`{"text":"a","usage":{"input":7,"cacheRead":3}}`, func(t *testing.T, _ *Server, url string) {
			got := w.decode(t, true, w.ask(t, url, true, "hi").body)
			if got.Input != 7 || got.Output != 20 || got.CacheRead != 3 {
				t.Errorf("usage = %+v", got)
			}
		}},
		"chunks": {`{"text":"abcdef","chunks":3},{"text":"xyz","chunks":["x","yz"]}`, func(t *testing.T, _ *Server, url string) {
			for _, want := range [][]string{{"ab", "cd", "ef"}, {"x", "yz"}} {
				if got := w.decode(t, true, w.ask(t, url, true, "hi").body).Pieces; !slices.Equal(got, want) {
					t.Errorf("pieces = %q, want %q", got, want)
				}
			}
		}},
		"delayMs": {`{"text":"a","delayMs":60}`, func(t *testing.T, _ *Server, url string) {
			begin := time.Now()
			w.ask(t, url, true, "hi")
			if took := time.Since(begin); took < 60*time.Millisecond {
				t.Errorf("answered after %v", took)
			}
		}},
		"chunkDelayMs": {`{"text":"abc","chunks":3,"chunkDelayMs":30}`, func(t *testing.T, _ *Server, url string) {
			begin := time.Now()
			w.ask(t, url, true, "hi")
			if took := time.Since(begin); took < 90*time.Millisecond {
				t.Errorf("answered after %v", took)
			}
		}},
		"status": {`{"status":503}`, func(t *testing.T, _ *Server, url string) {
			if a := w.ask(t, url, true, "hi"); a.status != 503 || !strings.Contains(a.body, "scripted error 503") {
				t.Errorf("answer = %d %s", a.status, a.body)
			}
		}},
		"error": {`{"status":400,"error":{"type":"my_type","message":"my message"}}`, func(t *testing.T, _ *Server, url string) {
			if a := w.ask(t, url, true, "hi"); !strings.Contains(a.body, `{"message":"my message","type":"my_type"}`) {
				t.Errorf("body = %s", a.body)
			}
		}},
		"retryAfter": {`{"status":429,"retryAfter":7}`, func(t *testing.T, _ *Server, url string) {
			if a := w.ask(t, url, true, "hi"); a.header.Get("Retry-After") != "7" {
				t.Errorf("headers = %v", a.header)
			}
		}},
		"headers": {`{"text":"a","headers":{"x-limit":"5"}}`, func(t *testing.T, _ *Server, url string) {
			if a := w.ask(t, url, true, "hi"); a.header.Get("X-Limit") != "5" {
				t.Errorf("headers = %v", a.header)
			}
		}},
		"hang": {`{"hang":true},{"text":"ab","chunks":2,"hang":"mid-text"},{"text":"abc","chunks":3,"hang":2}`, func(t *testing.T, s *Server, url string) {
			for i, want := range []string{"", `"text":"a"`, `"text":"b"`} {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				req, _ := http.NewRequestWithContext(ctx, "POST", url+w.streamPath, strings.NewReader(w.body(true, "hi")))
				res, err := client.Do(req)
				got := ""
				if err == nil {
					b := make([]byte, 1<<16)
					n := 0
					for err == nil {
						var k int
						k, err = res.Body.Read(b[n:])
						n += k
					}
					got = string(b[:n])
					res.Body.Close()
				}
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(got, want) || strings.Contains(got, "content_block_stop") {
					t.Errorf("hang %d: %v, body %q", i, err, got)
				}
			}
			waitFor(t, func() bool {
				for _, e := range s.Requests() {
					if e.Outcome != OutcomeHung || e.DurationMS == 0 {
						return false
					}
				}
				return true
			})
		}},
		"cut": {`{"text":"abcd","chunks":2,"cut":true},{"text":"abc","chunks":3,"cut":0},{"text":"abc","chunks":3,"cut":3}`, func(t *testing.T, s *Server, url string) {
			for i, want := range []string{"ab", "", "abc"} {
				a := w.ask(t, url, true, "hi")
				if got := text(t, a); a.err == nil || got != want || strings.Contains(a.body, "content_block_stop") {
					t.Errorf("cut %d: %v, %q", i, a.err, a.body)
				}
			}
			if got := s.Requests()[0].Outcome; got != OutcomeCut {
				t.Errorf("outcome = %q", got)
			}
		}},
		"garbage": {`{"garbage":true},{"garbage":"<html>"}`, func(t *testing.T, _ *Server, url string) {
			for _, want := range []string{"this is not what you asked for\n", "<html>"} {
				if a := w.ask(t, url, true, "hi"); a.status != 200 || a.body != want || !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
					t.Errorf("answer = %d %q %v", a.status, a.body, a.header)
				}
			}
		}},
		"match": {`{"text":"B","match":{"contains":"beta"}},{"text":"S","match":{"system":"be kin","model":"m-*"}},{"text":"M","match":{"model":"other"}},{"text":"rest"}`,
			func(t *testing.T, s *Server, url string) {
				for _, tt := range [][2]string{{"alpha", "S"}, {"the beta", "B"}, {"beta again", "rest"}} {
					if got := text(t, w.ask(t, url, true, tt[0])); got != tt[1] {
						t.Errorf("prompt %q: %q, want %q", tt[0], got, tt[1])
					}
				}
				if got := s.Requests()[1].Turn; got != 0 {
					t.Errorf("turn = %d, want 0", got)
				}
			}},
		"repeat": {`{"text":"twice","repeat":2},{"text":"once","repeat":false},{"text":"ever","repeat":true}`, func(t *testing.T, _ *Server, url string) {
			for i, want := range []string{"twice", "twice", "once", "ever", "ever", "ever"} {
				if got := text(t, w.ask(t, url, true, "hi")); got != want {
					t.Errorf("request %d: %q, want %q", i, got, want)
				}
			}
		}},
		"stopReason": {`{"text":"a","stopReason":"max_tokens","repeat":4},{"text":"a","stopReason":"own","repeat":4}`, func(t *testing.T, _ *Server, url string) {
			for _, want := range []map[string]string{
				{"anthropic": "max_tokens", "responses": "incompletemax_output_tokens", "chat": "length", "gemini": "MAX_TOKENS"},
				{"anthropic": "own", "responses": "incompleteown", "chat": "own", "gemini": "own"},
			} {
				for i, w := range wires {
					stream := i%2 == 0
					if got := w.decode(t, stream, w.ask(t, url, stream, "hi").body).Stop; got != want[w.name] {
						t.Errorf("%s: %q, want %q", w.name, got, want[w.name])
					}
				}
			}
		}},
	}
	for _, key := range turnKeys {
		c, ok := checks[key]
		if !ok {
			t.Errorf("no check for the key %s", key)
			continue
		}
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			s, url := start(t, `{"turns":[`+c.turns+`]}`)
			c.check(t, s, url)
		})
	}
	if len(checks) != len(turnKeys) {
		t.Errorf("%d checks for %d keys", len(checks), len(turnKeys))
	}
}

func waitFor(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("did not happen within 5 s")
		}
	}
}

func TestStopsOnEveryWire(t *testing.T) {
	t.Parallel()
	eachWire(t, func(t *testing.T, w wireCase, stream bool) {
		_, url := start(t, `{"turns":[{"text":"one two three four","cut":"mid-text"},{"garbage":"?"},{"text":"fine"}]}`)
		a := w.ask(t, url, stream, "hi")
		if a.err == nil || a.body == "" || !stream && strings.HasSuffix(a.body, "}") {
			t.Errorf("cut: %v, body %q", a.err, a.body)
		}
		if stream && (!strings.Contains(a.body, "one") || strings.Contains(a.body, "four")) {
			t.Errorf("cut in the middle: %q", a.body)
		}
		if a = w.ask(t, url, stream, "hi"); a.status != 200 || a.body != "?" {
			t.Errorf("garbage: %d %q", a.status, a.body)
		}
		if a = w.ask(t, url, stream, "hi"); w.decode(t, stream, a.body).Text != "fine" {
			t.Errorf("after that: %q", a.body)
		}
	})
}

func TestOnExhausted(t *testing.T) {
	t.Parallel()
	w := wires[2]
	tests := []struct {
		script, want string
		status, turn int
		exhausted    bool
	}{
		{`{"turns":[{"text":"a"}]}`, "no turn left for request 2 (it has 1)", 400, -1, true},
		{`{"turns":[{"text":"a"}],"onExhausted":"error"}`, "no turn left", 400, -1, true},
		{`{"turns":[{"text":"a"},{"text":"z","match":{"contains":"zz"}}],"onExhausted":"last"}`, `"content":"a"`, 200, 0, false},
		{`{"turns":[{"text":"a"}],"onExhausted":"text:the end"}`, `"content":"the end"`, 200, -1, true},
		{`{"turns":[{"text":"a"}],"onExhausted":"text:"}`, `"content":""`, 200, -1, true},
	}
	for _, tt := range tests {
		s, url := start(t, tt.script)
		w.ask(t, url, false, "hi")
		a := w.ask(t, url, false, "hi")
		e := s.Requests()[1]
		if a.status != tt.status || !strings.Contains(a.body, tt.want) || e.Turn != tt.turn || e.Exhausted != tt.exhausted || e.Side != "" {
			t.Errorf("%s: %d %s, logged %+v", tt.script, a.status, a.body, e)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	_, url := start(t, `{"defaults":{"model":"reported","usage":{"input":5}},"turns":[{"text":"a"},{"text":"b","usage":{"output":9}}],
	 "scripts":{"in":{"turns":[{"text":"c"}]},"own":{"turns":[{"text":"d"}],"defaults":{"usage":{"input":8}}}}}`)
	w := wires[0]
	for _, want := range []struct {
		id            string
		input, output int64
	}{{"", 5, 20}, {"", 5, 9}, {"in", 5, 20}, {"own", 8, 20}} {
		got := w.decode(t, true, w.ask(t, url, true, "hi", "x-script-id", want.id).body)
		if got.Input != want.input || got.Output != want.output || got.Model != "reported" {
			t.Errorf("script %q: %+v, want %+v", want.id, got, want)
		}
	}
	for prefix, want := range map[string]string{"": `"input_tokens":5`, "/s/own": `"input_tokens":8`} {
		if a := do(t, "POST", url+prefix+"/v1/messages", `{"max_tokens":1,"messages":[]}`); !strings.Contains(a.body, want) {
			t.Errorf("side request %s: %s, want %s", prefix, a.body, want)
		}
	}
	if a := do(t, "POST", url+"/s/own/v1/messages/count_tokens", `{"messages":[]}`); a.body != `{"input_tokens":8}` {
		t.Errorf("count_tokens = %s", a.body)
	}
	if a := do(t, "POST", url+"/v1beta/models/x:countTokens", `{"contents":[]}`); a.body != `{"totalTokens":5}` {
		t.Errorf("countTokens = %s", a.body)
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("wörd und noch eins ", 5000)
	for _, text := range []string{"", "a", " ", "a b", "  ", "no-space", "a b c d e f g h i j k l m n o p q r s t u v w x y z", long} {
		pieces := words(text)
		if strings.Join(pieces, "") != text || len(pieces) > defaultPieces || slices.Contains(pieces, "") {
			t.Errorf("words(%.20q) = %d pieces %.80q", text, len(pieces), pieces)
		}
	}
	if got := evenly("äöüß", 3); !slices.Equal(got, []string{"ä", "ö", "üß"}) {
		t.Errorf("evenly = %q", got)
	}
}
