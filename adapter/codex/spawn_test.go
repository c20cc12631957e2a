package codex

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

var quietHost = launcher{environ: func() []string { return []string{"PATH=/bin", "HOME=/home/user"} }}

const threadID = "01a1f94e-4650-77d1-bb86-c9d3bec76d48"

// handshake plays the begin of a conversation and returns what the parser asks for by method.
func handshake(t *testing.T, req execution.Request, key string) map[string]map[string]any {
	t.Helper()
	p, s := newAppParser(req, key), cliagent.NewSink(false)
	p.Open(s)
	asked := map[string]map[string]any{}
	for range 6 {
		for _, w := range s.TakeWrites() {
			var m struct {
				ID     int
				Method string
				Params map[string]any
			}
			if err := json.Unmarshal(w, &m); err != nil {
				t.Fatal(err)
			}
			asked[m.Method] = m.Params
			if m.ID > 0 {
				feed(p, s, `{"id":`+strconv.Itoa(m.ID)+`,"result":{"thread":{"id":"T"},"turn":{"id":"U"}}}`)
			}
		}
	}
	return asked
}

// TestAppServer has a row for every option: one that is ignored makes its row fail.
func TestAppServer(t *testing.T) {
	t.Parallel()
	start := func(more map[string]any) map[string]any {
		m := map[string]any{"approvalPolicy": "never", "approvalsReviewer": "user", "sandbox": "workspace-write"}
		maps.Copy(m, more)
		return m
	}
	said := func(more map[string]any, input ...any) map[string]any {
		if len(input) == 0 {
			input = []any{map[string]any{"type": "text", "text": "hello"}}
		}
		m := map[string]any{"threadId": "T", "input": input}
		maps.Copy(m, more)
		return m
	}
	type object = map[string]any
	plain, asks := said(nil), object{"approvalPolicy": "on-request"}
	for _, tt := range []struct {
		name         string
		set          func(*execution.Request)
		method       string // of the thread; thread/start
		thread, turn object
		other        string // another request that must be there
		params       object
	}{
		{name: "nothing", set: func(*execution.Request) {}, thread: start(nil)},
		{name: "prompt", set: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalPrompt }, thread: start(nil)},
		{name: "interactive", set: interactive, thread: start(asks)},
		{name: "yolo", set: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }, thread: start(object{"approvalPolicy": "on-request", "sandbox": "danger-full-access"})},
		{name: "yolo in a sandbox", set: func(r *execution.Request) {
			r.Run.ApprovalMode, r.Run.Sandbox = execution.ApprovalYolo, execution.SandboxWorkspace
		}, thread: start(nil)},
		{name: "deny", set: denies, thread: start(object{"sandbox": "read-only"})},
		{name: "no sandbox in deny", set: func(r *execution.Request) { denies(r); r.Run.Sandbox = execution.SandboxNone },
			thread: start(object{"sandbox": "danger-full-access"})},
		{name: "sandbox", set: func(r *execution.Request) { r.Run.Sandbox = execution.SandboxReadOnly }, thread: start(object{"sandbox": "read-only"})},
		{name: "approvals wanted", set: func(r *execution.Request) {
			r.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportRequired}
		}, thread: start(asks)},
		{name: "model; naming a directory would trust it", set: func(r *execution.Request) { r.Run.Cwd, r.Run.Model = "/w", "m" }, thread: start(object{"model": "m"})},
		{name: "effort", set: func(r *execution.Request) { r.Run.ThinkingEffort = execution.EffortHigh },
			thread: start(object{"config": object{"model_reasoning_effort": "high"}})},
		{name: "effort max", set: func(r *execution.Request) { r.Run.ThinkingEffort = execution.EffortMax },
			thread: start(object{"config": object{"model_reasoning_effort": "xhigh"}})},
		{name: "effort max of a model that has it", set: func(r *execution.Request) { r.Run.Model, r.Run.ThinkingEffort = "gpt-6-sol", execution.EffortMax },
			thread: start(object{"model": "gpt-6-sol", "config": object{"model_reasoning_effort": "max"}})},
		{name: "thinking override", set: func(r *execution.Request) {
			r.Run.ThinkingEffort, r.Run.ThinkingOverride = execution.EffortHigh, map[string]any{"model_reasoning_effort": "low", "model_reasoning_summary": "detailed"}
		}, thread: start(object{"config": object{"model_reasoning_effort": "low", "model_reasoning_summary": "detailed"}})},
		{name: "no session", set: func(r *execution.Request) { r.Run.NoSession = true }, thread: start(object{"ephemeral": true})},
		{name: "system prompt", set: func(r *execution.Request) { r.Instructions.SystemPrompt = "S" }, thread: start(object{"developerInstructions": "S"})},
		{name: "prepended system prompt", set: func(r *execution.Request) {
			r.Instructions.SystemPrompt, r.Run.SystemPromptMode = "S", execution.SystemPromptPrepend
		}, thread: start(object{"developerInstructions": "S"})},
		{name: "style", set: func(r *execution.Request) {
			r.Instructions.ResponseStyle = &execution.ResponseStyle{PreferMarkdown: true, MaxAnswerChars: 9}
		}, thread: start(object{"developerInstructions": "Answer in Markdown.\n\nKeep the answer below 9 characters."})},
		{name: "context", set: func(r *execution.Request) {
			r.Context = &execution.Context{Blocks: []execution.ContextBlock{{ID: "1", Label: "a <b>", Text: "text</context>", Category: execution.ContextMemory}}, Structured: map[string]any{"k": 1}}
		}, thread: start(object{"developerInstructions": "<context id=\"1\" label=\"a &lt;b&gt;\" category=\"memory\">\ntext&lt;/context>\n</context>\n\n<context-data>\n{\"k\":1}\n</context-data>"})},
		{name: "replaced system prompt", set: func(r *execution.Request) {
			r.Instructions = execution.Instructions{SystemPrompt: "S", DeveloperPrompt: "D"}
			r.Run.SystemPromptMode = execution.SystemPromptReplace
		}, thread: start(object{"baseInstructions": "S", "developerInstructions": "D"})},
		{name: "long system prompt", set: func(r *execution.Request) { r.Instructions.SystemPrompt = strings.Repeat("s", 1<<16) },
			thread: start(object{"developerInstructions": strings.Repeat("s", 1<<16)})},
		{name: "resumed", set: func(r *execution.Request) { r.Run.SessionID = threadID }, method: "thread/resume",
			thread: start(object{"threadId": threadID, "excludeTurns": true})},
		{name: "resumed by continuation", set: func(r *execution.Request) {
			r.Continuation = &execution.Continuation{Kind: "deferred", State: map[string]any{"sessionId": threadID}}
		}, method: "thread/resume", thread: start(object{"threadId": threadID, "excludeTurns": true})},
		{name: "forked", set: func(r *execution.Request) { r.Run.ForkSessionID = threadID }, method: "thread/fork",
			thread: start(object{"threadId": threadID, "excludeTurns": true})},
		{name: "resumed with a system prompt", set: func(r *execution.Request) { r.Run.SessionID, r.Instructions.SystemPrompt = threadID, "S" }, method: "thread/resume",
			thread: start(object{"threadId": threadID, "excludeTurns": true}), other: "thread/inject_items",
			params: object{"threadId": "T", "items": []any{object{"type": "message", "role": "developer", "content": []any{object{"type": "input_text", "text": "S"}}}}}},
		{name: "resumed with another base", set: func(r *execution.Request) {
			r.Run.SessionID, r.Instructions.SystemPrompt, r.Run.SystemPromptMode = threadID, "S", execution.SystemPromptReplace
		}, method: "thread/resume", thread: start(object{"threadId": threadID, "excludeTurns": true, "baseInstructions": "S"})},
		{name: "schema", set: func(r *execution.Request) { r.Run.OutputSchema = json.RawMessage(`{"type":"object"}`) },
			thread: start(nil), turn: said(object{"outputSchema": object{"type": "object"}})},
		{name: "stdio server", set: func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "m", Transport: execution.MCPStdio, Command: "c", Args: []string{"a"}, Env: map[string]string{"K": "secret"}}}
		}, thread: start(object{"approvalPolicy": "on-request", "config": object{"mcp_servers": object{"m": object{"command": "c", "args": []any{"a"}, "env": object{"K": "secret"}}}}})},
		{name: "http server", set: func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "m", Transport: execution.MCPStreamableHTTP, URL: "http://x", Headers: map[string]string{"Authorization": "Bearer secret"}}}
		}, thread: start(object{"approvalPolicy": "on-request", "config": object{"mcp_servers": object{"m": object{"url": "http://x", "http_headers": object{"Authorization": "Bearer secret"}}}}})},
		{name: "tools of the caller", set: func(r *execution.Request) {
			r.Tools = []execution.Tool{{Name: "a"}, {Name: "b", RequiresApproval: true}}
			r.Run.MCPServers = []execution.MCPServer{{Name: "drawbar", Transport: execution.MCPStreamableHTTP, URL: "http://x"}}
		}, thread: start(object{"approvalPolicy": "on-request", "config": object{"mcp_servers": object{"drawbar": object{"url": "http://x", "default_tools_approval_mode": "approve",
			"tool_timeout_sec": float64(toolTimeout), "tools": object{"b": object{"approval_mode": "prompt"}}}}}})},
		{name: "a server of that name without tools", set: func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "drawbar", Transport: execution.MCPStreamableHTTP, URL: "http://x"}}
		}, thread: start(object{"approvalPolicy": "on-request", "config": object{"mcp_servers": object{"drawbar": object{"url": "http://x"}}}})},
		{name: "images", set: func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{FilePath: "/a,b.png"}, {Base64: pixel, MimeType: "image/png"}, {URL: "data:image/png;base64," + pixel}}
		}, thread: start(nil), turn: said(nil, object{"type": "text", "text": "hello"}, object{"type": "localImage", "path": "/a,b.png"},
			object{"type": "image", "url": "data:image/png;base64," + pixel}, object{"type": "image", "url": "data:image/png;base64," + pixel})},
		{name: "text", set: func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{Base64: "eA==", MimeType: "text/markdown; charset=utf-8", Name: "x.md"}}
		}, thread: start(nil), turn: said(nil, object{"type": "text", "text": "hello\n\n<file name=\"x.md\">\nx\n</file>"})},
		{name: "login", set: func(*execution.Request) {}, thread: start(nil), other: "account/login/start", params: object{"type": "apiKey", "apiKey": "secret"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := newRequest()
			tt.set(&req)
			inv, err := quietHost.spawn(&cliagent.Launch{Request: req, Dir: "DIR"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"app-server"}, inv.Args); diff != "" || !inv.KeepStdin || len(inv.Stdin) > 0 || inv.Env["NO_COLOR"] != "1" {
				t.Errorf("app-server is started otherwise: %s", diff)
			}
			key := ""
			if tt.name == "login" {
				key = "secret"
			}
			asked := handshake(t, req, key)
			method := tt.method
			if method == "" {
				method = "thread/start"
			}
			if diff := cmp.Diff(tt.thread, asked[method]); diff != "" {
				t.Errorf("%s differs (-want +got):\n%s", method, diff)
			}
			want := tt.turn
			if want == nil {
				want = plain
			}
			if diff := cmp.Diff(want, asked["turn/start"]); diff != "" {
				t.Errorf("turn/start differs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.params, asked[tt.other]); tt.other != "" && diff != "" {
				t.Errorf("%s differs (-want +got):\n%s", tt.other, diff)
			}
		})
	}
}

// TestKey: app-server does not read the key of the environment; it is told, and keeps it to itself.
func TestKey(t *testing.T) {
	t.Parallel()
	host := launcher{environ: func() []string { return []string{"CODEX_API_KEY=inherited"} }}
	for _, tt := range []struct {
		name string
		e    launcher
		env  map[string]string
		want string
	}{
		{"none", quietHost, nil, ""},
		{"inherited", host, nil, "inherited"},
		{"of the request", host, map[string]string{"CODEX_API_KEY": "own"}, "own"},
		{"unset by the request", host, map[string]string{"CODEX_API_KEY": ""}, ""},
	} {
		req := newRequest()
		req.Run.Env = tt.env
		inv, err := tt.e.spawn(&cliagent.Launch{Request: req})
		if err != nil {
			t.Fatal(err)
		}
		args := strings.Join(inv.Args, " ")
		if strings.Contains(args, `cli_auth_credentials_store="ephemeral"`) != (tt.want != "") || tt.want != "" && strings.Contains(args, tt.want) {
			t.Errorf("%s: the arguments are %s", tt.name, args)
		}
		if got := tt.e.newParser(req).(*appParser).key; got != tt.want {
			t.Errorf("%s: the key is %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestRefusedBeforeTheStart: what cannot be carried out is refused with a typed error, and not tried.
func TestRefusedBeforeTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		name string
		set  func(*execution.Request)
		want execution.ErrorCode
	}{
		{"name of a session", func(r *execution.Request) { r.Run.SessionID = "my-session" }, execution.CodeSessionNotFound},
		{"short id", func(r *execution.Request) { r.Run.ForkSessionID = threadID[:35] }, execution.CodeSessionNotFound},
		{"no hexadecimal id", func(r *execution.Request) { r.Run.SessionID = "x" + threadID[1:] }, execution.CodeSessionNotFound},
		{"address", attach(execution.Attachment{URL: "https://x.example/a.png"}), execution.CodeValidation},
		{"document", attach(execution.Attachment{FilePath: file("a.pdf", "%PDF-1.7")}), execution.CodeValidation},
		{"binary file", attach(execution.Attachment{FilePath: file("b.bin", "\x00\x01")}), execution.CodeValidation},
		{"text that is none", attach(execution.Attachment{FilePath: file("c.txt", "\xff\xfe")}), execution.CodeValidation},
		{"no file", attach(execution.Attachment{FilePath: filepath.Join(dir, "none.txt")}), execution.CodeValidation},
		{"folder", attach(execution.Attachment{FilePath: dir}), execution.CodeValidation},
		{"broken base64", attach(execution.Attachment{Base64: "%%%", MimeType: "image/png"}), execution.CodeValidation},
		{"empty image", attach(execution.Attachment{URL: "data:image/png;base64,"}), execution.CodeValidation},
		{"data without base64", attach(execution.Attachment{URL: "data:text/plain,x"}), execution.CodeValidation},
		{"long message", func(r *execution.Request) { r.Message.Text = execution.Prompt(strings.Repeat("é", maxPrompt+1)) }, execution.CodeValidation},
		{"long text attached", attach(execution.Attachment{FilePath: file("long.txt", strings.Repeat("x", maxPrompt))}), execution.CodeValidation},
	} {
		req := newRequest()
		tt.set(&req)
		if _, err := quietHost.spawn(&cliagent.Launch{Request: req, Dir: dir}); execution.CodeOf(err) != tt.want {
			t.Errorf("%s: the error is %v, want %s", tt.name, err, tt.want)
		}
	}
}

func attach(a execution.Attachment) func(*execution.Request) {
	return func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{a} }
}

// TestTextFiles: a text file is read whatever it is called, and cannot end the block it stands in.
func TestTextFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(path, []byte("a </file> b"), 0o600); err != nil {
		t.Fatal(err)
	}
	req := newRequest()
	attach(execution.Attachment{FilePath: path})(&req)
	m, err := messageOf(req)
	if want := "hello\n\n<file name=\"notes\">\na &lt;/file> b\n</file>"; err != nil || m.text != want {
		t.Errorf("the prompt is %q (%v), want %q", m.text, err, want)
	}
	// The content tells that it is an image.
	if err := os.WriteFile(path, []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err = messageOf(req); err != nil || len(m.images) != 1 || m.images[0].path != path {
		t.Errorf("the images are %+v (%v)", m.images, err)
	}
}
