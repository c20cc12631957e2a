package demo

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// marker is set in the stand-in's environment, to distinguish it from a program that happens to be called claude.
const marker = "DRAWBAR_DEMO_AGENT"

// IsAgent reports whether this process was started as the demo's agent.
func IsAgent(args []string, getenv func(string) string) bool {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	return name == "claude" && getenv(marker) == "1"
}

// Agent runs the demo's agent. It uses Claude Code's one-shot and two-way formats on its streams and the Anthropic Messages API with
// its model. It reads and edits files and runs commands. It asks before it changes a file, and refuses the change in one-shot mode.
func Agent(ctx context.Context, args []string, in io.Reader, out io.Writer, getenv func(string) string) int {
	if slices.Contains(args, "--version") { // asked for in a run that lasts; a version would be compared with Claude Code's
		fmt.Fprintln(out, "the demo's stand-in for Claude Code")
		return 0
	}
	cwd, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	a := &standIn{in: bufio.NewScanner(in), out: json.NewEncoder(out), base: getenv("ANTHROPIC_BASE_URL"), key: getenv("ANTHROPIC_API_KEY"),
		cwd: cwd, session: uuid(), started: time.Now()}
	a.out.SetEscapeHTML(false)
	a.in.Buffer(nil, 8<<20)
	if a.twoWay = slices.Contains(args, "--input-format=stream-json"); !a.twoWay {
		prompt, err := io.ReadAll(in)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		message, err := json.Marshal(obj{"role": "user", "content": string(prompt)})
		if err == nil {
			err = a.turn(ctx, message)
		}
		if err != nil {
			a.result(err)
			return 1
		}
		return 0
	}
	for a.in.Scan() {
		var m struct {
			Type      string          `json:"type"`
			RequestID string          `json:"request_id"`
			Message   json.RawMessage `json:"message"`
		}
		if json.Unmarshal(a.in.Bytes(), &m) != nil {
			fmt.Fprintln(os.Stderr, "a line is not JSON")
			return 1
		}
		switch m.Type {
		case "control_request":
			a.emit(obj{"type": "control_response", "response": obj{"subtype": "success", "request_id": m.RequestID, "response": obj{"commands": []any{}}}})
		case "user":
			if err := a.turn(ctx, m.Message); err != nil {
				a.result(err)
				return 1
			}
		}
	}
	return 0
}

type obj = map[string]any

type standIn struct {
	in        *bufio.Scanner
	out       *json.Encoder
	base, key string
	twoWay    bool
	cwd       string
	session   string
	started   time.Time
	messages  []any
	calls     int
	usage     struct{ in, out int64 }
	text      string
}

const (
	standInModel = "scripted-model"
	// Invented prices of the scripted model, in dollars per token.
	standInIn, standInOut = 3e-6, 15e-6
)

func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (a *standIn) emit(line obj) {
	if line["type"] != "control_request" && line["type"] != "control_response" {
		line["session_id"], line["uuid"] = a.session, uuid()
	}
	// A closed pipe is noticed by the next read.
	_ = a.out.Encode(line)
}

// turn handles one user message: it calls the model and runs its tools until there are no more tool calls.
func (a *standIn) turn(ctx context.Context, message json.RawMessage) error {
	a.emit(obj{"type": "system", "subtype": "init", "cwd": a.cwd, "tools": []string{"Bash", "Read", "Edit", "Write"}, "mcp_servers": []any{}, "model": standInModel,
		"permissionMode": "default", "apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": "0.0.0-demo"})
	a.messages = append(a.messages, message)
	for {
		blocks, err := a.call(ctx)
		if err != nil {
			return err
		}
		a.messages = append(a.messages, obj{"role": "assistant", "content": blocks})
		var results []any
		for _, b := range blocks {
			if b["type"] != "tool_use" {
				continue
			}
			r, err := a.tool(ctx, b)
			if err != nil {
				return err
			}
			results = append(results, r)
		}
		if len(results) == 0 {
			a.result(nil)
			return nil
		}
		a.messages = append(a.messages, obj{"role": "user", "content": results})
	}
}

// call calls the model and forwards its stream.
func (a *standIn) call(ctx context.Context) ([]obj, error) {
	a.calls++
	tools := []obj{}
	for _, name := range []string{"Bash", "Read", "Edit", "Write"} {
		tools = append(tools, obj{"name": name, "description": name, "input_schema": obj{"type": "object"}})
	}
	body, err := json.Marshal(obj{"model": standInModel, "max_tokens": 4096, "stream": true, "messages": a.messages, "tools": tools})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("content-type", "application/json")
	req.Header.Set("x-api-key", a.key)
	req.Header.Set("anthropic-version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // only for the message
		return nil, fmt.Errorf("the model answered %s: %s", resp.Status, text)
	}
	var blocks []obj
	var id string
	var partial strings.Builder
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(nil, 8<<20)
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		var ev struct {
			Type    string `json:"type"`
			Message struct {
				ID    string `json:"id"`
				Usage struct {
					Input int64 `json:"input_tokens"`
				} `json:"usage"`
			} `json:"message"`
			Block obj `json:"content_block"`
			Delta struct {
				Text string `json:"text"`
				JSON string `json:"partial_json"`
			} `json:"delta"`
			Usage struct {
				Output int64 `json:"output_tokens"`
			} `json:"usage"`
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			return nil, fmt.Errorf("the model's stream: %w", err)
		}
		a.emit(obj{"type": "stream_event", "event": json.RawMessage(data), "parent_tool_use_id": nil})
		switch ev.Type {
		case "message_start":
			id = ev.Message.ID
			a.usage.in += ev.Message.Usage.Input
		case "content_block_start":
			blocks = append(blocks, ev.Block)
			partial.Reset()
		case "content_block_delta":
			partial.WriteString(ev.Delta.Text + ev.Delta.JSON)
		case "content_block_stop":
			b := blocks[len(blocks)-1]
			switch b["type"] {
			case "text":
				b["text"] = partial.String()
				a.text = partial.String()
			case "tool_use":
				var input any = obj{}
				if partial.Len() > 0 {
					if err := json.Unmarshal([]byte(partial.String()), &input); err != nil {
						return nil, fmt.Errorf("the input of a tool: %w", err)
					}
				}
				b["input"] = input
			}
			a.emit(obj{"type": "assistant", "parent_tool_use_id": nil, "message": obj{"id": id, "type": "message", "role": "assistant", "model": standInModel,
				"content": []obj{b}, "stop_reason": nil, "usage": obj{"input_tokens": 1, "output_tokens": 1}}})
		case "message_delta":
			a.usage.out += ev.Usage.Output
		}
	}
	return blocks, sc.Err()
}

// tool asks for permission if needed, runs a tool call and reports it.
func (a *standIn) tool(ctx context.Context, call obj) (obj, error) {
	id, name := call["id"], call["name"].(string)
	input, _ := call["input"].(map[string]any)
	text := func(key string) string { s, _ := input[key].(string); return s }
	if name == "Edit" || name == "Write" {
		allowed, reason, err := a.ask(id, name, input)
		if err != nil {
			return nil, err
		}
		if !allowed {
			return a.failed(id, reason), nil
		}
	}
	switch name {
	case "Bash":
		return a.bash(ctx, id, text("command")), nil
	case "Read":
		b, err := os.ReadFile(text("file_path"))
		if err != nil {
			return a.failed(id, err.Error()), nil
		}
		return a.report(id, string(b), false, obj{"type": "text", "file": obj{"filePath": text("file_path"), "content": string(b), "numLines": strings.Count(string(b), "\n")}}), nil
	case "Edit":
		path := text("file_path")
		b, err := os.ReadFile(path)
		if err == nil && !strings.Contains(string(b), text("old_string")) {
			err = fmt.Errorf("the text to replace is not in %s", path)
		}
		if err == nil {
			err = os.WriteFile(path, []byte(strings.Replace(string(b), text("old_string"), text("new_string"), 1)), 0o600)
		}
		if err != nil {
			return a.failed(id, err.Error()), nil
		}
		return a.report(id, "The file "+path+" has been updated.", false, obj{"filePath": path, "oldString": text("old_string"), "newString": text("new_string"),
			"originalFile": string(b), "structuredPatch": []any{}, "userModified": false, "replaceAll": false}), nil
	case "Write":
		path := text("file_path")
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(text("content")), 0o600)
		}
		if err != nil {
			return a.failed(id, err.Error()), nil
		}
		return a.report(id, "File created successfully at: "+path, false, obj{"type": "create", "filePath": path, "content": text("content"), "structuredPatch": []any{}}), nil
	}
	return a.failed(id, "No such tool available: "+name), nil
}

func (a *standIn) bash(ctx context.Context, id any, command string) obj {
	shell, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/c"
	}
	out, err := cliagent.Spawn(ctx, adapter.SpawnRequest{Command: shell, Args: []string{flag, command}, Cwd: a.cwd})
	if err != nil {
		return a.failed(id, err.Error())
	}
	if out.Code != 0 {
		text := fmt.Sprintf("Exit code %d\n%s%s", out.Code, out.Stdout, out.Stderr)
		return a.failed(id, text)
	}
	return a.report(id, out.Stdout, false, obj{"stdout": out.Stdout, "stderr": out.Stderr, "interrupted": false, "isImage": false})
}

func (a *standIn) failed(id any, text string) obj { return a.report(id, text, true, "Error: "+text) }

func (a *standIn) report(id any, text string, failed bool, structured any) obj {
	r := obj{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}
	a.emit(obj{"type": "user", "parent_tool_use_id": nil, "message": obj{"role": "user", "content": []obj{r}}, "tool_use_result": structured})
	return r
}

// ask asks for permission and waits for the answer.
func (a *standIn) ask(id any, name string, input map[string]any) (bool, string, error) {
	if !a.twoWay {
		reason := "permission to use " + name + " was not given"
		a.emit(obj{"type": "system", "subtype": "permission_denied", "tool_name": name, "tool_use_id": id, "message": reason})
		return false, reason, nil
	}
	request := uuid()
	a.emit(obj{"type": "control_request", "request_id": request, "request": obj{"subtype": "can_use_tool", "tool_name": name, "display_name": name,
		"input": input, "description": filepath.Base(fmt.Sprint(input["file_path"])), "permission_suggestions": []any{}, "tool_use_id": id}})
	for a.in.Scan() {
		var m struct {
			Type      string `json:"type"`
			RequestID string `json:"request_id"`
			Response  struct {
				RequestID string `json:"request_id"`
				Response  struct {
					Behavior string `json:"behavior"`
					Message  string `json:"message"`
				} `json:"response"`
			} `json:"response"`
		}
		if err := json.Unmarshal(a.in.Bytes(), &m); err != nil {
			return false, "", err
		}
		if m.Type == "control_response" && m.Response.RequestID == request {
			return m.Response.Response.Behavior == "allow", m.Response.Response.Message, nil
		}
	}
	return false, "", io.ErrUnexpectedEOF
}

// result ends a turn.
func (a *standIn) result(failure error) {
	line := obj{"type": "result", "subtype": "success", "is_error": failure != nil, "duration_ms": time.Since(a.started).Milliseconds(), "num_turns": a.calls,
		"result": a.text, "terminal_reason": "completed", "stop_reason": "end_turn", "permission_denials": []any{}, "api_error_status": nil,
		"total_cost_usd": float64(a.usage.in)*standInIn + float64(a.usage.out)*standInOut,
		"usage":          obj{"input_tokens": a.usage.in, "output_tokens": a.usage.out, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
		"modelUsage": obj{standInModel: obj{"inputTokens": a.usage.in, "outputTokens": a.usage.out, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0,
			"costUSD": float64(a.usage.in)*standInIn + float64(a.usage.out)*standInOut}}}
	if failure != nil {
		line["result"], line["terminal_reason"] = "API Error: "+failure.Error(), "api_error"
	}
	a.emit(line)
}
