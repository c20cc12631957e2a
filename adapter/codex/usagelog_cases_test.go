package codex

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
	"github.com/drawbar/drawbar/history"
)

func scanUsage(t testing.TB, text string) []history.UsageRecord {
	t.Helper()
	return usagetest.Scan(Adapter{}.NewUsageScanner(t.Context(), adapter.Host{}, history.UsageFile{Rel: "2026/11/20/rollout-x.jsonl"}), []byte(text), 0)
}

func brief(r history.UsageRecord) string {
	s := fmt.Sprintf("%s %s in=%d read=%d write=%d out=%d think=%d", r.Session, r.Model, r.Input, r.CacheRead, r.CacheWrite, r.Output, r.Thinking)
	if r.SubAgent {
		s += " sub"
	}
	return s
}

func tokensOf(in, cached, out, reasoning int) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":%d,"cache_write_input_tokens":0,"output_tokens":%d,"reasoning_output_tokens":%d,"total_tokens":%d}`, in, cached, out, reasoning, in+out)
}

const stamp = `"timestamp":"2026-11-01T10:00:00.000Z"`

func metaLine(id, more string) string {
	return `{` + stamp + `,"type":"session_meta","payload":{"id":"` + id + `","cwd":"/w"` + more + `}}` + "\n"
}

func contextLine(model string) string {
	return `{` + stamp + `,"type":"turn_context","payload":{"cwd":"/w","model":"` + model + `"}}` + "\n"
}

func countLine(total, last string) string {
	return `{` + stamp + `,"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":` + total + `,"last_token_usage":` + last + `}}}` + "\n"
}

func recordLine(response, use, total string) string {
	return `{` + stamp + `,"ordinal":7,"type":"token_usage_record","payload":{"thread_id":"A","response_id":"` + response + `","usage":` + use + `,"thread_token_usage":` + total + `}}` + "\n"
}

func TestUsageTotals(t *testing.T) {
	one, two, sum := tokensOf(100, 40, 20, 5), tokensOf(200, 100, 30, 5), tokensOf(300, 140, 50, 10)
	begin := metaLine("A", "") + contextLine("m")
	first, second := "A m in=60 read=40 write=0 out=20 think=5", "A m in=100 read=100 write=0 out=30 think=5"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"two calls", begin + countLine(one, one) + countLine(sum, two), []string{first, second}},
		{"stated again", begin + countLine(one, one) + countLine(one, one) + countLine(sum, two) + countLine(sum, two), []string{first, second}},
		{"totals only", begin + countLine(one, "null") + countLine(sum, "null"), []string{first, second}},
		{"calls only", begin + countLine("null", one) + countLine("null", two), []string{first, second}},
		{"equal calls", begin + countLine(one, one) + countLine(tokensOf(200, 80, 40, 10), one), []string{first, first}},
		{"totals begin anew", begin + countLine(sum, "null") + countLine(one, "null"), []string{"A m in=160 read=140 write=0 out=50 think=10", first}},
		{"by response too", begin + recordLine("r1", one, one) + countLine(one, one) + recordLine("r2", two, sum) + countLine(sum, two), []string{first, second}},
		{"by response only", begin + recordLine("r1", one, one) + recordLine("r2", two, sum), []string{first, second}},
		{"no info", begin + `{` + stamp + `,"type":"event_msg","payload":{"type":"token_count","info":null}}` + "\n", nil},
		{"a fork's totals go on", metaLine("B", `,"forked_from_id":"A"`) + contextLine("m") + countLine(sum, two), []string{"B m in=100 read=100 write=0 out=30 think=5"}},
		{"written to the cache", begin + countLine(`{"input_tokens":100,"cached_input_tokens":40,"cache_write_input_tokens":10,"output_tokens":1}`, "null"), []string{"A m in=50 read=40 write=10 out=1 think=0"}},
		{"sub-agent", metaLine("A", `,"source":{"subagent":{"thread_spawn":{}}}`) + contextLine("m") + countLine(one, one), []string{first + " sub"}},
		{"the model changes", begin + countLine(one, one) + contextLine("n") + countLine(sum, two), []string{first, strings.Replace(second, " m ", " n ", 1)}},
		{"the repeated rollout's own head", metaLine("B", "") + metaLine("A", "") + contextLine("m") + countLine(one, one), []string{strings.Replace(first, "A", "B", 1)}},
		{"more cached than sent", begin + countLine(tokensOf(10, 40, 1, 9), "null"), []string{"A m in=0 read=10 write=0 out=1 think=1"}},
		{"in an output", begin + `{` + stamp + `,"type":"response_item","payload":{"type":"function_call_output","output":` + quote(countLine(one, one)) + `}}` + "\n", nil},
		{"in another event", begin + `{` + stamp + `,"type":"event_msg","payload":{"type":"item_completed","text":` + quote(countLine(one, one)) + `,"info":{"total_token_usage":` + one + `}}}` + "\n", nil},
		{"nothing but noise", "\n\r\n{}\n[]\nnull\n\x00\n{\n" + begin, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, r := range scanUsage(t, tc.text) {
				got = append(got, brief(r))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

// A fork repeats its ancestor's calls with new times; what it does itself is its own, also where the counts are equal.
func TestUsageKeysOfForks(t *testing.T) {
	one, two, sum := tokensOf(100, 40, 20, 5), tokensOf(200, 100, 30, 5), tokensOf(300, 140, 50, 10)
	parent := scanUsage(t, metaLine("A", "")+contextLine("m")+countLine(one, one)+countLine(sum, two))
	fork := scanUsage(t, strings.ReplaceAll(metaLine("B", `,"forked_from_id":"A"`)+contextLine("m")+countLine(one, one)+countLine(sum, two)+countLine(tokensOf(400, 180, 70, 15), one), "10:00:00", "11:00:00"))
	if len(parent) != 2 || len(fork) != 3 {
		t.Fatalf("%d and %d records", len(parent), len(fork))
	}
	if fork[0].Key != parent[0].Key || fork[1].Key != parent[1].Key || fork[2].Key == parent[0].Key || fork[2].Key == parent[1].Key {
		t.Error("want the keys of what is repeated, and another one for what is new")
	}
	if !fork[2].InFamily || fork[2].Fork != "A" {
		t.Errorf("%+v", fork[2])
	}
	a, b := scanUsage(t, recordLine("r1", one, one))[0], scanUsage(t, metaLine("B", "")+recordLine("r1", one, sum))[0]
	if a.Key != b.Key || a.InFamily {
		t.Error("one response has two keys")
	}
}

// TestUsageEqualsReference holds the scanner against a plain reading with encoding/json of rollouts with random calls.
func TestUsageEqualsReference(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		var text strings.Builder
		text.WriteString(metaLine("A", ""))
		var total [4]int
		for range 100 {
			noise := quote(strings.Repeat([]string{`"type":"event_msg"`, "\n", `\`, "é", "}{", countLine("1", "2")}[r.IntN(6)], r.IntN(200)))
			switch r.IntN(6) {
			case 0:
				text.WriteString(contextLine([]string{"m", "n"}[r.IntN(2)]))
			case 1:
				fmt.Fprintf(&text, `{%s,"type":"response_item","payload":{"type":"message","text":%s}}`+"\n", stamp, noise)
			case 2:
				fmt.Fprintf(&text, `{%s,"type":"event_msg","payload":{"type":"agent_message","text":%s}}`+"\n", stamp, noise)
			case 3:
				fmt.Fprintf(&text, `{"payload":{"noise":%s,"info":{"total_token_usage":%s},"type":"token_count"},"type":"event_msg",%s}`+"\n", noise, tokensOf(total[0], total[1], total[2], total[3]), stamp)
			default:
				in, out := 1+r.IntN(100), r.IntN(100)
				last := [4]int{in, r.IntN(in), out, r.IntN(out + 1)}
				for i := range total {
					total[i] += last[i]
				}
				text.WriteString(countLine(tokensOf(total[0], total[1], total[2], total[3]), tokensOf(last[0], last[1], last[2], last[3])))
			}
		}
		var got []string
		for _, rec := range scanUsage(t, text.String()) {
			got = append(got, brief(rec))
		}
		if diff := cmp.Diff(referenceUsage(text.String()), got); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func referenceUsage(text string) (list []string) {
	type counts struct {
		In, Cached, Out, Reasoning int64
	}
	parse := func(m map[string]int64) counts {
		return counts{m["input_tokens"], m["cached_input_tokens"], m["output_tokens"], m["reasoning_output_tokens"]}
	}
	var before counts
	model := ""
	for line := range strings.SplitSeq(text, "\n") {
		var l struct {
			Type    string
			Payload struct {
				Type, Model string
				Info        *struct {
					Total map[string]int64 `json:"total_token_usage"`
				}
			}
		}
		if json.Unmarshal([]byte(line), &l) != nil {
			continue
		}
		if l.Type == "turn_context" {
			model = l.Payload.Model
		}
		if l.Type != "event_msg" || l.Payload.Type != "token_count" || l.Payload.Info == nil {
			continue
		}
		now := parse(l.Payload.Info.Total)
		d := counts{now.In - before.In, now.Cached - before.Cached, now.Out - before.Out, now.Reasoning - before.Reasoning}
		if before = now; d != (counts{}) {
			list = append(list, brief(history.UsageRecord{Session: "A", Model: model, Input: d.In - d.Cached, CacheRead: d.Cached, Output: d.Out, Thinking: d.Reasoning}))
		}
	}
	return list
}

func TestUsageStores(t *testing.T) {
	for _, tc := range []struct{ home, want string }{{"", "/h/.codex/sessions"}, {"/c", "/c/sessions"}} {
		stores := Adapter{}.UsageStores(adapter.Host{Home: "/h", Getenv: func(string) string { return tc.home }})
		if len(stores) != 2 || stores[0].Root != tc.want || !stores[0].Match("2026/11/20/rollout-x.jsonl") || stores[0].Match("x.sqlite") {
			t.Errorf("%+v", stores)
		}
	}
}

func BenchmarkUsageLog(b *testing.B) {
	for _, size := range []int{300, 3000, 30000} {
		b.Run(fmt.Sprint("output", size), func(b *testing.B) {
			var s strings.Builder
			s.WriteString(metaLine("A", "") + contextLine("m"))
			for i := range 2000 {
				fmt.Fprintf(&s, `{%s,"ordinal":%d,"type":"response_item","payload":{"type":"function_call_output","output":"%s"}}`+"\n", stamp, i, strings.Repeat(`it \"prints\" a line\n`, size/20))
				s.WriteString(countLine(tokensOf(i*100, i*10, i*20, i), tokensOf(100, 10, 20, 1)))
			}
			usagetest.Bench(b, Adapter{}, []byte(s.String()))
		})
	}
}
