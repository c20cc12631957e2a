package main

import (
	"fmt"
	"time"
)

// codexTokens are Codex's counts, cached ones part of the input.
type codexTokens struct{ input, cached, output, reasoning int64 }

func (t codexTokens) String() string {
	return fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":%d,"cache_write_input_tokens":0,"output_tokens":%d,"reasoning_output_tokens":%d,"total_tokens":%d}`,
		t.input, t.cached, t.output, t.reasoning, t.input+t.output)
}

func (g *generator) codex() {
	g.now = begin.Add(time.Duration(g.n%2400) * 47 * time.Minute)
	id, cwd, model := g.id(), fmt.Sprintf("/home/user/work/service-%d", g.IntN(12)), g.pick("gpt-5.4", "gpt-5.3-codex", "gpt-5-codex", "gpt-5.1-codex-mini")
	g.open(".codex", "sessions", g.now.Format("2006"), g.now.Format("01"), g.now.Format("02"), "rollout-"+g.now.Format("2006-01-02T15-04-05")+"-"+id+".jsonl")
	if g.err != nil {
		return
	}
	defer g.close()
	ordinal := 0
	event := func(kind, payload string, args ...any) {
		g.line(`{"timestamp":"%s","ordinal":%d,"type":"%s","payload":{%s}}`, g.stamp(), ordinal, kind, fmt.Sprintf(payload, args...))
		ordinal++
	}
	event("session_meta", `"account_scoped":true,"session_id":"%s","id":"%s","timestamp":"%s","cwd":"%s","originator":"codex_cli","cli_version":"0.169.0","source":"cli","thread_source":"user","model_provider":"openai","base_instructions":{"text":"%s"}`,
		id, id, g.stamp(), cwd, g.text(20000))
	var total codexTokens
	var context int64
	newer := g.IntN(2) == 0 // states every call by its response too
	count := func(last codexTokens) {
		event("event_msg", `"type":"token_count","info":{"total_token_usage":%s,"last_token_usage":%s,"last_usage_includes_reasoning":false,"model_context_window":258400},"rate_limits":{"limit_id":"codex","limit_name":null,"primary":null,"secondary":null,"credits":null,"plan_type":null}`, total, last)
	}
	for range 2 + g.IntN(10) {
		g.wait(120)
		turn := g.id()
		event("event_msg", `"type":"task_started","turn_id":"%s","model_context_window":258400`, turn)
		event("turn_context", `"turn_id":"%s","cwd":"%s","approval_policy":"never","sandbox_policy":{"type":"read-only"},"model":"%s","summary":"none"`, turn, cwd, model)
		event("response_item", `"type":"message","role":"user","content":[{"type":"input_text","text":"%s"}]`, g.text(g.spread(200, 20000)))
		var last codexTokens
		for range 2 + g.IntN(10) {
			g.wait(8)
			if context > 180_000 {
				context = 20_000
			}
			last = codexTokens{input: context + 200 + g.Int64N(6000), cached: context, output: 80 + g.Int64N(2500)}
			last.reasoning = g.Int64N(last.output)
			context = last.input
			event("response_item", `"type":"reasoning","summary":[],"content":null,"encrypted_content":"%s"`, g.text(g.spread(900, 9000)))
			call := g.word("call_")
			event("response_item", `"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"%s\"]}","call_id":"%s"`, "go test ./...", call)
			total = codexTokens{total.input + last.input, total.cached + last.cached, total.output + last.output, total.reasoning + last.reasoning}
			if newer {
				event("token_usage_record", `"thread_id":"%s","turn_id":"%s","session_id":"%s","root_turn_id":"%s","response_id":"%s","usage":%s,"turn_token_usage":%s,"thread_token_usage":%s`,
					id, turn, id, turn, g.word("resp_"), last, last, total)
			}
			count(last)
			g.wait(2)
			out := g.text(g.spread(g.output, 400_000))
			event("event_msg", `"type":"item_completed","thread_id":"%s","turn_id":"%s","item":{"type":"CommandExecution","id":"%s","aggregated_output":"%s","exit_code":0}`, id, turn, call, out)
			event("response_item", `"type":"function_call_output","call_id":"%s","output":"%s"`, call, out)
		}
		if g.IntN(3) == 0 {
			count(last) // again, because limits have changed
		}
		event("response_item", `"type":"message","role":"assistant","content":[{"type":"output_text","text":"%s"}]`, g.text(g.spread(600, 8000)))
		event("event_msg", `"type":"task_complete","turn_id":"%s","last_agent_message":"%s"`, turn, g.text(g.spread(600, 8000)))
	}
}
