// Package streamtest simulates agents that print the stream of the Messages API, for conformance tests: a test binary that is
// started in place of the agent plays the scenarios of the suite.
package streamtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// Play plays an agent that prints the stream of the Messages API. Its last argument is --mcp-config=FILE if the request has MCP
// servers.
func Play(scenario string, args []string) (int, error) {
	say := func(line string, args ...any) { fmt.Printf(line+"\n", args...) }
	message := func(block, delta string) {
		say(`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":%s}}`, block)
		say(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":%s}}`, delta)
	}
	speak := func(text string) {
		pieces := strings.SplitAfter(text, " ")
		message(`{"type":"text","text":""}`, `{"type":"text_delta","text":""}`)
		for _, piece := range pieces {
			b, _ := json.Marshal(piece)
			say(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}}`, b)
		}
		say(`{"type":"stream_event","event":{"type":"content_block_stop","index":0}}` + "\n" + `{"type":"stream_event","event":{"type":"message_stop"}}`)
	}
	answer, failed := "hi there", false
	switch sc := adaptertest.Scenario(scenario); sc {
	case adaptertest.Crash:
		return 3, errors.New("something broke inside")
	case adaptertest.Malformed:
		say(`{"type":"system",`)
		return 0, nil
	case adaptertest.Stubborn:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	case adaptertest.Fail:
		answer, failed = "no such thing", true
	case adaptertest.Long:
		answer = strings.Repeat("word after word ", 200)
	}
	say(`{"type":"system","subtype":"init","session_id":"s%d","model":"m"}`, time.Now().UnixNano())
	calls := 1
	switch adaptertest.Scenario(scenario) {
	case adaptertest.Hang, adaptertest.Stubborn:
		message(`{"type":"text","text":""}`, `{"type":"text_delta","text":"working "}`)
		time.Sleep(time.Minute)
	case adaptertest.Tool, adaptertest.Connect:
		var file struct{ MCPServers map[string]cliagent.MCPEntry }
		if data, err := os.ReadFile(strings.TrimPrefix(args[len(args)-1], "--mcp-config=")); err != nil || json.Unmarshal(data, &file) != nil {
			return 1, err
		}
		for server, e := range file.MCPServers {
			output := "pong"
			if e.URL != "" {
				var err error
				if output, err = adaptertest.CallEcho(e.URL, e.Headers); err != nil {
					return 1, err
				}
			}
			b, _ := json.Marshal(output)
			message(fmt.Sprintf(`{"type":"tool_use","id":"t1","name":"mcp__%s__echo"}`, server), `{"type":"input_json_delta","partial_json":"{\"text\":\"ping\"}"}`)
			say(`{"type":"stream_event","event":{"type":"content_block_stop","index":0}}` + "\n" + `{"type":"stream_event","event":{"type":"message_stop"}}`)
			say(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":%s}]}}`, b)
			calls++
		}
	case adaptertest.Steps:
		for ; calls < 3; calls++ {
			time.Sleep(150 * time.Millisecond) // a limit of turns stops it here
			message(fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"bash"}`, calls), `{"type":"input_json_delta","partial_json":"{\"command\":\"ls\"}"}`)
			say(`{"type":"stream_event","event":{"type":"content_block_stop","index":0}}` + "\n" + `{"type":"stream_event","event":{"type":"message_stop"}}`)
			say(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t%d","content":"a.txt"}]}}`, calls)
		}
	}
	if !failed {
		speak(answer)
	}
	say(`{"type":"result","is_error":%v,"result":"%s","usage":{"input_tokens":%d,"output_tokens":%d}}`, failed, answer, 100*calls, 20*calls)
	return 0, nil
}
