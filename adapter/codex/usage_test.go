package codex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

func TestUsageOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want execution.Usage
		ok   bool
	}{
		{`{"input_tokens":137,"cached_input_tokens":30,"cache_write_input_tokens":7,"output_tokens":20,"reasoning_output_tokens":5}`,
			execution.Usage{Input: 100, Output: 20, Thinking: 5, Cached: 30, CacheWrite: 7, Total: 157}, true},
		{`{"input_tokens":10,"cached_input_tokens":30,"output_tokens":1}`, execution.Usage{Output: 1, Cached: 30, Total: 31}, true},
		{`{"input_tokens":-5,"output_tokens":99999999999999999999}`, execution.Usage{}, true},
		{`{"output_tokens":1}`, execution.Usage{}, false},
		{`[]`, execution.Usage{}, false},
	} {
		v, err := jsonscan.Parse([]byte(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := usageOf(v); got != tt.want || ok != tt.ok {
			t.Errorf("%s = %+v %v, want %+v %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

// tokens is a notification about the use of a thread; total and last count input tokens.
func tokens(turn string, total, last int) string {
	return fmt.Sprintf(`{"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"%s","tokenUsage":{"total":{"inputTokens":%d,"outputTokens":%d},"last":{"inputTokens":%d,"outputTokens":%d}}}}`,
		turn, total, total/10, last, last/10)
}

// began is a conversation on thread T whose first turn, U, runs.
func began(t *testing.T, change func(*execution.Request)) (*appParser, *cliagent.Sink) {
	t.Helper()
	p, s := asked(t, change)
	feed(p, s, `{"id":3,"result":{"turn":{"id":"U"}}}`, `{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U"}}}`)
	s.Take()
	return p, s
}

// asked is a conversation on thread T whose first turn has been asked for.
func asked(t *testing.T, change func(*execution.Request)) (*appParser, *cliagent.Sink) {
	t.Helper()
	req := newRequest()
	req.Run.Interactive = true
	if change != nil {
		change(&req)
	}
	p, s := newAppParser(req, ""), cliagent.NewSink(true)
	p.Open(s)
	feed(p, s, `{"id":1,"result":{}}`, `{"id":2,"result":{"thread":{"id":"T"},"model":"m","cwd":"/w"}}`)
	s.TakeWrites()
	return p, s
}

func feed(p cliagent.Parser, s *cliagent.Sink, lines ...string) {
	for _, l := range lines {
		p.Line(process.Stdout, []byte(l), s)
	}
}

func inputTokens(events []execution.Event) (list []int64) {
	for _, e := range events {
		if u, ok := e.Body.(execution.TokenUsage); ok {
			list = append(list, u.InputTokens)
		}
	}
	return list
}

// TestUsageOnce: Codex's totals count from the first turn of a thread ever, and are repeated; what a run used is counted once.
func TestUsageOnce(t *testing.T) {
	t.Parallel()
	const session = "01a1f94e-4650-77d1-bb86-c9d3bec76d48"
	for _, tt := range []struct {
		name   string
		change func(*execution.Request)
		before []string // between the thread and its first turn
		lines  []string
		want   []int64
	}{
		{name: "new", lines: []string{tokens("U", 100, 100), tokens("U", 250, 150)}, want: []int64{100, 150}},
		{name: "repeated", lines: []string{tokens("U", 100, 100), tokens("U", 100, 100), tokens("U", 250, 150)}, want: []int64{100, 150}},
		{name: "resumed", change: func(r *execution.Request) { r.Run.SessionID = session }, before: []string{tokens("OLD", 1000, 400)},
			lines: []string{tokens("U", 1100, 100), tokens("U", 1150, 50)}, want: []int64{100, 50}},
		{name: "resumed, repeated", change: func(r *execution.Request) { r.Run.SessionID = session }, before: []string{tokens("OLD", 1000, 400)},
			lines: []string{tokens("U", 1000, 400), tokens("U", 1100, 100)}, want: []int64{100}},
		{name: "resumed, told late", change: func(r *execution.Request) { r.Run.SessionID = session },
			lines: []string{tokens("OLD", 1000, 400), tokens("U", 1100, 100)}, want: []int64{100}},
		{name: "resumed, told nothing", change: func(r *execution.Request) { r.Run.SessionID = session },
			lines: []string{tokens("U", 1100, 100), tokens("U", 1150, 50)}, want: []int64{100, 50}},
		{name: "forked", change: func(r *execution.Request) { r.Run.ForkSessionID = session },
			lines: []string{tokens("U", 1100, 100), tokens("U", 1150, 50)}, want: []int64{100, 50}},
		{name: "went back", lines: []string{tokens("U", 100, 100), tokens("U", 40, 40), tokens("U", 60, 20)}, want: []int64{100, 20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, s := asked(t, tt.change)
			feed(p, s, tt.before...)
			feed(p, s, `{"id":3,"result":{"turn":{"id":"U"}}}`, `{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U"}}}`)
			feed(p, s, tt.lines...)
			feed(p, s, `{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed"}}}`)
			got := inputTokens(s.Take())
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("the events count %v, want %v", got, tt.want)
			}
			var sum int64
			for _, n := range got {
				sum += n
			}
			if res := p.Exit(process.Exit{}, s); res.Usage == nil || res.Usage.Input != sum {
				t.Errorf("the result counts %+v, want %d", res.Usage, sum)
			}
		})
	}
}

// TestForkInterrupted: a fork tells what it took over with its first call only. When that call was interrupted, nothing of the
// old thread is counted.
func TestForkInterrupted(t *testing.T) {
	t.Parallel()
	p, s := began(t, func(r *execution.Request) { r.Run.ForkSessionID = "01a1f94e-4650-77d1-bb86-c9d3bec76d48" })
	if err := p.Command(execution.Interrupt{}, s); err != nil {
		t.Fatal(err)
	}
	feed(p, s, tokens("U", 1000, 400), `{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"interrupted"}}}`)
	if got := inputTokens(s.Take()); len(got) != 0 {
		t.Errorf("%v tokens of the old thread are counted", got)
	}
}

// TestHiddenCall: a model call all of whose tools were refused shows nothing but its usage. It is a step like the others.
func TestHiddenCall(t *testing.T) {
	t.Parallel()
	p, s := began(t, nil)
	feed(p, s, tokens("U", 100, 100), tokens("U", 200, 100), tokens("U", 300, 100))
	starts, ends := 1, 0 // the first began with the turn
	for _, e := range s.Take() {
		switch e.Body.(type) {
		case execution.StepStart:
			starts++
		case execution.StepEnd:
			ends++
		}
	}
	if starts != 3 || ends != 3 {
		t.Errorf("%d steps began and %d ended, want 3", starts, ends)
	}
}

// TestSubagentUsage: a sub-agent's thread counts for itself, and its usage is part of the run's.
func TestSubagentUsage(t *testing.T) {
	t.Parallel()
	p, s := began(t, nil)
	spawn := `{"method":"item/%s","params":{"threadId":"T","turnId":"U","item":{"type":"collabAgentToolCall","id":"c1","tool":"spawnAgent","status":"%s","prompt":"x","receiverThreadIds":%s,"agentsStates":{}}}}`
	feed(p, s, fmt.Sprintf(spawn, "started", "inProgress", `[]`), fmt.Sprintf(spawn, "completed", "completed", `["S"]`),
		`{"method":"turn/started","params":{"threadId":"S","turn":{"id":"V"}}}`, strings.Replace(tokens("V", 70, 70), `"T"`, `"S"`, 1), tokens("U", 100, 100))
	for _, e := range s.Take() {
		if u, ok := e.Body.(execution.TokenUsage); ok && (e.Parent == "c1") != (u.InputTokens == 70) {
			t.Errorf("%d tokens are those of %q", u.InputTokens, e.Parent)
		}
	}
	if res := p.Exit(process.Exit{}, s); res.Usage.Input != 170 {
		t.Errorf("the run used %d tokens, want 170", res.Usage.Input)
	}
}
