package pi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

type object = map[string]any

var errAborted = errors.New("aborted")

// fake is Pi 0.87.1 in RPC mode, as its transcripts show it and as far as the scenarios need it.
type fake struct {
	scenario adaptertest.Scenario
	state    string
	flags    map[string]string
	session  string
	in       chan object
	steering []string
	calls    int
	aborted  bool
	abortID  any
}

func playFake(scenario string, args []string) (int, error) {
	f := &fake{scenario: adaptertest.Scenario(scenario), state: os.Getenv(stateVar), flags: map[string]string{}, in: make(chan object)}
	for i := 0; i < len(args); i++ {
		if args[i] == "--no-session" || i+1 == len(args) {
			f.flags[args[i]] = ""
			continue
		}
		f.flags[args[i]] = args[i+1]
		i++
	}
	switch f.scenario {
	case adaptertest.Crash:
		return 3, errors.New("something broke inside")
	case adaptertest.Malformed:
		fmt.Println(`{"type":"response","command":"get_state",`)
		fmt.Println("Segmentation fault")
		return 0, nil
	case adaptertest.Stubborn:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	if f.flags["--mode"] != "rpc" {
		return 1, fmt.Errorf("not RPC mode: %q", args)
	}
	for _, flag := range []string{"--session", "--fork"} {
		if id := f.flags[flag]; id != "" {
			if _, err := os.Stat(filepath.Join(f.state, filepath.Base(id))); err != nil {
				return 1, fmt.Errorf("No session found matching '%s'", id)
			}
		}
	}
	if f.session = f.flags["--session"]; f.session == "" {
		f.session = cliagent.NewUUID()
	}
	if _, ephemeral := f.flags["--no-session"]; !ephemeral {
		_ = os.WriteFile(filepath.Join(f.state, f.session), nil, 0o600)
	}
	go f.read()
	for v := range f.in {
		f.take(v)
	}
	return 0, nil
}

func (f *fake) read() {
	scan := bufio.NewScanner(os.Stdin)
	scan.Buffer(nil, 1<<26)
	for scan.Scan() {
		var v object
		if json.Unmarshal(scan.Bytes(), &v) != nil {
			f.print(object{"type": "response", "command": "parse", "success": false, "error": "Failed to parse command"})
			continue
		}
		f.in <- v
	}
	close(f.in)
}

func (f *fake) print(v object) {
	b, _ := json.Marshal(v)
	os.Stdout.Write(append(b, '\n'))
}

func (f *fake) reply(v object, data any) {
	r := object{"id": v["id"], "type": "response", "command": v["type"], "success": true}
	if data != nil {
		r["data"] = data
	}
	f.print(r)
}

// take deals with a command.
func (f *fake) take(v object) {
	switch v["type"] {
	case "get_state":
		f.reply(v, object{"sessionId": f.session, "model": object{"id": "scripted-model", "provider": "scripted"}})
	case "prompt":
		f.reply(v, nil)
		f.turn(v)
	case "steer":
		f.steering = append(f.steering, v["message"].(string))
		f.reply(v, nil)
	case "clear_queue":
		f.reply(v, object{"steering": f.steering, "followUp": []string{}})
		f.steering = nil
	case "abort":
		f.aborted, f.abortID = true, v["id"]
	}
}

// poll takes what has arrived, waiting up to d for it.
func (f *fake) poll(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !f.aborted {
		select {
		case v, ok := <-f.in:
			if !ok {
				os.Exit(0) // the end of its input ends it
			}
			f.take(v)
		case <-timer.C:
			return nil
		}
	}
	return errAborted
}

// turn plays the scenario for a prompt.
func (f *fake) turn(prompt object) {
	f.aborted = false
	f.print(object{"type": "agent_start"})
	f.said("user", prompt["message"])
	if err := f.scene(prompt); err != nil {
		end := object{"role": "assistant", "content": []any{}, "model": "scripted-model", "usage": object{"input": 0, "output": 0}, "stopReason": "error", "errorMessage": err.Error()}
		if errors.Is(err, errAborted) {
			end["stopReason"] = "aborted"
		}
		f.print(object{"type": "message_end", "message": end})
	}
	f.print(object{"type": "agent_end", "messages": []any{}, "willRetry": false})
	f.print(object{"type": "agent_settled"})
	if f.aborted {
		f.print(object{"id": f.abortID, "type": "response", "command": "abort", "success": true})
	}
}

func (f *fake) said(role string, text any) {
	m := object{"role": role, "content": []any{object{"type": "text", "text": text}}, "timestamp": 1}
	f.print(object{"type": "message_start", "message": m})
	f.print(object{"type": "message_end", "message": m})
}

// scene is what happens in a turn.
func (f *fake) scene(prompt object) error {
	answer := "hi there"
	switch f.scenario {
	case adaptertest.Remember:
		if answer = "it was 42"; f.flags["--session"]+f.flags["--fork"] == "" {
			answer = "nothing to remember"
		}
	case adaptertest.Fail:
		f.print(object{"type": "turn_start"})
		return errors.New(`400: {"code":null,"message":"no such thing","type":"invalid_request_error"}`)
	case adaptertest.Hang, adaptertest.Stubborn:
		if strings.Contains(fmt.Sprint(prompt["message"]), "again") {
			break
		}
		f.print(object{"type": "turn_start"})
		f.print(object{"type": "message_start", "message": object{"role": "assistant", "content": []any{}, "stopReason": "pending"}})
		f.piece(object{"type": "text_delta", "contentIndex": 0, "delta": "working "})
		return f.poll(time.Minute)
	case adaptertest.Long:
		answer = strings.Repeat("word after word ", 200)
	case adaptertest.Think:
		return f.model(object{"type": "thinking", "thinking": "let me see"}, object{"type": "text", "text": answer})
	case adaptertest.Steps, adaptertest.Spend:
		for range 2 {
			if err := f.tool("bash", object{"command": "true"}); err != nil {
				return err
			}
			if err := f.poll(150 * time.Millisecond); err != nil {
				return err
			}
			for _, text := range f.steering {
				f.said("user", text)
			}
			f.steering = nil
		}
		answer = "all steps taken"
	case adaptertest.Tool, adaptertest.Connect:
		for server, e := range f.gate().MCPServers {
			if err := f.tool("mcp__"+server+"__echo", object{"text": "ping"}, e); err != nil {
				return err
			}
		}
	case adaptertest.Approval:
		if err := f.tool("bash", object{"command": "touch it"}); err != nil {
			return err
		}
	case adaptertest.Clarify:
		said, err := f.dialog(object{"method": "input", "title": "Which bird?", "placeholder": "a name"})
		if err != nil {
			return err
		}
		answer = fmt.Sprint("so ", said["value"])
	case adaptertest.Attach:
		if images, _ := prompt["images"].([]any); len(images) == 0 {
			answer = "there is no image"
		}
	}
	return f.model(object{"type": "text", "text": answer})
}

func (f *fake) piece(e object) {
	f.print(object{"type": "message_update", "usage": object{"input": 0}, "assistantMessageEvent": e})
}

// model is a call of the model: its blocks in pieces, then the whole message.
func (f *fake) model(blocks ...object) error {
	f.calls++
	f.print(object{"type": "turn_start"})
	m := object{"role": "assistant", "content": []any{}, "model": "scripted-model", "stopReason": "pending"}
	f.print(object{"type": "message_start", "message": m})
	stop := "stop"
	for i, b := range blocks {
		kind := b["type"].(string)
		var text string
		switch kind {
		case "toolCall":
			kind, stop = "toolcall", "toolUse"
			f.piece(object{"type": "toolcall_start", "contentIndex": i, "id": b["id"], "toolName": b["name"]})
			input, _ := json.Marshal(b["arguments"])
			text = string(input)
		default:
			f.piece(object{"type": kind + "_start", "contentIndex": i})
			text = b[kind].(string)
		}
		for part := range slices.Chunk([]byte(text), 8) {
			f.piece(object{"type": kind + "_delta", "contentIndex": i, "delta": string(part)})
		}
	}
	for i, b := range blocks {
		if kind := b["type"].(string); kind == "toolCall" {
			f.piece(object{"type": "toolcall_end", "contentIndex": i, "toolCall": b})
		} else {
			f.piece(object{"type": kind + "_end", "contentIndex": i, "content": b[kind]})
		}
	}
	m["content"], m["stopReason"] = blocks, stop
	m["usage"] = object{"input": 100, "output": 20, "cacheRead": 0, "cacheWrite": 0, "reasoning": 0, "totalTokens": 120, "cost": object{"total": 0.0008}}
	f.print(object{"type": "message_end", "message": m})
	return nil
}

// gated is what the extension of the run does.
type gated struct {
	Asks       bool
	Free       []string
	MCPServers map[string]cliagent.MCPEntry
}

func (f *fake) gate() (g gated) {
	source, _ := os.ReadFile(f.flags["--extension"])
	if _, rest, ok := strings.Cut(string(source), "const run = "); ok {
		rest, _, _ = strings.Cut(rest, ";\n")
		if json.Unmarshal([]byte(rest), &g) != nil {
			panic("the extension of the run: " + rest)
		}
	}
	return g
}

// tool makes the model call a tool, which an extension of the run may ask about. Tools that are not enabled do not
// exist.
func (f *fake) tool(name string, input object, server ...cliagent.MCPEntry) error {
	id := fmt.Sprintf("call_%d", f.calls)
	if err := f.model(object{"type": "toolCall", "id": id, "name": name, "arguments": input}); err != nil {
		return err
	}
	f.print(object{"type": "tool_execution_start", "toolCallId": id, "toolName": name, "args": input})
	text, failed := "done\n", false
	enabled, limited := f.flags["--tools"]
	gate := f.gate()
	if limited && !slices.Contains(strings.Split(enabled, ","), name) {
		text, failed = "Tool "+name+" not found", true
	} else if gate.Asks && !slices.Contains(gate.Free, name) {
		question, _ := json.Marshal(object{"id": id, "tool": name, "input": input})
		said, err := f.dialog(object{"method": "input", "title": "drawbar:tool", "placeholder": string(question)})
		if err != nil {
			return err
		}
		var verdict struct {
			Allow  bool
			Reason string
		}
		_ = json.Unmarshal([]byte(fmt.Sprint(said["value"])), &verdict)
		if !verdict.Allow {
			text, failed = "the call was refused", true
		}
	}
	if !failed && len(server) > 0 && server[0].URL != "" {
		var err error
		if text, err = adaptertest.CallEcho(server[0].URL, server[0].Headers); err != nil {
			text, failed = err.Error(), true
		}
	}
	if !failed {
		f.print(object{"type": "tool_execution_update", "toolCallId": id, "toolName": name, "args": input, "partialResult": object{"content": []any{}}})
	}
	result := object{"content": []any{object{"type": "text", "text": text}}}
	f.print(object{"type": "tool_execution_end", "toolCallId": id, "toolName": name, "result": result, "isError": failed})
	f.print(object{"type": "turn_end", "message": object{"role": "assistant"}, "toolResults": []any{}})
	return nil
}

// dialog asks and waits for the reply.
func (f *fake) dialog(request object) (object, error) {
	request["type"], request["id"] = "extension_ui_request", cliagent.NewUUID()
	f.print(request)
	for v := range f.in {
		if v["type"] == "extension_ui_response" && v["id"] == request["id"] {
			return v, nil
		}
		if f.take(v); f.aborted {
			return nil, errAborted
		}
	}
	os.Exit(0)
	return nil, nil
}
