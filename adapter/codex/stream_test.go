package codex

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// appStream is what codex app-server says in about the given number of lines, in the shapes of recorded conversations: commands
// with outputs of up to several kilobytes, streamed messages, changes of files, calls of MCP servers, one turn.
func appStream(lines int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.Grow(lines * 720)
	b.WriteString(`{"id":1,"result":{}}` + "\n" + `{"id":2,"result":{"thread":{"id":"T"},"model":"m","cwd":"/w"}}` + "\n" + `{"id":3,"result":{"turn":{"id":"U"}}}` + "\n" +
		`{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U"}}}` + "\n")
	text := func(n int, end string) string {
		const words = "the quick agent reads a file and finds that nothing of it was tested before "
		s := strings.Repeat(words, n/len(words)+1)[:n]
		return s + end
	}
	output := func(n int) string {
		var o strings.Builder
		for i := 0; o.Len() < n; i++ {
			fmt.Fprintf(&o, `%6d  internal/pkg/file_%d.go:\t%s\n`, i, rng.IntN(1000), text(20+rng.IntN(60), ""))
		}
		return o.String()
	}
	line := func(method, params string, args ...any) {
		fmt.Fprintf(&b, `{"method":"`+method+`","params":{"threadId":"T","turnId":"U",`+params+"}}\n", args...)
	}
	for item, n := 0, 4; n < lines-2; item++ {
		id := fmt.Sprintf("item_%d", item)
		switch pick := rng.IntN(100); {
		case pick < 45:
			size := 200 + rng.IntN(600)
			if rng.IntN(6) == 0 {
				size = 2000 + rng.IntN(5600)
			}
			command := fmt.Sprintf(`/bin/bash -lc \"sed -n '1,%dp' internal/pkg/file_%d.go | grep -n 'func'\"`, 20+rng.IntN(300), item)
			exit, status := 0, "completed"
			if rng.IntN(12) == 0 {
				exit, status = 1, "failed"
			}
			said := output(size)
			line("item/started", `"item":{"id":"%s","type":"commandExecution","command":"%s","cwd":"/w","processId":"7","aggregatedOutput":null,"exitCode":null,"status":"inProgress"}`, id, command)
			line("item/commandExecution/outputDelta", `"itemId":"%s","delta":"%s"`, id, said)
			line("item/completed", `"item":{"id":"%s","type":"commandExecution","command":"%s","cwd":"/w","processId":"7","aggregatedOutput":"%s","exitCode":%d,"durationMs":5,"status":"%s"}`, id, command, said, exit, status)
			n += 3
		case pick < 84:
			said := text(80+rng.IntN(400), " — done.")
			line("item/started", `"item":{"id":"%s","type":"agentMessage","text":""}`, id)
			for rest := said; rest != ""; n++ {
				cut := min(len(rest), 40)
				if cut < len(rest) && len(rest)-cut < 10 {
					cut = len(rest)
				}
				line("item/agentMessage/delta", `"itemId":"%s","delta":"%s"`, id, rest[:cut])
				rest = rest[cut:]
			}
			line("item/completed", `"item":{"id":"%s","type":"agentMessage","text":"%s"}`, id, said)
			n += 2
		case pick < 93:
			changes := fmt.Sprintf(`"changes":[{"path":"/work-dir/internal/pkg/file_%d.go","kind":{"type":"update"},"diff":"%s"}]`, rng.IntN(1000), output(300))
			line("item/started", `"item":{"id":"%s","type":"fileChange",%s,"status":"inProgress"}`, id, changes)
			line("item/completed", `"item":{"id":"%s","type":"fileChange",%s,"status":"completed"}`, id, changes)
			n += 2
		default:
			arguments := fmt.Sprintf(`{"query":"%s","limit":%d}`, text(40, ""), rng.IntN(100))
			line("item/started", `"item":{"id":"%s","type":"mcpToolCall","server":"docs","tool":"search","arguments":%s,"result":null,"error":null,"status":"inProgress"}`, id, arguments)
			line("item/completed", `"item":{"id":"%s","type":"mcpToolCall","server":"docs","tool":"search","arguments":%s,"result":{"content":[{"type":"text","text":"%s"}]},"error":null,"status":"completed"}`, id, arguments, text(300+rng.IntN(900), ""))
			n += 2
		}
	}
	line("thread/tokenUsage/updated", `"tokenUsage":{"total":{"inputTokens":1200000,"cachedInputTokens":900000,"outputTokens":40000,"reasoningOutputTokens":9000},"last":{"inputTokens":1}}`)
	line("turn/completed", `"turn":{"id":"U","status":"completed"}`)
	return b.Bytes()
}
