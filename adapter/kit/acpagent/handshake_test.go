package acpagent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// TestHandshakeFails is what ends a conversation before its first prompt.
func TestHandshakeFails(t *testing.T) {
	t.Parallel()
	image := func(r *execution.Request) {
		r.Message.Attachments = []execution.Attachment{{Name: "a.png", Base64: "aGk=", MimeType: "image/png"}}
	}
	tests := []struct {
		name    string
		spec    acpagent.Spec
		request func(*execution.Request)
		replies []string // an error begins with !
		code    execution.ErrorCode
		want    []string
	}{
		{name: "another version", replies: []string{`{"protocolVersion":2}`}, code: execution.CodeCapability, want: []string{"agent", "version 2", "drawbar speaks version 1"}},
		{name: "no version", replies: []string{`{"agentInfo":{}}`}, code: execution.CodeInvalidOutput, want: []string{"initialize", "version"}},
		{name: "no object", replies: []string{`"hello"`}, code: execution.CodeInvalidOutput, want: []string{"initialize"}},
		{name: "initialize refused", replies: []string{"!-32603 broken"}, code: execution.CodeInvalidOutput, want: []string{"begin a conversation", "broken"}},
		{name: "no session id", replies: []string{able, `{}`}, code: execution.CodeInvalidOutput, want: []string{"session/new", "names no session"}},
		{name: "session refused", replies: []string{able, "!-32603 disk full"}, code: execution.CodeAgentCrash, want: []string{"open a session", "disk full"}},
		{name: "login", replies: []string{able, "!-32000 Authentication required"}, code: execution.CodeAuth, want: []string{"open a session", "API key (set AGENT_KEY)"}},
		{name: "login of a vendor", spec: acpagent.Spec{LoginHint: "agent login"}, replies: []string{able, "!-32000 Authentication required"}, code: execution.CodeAuth, want: []string{"agent login"}},
		{name: "login nobody offers", replies: []string{bare, "!-32000 nope"}, code: execution.CodeAuth, want: []string{"log in with the agent's own command"}},
		{name: "login refused", spec: acpagent.Spec{Authenticate: func(execution.Request, []acpagent.AuthMethod) string { return "key" }},
			replies: []string{able, "!-32000 Authentication required", "!-32603 wrong key"}, code: execution.CodeAuth, want: []string{"log in with key", "wrong key"}},
		{name: "login in vain", spec: acpagent.Spec{Authenticate: func(execution.Request, []acpagent.AuthMethod) string { return "key" }},
			replies: []string{able, "!-32000 Authentication required", `{}`, "!-32000 Authentication required"}, code: execution.CodeAuth, want: []string{"open a session"}},
		{name: "login declined by the adapter", spec: acpagent.Spec{Authenticate: func(execution.Request, []acpagent.AuthMethod) string { return "" }},
			replies: []string{able, "!-32000 Authentication required"}, code: execution.CodeAuth, want: []string{"open a session"}},
		{name: "unknown session", request: func(r *execution.Request) { r.Run.SessionID = "s9" }, replies: []string{able, "!-32603 who?"}, code: execution.CodeSessionNotFound, want: []string{"load session s9", "who?"}},
		{name: "cannot load", request: func(r *execution.Request) { r.Run.SessionID = "s9" }, replies: []string{bare}, code: execution.CodeCapability, want: []string{"cannot load a session", "--session"}},
		{name: "cannot fork", request: func(r *execution.Request) { r.Run.ForkSessionID = "s9" }, replies: []string{able}, code: execution.CodeCapability, want: []string{"cannot fork", "--session s9"}},
		{name: "no servers over HTTP", request: func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "files", Transport: execution.MCPStreamableHTTP, URL: "http://127.0.0.1:1/"}}
		}, replies: []string{bare}, code: execution.CodeCapability, want: []string{"streamable-http", "files", "stdio"}},
		{name: "no servers over SSE", request: func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "files", Transport: execution.MCPSSE, URL: "http://127.0.0.1:1/"}}
		}, replies: []string{bare}, code: execution.CodeCapability, want: []string{"sse", "files"}},
		{name: "no tools of the caller", request: func(r *execution.Request) {
			r.Tools = []execution.Tool{{Name: "echo"}}
			r.Run.MCPServers = []execution.MCPServer{{Name: cliagent.CallerTools, Transport: execution.MCPStreamableHTTP, URL: "http://127.0.0.1:1/"}}
		}, replies: []string{bare}, code: execution.CodeCapability, want: []string{"the request's tools"}},
		{name: "no images", request: image, replies: []string{bare}, code: execution.CodeCapability, want: []string{"a.png", "accepts no images"}},
		{name: "no documents", request: func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{Name: "a.pdf", Base64: "JVBERi0=", MimeType: "application/pdf"}}
		}, replies: []string{bare}, code: execution.CodeCapability, want: []string{"a.pdf", "application/pdf"}},
		{name: "mode not offered", spec: acpagent.Spec{Modes: map[execution.ApprovalMode]string{execution.ApprovalPrompt: "ask"}},
			replies: []string{able, `{"sessionId":"s1","modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"plan"}]}}`},
			code:    execution.CodeCapability, want: []string{`no mode "ask"`, "default, plan"}},
		{name: "no modes", spec: acpagent.Spec{Modes: map[execution.ApprovalMode]string{execution.ApprovalPrompt: "ask"}}, replies: []string{able, session},
			code: execution.CodeCapability, want: []string{"offers no choice of a mode"}},
		{name: "mode refused", spec: acpagent.Spec{Modes: map[execution.ApprovalMode]string{execution.ApprovalPrompt: "plan"}},
			replies: []string{able, `{"sessionId":"s1","modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"plan"}]}}`, "!-32603 no"},
			code:    execution.CodeCapability, want: []string{"set the mode to plan", "no"}},
		{name: "no model at all", spec: acpagent.Spec{LoginHint: "agent login", UsableModels: true}, replies: []string{able, `{"sessionId":"s1","configOptions":[{"id":"model","name":"Model","category":"model","type":"select","currentValue":"m1","options":[]}]}`},
			code: execution.CodeAuth, want: []string{"offers no model", "agent login"}},
		{name: "unknown model", request: func(r *execution.Request) { r.Run.Model = "big" },
			replies: []string{able, `{"sessionId":"s1","models":{"currentModelId":"m1","availableModels":[{"modelId":"m1","name":"One"},{"modelId":"m2","name":"Two"}]}}`},
			code:    execution.CodeModelNotFound, want: []string{`no model "big"`, "m1, m2"}},
		{name: "no models", request: func(r *execution.Request) { r.Run.Model = "big" }, replies: []string{able, session}, code: execution.CodeCapability, want: []string{"offers no choice of a model", `"big"`}},
		{name: "no efforts", request: func(r *execution.Request) { r.Run.ThinkingEffort = execution.EffortHigh }, replies: []string{able, session}, code: execution.CodeCapability, want: []string{"thought level"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := newRequest("hi")
			if tt.request != nil {
				tt.request(&req)
			}
			k := newTalk(t, tt.spec, req)
			for _, r := range tt.replies {
				if fault, ok := strings.CutPrefix(r, "!"); ok {
					code, message, _ := strings.Cut(fault, " ")
					k.line(`{"jsonrpc":"2.0","id":%v,"error":{"code":%s,"message":%q}}`, k.request().ID, code, message)
				} else {
					k.reply(r)
				}
			}
			err := k.failed()
			if err.Code != tt.code || err.Agent != "agent" {
				t.Errorf("got %s of %q: %v, want %s", err.Code, err.Agent, err, tt.code)
			}
			if err.Code == execution.CodeCapability && (err.Capability == "" || err.Hint == "") && tt.name != "mode refused" {
				t.Errorf("the error names the capability %q and the hint %q", err.Capability, err.Hint)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error %q does not say %q", err, want)
				}
			}
			if strings.Contains(k.methods(), "session/prompt") {
				t.Error("something was said to a model")
			}
		})
	}
}

// TestHandshake is the way to the first prompt.
func TestHandshake(t *testing.T) {
	t.Parallel()
	const choices = `{"sessionId":"s1","modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"yolo"}]},
		"models":{"currentModelId":"m1","availableModels":[{"modelId":"m1","name":"One"},{"modelId":"m2","name":"Two"}]}}`
	const options = `{"sessionId":"s1","configOptions":[{"id":"md","category":"mode","currentValue":"default","options":[{"value":"default","name":"Default"},{"value":"yolo","name":"YOLO"}]},
		{"id":"ml","category":"model","currentValue":"m1","options":[{"group":"g","name":"G","options":[{"value":"m1","name":"One"},{"value":"m2","name":"Two"}]}]},
		{"id":"th","category":"thought_level","currentValue":"low","options":[{"value":"low","name":"Low"},{"value":"high","name":"High"}]}]}`
	yolo := acpagent.Spec{Modes: map[execution.ApprovalMode]string{execution.ApprovalYolo: "yolo", execution.ApprovalPrompt: "default"}}
	const decides = `{"sessionId":"s1","modes":{"currentModeId":"auto","availableModes":[{"id":"default"},{"id":"auto"}]}}`
	asksNobody := strings.NewReplacer("default", "normal", "auto", "auto-high").Replace(decides)
	asks := acpagent.Spec{Asking: map[string]string{"auto": "default", "auto-high": "normal"}}
	begun := execution.SessionStart{SessionID: "s1", Cwd: "/work-dir"}
	tests := []struct {
		name    string
		spec    acpagent.Spec
		request func(*execution.Request)
		replies []string
		methods string
		said    []string // parts of what was written
		silent  []string // what must not be in it
		start   execution.SessionStart
	}{
		{name: "plain", replies: []string{able, choices}, methods: "initialize session/new session/prompt",
			said: []string{`"protocolVersion":1`, `"cwd":"/work-dir"`, `"mcpServers":[]`}, silent: []string{"readTextFile", "writeTextFile", `"terminal":true`},
			start: execution.SessionStart{SessionID: "s1", Model: "m1", Cwd: "/work-dir"}},
		{name: "a model would decide", spec: asks, replies: []string{able, decides, `{}`},
			methods: "initialize session/new session/set_mode session/prompt", said: []string{`"modeId":"default"`}, start: begun},
		{name: "a model would decide, with yolo", spec: asks, request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }, replies: []string{able, decides, `{}`},
			methods: "initialize session/new session/set_mode session/prompt", said: []string{`"modeId":"default"`}, start: begun},
		{name: "would not ask", spec: asks, request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalDeny }, replies: []string{able, asksNobody, `{}`},
			methods: "initialize session/new session/set_mode session/prompt", said: []string{`"modeId":"normal"`}, start: begun},
		{name: "would not ask, with yolo", spec: asks, request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }, replies: []string{able, asksNobody},
			methods: "initialize session/new session/prompt", start: begun},
		{name: "offers nothing instead", spec: asks, replies: []string{able, strings.Replace(decides, "default", "other", 1)},
			methods: "initialize session/new session/prompt", start: begun},
		{name: "logs in", spec: acpagent.Spec{Authenticate: func(_ execution.Request, m []acpagent.AuthMethod) string { return m[0].ID }},
			replies: []string{able, "!-32000", `{}`, choices}, methods: "initialize session/new authenticate session/new session/prompt", said: []string{`"methodId":"key"`},
			start: execution.SessionStart{SessionID: "s1", Model: "m1", Cwd: "/work-dir"}},
		{name: "loads", request: func(r *execution.Request) { r.Run.SessionID = "old" }, replies: []string{able, `{}`, "alarm"},
			methods: "initialize session/load session/prompt", said: []string{`"sessionId":"old"`}, start: execution.SessionStart{SessionID: "old", Resumed: true, Cwd: "/work-dir"}},
		{name: "resumes", request: func(r *execution.Request) { r.Run.SessionID = "old" },
			replies: []string{`{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`, `{}`}, methods: "initialize session/resume session/prompt",
			start: execution.SessionStart{SessionID: "old", Resumed: true, Cwd: "/work-dir"}},
		{name: "forks", request: func(r *execution.Request) { r.Run.ForkSessionID = "old" },
			replies: []string{`{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"fork":{}}}}`, session}, methods: "initialize session/fork session/prompt",
			start: execution.SessionStart{SessionID: "s1", ForkedFrom: "old", Cwd: "/work-dir"}},
		{name: "mode and model", spec: yolo, request: func(r *execution.Request) { r.Run.ApprovalMode, r.Run.Model = execution.ApprovalYolo, "Two" },
			replies: []string{able, choices, `{}`, `{}`}, methods: "initialize session/new session/set_mode session/set_model session/prompt",
			said: []string{`"modeId":"yolo"`, `"modelId":"m2"`}, start: execution.SessionStart{SessionID: "s1", Model: "Two", Cwd: "/work-dir"}},
		{name: "what is set already", spec: yolo, request: func(r *execution.Request) { r.Run.Model = "m1" }, replies: []string{able, choices},
			methods: "initialize session/new session/prompt", start: execution.SessionStart{SessionID: "s1", Model: "m1", Cwd: "/work-dir"}},
		{name: "options", spec: yolo, request: func(r *execution.Request) {
			r.Run.ApprovalMode, r.Run.Model, r.Run.ThinkingEffort = execution.ApprovalYolo, "m2", execution.EffortHigh
		}, replies: []string{able, options, `{}`, `{}`, `{}`},
			methods: "initialize session/new session/set_config_option session/set_config_option session/set_config_option session/prompt",
			said:    []string{`"configId":"md"`, `"value":"yolo"`, `"configId":"ml"`, `"value":"m2"`, `"configId":"th"`, `"value":"high"`},
			start:   execution.SessionStart{SessionID: "s1", Model: "m2", Cwd: "/work-dir"}},
		{name: "a provider beside the models", request: func(r *execution.Request) { r.Run.Model = "m2" }, replies: []string{able, `{"sessionId":"s1","configOptions":[
			{"id":"provider","category":"model","currentValue":"p","options":[{"value":"p"},{"value":"q"}]},
			{"id":"model","category":"model","currentValue":"m1","options":[{"value":"m1"},{"value":"m2"}]}]}`, `{}`},
			methods: "initialize session/new session/set_config_option session/prompt", said: []string{`"configId":"model"`, `"value":"m2"`},
			start: execution.SessionStart{SessionID: "s1", Model: "m2", Cwd: "/work-dir"}},
		{name: "a model that only the option calls so", request: func(r *execution.Request) { r.Run.Model = "m2" }, replies: []string{able, `{"sessionId":"s1",
			"models":{"currentModelId":"m1[low]","availableModels":[{"modelId":"m1[low]","name":"One"},{"modelId":"m2[low]","name":"Two"}]},
			"configOptions":[{"id":"model","category":"model","currentValue":"m1","options":[{"value":"m1"},{"value":"m2"}]}]}`, `{}`},
			methods: "initialize session/new session/set_config_option session/prompt", said: []string{`"configId":"model"`, `"value":"m2"`},
			start: execution.SessionStart{SessionID: "s1", Model: "m2", Cwd: "/work-dir"}},
		{name: "a model that both know", request: func(r *execution.Request) { r.Run.Model = "m2" }, replies: []string{able, `{"sessionId":"s1",
			"models":{"currentModelId":"m1","availableModels":[{"modelId":"m1"},{"modelId":"m2"}]},
			"configOptions":[{"id":"model","category":"model","currentValue":"m1","options":[{"value":"m1"},{"value":"m2"}]}]}`, `{}`},
			methods: "initialize session/new session/set_model session/prompt", said: []string{`"modelId":"m2"`},
			start: execution.SessionStart{SessionID: "s1", Model: "m2", Cwd: "/work-dir"}},
		{name: "model and effort by arguments", spec: acpagent.Spec{ModelInArgs: true, EffortInArgs: true}, request: func(r *execution.Request) {
			r.Run.Model, r.Run.ThinkingEffort = "any", execution.EffortLow
		}, replies: []string{able, choices}, methods: "initialize session/new session/prompt", start: execution.SessionStart{SessionID: "s1", Model: "any", Cwd: "/work-dir"}},
		{name: "servers", request: func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "a", Transport: execution.MCPStdio, Command: "mcp-a", Args: []string{"-x"}, Env: map[string]string{"K": "v"}},
				{Name: "b", Transport: execution.MCPStreamableHTTP, URL: "http://127.0.0.1:1/", Headers: map[string]string{"H": "w"}}, {Name: "c", Transport: execution.MCPSSE, URL: "http://127.0.0.1:2/"}}
		}, replies: []string{able, session}, methods: "initialize session/new session/prompt", said: []string{`"command":"mcp-a"`, `"args":["-x"]`, `{"name":"K","value":"v"}`,
			`"type":"http"`, `{"name":"H","value":"w"}`, `"type":"sse"`, `"headers":[]`}, start: execution.SessionStart{SessionID: "s1", Cwd: "/work-dir"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := newRequest("hi")
			if tt.request != nil {
				tt.request(&req)
			}
			k := newTalk(t, tt.spec, req)
			for _, r := range tt.replies {
				switch {
				case strings.HasPrefix(r, "!"):
					k.refuse(-32000, "Authentication required")
				case r == "alarm":
					if strings.Contains(k.methods(), "session/prompt") {
						t.Error("the first message was said before the history was over")
					}
					k.alarm()
				default:
					k.reply(r)
				}
			}
			if k.sink.Failure() != nil {
				t.Fatal(k.sink.Failure())
			}
			if k.methods() != tt.methods {
				t.Errorf("said %s, want %s", k.methods(), tt.methods)
			}
			all, err := json.Marshal(k.wrote)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.said {
				if !strings.Contains(string(all), want) {
					t.Errorf("%s was not said: %s", want, all)
				}
			}
			for _, never := range tt.silent {
				if strings.Contains(string(all), never) {
					t.Errorf("%s was said: %s", never, all)
				}
			}
			if got := one[execution.SessionStart](k); got != tt.start {
				t.Errorf("session_start %+v, want %+v", got, tt.start)
			}
			if n := len(bodies[execution.SessionResume](k)); (n == 1) != tt.start.Resumed {
				t.Errorf("%d session_resume", n)
			}
			if n := len(bodies[execution.SessionFork](k)); (n == 1) != (tt.start.ForkedFrom != "") {
				t.Errorf("%d session_fork", n)
			}
		})
	}
}

// TestLateAnswers holds an agent to its time.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	k := newTalk(t, acpagent.Spec{}, newRequest("hi"))
	k.alarm()
	if err := k.failed(); err.Code != execution.CodeTimeout || !strings.Contains(err.Error(), "did not answer initialize within 1m0s") || !strings.Contains(err.Hint, "Agent Client Protocol") {
		t.Errorf("%s: %v", err.Code, err)
	}
	k = newTalk(t, acpagent.Spec{Startup: 1}, newRequest("hi"))
	k.reply(able)
	k.alarm()
	if err := k.failed(); err.Code != execution.CodeTimeout || !strings.Contains(err.Error(), "did not answer session/new within 1ns") {
		t.Errorf("%s: %v", err.Code, err)
	}
}

// TestHistoryMakesNoEvents loads sessions whose history comes before, with and behind the answer.
func TestHistoryMakesNoEvents(t *testing.T) {
	t.Parallel()
	req := newRequest("hi")
	req.Run.SessionID = "s1"
	k := newTalk(t, acpagent.Spec{}, req)
	k.reply(able)
	history := func(i string) {
		k.update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"question"}}`)
		k.says("old answer " + i)
		k.update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"old thought"}}`)
		k.update(`{"sessionUpdate":"tool_call","toolCallId":"old","title":"old","kind":"read","status":"completed","locations":[{"path":"/f"}]}`)
		k.update(`{"sessionUpdate":"plan","entries":[{"content":"old"}]}`)
		k.update(`{"sessionUpdate":"usage_update","used":1,"size":10,"cost":{"amount":1,"currency":"USD"}}`)
	}
	history("before")
	k.reply(`{}`)
	history("behind")
	k.alarm()
	k.says("new")
	k.reply(`{"stopReason":"end_turn"}`)
	var types []string
	for _, e := range k.seen {
		types = append(types, string(e.Body.Type()))
	}
	if got, want := strings.Join(types, " "), "session_start session_resume turn_start message_start text_delta message_stop turn_end"; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	if n := k.sink.UnknownLines(); n != 0 {
		t.Errorf("%d lines are unknown", n)
	}
}
