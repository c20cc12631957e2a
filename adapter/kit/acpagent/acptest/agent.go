// Package acptest simulates agents that speak the Agent Client Protocol, for tests of adapters based on package
// acpagent. A test binary started in place of the agent plays the scenarios of the conformance suite with it:
//
//	func TestMain(m *testing.M) {
//		process.MaybeKeeper()
//		if scenario := os.Getenv("FAKE_AGENT"); scenario != "" {
//			os.Exit((&acptest.Agent{Scenario: adaptertest.Scenario(scenario), State: os.Getenv("FAKE_STATE")}).Serve())
//		}
//		goleak.VerifyTestMain(m)
//	}
//
// It implements the protocol independently, so that no tested code tests itself.
package acptest

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
)

// Fields is a JSON object.
type Fields = map[string]any

// Agent plays one scenario. Zero values of all other fields give a plain agent.
type Agent struct {
	Scenario adaptertest.Scenario
	State    string // folder of its sessions, empty for none

	Initialize  Fields                 // merged into the reply to initialize
	Session     Fields                 // merged into the replies that open a session
	Call        func(update Fields)    // changes a tool call before it is sent, for agent-specific ids and names
	Answer      func(calls int) Fields // merged into the reply to a prompt of so many model calls; default: usage
	CallEnd     func() Fields          // returns an update that ends a model call, nil for none
	Cut         func(calls int) bool   // an extension of the agent cancels the turn after so many model calls; nil for never
	Servers     []any                  // MCP servers besides those of the session, in the same format
	AskForMCP   bool                   // ask before calling a tool of an MCP server
	AskAlways   bool                   // ask before each command
	Unasking    string                 // the mode of a session in which it asks nothing
	Stay        bool                   // do not exit when standard input is closed
	HistoryLate bool                   // show a loaded session's history after the reply to session/load

	in      chan Fields
	out     io.Writer
	session string
	mode    string
	resumed bool
	servers []any
	asked   int
	items   int
	running bool
	stop    bool
	image   bool
	calls   int // of the running turn
	turn    int
}

var errStopped = errors.New("interrupted")

// Serve speaks over the standard streams until standard input ends, and returns the exit code.
func (a *Agent) Serve() int {
	a.in, a.out = make(chan Fields, 100), os.Stdout
	switch a.Scenario {
	case adaptertest.Crash:
		fmt.Fprintln(os.Stderr, "something broke inside")
		return 3
	case adaptertest.Malformed:
		fmt.Fprintln(a.out, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":`)
		fmt.Fprintln(a.out, "Segmentation fault")
		return 0
	case adaptertest.Stubborn:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		a.Stay = true
	}
	go func() {
		scan := bufio.NewScanner(os.Stdin)
		scan.Buffer(nil, 1<<26)
		for scan.Scan() {
			var v Fields
			if json.Unmarshal(scan.Bytes(), &v) != nil {
				fmt.Fprintln(os.Stderr, "error: bad line on standard input")
				os.Exit(1)
			}
			a.in <- v
		}
		if a.Stay {
			time.Sleep(time.Hour)
		}
		os.Exit(0)
	}()
	for v := range a.in {
		a.take(v)
	}
	return 0
}

func (a *Agent) print(v Fields) {
	v["jsonrpc"] = "2.0"
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	_, _ = a.out.Write(append(b, '\n')) // the reader has gone
}

// update sends an update of the session.
func (a *Agent) update(u Fields) {
	a.print(Fields{"method": "session/update", "params": Fields{"sessionId": a.session, "update": u}})
}

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("s-%x", b)
}

func over(v, set Fields) Fields {
	maps.Copy(v, set)
	return v
}

// take handles a message of the client.
func (a *Agent) take(v Fields) {
	method, _ := v["method"].(string)
	params, _ := v["params"].(Fields)
	reply := func(result Fields) { a.print(Fields{"id": v["id"], "result": result}) }
	refuse := func(code int, why string) {
		a.print(Fields{"id": v["id"], "error": Fields{"code": code, "message": why}})
	}
	switch method {
	case "initialize":
		reply(over(Fields{"protocolVersion": 1, "agentInfo": Fields{"name": "fake", "title": "Fake", "version": "1.0.0"}, "authMethods": []any{},
			"agentCapabilities": Fields{"loadSession": true, "promptCapabilities": Fields{"image": true, "audio": true, "embeddedContext": true},
				"mcpCapabilities": Fields{"http": true, "sse": true}}}, a.Initialize))
	case "session/new", "session/load", "session/fork":
		a.open(method, params, reply, refuse)
	case "session/set_mode", "session/set_model", "session/set_config_option":
		if mode, ok := params["modeId"].(string); ok {
			a.mode = mode
		}
		reply(Fields{})
	case "session/prompt":
		a.prompt(params, reply, refuse)
	case "session/cancel":
		a.stop = a.running
	default:
		if v["id"] != nil && method != "" {
			refuse(-32601, "no method "+method)
		}
	}
}

func (a *Agent) open(method string, params Fields, reply func(Fields), refuse func(int, string)) {
	servers, _ := params["mcpServers"].([]any)
	a.servers = append(servers, a.Servers...)
	a.session = newID()
	answer := Fields{"sessionId": a.session, "modes": Fields{"currentModeId": "default", "availableModes": []any{
		Fields{"id": "default", "name": "Default"}, Fields{"id": "yolo", "name": "YOLO"}}},
		"models": Fields{"currentModelId": "fake-1", "availableModels": []any{Fields{"modelId": "fake-1", "name": "Fake One"}, Fields{"modelId": "fake-2", "name": "Fake Two"}}}}
	if method != "session/new" {
		id, _ := params["sessionId"].(string)
		saved, err := os.ReadFile(filepath.Join(a.State, filepath.Base(id)))
		if err != nil || a.State == "" {
			refuse(-32002, "Session not found: "+id)
			return
		}
		a.resumed = true
		if method == "session/load" {
			a.session = id
			delete(answer, "sessionId")
		}
		history := func() { // shown again
			for i := range len(saved) {
				a.update(Fields{"sessionUpdate": "user_message_chunk", "content": text("old question " + strconv.Itoa(i))})
				a.update(Fields{"sessionUpdate": "agent_message_chunk", "content": text("old answer")})
			}
		}
		if a.HistoryLate {
			defer history()
		} else {
			history()
		}
	}
	answer = over(answer, a.Session)
	if modes, ok := answer["modes"].(Fields); ok {
		a.mode, _ = modes["currentModeId"].(string)
	}
	reply(answer)
	a.update(Fields{"sessionUpdate": "available_commands_update", "availableCommands": []any{}})
}

func text(s string) Fields { return Fields{"type": "text", "text": s} }

func (a *Agent) save() {
	if a.State != "" {
		_ = os.WriteFile(filepath.Join(a.State, a.session), []byte(strings.Repeat("x", a.turn)), 0o600)
	}
}

func (a *Agent) prompt(params Fields, reply func(Fields), refuse func(int, string)) {
	var said strings.Builder
	blocks, _ := params["prompt"].([]any)
	for _, b := range blocks {
		block, _ := b.(Fields)
		a.image = a.image || block["type"] == "image"
		fmt.Fprint(&said, block["text"])
	}
	a.running, a.stop, a.calls = true, false, 0
	a.turn++
	err := a.scene(said.String())
	a.running = false
	a.save()
	answer := Fields{"stopReason": "end_turn"}
	switch {
	case errors.Is(err, errStopped):
		answer["stopReason"] = "cancelled"
	case err != nil:
		refuse(-32603, err.Error())
		return
	}
	if a.Answer != nil {
		over(answer, a.Answer(a.calls))
	} else {
		answer["usage"] = Fields{"inputTokens": 100 * a.calls, "outputTokens": 20 * a.calls, "totalTokens": 120 * a.calls}
	}
	reply(answer)
}

// poll handles what arrives, waiting up to d for it.
func (a *Agent) poll(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !a.stop {
		select {
		case v := <-a.in:
			a.take(v)
		case <-timer.C:
			return nil
		}
	}
	return errStopped
}

// scene plays a turn.
func (a *Agent) scene(prompt string) error {
	answer := "hi there"
	switch a.Scenario {
	case adaptertest.Remember:
		answer = "nothing to remember"
		if a.resumed {
			answer = "it was 42"
		}
	case adaptertest.Fail:
		return errors.New("Internal error: no such thing")
	case adaptertest.Hang, adaptertest.Stubborn:
		if strings.Contains(prompt, "again") {
			break
		}
		a.speak("working ")
		if err := a.poll(time.Minute); err != nil {
			return err
		}
	case adaptertest.Long:
		answer = strings.Repeat("word after word ", 200)
	case adaptertest.Steps, adaptertest.Spend:
		for range 2 {
			if err := a.command("echo step", false); err != nil {
				return err
			}
			if a.Cut != nil && a.Cut(a.calls) {
				return errStopped
			}
		}
		answer = "all steps taken"
	case adaptertest.Think:
		a.update(Fields{"sessionUpdate": "agent_thought_chunk", "content": text("let me think ")})
		a.update(Fields{"sessionUpdate": "agent_thought_chunk", "content": text("about it")})
	case adaptertest.Attach:
		if !a.image {
			answer = "there is no image"
		}
	case adaptertest.Structure:
		answer = `{"answer":"yes"}`
	case adaptertest.Approval:
		if err := a.command("touch it", true); err != nil {
			return err
		}
	case adaptertest.Tool, adaptertest.Connect:
		if err := a.useServers(); err != nil {
			return err
		}
	}
	a.speak(answer)
	a.endCall()
	return nil
}

// speak sends a text in pieces.
func (a *Agent) speak(whole string) {
	for rest := whole; rest != ""; {
		n := min(8, len(rest))
		a.update(Fields{"sessionUpdate": "agent_message_chunk", "content": text(rest[:n])})
		rest = rest[n:]
	}
}

// endCall ends a model call.
func (a *Agent) endCall() {
	a.calls++
	if a.CallEnd != nil {
		a.update(a.CallEnd())
	}
}

// request asks the client and waits for the reply.
func (a *Agent) request(method string, params Fields) (Fields, error) {
	id := a.asked
	a.asked++
	params["sessionId"] = a.session
	a.print(Fields{"id": id, "method": method, "params": params})
	for !a.stop {
		v := <-a.in
		if v["method"] == nil && v["id"] == float64(id) {
			result, _ := v["result"].(Fields)
			return result, nil
		}
		a.take(v)
	}
	return nil, errStopped
}

// call sends the update of a tool call.
func (a *Agent) call(kind, id, status string, more Fields) Fields {
	u := over(Fields{"toolCallId": id, "status": status}, more)
	if kind != "" {
		u["sessionUpdate"] = kind
	}
	if a.Call != nil {
		a.Call(u)
	}
	return u
}

func (a *Agent) id(tool string) string {
	a.items++
	return tool + "__" + strconv.Itoa(a.turn) + "-" + strconv.Itoa(a.items)
}

// permitted asks for permission to use a tool.
func (a *Agent) permitted(id string, call Fields) (bool, error) {
	if a.Unasking != "" && a.mode == a.Unasking {
		a.update(a.call("tool_call", id, "in_progress", call))
		return true, nil
	}
	answer, err := a.request("session/request_permission", Fields{"toolCall": a.call("", id, "pending", call), "options": []any{
		Fields{"optionId": "always", "kind": "allow_always", "name": "Always"}, Fields{"optionId": "once", "kind": "allow_once", "name": "Once"},
		Fields{"optionId": "no", "kind": "reject_once", "name": "No"}}})
	if err != nil {
		return false, err
	}
	outcome, _ := answer["outcome"].(Fields)
	return outcome["outcome"] == "selected" && outcome["optionId"] == "once", nil
}

// command is a model call that runs a command, after asking if asks is set.
func (a *Agent) command(command string, asks bool) error {
	a.endCall()
	id := a.id("run_shell_command")
	call := Fields{"title": command, "kind": "execute", "content": []any{}, "locations": []any{}, "rawInput": Fields{"command": command}}
	if asks || a.AskAlways {
		ok, err := a.permitted(id, call)
		if err != nil || !ok {
			return err // nothing more is reported about a refused call
		}
	} else {
		a.update(a.call("tool_call", id, "in_progress", call))
	}
	if err := a.poll(150 * time.Millisecond); err != nil {
		return err
	}
	a.update(a.call("tool_call_update", id, "completed", Fields{"content": []any{Fields{"type": "content", "content": text("done\n")}}}))
	return nil
}

// useServers calls a tool of every MCP server; one with a URL is really called.
func (a *Agent) useServers() error {
	for _, s := range a.servers {
		server, _ := s.(Fields)
		name, _ := server["name"].(string)
		a.endCall()
		id := a.id("mcp_" + name + "_echo")
		call := Fields{"title": "echo (" + name + " MCP Server)", "kind": "other", "rawInput": Fields{"text": "ping"}}
		if a.AskForMCP {
			if ok, err := a.permitted(id, call); err != nil || !ok {
				return err
			}
		} else {
			a.update(a.call("tool_call", id, "in_progress", call))
		}
		answer := "pong"
		if url, ok := server["url"].(string); ok {
			headers := map[string]string{}
			list, _ := server["headers"].([]any)
			for _, h := range list {
				header, _ := h.(Fields)
				headers[fmt.Sprint(header["name"])] = fmt.Sprint(header["value"])
			}
			called, err := adaptertest.CallEcho(url, headers)
			if err != nil {
				called = err.Error()
			}
			answer = called
		}
		a.update(a.call("tool_call_update", id, "completed", Fields{"content": []any{Fields{"type": "content", "content": text(answer)}}}))
	}
	return nil
}
