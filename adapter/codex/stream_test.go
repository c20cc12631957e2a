package codex

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// execStream is a stream of codex exec --json with about the given number of lines, 685 bytes each on average, in the
// shapes of recorded runs: commands with outputs from nothing to several kilobytes, thoughts, messages, changes of files,
// calls of MCP servers, one turn.
func execStream(lines int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.Grow(lines * 720)
	b.WriteString(`{"type":"thread.started","thread_id":"01a1f8c5-32d9-7da2-be2b-b413eca1dd13"}` + "\n" + `{"type":"turn.started"}` + "\n")
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
	item := 0
	for n := 2; n < lines-1; {
		id := fmt.Sprintf("item_%d", item)
		item++
		switch pick := rng.IntN(100); {
		case pick < 55:
			size := 200 + rng.IntN(600)
			if rng.IntN(6) == 0 {
				size = 2000 + rng.IntN(5600)
			}
			command := fmt.Sprintf(`/bin/bash -lc \"sed -n '1,%dp' internal/pkg/file_%d.go | grep -n 'func'\"`, 20+rng.IntN(300), item)
			exit, status := 0, "completed"
			if rng.IntN(12) == 0 {
				exit, status = 1, "failed"
			}
			fmt.Fprintf(&b, `{"type":"item.started","item":{"id":"%s","type":"command_execution","command":"%s","aggregated_output":"","exit_code":null,"status":"in_progress"}}`+"\n", id, command)
			fmt.Fprintf(&b, `{"type":"item.completed","item":{"id":"%s","type":"command_execution","command":"%s","aggregated_output":"%s","exit_code":%d,"status":"%s"}}`+"\n", id, command, output(size), exit, status)
			n += 2
		case pick < 70:
			fmt.Fprintf(&b, `{"type":"item.completed","item":{"id":"%s","type":"reasoning","text":"**Looking around**\n\n%s"}}`+"\n", id, text(100+rng.IntN(500), "."))
			n++
		case pick < 84:
			fmt.Fprintf(&b, `{"type":"item.completed","item":{"id":"%s","type":"agent_message","text":"%s"}}`+"\n", id, text(80+rng.IntN(400), " — done."))
			n++
		case pick < 93:
			path := fmt.Sprintf("/work-dir/internal/pkg/file_%d.go", rng.IntN(1000))
			for _, l := range []struct{ event, status string }{{"started", "in_progress"}, {"completed", "completed"}} {
				fmt.Fprintf(&b, `{"type":"item.%s","item":{"id":"%s","type":"file_change","changes":[{"path":"%s","kind":"update"}],"status":"%s"}}`+"\n", l.event, id, path, l.status)
			}
			n += 2
		default:
			arguments := fmt.Sprintf(`{"query":"%s","limit":%d}`, text(40, ""), rng.IntN(100))
			fmt.Fprintf(&b, `{"type":"item.started","item":{"id":"%s","type":"mcp_tool_call","server":"docs","tool":"search","arguments":%s,"result":null,"error":null,"status":"in_progress"}}`+"\n", id, arguments)
			fmt.Fprintf(&b, `{"type":"item.completed","item":{"id":"%s","type":"mcp_tool_call","server":"docs","tool":"search","arguments":%s,"result":{"content":[{"type":"text","text":"%s"}],"structured_content":null},"error":null,"status":"completed"}}`+"\n", id, arguments, text(300+rng.IntN(900), ""))
			n += 2
		}
	}
	b.WriteString(`{"type":"turn.completed","usage":{"input_tokens":1200000,"cached_input_tokens":900000,"cache_write_input_tokens":0,"output_tokens":40000,"reasoning_output_tokens":9000}}` + "\n")
	return b.Bytes()
}
