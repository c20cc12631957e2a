package claude

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
	"github.com/drawbar/drawbar/history"
)

func scanUsage(t testing.TB, text string) []history.UsageRecord {
	t.Helper()
	return usagetest.Scan(Adapter{}.NewUsageScanner(t.Context(), adapter.Host{}, history.UsageFile{Rel: "p/file-session.jsonl"}), []byte(text), 0)
}

// brief is what a record says, without keys.
func brief(r history.UsageRecord) string {
	s := fmt.Sprintf("%s %s in=%d out=%d read=%d w5=%d w1h=%d", r.Session, r.Model, r.Input, r.Output, r.CacheRead, r.CacheWrite, r.CacheWrite1h)
	if r.SubAgent {
		s += " sub"
	}
	if r.Statement {
		s += " statement"
	}
	if r.Stated {
		s += fmt.Sprintf(" $%g", r.Cost)
	}
	return s
}

func TestUsageLines(t *testing.T) {
	const u = `"usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}`
	const end = `"requestId":"r","type":"assistant","timestamp":"2026-11-01T10:00:00.000Z","sessionId":"s"}`
	line := func(usage string) string { return `{"message":{"id":"m","model":"x",` + usage + `},` + end }
	for _, tc := range []struct {
		name, line string
		want       []string
	}{
		{"plain", line(u), []string{"s x in=1 out=2 read=3 w5=4 w1h=0"}},
		{"hours apart", line(`"usage":{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":10,"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":6}}`),
			[]string{"s x in=1 out=2 read=0 w5=4 w1h=6"}},
		{"writes stated in parts only", line(`"usage":{"output_tokens":2,"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":6}}`),
			[]string{"s x in=0 out=2 read=0 w5=4 w1h=6"}},
		{"parts are empty", line(`"usage":{"output_tokens":2,"cache_creation_input_tokens":10,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0}}`),
			[]string{"s x in=0 out=2 read=0 w5=10 w1h=0"}},
		{"fast is another price", line(`"usage":{"output_tokens":2,"speed":"fast"}`), []string{"s x-fast in=0 out=2 read=0 w5=0 w1h=0"}},
		{"own price", `{"costUSD":0.5,` + line(u)[1:], []string{"s x in=1 out=2 read=3 w5=4 w1h=0 $0.5"}},
		{"session of the file", strings.Replace(line(u), `,"sessionId":"s"`, "", 1), []string{"file-session x in=1 out=2 read=3 w5=4 w1h=0"}},
		{"side conversation", `{"isSidechain":true,` + line(u)[1:], []string{"s x in=1 out=2 read=3 w5=4 w1h=0 sub"}},
		{"no time", strings.Replace(line(u), `"timestamp":"2026-11-01T10:00:00.000Z",`, "", 1), nil},
		{"nothing used", line(`"usage":{"input_tokens":0,"output_tokens":0}`), nil},
		{"blanks", strings.NewReplacer(`":`, `" : `, `,`, ` , `, `}`, "\t}").Replace(line(u)), []string{"s x in=1 out=2 read=3 w5=4 w1h=0"}},
		{"advice of another model", line(`"usage":{"input_tokens":1,"output_tokens":2,"iterations":[{"type":"message","input_tokens":1,"output_tokens":2},{"type":"advisor_message","model":"y","input_tokens":7,"output_tokens":8}]}`),
			[]string{"s x in=1 out=2 read=0 w5=0 w1h=0", "s y in=7 out=8 read=0 w5=0 w1h=0"}},
		{"a sub-agent's progress", `{"type":"progress","sessionId":"s","data":{"message":` + strings.Replace(line(u), `,"sessionId":"s"`, `,"isSidechain":true`, 1) + `}}`,
			[]string{"s x in=1 out=2 read=3 w5=4 w1h=0 sub"}},
		{"inside a tool's output", `{"type":"user","message":{"content":[{"type":"tool_result","content":"` + strings.ReplaceAll(line(u), `"`, `\"`) + `"}]}}`, nil},
		{"inside an answer", strings.Replace(line(u), `"model"`, `"content":[{"type":"text","text":"`+strings.ReplaceAll(line(u), `"`, `\"`)+`"},{"usage":{"output_tokens":99}}],"model"`, 1),
			[]string{"s x in=1 out=2 read=3 w5=4 w1h=0"}},
		{"a tool's input with such members", strings.Replace(line(u), `"model"`, `"content":[{"type":"tool_use","input":{"message":{"id":"z","usage":{"output_tokens":99}}}}],"model"`, 1),
			[]string{"s x in=1 out=2 read=3 w5=4 w1h=0"}},
		{"sub-agent's result told to the parent", `{"type":"user","toolUseResult":{"usage":{"input_tokens":9,"output_tokens":9}},"message":{"content":[]}}`, nil},
		{"numbers that are none", line(`"usage":{"input_tokens":"5","output_tokens":-3,"cache_read_input_tokens":1.5,"cache_creation_input_tokens":1e300}`), nil},
		{"whole floats", line(`"usage":{"input_tokens":5.0,"output_tokens":1e2}`), []string{"s x in=5 out=100 read=0 w5=0 w1h=0"}},
		{"cut", line(u)[:80], nil},
		{"two in one line", line(u) + line(u), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, r := range scanUsage(t, tc.line+"\n") {
				got = append(got, brief(r))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUsageKeys(t *testing.T) {
	line := func(id, request, session, side string, input int) string {
		s := fmt.Sprintf(`{"isSidechain":%s,"message":{"id":"%s","model":"x","usage":{"input_tokens":%d,"output_tokens":2}},"requestId":"%s","type":"assistant","timestamp":"2026-11-01T10:00:00.000Z","sessionId":"%s"}`,
			side, id, input, request, session)
		return strings.Replace(s, `"requestId":"",`, "", 1)
	}
	one := func(text string) history.UsageRecord { return scanUsage(t, text)[0] }
	base := one(line("m", "r", "s", "false", 1))
	for _, tc := range []struct {
		name, line     string
		sameKey, twins bool
	}{
		{"the same request in another session", line("m", "r", "s2", "false", 5), true, false},
		{"another request", line("m", "r2", "s", "true", 1), false, true},
		{"another message", line("m2", "r", "s", "false", 1), false, false},
		{"parts do not run together", line("mr", "", "s", "false", 1), false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := one(tc.line)
			if (r.Key == base.Key) != tc.sameKey || (r.Twin == base.Twin) != tc.twins {
				t.Errorf("same key %v, twins %v", r.Key == base.Key, r.Twin == base.Twin)
			}
		})
	}
	// Without request ids the message id alone may stand for every answer of a gateway.
	a, b, c, d := one(line("m", "", "s", "false", 1)), one(line("m", "", "s", "false", 1)), one(line("m", "", "s", "false", 2)), one(line("m", "", "s2", "false", 1))
	if a.Key != b.Key || a.Key == c.Key || a.Key == d.Key {
		t.Error("calls without a request id: want equal keys for equal prompts in one session only")
	}
	if r := one(strings.Replace(line("m", "r", "s", "false", 1), `"id":"m",`, "", 1)); r.Key != (history.UsageKey{}) {
		t.Error("a call without an id has a key")
	}
}

func TestUsageStatements(t *testing.T) {
	call := `{"message":{"id":"m","model":"x","usage":{"output_tokens":2}},"requestId":"r","type":"assistant","timestamp":"2026-11-01T10:00:00.000Z","sessionId":"s","cwd":"/w"}` + "\n"
	state := func(model string, in, out int, usd float64) string {
		return fmt.Sprintf(`{"type":"cost-state","sessionId":"s","totalCostUSD":9,"modelUsage":{"%s":{"inputTokens":%d,"outputTokens":%d,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":%g}}}`, model, in, out, usd) + "\n"
	}
	var got []string
	for _, r := range scanUsage(t, state("x", 1, 1, 1)+call+state("x", 10, 20, 0.5)+call+state("x", 10, 20, 0.5)+state("x", 30, 50, 0.75)+state("x", 1, 2, 0.25)) {
		got = append(got, brief(r))
	}
	want := []string{
		// The first statement stands before anything that has a time.
		"s x in=0 out=2 read=0 w5=0 w1h=0",
		"s x in=10 out=20 read=0 w5=0 w1h=0 statement $0.5", // shrunk since: begun anew
		"s x in=0 out=2 read=0 w5=0 w1h=0",
		"s x in=20 out=30 read=0 w5=0 w1h=0 statement $0.25",
		"s x in=1 out=2 read=0 w5=0 w1h=0 statement $0.25",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUsageStores(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  map[string]string
		want []string
	}{
		{"default", nil, []string{"/h/.claude/projects", "/h/.config/claude/projects"}},
		{"xdg", map[string]string{"XDG_CONFIG_HOME": "/x"}, []string{"/h/.claude/projects", "/x/claude/projects"}},
		{"one", map[string]string{"CLAUDE_CONFIG_DIR": "/a", "XDG_CONFIG_HOME": "/x"}, []string{"/a/projects"}},
		{"two", map[string]string{"CLAUDE_CONFIG_DIR": "/a, /b"}, []string{"/a/projects", "/b/projects"}},
		{"relative", map[string]string{"CLAUDE_CONFIG_DIR": "a"}, []string{"/h/.claude/projects", "/h/.config/claude/projects"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, s := range (Adapter{}).UsageStores(adapter.Host{Home: "/h", Getenv: func(n string) string { return tc.env[n] }}) {
				got = append(got, s.Root)
				if !s.Match("p/x/subagents/a.jsonl") || s.Match("p/x/subagents/a.meta.json") {
					t.Error("want .jsonl files, at any depth")
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// reference reads a line with encoding/json, as plainly as can be.
func reference(line []byte) (string, bool) {
	var l struct {
		Type        string
		Timestamp   time.Time
		SessionID   string `json:"sessionId"`
		IsSidechain bool
		Message     *struct {
			Model string
			Usage *struct {
				In    int64 `json:"input_tokens"`
				Out   int64 `json:"output_tokens"`
				Read  int64 `json:"cache_read_input_tokens"`
				Write int64 `json:"cache_creation_input_tokens"`
				Parts struct {
					Hour int64 `json:"ephemeral_1h_input_tokens"`
				} `json:"cache_creation"`
			}
		}
	}
	if json.Unmarshal(line, &l) != nil || l.Message == nil || l.Message.Usage == nil || l.Type == "user" {
		return "", false
	}
	u := l.Message.Usage
	r := history.UsageRecord{Session: l.SessionID, Model: l.Message.Model, Input: u.In, Output: u.Out, CacheRead: u.Read, CacheWrite: u.Write - u.Parts.Hour, CacheWrite1h: u.Parts.Hour, SubAgent: l.IsSidechain}
	return brief(r), r.Tokens() > 0
}

// TestUsageEqualsReference holds the scanner against encoding/json on lines whose texts try to look like records.
func TestUsageEqualsReference(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		var text strings.Builder
		var want []string
		for range 120 {
			line := randomLine(r)
			if r.IntN(15) == 0 {
				line = line[:r.IntN(len(line))]
			}
			if s, ok := reference(line); ok {
				want = append(want, s)
			}
			text.Write(line)
			text.WriteString([]string{"\n", "\r\n"}[r.IntN(2)])
		}
		var got []string
		for _, rec := range scanUsage(t, text.String()) {
			got = append(got, brief(rec))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// randomLine is a line with members in any order, as encoding/json writes it.
func randomLine(r *rand.Rand) []byte {
	fragments := []string{`"usage":{"output_tokens":5}`, `\`, `"`, "\n{\"type\":\"assistant\",", "{", "}", "]", "é日", "plain words ", "\x01", `"type":"user"`, "\u2028", `\"message\":`}
	text := func() string {
		var b strings.Builder
		for range r.IntN(60) * r.IntN(12) {
			b.WriteString(fragments[r.IntN(len(fragments))])
		}
		return b.String()
	}
	write := r.IntN(1000)
	usage := map[string]any{"input_tokens": r.IntN(100), "output_tokens": r.IntN(3), "cache_read_input_tokens": r.IntN(1 << 30), "cache_creation_input_tokens": write,
		"cache_creation": map[string]any{"ephemeral_1h_input_tokens": r.IntN(write + 1)}, "service_tier": text()}
	message := map[string]any{"id": fmt.Sprint(r.IntN(50)), "model": []string{"a", "b", "ü"}[r.IntN(3)], "content": []any{map[string]any{"type": "text", "text": text(), "usage": map[string]any{"output_tokens": 7}}, text()}}
	if r.IntN(3) > 0 {
		message["usage"] = usage
	}
	members := map[string]any{"timestamp": "2026-11-01T10:00:00.000Z", "sessionId": fmt.Sprint("s", r.IntN(5)), "isSidechain": r.IntN(2) == 0, "requestId": fmt.Sprint(r.IntN(50)),
		"type": []string{"assistant", "user", "other"}[r.IntN(3)], "message": message, text(): text(), "toolUseResult": map[string]any{"message": message, "text": text()}}
	if members["type"] == "user" {
		delete(message, "usage") // users use nothing
	}
	var b strings.Builder
	b.WriteByte('{')
	n := 0
	for k, v := range members { // in random order
		if n++; n > 1 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(k)
		value, _ := json.Marshal(v)
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String())
}

func BenchmarkUsageLog(b *testing.B) {
	for _, size := range []int{300, 3000, 30000} {
		b.Run(fmt.Sprint("output", size), func(b *testing.B) {
			usagetest.Bench(b, Adapter{}, benchUsage(size))
		})
	}
}

// benchUsage is a session whose tools print so many bytes.
func benchUsage(size int) []byte {
	var s strings.Builder
	words := strings.Repeat(`the parser\treads every line\nand \"keeps\" what a caller wants, `, size/60+1)[:size/60*60+60]
	for i := range 2000 {
		fmt.Fprintf(&s, `{"parentUuid":"5b3c7a0e-8d3b-4a53-9f6e-%012d","isSidechain":false,"message":{"model":"claude-opus-4-6","id":"msg_%d","type":"message","role":"assistant","content":[{"type":"text","text":"%s"}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":4,"cache_creation_input_tokens":%d,"cache_read_input_tokens":90000,"output_tokens":312,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":%d},"inference_geo":"","iterations":[],"speed":"standard"}},"requestId":"req_%d","type":"assistant","uuid":"5b3c7a0e-8d3b-4a53-9f6e-%012d","timestamp":"2026-11-01T10:00:00.000Z","userType":"external","cwd":"/home/user/work","sessionId":"acf23617-7505-4710-8d05-c099fa5918aa","version":"2.1.329","gitBranch":"main"}`+"\n", i, i, words[:60], i, i, i, i)
		fmt.Fprintf(&s, `{"parentUuid":"5b3c7a0e-8d3b-4a53-9f6e-%012d","isSidechain":false,"promptId":"x","type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%s"}]},"uuid":"5b3c7a0e-8d3b-4a53-9f6e-%012d","timestamp":"2026-11-01T10:00:00.000Z","cwd":"/home/user/work","sessionId":"acf23617-7505-4710-8d05-c099fa5918aa"}`+"\n", i, i, words, i)
	}
	return []byte(s.String())
}
