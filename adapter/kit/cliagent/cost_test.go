package cliagent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/execution"
)

func TestAssembleCost(t *testing.T) {
	t.Parallel()
	usd := func(f float64) *float64 { return &f }
	tests := []struct {
		name, raw string
		want      *execution.Cost
	}{
		{"anthropic", `{"input_tokens":10,"output_tokens":20,"cache_read_input_tokens":300,"cache_creation_input_tokens":40}`,
			&execution.Cost{Unpriced: true, InputTokens: 10, OutputTokens: 20, CacheReadTokens: 300, CacheCreationTokens: 40}},
		{"a claude result", `{"type":"result","total_cost_usd":0.0123,"usage":{"input_tokens":10,"output_tokens":20}}`,
			&execution.Cost{TotalUSD: usd(0.0123), Source: execution.CostFromAgent, InputTokens: 10, OutputTokens: 20}},
		{"camel case by model", `{"inputTokens":10,"outputTokens":20,"cacheReadInputTokens":5,"cacheCreationInputTokens":6,"costUSD":1.5}`,
			&execution.Cost{TotalUSD: usd(1.5), Source: execution.CostFromAgent, InputTokens: 10, OutputTokens: 20, CacheReadTokens: 5, CacheCreationTokens: 6}},
		{"codex", `{"input_tokens":100,"cached_input_tokens":60,"output_tokens":30,"reasoning_output_tokens":10,"total_tokens":130}`,
			&execution.Cost{Unpriced: true, InputTokens: 40, OutputTokens: 30, ThinkingTokens: 10, CacheReadTokens: 60}},
		{"responses", `{"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":30,"output_tokens_details":{"reasoning_tokens":7}}}`,
			&execution.Cost{Unpriced: true, InputTokens: 40, OutputTokens: 30, ThinkingTokens: 7, CacheReadTokens: 60}},
		{"chat completions", `{"prompt_tokens":100,"completion_tokens":30,"prompt_tokens_details":{"cached_tokens":60}}`,
			&execution.Cost{Unpriced: true, InputTokens: 40, OutputTokens: 30, CacheReadTokens: 60}},
		{"gemini", `{"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":30,"thoughtsTokenCount":7,"cachedContentTokenCount":60}}`,
			&execution.Cost{Unpriced: true, InputTokens: 40, OutputTokens: 37, ThinkingTokens: 7, CacheReadTokens: 60}},
		{"tokens with a cache object", `{"cost":0.5,"tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}}}`,
			&execution.Cost{TotalUSD: usd(0.5), Source: execution.CostFromAgent, InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3, CacheReadTokens: 4, CacheCreationTokens: 5}},
		{"a cost object", `{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cost":{"input":0.1,"total":0.7}}`,
			&execution.Cost{TotalUSD: usd(0.7), Source: execution.CostFromAgent, InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheCreationTokens: 4}},
		{"money only", `{"total_cost_usd":0}`, &execution.Cost{TotalUSD: usd(0), Source: execution.CostFromAgent}},
		{"zero tokens", `{"output_tokens":0}`, &execution.Cost{Unpriced: true}},
		{"a float", `{"output_tokens":12.0}`, &execution.Cost{Unpriced: true, OutputTokens: 12}},
		{"more cached than sent", `{"input_tokens":5,"cached_input_tokens":9}`, &execution.Cost{Unpriced: true, CacheReadTokens: 9}},
		{"negative", `{"input_tokens":-5,"output_tokens":3,"total_cost_usd":-1}`, &execution.Cost{Unpriced: true, OutputTokens: 3}},
		{"too large", `{"input_tokens":99999999999999999999}`, nil},
		{"words", `{"input_tokens":"many","cost":"much"}`, nil},
		{"nothing known", `{"a":1}`, nil},
		{"no object", `[1]`, nil},
		{"null", `null`, nil},
		{"broken", `{"input_tokens":1`, nil},
		{"empty", ``, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, AssembleCost([]byte(tt.raw))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzAssembleCost(f *testing.F) {
	f.Add([]byte(`{"usage":{"input_tokens":1,"cached_input_tokens":2},"cost":{"total":1}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := AssembleCost(raw)
		if c == nil {
			return
		}
		if c.InputTokens < 0 || c.OutputTokens < 0 || c.CacheReadTokens < 0 || c.CacheCreationTokens < 0 || c.ThinkingTokens < 0 {
			t.Errorf("negative tokens: %+v", c)
		}
		if (c.TotalUSD == nil) != c.Unpriced {
			t.Errorf("priced and unpriced: %+v", c)
		}
	})
}

func BenchmarkAssembleCost(b *testing.B) {
	raw := []byte(`{"input_tokens":10,"cache_creation_input_tokens":40,"cache_read_input_tokens":300,"output_tokens":20,"service_tier":"standard"}`)
	b.ReportAllocs()
	for b.Loop() {
		if AssembleCost(raw) == nil {
			b.Fatal("not recognized")
		}
	}
}

func TestResolveSession(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		run  execution.RunOptions
		id   string
		fork bool
	}{
		{execution.RunOptions{}, "", false},
		{execution.RunOptions{NoSession: true}, "", false},
		{execution.RunOptions{SessionID: "a"}, "a", false},
		{execution.RunOptions{ForkSessionID: "b"}, "b", true},
	} {
		if id, fork := ResolveSession(execution.Request{Run: tt.run}); id != tt.id || fork != tt.fork {
			t.Errorf("%+v: got %q, %v", tt.run, id, fork)
		}
	}
}
