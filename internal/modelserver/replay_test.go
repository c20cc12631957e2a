package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/drawbar/drawbar/internal/base/jsontext"
	"github.com/drawbar/drawbar/internal/base/linefile"
	"github.com/drawbar/drawbar/internal/modelserver/cassette"
)

// replayOf serves exchanges from a cassette.
func replayOf(t testing.TB, o ReplayOptions, list ...cassette.Exchange) (*Replayer, string) {
	t.Helper()
	c := record(t, "http://127.0.0.1:1")
	for _, x := range list {
		if err := c.recorder.opts.To.Add(x); err != nil {
			t.Fatal(err)
		}
	}
	return c.replay(o)
}

// exchangeOf is a recorded request over the Messages wire.
func exchangeOf(body, text string) cassette.Exchange {
	return cassette.Exchange{
		Request: cassette.Request{Method: "POST", Path: "/v1/messages", Body: json.RawMessage(body)},
		Answer:  cassette.Answer{Status: 200, JSON: json.RawMessage(`{"text":` + quoted(text) + `}`)},
	}
}

// TestNoise: what differs between two runs of the same work does not keep a request from its answer; what a person and tools say does.
func TestNoise(t *testing.T) {
	t.Parallel()
	const claude = `{"model":"m","stream":true,"max_tokens":10,"metadata":{"user_id":"one"},"system":[{"type":"text","text":"x-billing: cc_version=1; Today is 2026-11-26."},` +
		`{"type":"text","text":"Primary working directory: /home/dev/proj\nOS: Linux"}],"tools":[{"name":"Read"}],"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"<system-reminder>\nDate: 2026-11-26\n# CLAUDE.md\nbe brief</system-reminder>"},{"type":"text","text":"read /home/dev/proj/a.txt"}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_01AAAAAAAA","name":"Read","input":{"file_path":"/home/dev/proj/a.txt"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01AAAAAAAA","content":"-rw-r--r-- 1 dev dev 5 Nov 26 02:28 /home/dev/proj/a.txt\nok in 0.012s at 127.0.0.1:4111, pid 4711, [main 1a2b3c4], with ID: b1"}]}]}`
	const codex = `{"model":"m","stream":true,"instructions":"You are Codex","input":[` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n  <cwd>/home/dev/proj</cwd>\n  <current_date>2026-11-20</current_date></environment_context>"}]},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"list /home/dev/proj"}]},` +
		`{"type":"function_call","call_id":"call_AAAAAAAA","name":"exec_command","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"call_AAAAAAAA","output":"Chunk ID: 5a2e1b\nWall time: 0.0512 seconds\nOutput:\na.txt"}],` +
		`"prompt_cache_key":"00000000-0000-4000-8000-000000000000","client_metadata":{"session_id":"1"}}`
	const gemini = `{"systemInstruction":{"parts":[{"text":"You are Gemini"}]},"contents":[{"role":"user","parts":[{"text":"<session_context>\nToday's date is Thursday, November 26, 2026.\n` +
		`- **Workspace Directories:**\n  - /home/dev/proj\n</session_context>"},{"text":"hello in /home/dev/proj"}]}]}`
	for _, tt := range []struct {
		name, path, body, header string
		same                     [][2]string // replaced by
		strict                   bool        // the last of same also with strict
		different                [][2]string
	}{
		{
			"claude", "/v1/messages?beta=true", claude, "claude-cli/2.1.329",
			[][2]string{
				{"toolu_01AAAAAAAA", "toolu_01BBBBBBBBBBB"},
				{"2026-11-26", "2027-01-02"},
				{"Nov 26 02:28", "Jan  2 2027"},
				{"0.012s", "1.4s"},
				{"pid 4711", "pid 12"},
				{"[main 1a2b3c4]", "[main 5d6e7f8]"},
				{"with ID: b1", "with ID: c2"},
				{":4111", ":59999"},
				{"/home/dev/proj", "/tmp/TestX123/001/work"},
				{"/home/dev/proj", "/Users/ci/work"},
				{`"user_id":"one"`, `"user_id":"two","other":1`},
				{`"max_tokens":10,`, `"max_tokens":32000,"thinking":{"type":"adaptive"},`},
				{`{"name":"Read"}`, `{"name":"Read","description":"new"},{"name":"Bash"}`},
				{"cc_version=1", "cc_version=2"},
				{"be brief", "be long"},
				{"<system-reminder>", "<system-reminder>More.</system-reminder><system-reminder>"},
			}, false,
			[][2]string{
				{"a.txt", "b.txt"}, {"ok in", "failed in"}, {`"model":"m"`, `"model":"n"`}, {`"stream":true`, `"stream":false`},
				{`"role":"user","content":[{"type":"tool_result"`, `"role":"user","content":[{"type":"text","text":"stop"},{"type":"tool_result"`},
			},
		},
		{
			"codex", "/v1/responses", codex, "codex_exec/0.169.0",
			[][2]string{
				{"call_AAAAAAAA", "call_CCCCCCCCCCC"},
				{"2026-11-20", "2027-01-02"},
				{"5a2e1b", "00ff99"},
				{"0.0512 seconds", "12 seconds"},
				{"/home/dev/proj", "/tmp/TestX123/001/work"},
				{"00000000-0000-4000-8000-000000000000", "11111111-0000-4000-8000-000000000000"},
				{`"session_id":"1"`, `"session_id":"2"`},
				{"You are Codex", "You are Codex 2"},
			}, false,
			[][2]string{{"list ", "remove "}, {"Output:\\na.txt", "Output:\\nb.txt"}, {`"input":[`, `"text":{"format":{"schema":{"type":"object"}}},"input":[`}},
		},
		{
			"gemini", "/v1beta/models/m:streamGenerateContent?alt=sse", gemini, "GeminiCLI/0.61.0",
			[][2]string{
				{"Thursday, November 26, 2026", "Friday, January 1, 2027"},
				{"/home/dev/proj", "/tmp/TestX123/001/work"},
				{"You are Gemini", "You are Gemini 4"},
			}, false,
			[][2]string{{"hello", "bye"}},
		},
	} {
		x := cassette.Exchange{Request: cassette.Request{Method: "POST", Path: tt.path, Body: json.RawMessage(tt.body)}, Answer: cassette.Answer{Status: 200, Text: "recorded"}}
		if tt.name == "gemini" {
			x.Request.Side = "task" // without functions
		}
		_, url := replayOf(t, ReplayOptions{}, x)
		_, strict := replayOf(t, ReplayOptions{Strict: true}, x)
		ask := func(url, body string) answer {
			return do(t, "POST", url+tt.path, body, "User-Agent", tt.header, "X-Request-Id", "any")
		}
		for _, s := range tt.same {
			if !strings.Contains(tt.body, s[0]) {
				t.Fatalf("%s: %q is not in the body", tt.name, s[0])
			}
			if a := ask(url, strings.ReplaceAll(tt.body, s[0], s[1])); a.body != "recorded" {
				t.Errorf("%s: %q for %q: %d %s", tt.name, s[1], s[0], a.status, a.body)
			}
		}
		for _, d := range tt.different {
			changed := strings.ReplaceAll(tt.body, d[0], d[1])
			for _, to := range []string{url, strict} {
				if a := ask(to, changed); (tt.name != "gemini" || to == strict) && (a.status != 400 || !strings.Contains(a.body, "the nearest one is in line 2")) {
					t.Errorf("%s: %q for %q: %d %s", tt.name, d[1], d[0], a.status, a.body)
				}
			}
		}
		var v any
		unmarshal(t, tt.body, &v)
		for name, changed := range map[string]string{"the same": tt.body, "sorted keys": string(marshal([]any{v})[1 : len(marshal([]any{v}))-1])} {
			if a := ask(strict, changed); a.body != "recorded" {
				t.Errorf("%s, strict: %s: %s", tt.name, name, a.body)
			}
		}
	}
}

// TestStrict: what is not compared otherwise.
func TestStrict(t *testing.T) {
	t.Parallel()
	const body = `{"model":"m","max_tokens":10,"system":"Be kind. Today is 2026-11-26.","tools":[{"name":"Read"}],"messages":[{"role":"user","content":"hi"}],"metadata":{"user_id":"a"}}`
	_, loose := replayOf(t, ReplayOptions{}, exchangeOf(body, "x"))
	_, strict := replayOf(t, ReplayOptions{Strict: true}, exchangeOf(body, "x"))
	for _, tt := range []struct{ before, after, want string }{
		{"Be kind", "Be brief", `system: recorded \"Be kind. Today is {date}.\", received \"Be brief. Today is {date}.\"`},
		{`"name":"Read"`, `"name":"Write"`, `tools[0].name: recorded \"Read\", received \"Write\"`},
		{`{"name":"Read"}`, `{"name":"Read"},{"name":"Write"}`, `tools: recorded`},
		{`"max_tokens":10,`, ``, `max_tokens: recorded \"10\", received nothing`},
		{"2026-11-26", "2026-11-27", ""},
		{`{"user_id":"a"}`, `{"user_id":"b"}`, ""},
	} {
		changed := strings.Replace(body, tt.before, tt.after, 1)
		if a := do(t, "POST", loose+"/v1/messages", changed); a.status != 200 {
			t.Errorf("%s: %s", tt.after, a.body)
		}
		a := do(t, "POST", strict+"/v1/messages", changed)
		if (a.status == 200) != (tt.want == "") || !strings.Contains(a.body, tt.want) {
			t.Errorf("strict, %s: %d %s", tt.after, a.status, a.body)
		}
	}
}

// TestWhatDiffers: the error names the nearest recorded request and what differs, in the form of the wire.
func TestWhatDiffers(t *testing.T) {
	t.Parallel()
	say := func(texts ...string) string {
		var list []string
		for i, text := range texts {
			list = append(list, fmt.Sprintf(`{"role":%q,"content":%s}`, []string{"user", "assistant"}[i%2], quoted(text)))
		}
		return `{"model":"m","messages":[` + strings.Join(list, ",") + `]}`
	}
	long := strings.Repeat("long ", 100)
	_, url := replayOf(t, ReplayOptions{}, exchangeOf(say("fix the bug"), "1"), exchangeOf(say("fix the bug", "done", long+"thanks"), "2"))
	for _, tt := range []struct {
		path, body string
		want       []string
	}{
		{"/v1/messages", say("fix the bugs"), []string{`"type":"invalid_request_error"`, "line 2", `the message: recorded \"fix the bug\", received \"fix the bugs\"`, "drawbar model record --append"}},
		{"/v1/messages", say("fix the bug", "done", long+"no thanks"), []string{"line 3", `message 2: recorded ...`, `long thanks\", received ...`, `long no thanks\"`}},
		{"/v1/messages", say("fix the bug", "done", long+"thanks", "ok", "more"), []string{"line 3", `the number of messages before each answer: recorded \"2\", received \"3\"`}},
		{"/v1/messages", strings.Replace(say("fix the bug"), `"m"`, `"n"`, 1), []string{"line 2", `the model: recorded \"m\", received \"n\"`}},
		{"/v1/messages", strings.Replace(say("x"), `"model":"m"`, `"model":"n","stream":true,"output_format":{"schema":{}}`, 1), []string{"the model", "streaming", "the message", "and 1 more"}},
		{"/v1/chat/completions", say("fix the bug"), []string{`has no recorded request for POST /v1/chat/completions`, `"code":null`}},
		{"/v1beta/models/m:generateContent", `{}`, []string{`has no recorded request`, `"status":"INVALID_ARGUMENT"`}},
	} {
		a := do(t, "POST", url+tt.path, tt.body)
		for _, want := range tt.want {
			if a.status != 400 || !strings.Contains(a.body, want) {
				t.Errorf("%.60s: %d %s, want %s", tt.body, a.status, a.body, want)
			}
		}
		if strings.Contains(a.body, long) {
			t.Errorf("the whole text is in the error: %s", a.body)
		}
	}
}

// TestOrder: requests that are the same get their answers in the order of the recording, at whatever time, and then the last one.
func TestOrder(t *testing.T) {
	t.Parallel()
	body := func(text string) string { return `{"messages":[{"role":"user","content":` + quoted(text) + `}]}` }
	limited := exchangeOf(body("a"), "")
	limited.Answer = cassette.Answer{Status: 429, Header: map[string]string{"retry-after": "1"}, JSON: json.RawMessage(`{}`)}
	p, url := replayOf(t, ReplayOptions{}, limited, exchangeOf(body("b"), "b1"), exchangeOf(body("a"), "a2"))
	var both sync.WaitGroup
	for _, want := range []string{"429", "a2", "a2"} {
		both.Go(func() {
			if a := do(t, "POST", url+"/v1/messages", body("b")); !strings.Contains(a.body, "b1") {
				t.Errorf("%s", a.body)
			}
		})
		if a := do(t, "POST", url+"/v1/messages", body("a")); !strings.Contains(fmt.Sprint(a.status)+a.body, want) || want == "429" && a.header.Get("Retry-After") != "1" {
			t.Errorf("%d %s, want %s", a.status, a.body, want)
		}
	}
	both.Wait()
	if unused, all := p.Unused(); unused != 0 || all != 3 {
		t.Errorf("%d of %d", unused, all)
	}
	for i := range p.Requests() {
		waitFor(t, func() bool { return p.Requests()[i].Outcome != OutcomePending })
		e := p.Requests()[i]
		if e.Turn < 0 || e.Exhausted || e.Outcome != OutcomeAnswered {
			t.Errorf("the log has %+v", e)
		}
	}
}

// TestSideRequestsOfAReplay: a program's own requests get an answer of their kind, probes and WebSockets need none, and the
// conversation is not touched by them.
func TestSideRequestsOfAReplay(t *testing.T) {
	t.Parallel()
	title := exchangeOf(`{"model":"m","messages":[{"role":"user","content":"name: fix"}],"system":"You are a title generator."}`, "Title")
	title.Request.Side = "title"
	count := exchangeOf(`{"messages":[]}`, "")
	count.Request.Path, count.Request.Side, count.Answer.JSON = "/v1/messages/count_tokens", "count_tokens", json.RawMessage(`{"input_tokens":5}`)
	models := cassette.Exchange{Request: cassette.Request{Method: "GET", Path: "/v1/models", Side: "models"}, Answer: cassette.Answer{Status: 200, JSON: json.RawMessage(`{"data":[]}`)}}
	turn := exchangeOf(`{"model":"m","messages":[{"role":"user","content":"fix"}]}`, "Turn")
	_, url := replayOf(t, ReplayOptions{}, title, count, models, turn)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v1/messages", `{"model":"other","messages":[{"role":"user","content":"name: something"}],"system":"You are a title generator."}`, 200, "Title"},
		{"POST", "/v1/messages/count_tokens", `{"messages":[{"role":"user","content":"anything"}]}`, 200, `"input_tokens":5`},
		{"POST", "/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":"fix"}]}`, 400, `the kind of request: recorded \"t`},
		{"GET", "/v1/models", "", 200, `{"data":[]}`},
		{"GET", "/v1/models/m", "", 400, "no recorded request for GET /v1/models/m"},
		{"HEAD", "/", "", 200, ""},
		{"POST", "/v1/messages", `{"model":"m","messages":[{"role":"user","content":"fix"}]}`, 200, "Turn"},
	} {
		if a := do(t, tt.method, url+tt.path, tt.body); a.status != tt.status || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s %s: %d %s, want %d %s", tt.path, tt.body, a.status, a.body, tt.status, tt.want)
		}
	}
	if a := do(t, "GET", url+"/v1/responses", "", "Upgrade", "websocket"); a.status != http.StatusUpgradeRequired {
		t.Errorf("a WebSocket: %d", a.status)
	}
	_, strict := replayOf(t, ReplayOptions{Strict: true}, title)
	if a := do(t, "POST", strict+"/v1/messages", `{"messages":[],"system":"You are a title generator."}`); a.status != 400 {
		t.Errorf("strict: %d %s", a.status, a.body)
	}
}

// TestOwnDirectory: an answer names the directory of the replay, also where a stream cuts it.
func TestOwnDirectory(t *testing.T) {
	t.Parallel()
	body := func(dir string) string {
		return `{"model":"m","system":"<cwd>` + dir + `</cwd>","messages":[{"role":"user","content":"read ` + dir + `/a.txt"}]}`
	}
	x := exchangeOf(body("/home/dev/proj"), "")
	x.Answer.JSON = nil
	x.Answer.Stream = []string{`data: {"index":0,"delta":{"partial_json":"{\"file_path\":\"/home/de"}}` + "\n\n", `data: {"index":0,"delta":{"partial_json":"v/proj/a.txt\"} /home/dev/project"}}` + "\n\n"}
	_, url := replayOf(t, ReplayOptions{}, x)
	a := do(t, "POST", url+"/v1/messages", body("/home/dev/proj/sub"))
	whole := strings.ReplaceAll(a.body, "\"}}\n\ndata: {\"index\":0,\"delta\":{\"partial_json\":\"", "")
	if want := `{\"file_path\":\"/home/dev/proj/sub/a.txt\"} /home/dev/project`; a.status != 200 || !strings.Contains(whole, want) {
		t.Errorf("%d %s, want %s", a.status, a.body, want)
	}
	if a := do(t, "POST", url+"/v1/messages", body("/home/dev/proj")); a.body != strings.Join(x.Answer.Stream, "") {
		t.Errorf("the same directory: %s", a.body)
	}
}

// TestHiddenTexts: what was removed from a recording as a secret does not have to be known again.
func TestHiddenTexts(t *testing.T) {
	t.Parallel()
	_, url := replayOf(t, ReplayOptions{}, exchangeOf(`{"messages":[{"role":"user","content":"use [REDACTED] and [REDACTED] for it"}]}`, "x"))
	for text, status := range map[string]int{"use a-key and another for it": 200, "use a-key for it": 400, "use a-key and another": 400} {
		if a := do(t, "POST", url+"/v1/messages", `{"messages":[{"role":"user","content":`+quoted(text)+`}]}`); a.status != status {
			t.Errorf("%s: %d %s", text, a.status, a.body)
		}
	}
}

// TestSaid: what agents add to messages is taken away, and nothing that a person wrote.
func TestSaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<system-reminder>\na</system-reminder>hello<system-reminder>b</system-reminder>":                          "hello",
		"# AGENTS.md instructions for /home/x/p\n\n<INSTRUCTIONS>\nbe kind\n</INSTRUCTIONS>\nhello":                "hello",
		"<permissions instructions>a</permissions instructions>hello <skills_instructions>b</skills_instructions>": "hello",
		"<INSTRUCTIONS>be kind</INSTRUCTIONS>":                                                                     "<INSTRUCTIONS>be kind</INSTRUCTIONS>",
		"<task>do it</task> <system-reminder>without an end":                                                       "<task>do it</task> <system-reminder>without an end",
		"main.go:12:34: undefined: x":                                                                              "main.go:12:34: undefined: x",
		"version 1.2.3, 10 files, 3 of 7, 404":                                                                     "version 1.2.3, 10 files, 3 of 7, 404",
		"may I? in march we may":                                                                                   "may I? in march we may",
		"at 127.0.0.1:4111 and localhost:80\n[::1]:8080":                                                           "at {address} and {address}\n{address}",
		"took 12s, at 10:32:01 or 10:32, on 2026-11-26T10:32:01.5Z, id 1a2b3c":                                     "took {time}, at {time} or {time}, on {date}, id 1a2b3c",
		"/tmp/a/b.txt and /home/dev/x and /Users/me/y, ~/z":                                                        "{tmp} and {home}/x and {home}/y, ~/z",
	} {
		if got := said(text, ""); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestDirOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\n - Primary working directory: /home/user/my project\n - Is a git repository: false": "/home/user/my project",
		"Working directory: /a/b": "/a/b",
		"<cwd>/a/b</cwd>":         "/a/b",
		"<cwd>\n/a/b\n</cwd>":     "/a/b",
		"I'm currently working in the directory: /a/b/\nmore":   "/a/b",
		"- **Workspace Directories:**\n  - /a/b\n- **Directory": "/a/b",
		"The current working directory is /a/b. Use it.":        "/a/b",
		"Current working directory: `/a/b`":                     "/a/b",
		`working directory: C:\Users\me\proj` + "\n":            `C:\Users\me\proj`,
		"nothing":                "",
		"working directory: /\n": "",
		"Change the working directory of the tool, then use /x.": "",
	} {
		if got := dirOf("", text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestOpenReplay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.jsonl")
	const head = `{"cassette":1}` + "\n"
	for text, want := range map[string]string{
		"":   "line 1: the file is empty",
		head: "line 1: nothing is recorded",
		head + `{"request":{"method":"POST","path":"/v1/messages","body":{"messages":1}},"answer":{"status":200}}`: "line 2: request.body is not one for /v1/messages",
		head + `{"request":{"method":"POST","path":"/v1/messages"},"answer":{"status":200}}`:                       "line 2: request.body",
		head + `{"request":{"method":"POST","path":"/%zz"},"answer":{"status":200}}`:                               "line 2: request.path",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var fault *linefile.LineError
		if _, err := OpenReplay(path, ReplayOptions{}); !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	whole := `{"cassette":1}` + "\n" + `{"request":{"method":"POST","path":"/v1/messages","body":{"model":"m","messages":[]}},"answer":{"status":200,"json":{}}}` + "\n"
	for text, cut := range map[string]bool{whole: false, whole + whole[15:60]: true} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := OpenReplay(path, ReplayOptions{})
		if err != nil || (p.Cut() != nil) != cut {
			t.Errorf("%v: %v", err, p)
		} else if _, all := p.Unused(); all != 1 {
			t.Errorf("%d exchanges answer", all)
		}
	}
	if _, err := OpenReplay(path+"x", ReplayOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// FuzzReplayed: no request makes the comparison panic, and every request is the same as itself, strictly.
func FuzzReplayed(f *testing.F) {
	for _, w := range wires {
		f.Add(w.wholePath, w.body(false, "Nov 26 [REDACTED] <system-reminder>x</system-reminder> /tmp/a/b 12:30"), "<cwd>/a/b</cwd>")
	}
	f.Add("/v1/embeddings", `{"a":[1,{"b":null}],"user":"x"}`, "")
	f.Fuzz(func(t *testing.T, path, body, extra string) {
		if !json.Valid([]byte(body)) || !strings.HasPrefix(path, "/") {
			return
		}
		x := cassette.Exchange{Request: cassette.Request{Method: "POST", Path: path, Body: json.RawMessage(body)}}
		a, err := new(memory).prepare(x)
		if err != nil {
			return
		}
		b, err := new(memory).prepare(x)
		if err != nil {
			t.Fatal(err)
		}
		if list := differences(a.asked, b.asked, true); len(list) > 0 {
			t.Errorf("%s differs from itself: %+v", body, list)
		}
		said(extra, dirOf(extra))
		_ = jsontext.Difference{What: "x", Recorded: body, Received: extra}.String()
	})
}
