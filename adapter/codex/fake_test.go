package codex

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
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

// fields is a JSON object.
type fields = map[string]any

// fake is Codex 0.169.0 as its transcripts show it, as far as the scenarios need it.
type fake struct {
	scenario adaptertest.Scenario
	state    string
	thread   string
	resumed  bool
	keep     bool // the thread can be resumed
	policy   string
	servers  fields
	image    bool

	in      chan fields
	asked   int
	items   int
	turn    string
	running bool
	started bool // a turn has begun
	steered []string
	stop    bool
	total   int // model calls of the thread
}

var errStopped = errors.New("interrupted")

// playFake is the main function of the fake.
func playFake(scenario string, args []string) (int, error) {
	f := &fake{scenario: adaptertest.Scenario(scenario), state: os.Getenv(stateVar), keep: true, in: make(chan fields, 100)}
	switch f.scenario {
	case adaptertest.Crash:
		return 3, errors.New("something broke inside")
	case adaptertest.Malformed:
		fmt.Println(`{"type":"thread.started",`)
		fmt.Println("Segmentation fault")
		return 0, nil
	case adaptertest.Stubborn:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	if len(args) > 0 && args[0] == "app-server" {
		return f.serve(), nil
	}
	return 2, fmt.Errorf("error: unexpected argument %q found", args)
}

func (f *fake) print(v fields) {
	b, _ := json.Marshal(v)
	os.Stdout.Write(append(b, '\n'))
}

func (f *fake) note(method string, params fields) {
	if params["threadId"] == nil {
		params["threadId"] = f.thread
	}
	f.print(fields{"method": method, "params": params, "emittedAtMs": time.Now().UnixMilli()})
}

func (f *fake) save() {
	if f.keep {
		_ = os.WriteFile(filepath.Join(f.state, f.thread), []byte(strconv.Itoa(f.total)), 0o600)
	}
}

// serve is app-server. The end of standard input ends it, whatever runs.
func (f *fake) serve() int {
	go func() {
		scan := bufio.NewScanner(os.Stdin)
		scan.Buffer(nil, 1<<24)
		for scan.Scan() {
			var v fields
			if json.Unmarshal(scan.Bytes(), &v) != nil {
				fmt.Fprintln(os.Stderr, "error: bad line on standard input")
				os.Exit(1)
			}
			f.in <- v
		}
		os.Exit(0)
	}()
	for v := range f.in {
		f.take(v)
	}
	return 0
}

// take deals with a message of the client.
func (f *fake) take(v fields) {
	method, _ := v["method"].(string)
	params, _ := v["params"].(fields)
	reply := func(result fields) { f.print(fields{"id": v["id"], "result": result}) }
	refuse := func(why string) {
		f.print(fields{"id": v["id"], "error": fields{"code": -32600, "message": why}})
	}
	switch method {
	case "initialize":
		reply(fields{"userAgent": "fake/0.169.0"})
	case "initialized", "":
	case "thread/start", "thread/resume", "thread/fork":
		f.begin(method, params, reply, refuse)
	case "thread/inject_items":
		reply(fields{})
	case "turn/start":
		f.turn, f.running = cliagent.NewUUID(), true
		reply(fields{"turn": fields{"id": f.turn, "status": "inProgress"}})
		f.runTurn(params)
	case "turn/steer":
		if !f.running || params["expectedTurnId"] != f.turn {
			refuse("no active turn to steer")
			return
		}
		f.steered = append(f.steered, fmt.Sprint(params["input"]))
		reply(fields{"turnId": f.turn})
	case "turn/interrupt":
		if !f.running || params["turnId"] != f.turn {
			refuse("no active turn to interrupt")
			return
		}
		f.stop = true
		reply(fields{})
	default:
		refuse("unknown variant " + method)
	}
}

func (f *fake) begin(method string, params fields, reply func(fields), refuse func(string)) {
	f.policy, _ = params["approvalPolicy"].(string)
	if ephemeral, _ := params["ephemeral"].(bool); ephemeral {
		f.keep = false
	}
	if config, ok := params["config"].(fields); ok {
		f.servers, _ = config["mcp_servers"].(fields)
	}
	from, _ := params["threadId"].(string)
	f.thread = cliagent.NewUUID()
	if method != "thread/start" {
		saved, err := os.ReadFile(filepath.Join(f.state, from))
		if err != nil {
			refuse("no rollout found for thread id " + from)
			return
		}
		f.total, _ = strconv.Atoi(string(saved))
		f.resumed = true
		if method == "thread/resume" {
			f.thread = from
		}
	}
	thread := fields{"id": f.thread, "forkedFromId": nil}
	if method == "thread/fork" {
		thread["forkedFromId"] = from
	}
	reply(fields{"thread": thread, "model": "gpt-5.5", "cwd": params["cwd"]})
	f.note("thread/started", fields{"thread": thread})
	if method == "thread/resume" {
		f.usage("old", 1)
	}
}

func (f *fake) usage(turn string, calls int) {
	count := func(n int) fields {
		return fields{"inputTokens": 100 * n, "cachedInputTokens": 0, "outputTokens": 20 * n, "reasoningOutputTokens": 0, "totalTokens": 120 * n}
	}
	f.note("thread/tokenUsage/updated", fields{"turnId": turn, "tokenUsage": fields{"total": count(f.total), "last": count(calls)}})
}

func (f *fake) runTurn(params fields) {
	f.stop, f.steered = false, nil
	if !f.started {
		f.started = true
		f.callHooks("SessionStart", fields{"source": "startup"})
	}
	f.note("turn/started", fields{"turn": fields{"id": f.turn, "status": "inProgress"}})
	var prompt strings.Builder
	if input, ok := params["input"].([]any); ok {
		for _, i := range input {
			item := i.(fields)
			f.image = f.image || item["type"] == "image" || item["type"] == "localImage"
			prompt.WriteString(fmt.Sprint(item["text"]))
		}
	}
	turn := fields{"id": f.turn, "status": "completed", "error": nil}
	switch err := f.scene(prompt.String()); {
	case errors.Is(err, errStopped):
		turn["status"] = "interrupted"
	case err != nil:
		turn["status"], turn["error"] = "failed", fields{"message": err.Error(), "codexErrorInfo": "other", "additionalDetails": nil}
		f.note("error", fields{"turnId": f.turn, "error": turn["error"], "willRetry": false})
	}
	f.save()
	f.running = false
	f.note("turn/completed", fields{"turn": turn})
}

// poll takes what has arrived, waiting up to d for it.
func (f *fake) poll(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !f.stop {
		select {
		case v := <-f.in:
			f.take(v)
		case <-timer.C:
			return nil
		}
	}
	return errStopped
}

// scene is what happens in a turn.
func (f *fake) scene(prompt string) error {
	answer := "hi there"
	switch f.scenario {
	case adaptertest.Remember:
		answer = "nothing to remember"
		if f.resumed {
			answer = "it was 42"
		}
	case adaptertest.Fail:
		return errors.New(`{"error":{"message":"no such thing","type":"invalid_request_error"}}`)
	case adaptertest.Hang, adaptertest.Stubborn:
		if strings.Contains(prompt, "again") {
			break
		}
		f.total++
		f.speak("working ", false)
		if err := f.poll(time.Minute); err != nil {
			return err
		}
	case adaptertest.Long:
		answer = strings.Repeat("word after word ", 200)
	case adaptertest.Steps, adaptertest.Spend:
		for range 2 {
			if err := f.command("echo step", false); err != nil {
				return err
			}
		}
		answer = "all steps taken"
	case adaptertest.Think:
		f.total++
		f.think("let me think about it")
		f.total--
	case adaptertest.Attach:
		if !f.image {
			answer = "there is no image"
		}
	case adaptertest.Structure:
		answer = `{"answer":"yes"}`
	case adaptertest.Clarify:
		if err := f.clarify(); err != nil {
			return err
		}
	case adaptertest.Approval:
		if err := f.command("touch it", true); err != nil {
			return err
		}
	case adaptertest.Tool, adaptertest.Connect:
		if err := f.useServer(); err != nil {
			return err
		}
	}
	f.total++
	f.speak(answer, true)
	f.usage(f.turn, 1)
	return nil
}

func (f *fake) item(state string, item fields) {
	f.note("item/"+state, fields{"turnId": f.turn, "item": item})
}

func (f *fake) id() string {
	f.items++
	return "item_" + f.turn[:8] + strconv.Itoa(f.items)
}

// speak is a text, in pieces.
func (f *fake) speak(text string, whole bool) {
	id := f.id()
	f.item("started", fields{"id": id, "type": "agentMessage", "text": ""})
	for rest := text; rest != ""; {
		n := min(8, len(rest))
		f.note("item/agentMessage/delta", fields{"turnId": f.turn, "itemId": id, "delta": rest[:n]})
		rest = rest[n:]
	}
	if whole {
		f.item("completed", fields{"id": id, "type": "agentMessage", "text": text})
	}
}

func (f *fake) think(text string) {
	id := f.id()
	f.item("started", fields{"id": id, "type": "reasoning", "summary": []any{}, "content": []any{}})
	f.note("item/reasoning/summaryTextDelta", fields{"turnId": f.turn, "itemId": id, "delta": text, "summaryIndex": 0})
	f.item("completed", fields{"id": id, "type": "reasoning", "summary": []any{text}, "content": []any{}})
}

// request asks the client and waits for its answer.
func (f *fake) request(method string, params fields) (fields, error) {
	id := f.asked
	f.asked++
	params["threadId"], params["turnId"] = f.thread, f.turn
	f.print(fields{"id": id, "method": method, "params": params})
	for !f.stop {
		v := <-f.in
		if v["method"] == nil && v["id"] == float64(id) {
			f.note("serverRequest/resolved", fields{"requestId": id})
			result, _ := v["result"].(fields)
			return result, nil
		}
		f.take(v)
	}
	f.note("serverRequest/resolved", fields{"requestId": id})
	return nil, errStopped
}

// command is a model call that runs a command, which leads out of the sandbox when it asks.
func (f *fake) command(command string, asks bool) error {
	f.total++
	id := f.id()
	item := func(state, status string, process, output, exit any) {
		f.item(state, fields{"id": id, "type": "commandExecution", "command": command, "cwd": "/w", "processId": process, "status": status, "aggregatedOutput": output, "exitCode": exit, "durationMs": 5})
	}
	if asks && f.policy == "never" {
		fmt.Fprintln(os.Stderr, "2026-11-20T11:44:46.240464Z ERROR codex_core::tools::router: error=approval policy is Never; reject command — you cannot ask for escalated permissions if the approval policy is Never")
		f.usage(f.turn, 1)
		return nil
	}
	if asks {
		item("started", "inProgress", nil, nil, nil)
		answer, err := f.request("item/commandExecution/requestApproval", fields{"itemId": id, "command": command, "cwd": "/w", "reason": "it must"})
		if err != nil {
			return err
		}
		if answer["decision"] != "accept" {
			item("completed", "declined", nil, nil, nil)
			f.usage(f.turn, 1)
			return nil
		}
	} else {
		if why, denied := f.callHooks("PreToolUse", fields{"tool_name": "Bash", "tool_input": fields{"command": command}, "tool_use_id": "call_" + id}); denied {
			fmt.Fprintln(os.Stderr, "2026-11-20T17:56:19.382716Z ERROR codex_core::tools::router: error=Command blocked by PreToolUse hook: "+why+". Command: "+command)
			return nil // it says no more of it
		}
		item("started", "inProgress", "7", nil, nil)
	}
	if err := f.poll(150 * time.Millisecond); err != nil {
		return err
	}
	item("completed", "completed", "7", "done\n", 0)
	f.usage(f.turn, 1)
	return nil
}

func (f *fake) clarify() error {
	f.total++
	_, err := f.request("item/tool/requestUserInput", fields{"itemId": f.id(), "isBlocking": false,
		"questions": []any{fields{"id": "q", "header": "Color", "question": "Which color?", "options": []any{fields{"label": "Red", "description": "r"}}}}})
	if err == nil {
		f.usage(f.turn, 1)
	}
	return err
}

// useServer calls a tool of every MCP server; one that is reached by HTTP is really called.
func (f *fake) useServer() error {
	for name, s := range f.servers {
		server := s.(fields)
		f.total++
		id := f.id()
		item := func(state, status string, result any) {
			f.item(state, fields{"id": id, "type": "mcpToolCall", "server": name, "tool": "echo", "status": status, "arguments": fields{"text": "ping"}, "result": result, "error": nil})
		}
		item("started", "inProgress", nil)
		text := "pong"
		if server["default_tools_approval_mode"] != "approve" {
			answer, err := f.request("mcpServer/elicitation/request", fields{"serverName": name, "mode": "form", "message": "Allow?",
				"_meta": fields{"codex_approval_kind": "mcp_tool_call", "tool_name": "echo", "tool_params": fields{}}, "requestedSchema": fields{"type": "object", "properties": fields{}}})
			if err != nil {
				return err
			}
			if answer["action"] != "accept" {
				item("completed", "failed", nil)
				continue
			}
		}
		if url, ok := server["url"].(string); ok {
			headers, _ := server["http_headers"].(fields)
			called, err := adaptertest.CallEcho(url, words(headers))
			if err != nil {
				called = err.Error()
			}
			text = called
		}
		item("completed", "completed", fields{"content": []any{fields{"type": "text", "text": text}}, "structuredContent": nil})
		f.usage(f.turn, 1)
	}
	return nil
}

// words are a table of texts.
func words(f fields) map[string]string {
	m := make(map[string]string, len(f))
	for k, v := range f {
		m[k] = fmt.Sprint(v)
	}
	return m
}
