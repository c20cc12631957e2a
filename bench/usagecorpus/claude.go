package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// claudeState contains the values that the lines of a file share.
type claudeState struct {
	session, cwd, agent string // agent: of a sub-agent's file
	model               string
	context             int64 // tokens in the model's cache
}

func (g *generator) tail(s *claudeState) string {
	side := ""
	if s.agent != "" {
		side = fmt.Sprintf(`,"agentId":"%s"`, s.agent)
	}
	return fmt.Sprintf(`"uuid":"%s","timestamp":"%s"%s,"userType":"external","entrypoint":"cli","cwd":"%s","sessionId":"%s","version":"2.1.329","gitBranch":"main"}`,
		g.id(), g.stamp(), side, s.cwd, s.session)
}

func (g *generator) head(s *claudeState) string {
	return fmt.Sprintf(`{"parentUuid":"%s","isSidechain":%t`, g.id(), s.agent != "")
}

var begin = time.Date(2026, 8, 1, 6, 0, 0, 0, time.UTC)

// claudeBegin chooses the initial values of a session.
func (g *generator) claudeBegin() (s *claudeState, folder string, turns int) {
	g.now = begin.Add(time.Duration(g.n%2400) * 47 * time.Minute)
	project := fmt.Sprintf("service-%d", g.IntN(12))
	s = &claudeState{session: g.id(), cwd: "/home/user/work/" + project, model: g.pick("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-opus-4-6",
		"claude-sonnet-4-6", "claude-opus-4-8", "claude-haiku-4-5-20251001")}
	return s, "-home-user-work-" + project, 2 + g.IntN(12)
}

func (g *generator) claude() {
	s, folder, turns := g.claudeBegin()
	g.open(".claude", "projects", folder, s.session+".jsonl")
	if g.err != nil {
		return
	}
	if g.n > 0 && g.n%20 == 0 {
		// A fork begins with a copy of the session before it, under its own session id.
		before := &generator{Rand: rand.New(rand.NewPCG(g.seed, g.n-1)), pool: g.pool, n: g.n - 1, seed: g.seed, output: g.output, out: g.out}
		copied, _, _ := before.claudeBegin()
		copied.session = s.session
		before.claudeTurns(copied, 2, func() { before.task(copied) })
		g.written += before.written
		g.err = before.err
		g.now = before.now.Add(time.Hour)
	}
	var tasks []*claudeState
	g.claudeTurns(s, turns, func() {
		if t := g.task(s); t != nil {
			tasks = append(tasks, t)
		}
	})
	g.close()
	for _, t := range tasks {
		g.open(".claude", "projects", folder, s.session, "subagents", "agent-"+t.agent+".jsonl")
		if g.err != nil {
			return
		}
		g.claudeTurns(t, 1, nil)
		g.close()
	}
}

// task sometimes writes a sub-agent.
func (g *generator) task(s *claudeState) *claudeState {
	if g.IntN(12) != 0 {
		return nil
	}
	return &claudeState{session: s.session, cwd: s.cwd, agent: fmt.Sprintf("a%016x", g.Uint64()), model: g.pick(s.model, "claude-haiku-4-5-20251001")}
}

func (g *generator) claudeTurns(s *claudeState, turns int, after func()) {
	for range turns {
		g.wait(120)
		g.line(`%s,"promptId":"%s","type":"user","message":{"role":"user","content":"%s"},%s`, g.head(s), g.id(), g.text(g.spread(200, 20000)), g.tail(s))
		if g.IntN(3) == 0 {
			g.line(`%s,"attachment":{"type":"file","content":"%s"},"type":"attachment",%s`, g.head(s), g.text(g.spread(1500, 60000)), g.tail(s))
		}
		g.line(`{"type":"file-history-snapshot","messageId":"%s","snapshot":{"messageId":"%s","trackedFileBackups":{},"timestamp":"%s"},"isSnapshotUpdate":false}`, g.id(), g.id(), g.stamp())
		for range 2 + g.IntN(10) {
			g.wait(8)
			tool := g.claudeCall(s)
			if tool == "" {
				break
			}
			g.wait(2)
			size := g.spread(g.output, 400_000)
			if g.IntN(400) == 0 {
				size = 2_000_000 + g.IntN(2_000_000)
			}
			out := g.text(size)
			g.line(`%s,"promptId":"%s","type":"user","message":{"role":"user","content":[{"tool_use_id":"%s","type":"tool_result","content":"%s","is_error":false}]},"toolUseResult":{"stdout":"%s","stderr":"","interrupted":false,"isImage":false},"sourceToolAssistantUUID":"%s",%s`,
				g.head(s), g.id(), tool, out, out, g.id(), g.tail(s))
		}
		if after != nil {
			after()
		}
	}
}

// claudeCall writes the lines of one answer: one for each block, all with the message's usage so far. It returns the id of
// the tool that is called, if any.
func (g *generator) claudeCall(s *claudeState) (tool string) {
	id, request := g.word("msg_01"), g.word("req_011C")
	fresh := 200 + g.Int64N(6000)
	hour := int64(0)
	if g.IntN(4) == 0 {
		hour = fresh / 2
	}
	if s.context > 120_000 {
		s.context = 20_000 // compaction
	}
	read := s.context
	s.context += fresh
	output, thinking := 80+g.Int64N(2500), g.Int64N(60)
	blocks := []string{fmt.Sprintf(`{"type":"text","text":"%s"}`, g.text(g.spread(400, 8000)))}
	if g.IntN(3) == 0 {
		blocks = append([]string{fmt.Sprintf(`{"type":"thinking","thinking":"%s","signature":"%s%s"}`, g.text(g.spread(500, 9000)), g.word("Er"), g.word("QB"))}, blocks...)
	}
	reason := `"end_turn"`
	if g.IntN(8) != 0 {
		tool = g.word("toolu_01")
		reason = `"tool_use"`
		input := fmt.Sprintf(`"command":"%s","description":"%s"`, g.text(60), "run it")
		if g.IntN(4) == 0 {
			input = fmt.Sprintf(`"file_path":"%s/x.go","content":"%s"`, s.cwd, g.text(g.spread(2500, 60000)))
		}
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":"%s","name":"%s","input":{%s}}`, tool, g.pick("Bash", "Read", "Write", "Grep"), input))
	}
	for i, b := range blocks {
		so, why := output, reason
		if i < len(blocks)-1 {
			so, why = 1+g.Int64N(8), "null"
		}
		g.line(`%s,"message":{"model":"%s","id":"%s","type":"message","role":"assistant","content":[%s],"stop_reason":%s,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d,"output_tokens_details":{"thinking_tokens":%d},"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":%d,"ephemeral_5m_input_tokens":%d},"inference_geo":"","iterations":[],"speed":"standard"}},"apiBlockIndex":%d,"requestId":"%s","type":"assistant",%s`,
			g.head(s), s.model, id, b, why, 1+read%9, fresh, read, so, min(thinking, so), hour, fresh-hour, i, request, g.tail(s))
		g.now = g.now.Add(time.Duration(g.IntN(900)) * time.Millisecond)
	}
	return tool
}
