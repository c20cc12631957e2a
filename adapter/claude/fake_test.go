package claude

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// object is a JSON object.
type object = map[string]any

// fake is Claude Code 2.1.329 as its transcripts show it, as far as the scenarios need it.
type fake struct {
	scenario adaptertest.Scenario
	flags    map[string]string
	duplex   bool
	partial  bool
	session  string
	state    string

	in        chan object
	queue     []object // messages that wait
	calls     int      // model calls of the turn
	tokens    int      // model calls since the last result
	total     int
	interrupt bool
}

var errInterrupted = errors.New("interrupted")

// playFake is the main function of the fake.
func playFake(scenario string, args []string) (int, error) {
	f := &fake{scenario: adaptertest.Scenario(scenario), flags: map[string]string{}, state: os.Getenv(stateVar), in: make(chan object, 100)}
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		f.flags[name] = value
	}
	if f.flags["--output-format"] != "stream-json" || !f.has("-p") || !f.has("--verbose") {
		return 1, fmt.Errorf("error: bad arguments %q", args)
	}
	f.duplex, f.partial = f.flags["--input-format"] == "stream-json", f.has("--include-partial-messages")
	switch f.scenario {
	case adaptertest.Crash:
		return 3, errors.New("something broke inside")
	case adaptertest.Malformed:
		fmt.Println("{\"type\":\"system\",\"subtype\":\"init\",")
		fmt.Println("Segmentation fault")
		return 0, nil
	case adaptertest.Stubborn:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	if !f.open() {
		return 1, nil
	}
	return f.serve()
}

func (f *fake) has(flag string) bool { _, ok := f.flags[flag]; return ok }

// open begins, resumes or forks the session.
func (f *fake) open() bool {
	from := f.flags["--resume"]
	if from != "" {
		if _, err := os.Stat(filepath.Join(f.state, from)); err != nil {
			f.print(object{"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0, "session_id": from, "total_cost_usd": 0,
				"usage": object{}, "modelUsage": object{}, "errors": []string{"No conversation found with session ID: " + from}})
			return false
		}
	}
	f.session = from
	if from == "" || f.has("--fork-session") {
		f.session = cliagent.NewUUID()
	}
	if !f.has("--no-session-persistence") {
		_ = os.WriteFile(filepath.Join(f.state, f.session), nil, 0o600)
	}
	return true
}

func (f *fake) print(v object) {
	b, _ := json.Marshal(v)
	os.Stdout.Write(append(b, '\n'))
}

func (f *fake) serve() (int, error) {
	if !f.duplex {
		prompt, err := io.ReadAll(os.Stdin)
		if err != nil || len(prompt) == 0 {
			return 1, fmt.Errorf("error: no prompt (%v)", err)
		}
		return f.turn(object{"message": object{"content": []any{object{"type": "text", "text": string(prompt)}}}}), nil
	}
	go func() {
		scan := bufio.NewScanner(os.Stdin)
		scan.Buffer(nil, 1<<24)
		for scan.Scan() {
			var v object
			if json.Unmarshal(scan.Bytes(), &v) != nil {
				fmt.Fprintln(os.Stderr, "error: bad line on standard input")
				os.Exit(1)
			}
			f.in <- v
		}
		close(f.in)
	}()
	code := 0
	for {
		for len(f.queue) > 0 {
			m := f.queue[0]
			f.queue = f.queue[1:]
			code = f.turn(m)
		}
		v, ok := <-f.in
		if !ok {
			return code, nil
		}
		f.take(v)
	}
}

// take deals with a line on standard input.
func (f *fake) take(v object) {
	switch v["type"] {
	case "user":
		f.queue = append(f.queue, v)
		f.lifecycle(v, "queued")
	case "control_request":
		request := v["request"].(object)
		if request["subtype"] == "interrupt" {
			f.interrupt = true
		}
		f.print(object{"type": "control_response", "response": object{"subtype": "success", "request_id": v["request_id"], "response": object{}}})
	}
}

func (f *fake) lifecycle(m object, state string) {
	if f.duplex {
		f.print(object{"type": "command_lifecycle", "command_uuid": m["uuid"], "state": state, "session_id": f.session})
	}
}

// poll takes what has arrived, waiting up to d for it.
func (f *fake) poll(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !f.interrupt {
		select {
		case v, ok := <-f.in:
			if !ok {
				f.in = nil
				continue
			}
			f.take(v)
		case <-timer.C:
			return
		}
	}
}

// turn plays the scenario for one message.
func (f *fake) turn(m object) int {
	f.calls, f.tokens, f.interrupt = 0, 0, false
	f.begun()
	f.lifecycle(m, "started")
	f.print(object{"type": "system", "subtype": "init", "session_id": f.session, "cwd": "/work-dir", "model": "claude-opus-5-5", "claude_code_version": "2.1.329",
		"tools": []string{"Bash"}, "mcp_servers": []any{}, "permissionMode": f.flags["--permission-mode"]})
	result := object{"type": "result", "subtype": "success", "is_error": false, "terminal_reason": "completed", "stop_reason": "end_turn",
		"session_id": f.session, "num_turns": 1, "permission_denials": []any{}}
	err := f.scene(m, result)
	if err != nil {
		result["subtype"], result["is_error"], result["terminal_reason"] = "error_during_execution", true, "aborted_streaming"
		result["errors"] = []string{"[ede_diagnostic] result_type=user"}
		f.print(object{"type": "user", "message": object{"role": "user", "content": []any{object{"type": "text", "text": "[Request interrupted by user]"}}},
			"parent_tool_use_id": nil, "session_id": f.session})
	}
	usage := func(calls int) object {
		return object{"claude-opus-5-5": object{"inputTokens": 100 * calls, "outputTokens": 20 * calls, "costUSD": 0.0008 * float64(calls)}}
	}
	f.total += f.tokens
	result["modelUsage"], result["model_usage_since_last_result"] = usage(f.total), usage(f.tokens)
	result["total_cost_usd"], result["usage"] = 0.0008*float64(f.total), object{"input_tokens": 100 * f.tokens, "output_tokens": 20 * f.tokens}
	f.print(result)
	f.lifecycle(m, "completed")
	if failed, _ := result["is_error"].(bool); failed {
		return 1
	}
	return 0
}

// scene is what happens in a turn.
func (f *fake) scene(m object, result object) error {
	answer := "hi there"
	switch f.scenario {
	case adaptertest.Remember:
		answer = "it was 42"
		if f.flags["--resume"] == "" {
			answer = "nothing to remember"
		}
	case adaptertest.Fail:
		f.print(object{"type": "assistant", "parent_tool_use_id": nil, "session_id": f.session, "error": "unknown", "is_api_error_message": true, "api_error_status": 400,
			"message": object{"id": "x", "model": "<synthetic>", "role": "assistant", "content": []any{object{"type": "text", "text": "API Error: 400 no"}}, "usage": object{}}})
		result["is_error"], result["api_error_status"], result["terminal_reason"], result["result"] = true, 400, "api_error", "API Error: 400 no"
		return nil
	case adaptertest.Hang, adaptertest.Stubborn:
		text, _ := m["message"].(object)
		if strings.Contains(fmt.Sprint(text), "again") {
			break
		}
		f.begin("msg_hang")
		f.event(object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
		f.event(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": "working "}})
		f.poll(time.Minute)
		if f.interrupt {
			return errInterrupted
		}
	case adaptertest.Long:
		answer = strings.Repeat("word after word ", 200)
	case adaptertest.Steps, adaptertest.Spend:
		return f.steps(result)
	case adaptertest.Think:
		return f.think(result)
	case adaptertest.Attach:
		if !strings.Contains(fmt.Sprint(m), "base64") {
			answer = "there is no image"
		}
	case adaptertest.Clarify:
		return f.clarify(result)
	case adaptertest.Approval:
		return f.approval(result)
	case adaptertest.Structure:
		f.tool("StructuredOutput", object{"answer": "yes"}, func() (string, bool, any) { return "Structured output provided successfully", true, nil })
		result["structured_output"], result["result"] = object{"answer": "yes"}, `{"answer":"yes"}`
		return nil
	case adaptertest.Tool, adaptertest.Connect:
		return f.useServer(result)
	}
	f.say(answer)
	result["result"] = answer
	return nil
}

func (f *fake) event(event object) {
	if f.partial {
		f.print(object{"type": "stream_event", "event": event, "parent_tool_use_id": nil, "session_id": f.session})
	}
}

var startUsage = object{"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}

func (f *fake) begin(id string) {
	f.event(object{"type": "message_start", "message": object{"id": id, "model": "claude-opus-5-5", "role": "assistant", "content": []any{}, "usage": startUsage}})
}

// message streams the blocks of one model call, each in pieces and then whole.
func (f *fake) message(blocks ...object) string {
	f.calls++
	f.tokens++
	id := fmt.Sprintf("msg_%s_%d_%d", f.session[:8], f.total, f.calls)
	f.begin(id)
	for i, b := range blocks {
		start, kind, key, text := object{"type": b["type"], "text": ""}, "text_delta", "text", ""
		switch b["type"] {
		case "text":
			text = b["text"].(string)
		case "thinking":
			start, kind, key, text = object{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", b["thinking"].(string)
		case "tool_use":
			input, _ := json.Marshal(b["input"])
			start, kind, key, text = object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}, "input_json_delta", "partial_json", string(input)
		}
		f.event(object{"type": "content_block_start", "index": i, "content_block": start})
		for len(text) > 0 {
			n := min(8, len(text))
			f.event(object{"type": "content_block_delta", "index": i, "delta": object{"type": kind, key: text[:n]}})
			text = text[n:]
		}
		f.print(object{"type": "assistant", "parent_tool_use_id": nil, "session_id": f.session, "timestamp": time.Now().UTC().Format(time.RFC3339Nano),
			"message": object{"id": id, "model": "claude-opus-5-5", "role": "assistant", "content": []any{b}, "usage": startUsage}})
		f.event(object{"type": "content_block_stop", "index": i})
	}
	f.event(object{"type": "message_delta", "delta": object{"stop_reason": "end_turn"}, "usage": object{"output_tokens": 20}})
	f.event(object{"type": "message_stop"})
	return id
}

func (f *fake) say(text string) { f.message(object{"type": "text", "text": text}) }

// tool makes the model call a tool; run says what comes of it.
func (f *fake) tool(name string, input object, run func() (text string, ok bool, detail any)) {
	id := "toolu_" + cliagent.NewUUID()[:12]
	f.message(object{"type": "tool_use", "id": id, "name": name, "input": input})
	if why, denied := f.hooked(id, name, input); denied {
		run = func() (string, bool, any) { return why, false, "Error: " + why }
	}
	f.ran(id, run)
}

func (f *fake) ran(id string, run func() (string, bool, any)) {
	text, ok, detail := run()
	f.print(object{"type": "user", "parent_tool_use_id": nil, "session_id": f.session, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "tool_use_result": detail,
		"message": object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": !ok}}}})
}

// steps are three model calls with commands between them, under the limits of the flags.
func (f *fake) steps(result object) error {
	turns, _ := strconv.Atoi(f.flags["--max-turns"])
	budget, err := strconv.ParseFloat(f.flags["--max-budget-usd"], 64)
	for range 2 {
		f.tool("Bash", object{"command": "true", "description": "d"}, func() (string, bool, any) {
			f.poll(150 * time.Millisecond)
			return "done", true, object{"stdout": "done", "stderr": "", "interrupted": false}
		})
		for _, m := range f.queue { // messages reach a running turn between two calls
			f.lifecycle(m, "started")
		}
		f.queue = nil
		if err == nil && 0.0008*float64(f.tokens) >= budget {
			result["subtype"], result["is_error"], result["terminal_reason"] = "error_max_budget_usd", true, "budget_exhausted"
			result["errors"] = []string{"Reached maximum budget ($" + f.flags["--max-budget-usd"] + ")"}
			return nil
		}
		if turns > 0 && f.calls >= turns {
			result["subtype"], result["is_error"], result["terminal_reason"] = "error_max_turns", true, "max_turns"
			result["errors"] = []string{fmt.Sprintf("Reached maximum number of turns (%d)", turns)}
			return nil
		}
	}
	f.say("all steps taken")
	result["result"] = "all steps taken"
	return nil
}

func (f *fake) think(result object) error {
	f.message(object{"type": "thinking", "thinking": "let me think about it", "signature": "c2ln"}, object{"type": "text", "text": "thought"})
	result["result"] = "thought"
	return nil
}

// ask asks for a permission and waits for its answer.
func (f *fake) ask(id, name string, input object) (object, bool) {
	request := cliagent.NewUUID()
	f.print(object{"type": "control_request", "request_id": request, "request": object{"subtype": "can_use_tool", "tool_name": name, "display_name": name,
		"input": input, "description": "d", "tool_use_id": id}})
	for v := range f.in {
		if v["type"] == "control_response" {
			r := v["response"].(object)
			if r["request_id"] == request {
				answer, _ := r["response"].(object)
				return answer, answer["behavior"] == "allow"
			}
		}
		f.take(v)
	}
	return object{"message": "Stream closed"}, false
}

func (f *fake) clarify(result object) error {
	input := object{"questions": []any{object{"question": "Which color?", "header": "Color", "multiSelect": false,
		"options": []any{object{"label": "Red", "description": "r"}, object{"label": "Blue", "description": "b"}}}}}
	id := "toolu_" + cliagent.NewUUID()[:12]
	f.message(object{"type": "tool_use", "id": id, "name": "AskUserQuestion", "input": input})
	answer, ok := f.ask(id, "AskUserQuestion", input)
	f.ran(id, func() (string, bool, any) { return fmt.Sprint(answer), ok, nil })
	f.say("so be it")
	result["result"] = "so be it"
	return nil
}

func (f *fake) approval(result object) error {
	input := object{"command": "touch it", "description": "d"}
	id := "toolu_" + cliagent.NewUUID()[:12]
	f.message(object{"type": "tool_use", "id": id, "name": "Bash", "input": input})
	ok, why := false, "Permission to use Bash has been denied"
	if f.flags["--permission-prompt-tool"] == "stdio" && f.flags["--permission-mode"] == "default" {
		var answer object
		if answer, ok = f.ask(id, "Bash", input); !ok {
			why, _ = answer["message"].(string)
		}
	} else {
		f.print(object{"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": id, "message": why, "session_id": f.session})
	}
	if !ok {
		result["permission_denials"] = []any{object{"tool_name": "Bash", "tool_use_id": id, "tool_input": input}}
	}
	f.ran(id, func() (string, bool, any) {
		if !ok {
			return why, false, "Error: " + why
		}
		return "done", true, object{"stdout": "done", "stderr": "", "interrupted": false}
	})
	f.say("hi there")
	result["result"] = "hi there"
	return nil
}

// useServer calls a tool of the first MCP server of the configuration; one that is reached by HTTP is really called.
func (f *fake) useServer(result object) error {
	var config struct {
		Servers map[string]cliagent.MCPEntry `json:"mcpServers"`
	}
	b, err := os.ReadFile(f.flags["--mcp-config"])
	if err == nil {
		err = json.Unmarshal(b, &config)
	}
	for server, s := range config.Servers {
		f.tool("mcp__"+server+"__echo", object{"text": "ping"}, func() (string, bool, any) {
			if s.Type != "http" {
				return "pong", true, nil
			}
			if !strings.Contains(f.flags["--allowedTools"], "mcp__"+server+"__echo") {
				return "not allowed", false, nil
			}
			text, err := adaptertest.CallEcho(s.URL, s.Headers)
			if err != nil {
				return err.Error(), false, nil
			}
			return text, true, nil
		})
	}
	f.say("hi there")
	result["result"] = "hi there"
	return err
}
