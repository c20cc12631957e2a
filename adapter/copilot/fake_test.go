package copilot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// object is a JSON object.
type object = map[string]any

// fake is Copilot CLI 1.0.102 as its transcripts show it, as far as the scenarios need it.
type fake struct {
	scenario adaptertest.Scenario
	flags    map[string]string
	session  string
	step     int
	stop     chan os.Signal
	servers  []object
}

var errStopped = errors.New("stopped")

// playFake is the main function of the fake.
func playFake(scenario string, args []string) (int, error) {
	f := &fake{scenario: adaptertest.Scenario(scenario), flags: map[string]string{}, stop: make(chan os.Signal, 1)}
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		f.flags[name] = value
	}
	if os.Getenv("COPILOT_ALLOW_ALL") != "" {
		return 1, errors.New("error: everything would be allowed")
	}
	if err := f.readServers(); err != nil {
		return 1, err
	}
	if f.has("--acp") {
		return f.converse(), nil
	}
	switch f.scenario {
	case adaptertest.Crash:
		return 3, errors.New("something broke inside")
	case adaptertest.Malformed:
		fmt.Println("{\"type\":\"session.tools_updated\",")
		fmt.Println("Segmentation fault")
		return 0, nil
	case adaptertest.Stubborn:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	default:
		signal.Notify(f.stop, syscall.SIGTERM, syscall.SIGINT)
	}
	f.session = f.flags["--session-id"]
	prompt, err := io.ReadAll(os.Stdin)
	if f.flags["--output-format"] != "json" || len(f.session) != 36 || !f.has("--usage-output-file") || err != nil || len(prompt) == 0 {
		return 1, fmt.Errorf("error: Invalid command format: %q, a prompt of %d bytes (%v)", args, len(prompt), err)
	}
	return f.oneShot(), nil
}

func (f *fake) has(flag string) bool { _, ok := f.flags[flag]; return ok }

// readServers reads the file of MCP servers.
func (f *fake) readServers() error {
	file, ok := strings.CutPrefix(f.flags["--additional-mcp-config"], "@")
	if !ok {
		return nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var config struct {
		Servers map[string]object `json:"mcpServers"`
	}
	if err := json.Unmarshal(b, &config); err != nil {
		return err
	}
	for name, server := range config.Servers {
		server["name"] = name
		f.servers = append(f.servers, server)
	}
	return nil
}

// converse speaks the Agent Client Protocol.
func (f *fake) converse() int {
	total := 0
	a := &acptest.Agent{Scenario: f.scenario, State: os.Getenv(stateVar),
		Call: func(u object) {
			id, _ := u["toolCallId"].(string)
			if server, ok := strings.CutPrefix(id, "mcp_"); ok && u["title"] != nil {
				u["title"] = strings.TrimSuffix(strings.Split(server, "__")[0], "_echo") + "-echo"
			}
			if u["status"] == "completed" && strings.HasPrefix(id, "run_shell") {
				u["rawOutput"] = object{"contents": []any{object{"type": "shell_exit", "exitCode": 0, "cwd": "/"}}}
			}
		},
		Answer: func(calls int) object {
			total += calls
			return object{"usage": object{"inputTokens": 100 * total, "outputTokens": 20 * total}}
		}}
	for _, s := range f.servers {
		var headers []any
		stated, _ := s["headers"].(object)
		for name, value := range stated {
			headers = append(headers, object{"name": name, "value": value})
		}
		s["headers"] = headers
		a.Servers = append(a.Servers, s)
	}
	return a.Serve()
}

// print is one line of the JSON output.
func (f *fake) print(typ string, data object) {
	b, err := json.Marshal(object{"type": typ, "data": data, "id": cliagent.NewUUID(), "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "ephemeral": true})
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(b, '\n'))
}

func (f *fake) oneShot() int {
	_ = os.WriteFile(filepath.Join(os.Getenv(stateVar), f.session), []byte("x"), 0o600)
	f.callHooks("sessionStart", object{"source": "new"})
	f.print("session.skills_loaded", object{"skills": []any{}})
	f.print("session.tools_updated", object{"model": "fake-1"})
	f.print("user.message", object{"content": "x"})
	err := f.scene()
	code := 0
	switch {
	case errors.Is(err, errStopped):
		f.print("agent.interrupted", object{"activity": "model_call"})
		f.print("abort", object{"reason": "user_abort"})
		f.print("assistant.idle", object{"aborted": true})
	case err != nil:
		f.print("session.error", object{"errorType": "query", "message": err.Error(), "statusCode": 500})
		f.print("assistant.idle", object{})
		code = 1
	default:
		f.print("assistant.idle", object{})
	}
	usage, _ := json.Marshal(object{"modelMetrics": object{"fake-1": object{"usage": object{"inputTokens": 100 * f.step, "outputTokens": 20 * f.step}}}, "currentModel": "fake-1"})
	_ = os.WriteFile(f.flags["--usage-output-file"], usage, 0o600)
	b, _ := json.Marshal(object{"type": "result", "sessionId": f.session, "exitCode": code, "usage": object{"premiumRequests": 1}})
	os.Stdout.Write(append(b, '\n'))
	return code
}

// wait is time that passes.
func (f *fake) wait(d time.Duration) error {
	select {
	case <-f.stop:
		return errStopped
	case <-time.After(d):
		return nil
	}
}

func (f *fake) scene() error {
	answer := "hi there"
	switch f.scenario {
	case adaptertest.Fail:
		f.begin()
		f.print("model.call_failure", object{"statusCode": 500, "errorMessage": `{"message":"broken"}`})
		return errors.New("no such thing")
	case adaptertest.Hang, adaptertest.Stubborn:
		f.begin()
		f.print("assistant.message_start", object{"messageId": "m"})
		f.print("assistant.message_delta", object{"messageId": "m", "deltaContent": "working "})
		if err := f.wait(time.Minute); err != nil {
			return err
		}
	case adaptertest.Long:
		answer = strings.Repeat("word after word ", 200)
	case adaptertest.Steps, adaptertest.Spend:
		for i := range 2 {
			if err := f.call(fmt.Sprintf("call-%d", i), "bash", object{"command": "echo step"}, object{"content": "step\n<shellId: 0 completed with exit code 0>"}, 0); err != nil {
				return err
			}
		}
		answer = "all steps taken"
	case adaptertest.Approval:
		if err := f.call("call-0", "bash", object{"command": "touch it"}, object{"content": "<shellId: 0 completed with exit code 0>"}, 0); err != nil {
			return err
		}
	case adaptertest.Attach:
		if _, err := os.Stat(f.flags["--attachment"]); err != nil {
			answer = "there is no image"
		}
	case adaptertest.Tool, adaptertest.Connect:
		for _, s := range f.servers {
			name, _ := s["name"].(string)
			said := "pong"
			if url, ok := s["url"].(string); ok {
				headers := map[string]string{}
				stated, _ := s["headers"].(object)
				for k, v := range stated {
					headers[k] = fmt.Sprint(v)
				}
				var err error
				if said, err = adaptertest.CallEcho(url, headers); err != nil {
					said = err.Error()
				}
			}
			if err := f.call("call-"+name, name+"-echo", object{"text": "ping"}, object{"content": said}, -1); err != nil {
				return err
			}
		}
	}
	f.begin()
	if f.scenario == adaptertest.Think {
		f.print("assistant.reasoning_delta", object{"reasoningId": "r", "deltaContent": "let me think "})
		f.print("assistant.reasoning_delta", object{"reasoningId": "r", "deltaContent": "about it"})
	}
	f.print("assistant.message_start", object{"messageId": "m"})
	for rest := answer; rest != ""; {
		n := min(8, len(rest))
		f.print("assistant.message_delta", object{"messageId": "m", "deltaContent": rest[:n]})
		rest = rest[n:]
	}
	f.print("assistant.message", object{"messageId": "m", "content": answer, "toolRequests": []any{}, "model": "fake-1"})
	f.end()
	return nil
}

func (f *fake) begin() { f.print("assistant.turn_start", object{"turnId": fmt.Sprint(f.step)}) }

func (f *fake) end() {
	f.print("assistant.turn_end", object{"turnId": fmt.Sprint(f.step)})
	f.step++
}

// call is a model call that uses a tool.
func (f *fake) call(id, tool string, input, result object, exit int) error {
	f.begin()
	request := object{"toolCallId": id, "name": tool, "arguments": input}
	start := object{"toolCallId": id, "toolName": tool, "arguments": input}
	done := object{"toolCallId": id, "success": true, "result": result}
	if exit >= 0 {
		done["shellExecution"] = object{"exitCode": exit}
	} else if server, ok := strings.CutSuffix(tool, "-echo"); ok {
		for _, o := range []object{request, start} {
			o["mcpServerName"], o["mcpToolName"] = server, "echo"
		}
	}
	f.print("assistant.tool_call_delta", object{"toolCallId": id, "toolName": tool, "inputDelta": "{}"})
	f.print("assistant.message", object{"messageId": "m", "content": "", "toolRequests": []any{request}})
	f.print("tool.execution_start", start)
	if err := f.wait(100 * time.Millisecond); err != nil {
		return err
	}
	if f.scenario == adaptertest.Approval && !f.has("--allow-all") {
		done = object{"toolCallId": id, "success": false, "error": object{"code": "denied", "message": "Permission denied because no interactive user response was available. Retry in an interactive session so the user can approve it"}}
	}
	if why, denied := f.callHooks("preToolUse", object{"toolName": tool, "toolArgs": input}); denied {
		done = object{"toolCallId": id, "success": false, "error": object{"code": "denied", "message": "Denied by preToolUse hook: " + why}}
	}
	f.print("tool.execution_complete", done)
	f.end()
	return nil
}
