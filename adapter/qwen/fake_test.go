package qwen

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

type object = map[string]any

// innerVar marks the program that the launcher started.
const innerVar = "FAKE_QWEN_INNER"

// fake is Qwen Code 0.24.4 with --output-format=stream-json, as its transcripts show it and as far as the scenarios need it.
type fake struct {
	scenario adaptertest.Scenario
	state    string
	args     []string
	session  string
	resumed  bool
	calls    int
	items    int
}

// playFake is the main function of the fake. Like the real one it is a launcher that dies by a signal while the program it
// started lives on.
func playFake(scenario string, args []string) (int, error) {
	if os.Getenv(innerVar) == "" {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), innerVar+"=1")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		_ = cmd.Run() // the exit code says it
		return cmd.ProcessState.ExitCode(), nil
	}
	f := &fake{scenario: adaptertest.Scenario(scenario), state: os.Getenv(stateVar), args: args}
	if slices.Contains(args, "--acp") {
		end := object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": ""},
			"_meta": object{"usage": object{"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}, "durationMs": 1}}
		a := &acptest.Agent{Scenario: f.scenario, State: f.state, AskForMCP: !slices.Contains(args, "--approval-mode=yolo"),
			Initialize: object{"agentInfo": object{"name": "qwen-code", "title": "Qwen Code", "version": "0.24.4"}},
			Session: object{"configOptions": []any{object{"id": "reasoning_effort", "category": "thought_level", "type": "select", "currentValue": "default",
				"options": []any{object{"value": "low"}, object{"value": "medium"}, object{"value": "high"}, object{"value": "xhigh"}, object{"value": "max"}}}}},
			CallEnd: func() object { return end }}
		return a.Serve(), nil
	}
	switch f.scenario {
	case adaptertest.Crash:
		return 3, errors.New("something broke inside")
	case adaptertest.Malformed:
		fmt.Println(`{"type":"system","subtype":"init",`)
		fmt.Println("Segmentation fault")
		return 0, nil
	case adaptertest.Stubborn:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	default:
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
		go func() { <-stop; fmt.Fprintln(os.Stderr, "Operation cancelled."); os.Exit(130) }()
	}
	return f.prompt()
}

func (f *fake) print(v object) {
	if _, ok := v["session_id"]; !ok {
		v["session_id"] = f.session
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(b, '\n'))
}

func newID() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", os.Getpid(), time.Now().UnixNano()&0xffffffffffff)
}

// option is the value of an argument.
func (f *fake) option(name string) string {
	for _, a := range f.args {
		if v, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			return v
		}
	}
	return ""
}

func (f *fake) prompt() (int, error) {
	said, err := io.ReadAll(os.Stdin)
	if err != nil || len(said) == 0 {
		return 1, errors.New("No input provided via stdin. Input can be provided by piping data into gemini or using the --prompt option.")
	}
	if f.option("output-format") != "stream-json" {
		return 1, fmt.Errorf("Unknown argument in %q", f.args)
	}
	f.session = newID()
	if id := f.option("resume"); id != "" {
		if _, err := os.Stat(filepath.Join(f.state, filepath.Base(id))); err != nil {
			return 1, fmt.Errorf("No saved session found with ID %s. Run `qwen --resume` without an ID to choose from existing sessions.", id)
		}
		if f.resumed = true; !slices.Contains(f.args, "--fork-session") {
			f.session = id
		}
	}
	model := f.option("model")
	if model == "" {
		model = "qwen-max"
	}
	fmt.Fprintln(os.Stderr, "Ripgrep not available: spawn /opt/rg EACCES. Falling back to built-in grep.")
	f.callHooks("SessionStart", object{"source": "startup", "model": model})
	f.print(object{"type": "system", "subtype": "init", "cwd": "/w", "model": model, "qwen_code_version": "0.24.4", "mcp_servers": []any{}})
	if f.option("chat-recording") != "false" {
		_ = os.WriteFile(filepath.Join(f.state, f.session), nil, 0o600)
	}
	fault, structured := f.scene()
	result := object{"type": "result", "subtype": "success", "is_error": false, "num_turns": f.calls, "duration_ms": 5, "result": "hi there",
		"usage":              object{"input_tokens": 100*f.calls + 900, "output_tokens": 20*f.calls + 99}, // memories cost something too
		"permission_denials": []any{}}
	switch {
	case fault != "":
		delete(result, "result")
		result["subtype"], result["is_error"], result["error"] = "error_during_execution", true, object{"message": fault}
	case structured != nil:
		b, _ := json.Marshal(structured)
		result["structured_result"], result["result"] = structured, string(b)
	case f.scenario == adaptertest.Remember && f.resumed:
		result["result"] = "it was 42"
	}
	f.print(result)
	if fault != "" {
		return 1, nil
	}
	return 0, nil
}

// scene is what happens in the turn.
func (f *fake) scene() (fault string, structured any) {
	answer := "hi there"
	switch f.scenario {
	case adaptertest.Remember:
		answer = "nothing to remember"
		if f.resumed {
			answer = "it was 42"
		}
	case adaptertest.Fail:
		fault = "[API Error: 400 no such thing]"
		f.say("text", object{"type": "text", "text": fault}, false)
		return fault, nil
	case adaptertest.Hang, adaptertest.Stubborn:
		f.say("text", object{"type": "text", "text": "working "}, false)
		time.Sleep(time.Minute)
	case adaptertest.Long:
		answer = strings.Repeat("word after word ", 200)
	case adaptertest.Think:
		f.say("thinking", object{"type": "thinking", "thinking": "let me see"}, false)
	case adaptertest.Steps, adaptertest.Spend:
		for range 2 {
			f.tool(toolShell, object{"command": "echo step"}, "done", false)
		}
		answer = "all steps taken"
	case adaptertest.Approval:
		f.tool(toolShell, object{"command": "touch it"}, `Qwen Code requires permission to use "run_shell_command", but that permission was declined.`,
			f.option("approval-mode") != "yolo")
	case adaptertest.Tool, adaptertest.Connect:
		return f.useServer(), nil
	case adaptertest.Structure:
		var value any = object{"answer": "hi"}
		f.tool(toolStructure, object{"answer": "hi"}, "ok", false)
		return "", value
	}
	f.call()
	f.say("text", object{"type": "text", "text": answer}, true)
	return "", nil
}

// useServer calls the first tool of the MCP server of the run.
func (f *fake) useServer() (fault string) {
	b, err := os.ReadFile(f.option("mcp-config"))
	var config struct {
		Servers map[string]cliagent.MCPEntry `json:"mcpServers"`
	}
	if err != nil || json.Unmarshal(b, &config) != nil {
		return fmt.Sprintf("Invalid MCP configuration: %v", err)
	}
	for name, server := range config.Servers {
		output, failed := "a file", false
		if server.HTTPURL != "" {
			if output, err = adaptertest.CallEcho(server.HTTPURL, server.Headers); err != nil {
				output, failed = err.Error(), true
			}
		}
		f.tool("mcp__"+name+"__echo", object{"text": "hi"}, output, failed)
	}
	f.call()
	f.say("text", object{"type": "text", "text": "hi there"}, true)
	return ""
}

// call is one more model call, unless there may be no more.
func (f *fake) call() {
	if f.calls++; f.option("max-session-turns") == fmt.Sprint(f.calls-1) {
		fmt.Fprintln(os.Stderr, "Reached max session turns for this session. Increase the number of turns by specifying maxSessionTurns in settings.json.")
		os.Exit(53)
	}
}

// say is a message of one block, in pieces where they are asked for.
func (f *fake) say(kind string, block object, last bool) {
	if text, ok := block["text"].(string); ok && slices.Contains(f.args, "--include-partial-messages") {
		event := func(e object) { f.print(object{"type": "stream_event", "parent_tool_use_id": nil, "event": e}) }
		event(object{"type": "message_start", "message": object{"id": newID()}})
		event(object{"type": "content_block_start", "index": 0, "content_block": object{"type": kind, "text": ""}})
		for rest := text; rest != ""; {
			n := min(8, len(rest))
			if strings.HasPrefix(text, "[API") {
				n = len(rest)
			}
			event(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": rest[:n]}})
			rest = rest[n:]
		}
		event(object{"type": "content_block_stop", "index": 0})
		defer event(object{"type": "message_stop"})
	}
	usage := object{"input_tokens": 0, "output_tokens": 0}
	if last {
		usage = object{"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
	}
	f.print(object{"type": "assistant", "parent_tool_use_id": nil, "message": object{"id": newID(), "content": []any{block}, "usage": usage}})
}

// tool is a model call with a tool call, and its result.
func (f *fake) tool(name string, input object, output string, failed bool) {
	f.call()
	f.items++
	id := fmt.Sprintf("call_%d", f.items)
	f.say("tool_use", object{"type": "tool_use", "id": id, "name": name, "input": input}, true)
	time.Sleep(100 * time.Millisecond)
	if why, denied := f.callHooks("PreToolUse", object{"tool_name": name, "tool_input": input, "tool_use_id": "toolu_" + id, "tool_call_id": id}); denied {
		output, failed = why, true
	}
	f.print(object{"type": "user", "parent_tool_use_id": nil,
		"message": object{"content": []any{object{"type": "tool_result", "tool_use_id": id, "is_error": failed, "content": output}}}})
}
