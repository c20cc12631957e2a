package codex

import (
	"context"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// TestFailureOf is the table of what Codex says when a turn fails; what codex exec prints has the message only.
func TestFailureOf(t *testing.T) {
	t.Parallel()
	const busy = "We’re currently experiencing high demand, which may cause temporary errors."
	for _, tt := range []struct {
		message, info string
		want          execution.ErrorCode
		final         bool
	}{
		{message: "unexpected status 401 Unauthorized: Incorrect API key provided, url: http://x/v1/responses", want: execution.CodeAuth},
		{message: "unexpected status 401 Unauthorized: Incorrect API key provided", info: `{"httpConnectionFailed":{"httpStatusCode":401}}`, want: execution.CodeAuth},
		{message: "unexpected status 403 Forbidden: no, url: http://x", want: execution.CodeAuth},
		{message: "x", info: `"unauthorized"`, want: execution.CodeAuth},
		{message: "Missing environment variable: `SCRIPTED_API_KEY`.", info: `"other"`, want: execution.CodeAuth},
		{message: "exceeded retry limit, last status: 429 Too Many Requests", want: execution.CodeRateLimited},
		{message: "exceeded retry limit, last status: 429 Too Many Requests", info: `{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`, want: execution.CodeRateLimited},
		{message: "You’ve hit your usage limit. Upgrade to Pro", info: `"usageLimitExceeded"`, want: execution.CodeRateLimited, final: true},
		{message: "You’ve hit your usage limit. Upgrade to Pro", want: execution.CodeRateLimited, final: true},
		{message: "Quota exceeded. Check your plan and billing details.", want: execution.CodeRateLimited, final: true},
		{message: "x", info: `"rateLimitExceeded"`, want: execution.CodeRateLimited},
		{message: "rate limit exceeded: Please try again in 1.5s.", info: `{"responseStreamDisconnected":{"httpStatusCode":null}}`, want: execution.CodeRateLimited},
		{message: busy, info: `"internalServerError"`, want: execution.CodeProvider},
		{message: busy, want: execution.CodeProvider},
		{message: "unexpected status 503 Service Unavailable: boom, url: x", info: `{"httpConnectionFailed":{"httpStatusCode":503}}`, want: execution.CodeProvider},
		{message: "unexpected status 503 Service Unavailable: boom", want: execution.CodeProvider},
		{message: "Selected model is at capacity. Please try a different model.", info: `"serverOverloaded"`, want: execution.CodeProvider},
		{message: "Selected model is at capacity. Please try a different model.", want: execution.CodeProvider},
		{message: "stream disconnected before completion: stream closed before response.completed", info: `"other"`, want: execution.CodeProvider},
		{message: "x", info: `{"responseStreamConnectionFailed":{"httpStatusCode":null}}`, want: execution.CodeProvider},
		{message: `{"error": {"message": "Bad thing", "type": "x", "code": null}}`, info: `"other"`, want: execution.CodeInvalidRequest},
		{message: `{"error": {"message": "too long", "code": "context_length_exceeded"}}`, want: execution.CodeContextExceeded},
		{message: `{"error": {"message": "no such", "code": "model_not_found"}}`, want: execution.CodeModelNotFound},
		{message: `{"detail":"The 'x' model is not supported when using Codex with a ChatGPT account."}`, want: execution.CodeModelNotFound},
		{message: "unexpected status 418 teapot", want: execution.CodeInvalidRequest},
		{message: "x", info: `"badRequest"`, want: execution.CodeInvalidRequest},
		{message: "x", info: `"cyberPolicy"`, want: execution.CodeInvalidRequest},
		{message: "Input exceeds the maximum length of 1048576 characters.", want: execution.CodeInvalidRequest},
		{message: "The model `x` does not exist", info: `"modelNotFound"`, want: execution.CodeModelNotFound},
		{message: "The model `x` does not exist", want: execution.CodeModelNotFound},
		{message: "Codex ran out of room in the model's context window. Start a new thread", info: `"contextWindowExceeded"`, want: execution.CodeContextExceeded},
		{message: "Codex ran out of room in the model's context window. Start a new thread", want: execution.CodeContextExceeded},
		{message: "x", info: `"sessionBudgetExceeded"`, want: execution.CodeBudgetExceeded},
		{message: "thread/resume: thread/resume failed: no rollout found for thread id f10c (code -32600)", want: execution.CodeSessionNotFound},
		{message: "invalid session id: invalid character", want: execution.CodeSessionNotFound},
		{message: "failed to load configuration: Model provider `nope` not found", want: execution.CodeConfig},
		{message: "something new", info: `"newWord"`, want: execution.CodeInternal},
		{message: "something new", info: `{"activeTurnNotSteerable":{"turnKind":"review"}}`, want: execution.CodeInternal},
		{message: "", want: execution.CodeInternal},
	} {
		var info jsonscan.Value
		if tt.info != "" {
			var err error
			if info, err = jsonscan.Parse([]byte(tt.info)); err != nil {
				t.Fatal(err)
			}
		}
		f := failureOf(tt.message, info)
		if f.Code != tt.want || f.Final != tt.final {
			t.Errorf("%q %s is %s, final %v; want %s, %v", tt.message, tt.info, f.Code, f.Final, tt.want, tt.final)
		}
		r := f.Result()
		if r.ErrorCode() != tt.want || tt.final && r.Retryable || r.Message == "" && tt.message != "" {
			t.Errorf("%q makes the result %+v", tt.message, r)
		}
		if tt.want == execution.CodeInternal && r.Code != execution.FailureBackendExecution {
			t.Errorf("%q is called a fault of the host: %s", tt.message, r.Code)
		}
	}
}

// TestWithoutEnd: an exit proves nothing. Without a word of Codex about the turn there is no success.
func TestWithoutEnd(t *testing.T) {
	t.Parallel()
	const begin = `{"id":1,"result":{}}` + "\n" + `{"id":2,"result":{"thread":{"id":"T"}}}` + "\n" + `{"id":3,"result":{"turn":{"id":"U"}}}` + "\n" +
		`{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U"}}}` + "\n"
	failed := process.Exit{Code: 1}
	for _, tt := range []struct {
		name, stdout, stderr string
		exit                 process.Exit
		want                 execution.ErrorCode
	}{
		{name: "silence", want: execution.CodeInvalidOutput},
		{name: "begun", stdout: begin, want: execution.CodeInvalidOutput},
		{name: "begun and crashed", stdout: begin, exit: failed, want: execution.CodeAgentCrash},
		{name: "gave up", stderr: "Error: something odd\n", exit: failed, want: execution.CodeInternal},
		{name: "gave up over the login", stderr: "Error: Not logged in\n", exit: failed, want: execution.CodeAuth},
		{name: "gave up over its settings", stderr: "Error loading config.toml: invalid type: integer `1`, expected a string\nin `model`\n\n", exit: failed, want: execution.CodeConfig},
		{name: "gave up over an argument", stderr: "error: unexpected argument '--x' found\n\nUsage: codex app-server\n", exit: process.Exit{Code: 2}, want: execution.CodeConfig},
		{name: "gave up over its home", stderr: "Error finding codex home: CODEX_HOME points to \"/none\", but that path does not exist\n", exit: failed, want: execution.CodeConfig},
		{name: "gave up and says success", stderr: "Error: Not logged in\n", want: execution.CodeInvalidOutput},
		{name: "stopped", stdout: begin, stderr: "Error: x\n", exit: process.Exit{Code: 1, Stopped: true}, want: execution.CodeAborted},
		{name: "killed", stdout: begin, exit: process.Exit{Code: -1, Signal: "SIGKILL"}, want: execution.CodeAgentCrash},
	} {
		_, res := cliagent.Replay(newAppParser(newRequest(), ""), []byte(tt.stdout), []byte(tt.stderr), tt.exit, false)
		if res.Status != execution.StatusFailed || res.Error.ErrorCode() != tt.want {
			t.Errorf("%s: %s %s (%s), want failed %s", tt.name, res.Status, res.Error.ErrorCode(), res.Error.Message, tt.want)
		}
	}
}

func TestReconnect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in            string
		attempt, most int
		why           string
		ok            bool
	}{
		{"Reconnecting... 1/5 (stream disconnected)", 1, 5, "stream disconnected", true},
		{"Reconnecting... 2/2", 2, 2, "", true},
		{"Reconnecting... x/2", 0, 0, "", false},
		{"Reconnecting... 1", 0, 0, "", false},
		{"Reconnecting... -1/2", 0, 0, "", false},
		{"exceeded retry limit", 0, 0, "", false},
	} {
		attempt, most, why, ok := reconnect(tt.in)
		if attempt != tt.attempt || most != tt.most || why != tt.why || ok != tt.ok {
			t.Errorf("%q = %d %d %q %v", tt.in, attempt, most, why, ok)
		}
	}
}

func TestStderr(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in    string
		event execution.EventType
		known bool
	}{
		{"2026-11-20T11:44:46.240464Z ERROR codex_core::tools::router: error=approval policy is Never; reject command", "approval_denied", true},
		{"2026-11-20T11:44:46.240464Z ERROR codex_core::tools::router: error=patch rejected: no; rejected by user approval settings", "approval_denied", true},
		{`2026-11-20T11:44:46.240464Z ERROR codex_core::tools::router: error=exec_command failed: CreateProcess { message: "Rejected(\"rejected by user\")" }`, "", true},
		{"2026-11-20T11:44:46.240464Z ERROR codex_core::tools::router: error=unsupported call: x", "debug", true},
		{"2026-11-20T11:44:46.240464Z ERROR codex_core::session: failed to record", "", true},
		{"2026-11-20T11:44:46Z  WARN codex: x", "", true},
		{"", "", true},
		{"thread 'main' panicked at src/main.rs:1:1:", "log", false},
		{"2026-11-20 ERROR x: y", "log", false},
	} {
		s := cliagent.NewSink(true)
		s.Emit(execution.SessionStart{SessionID: "T"})
		s.Take()
		var e stderr
		e.line([]byte(tt.in), s)
		var got execution.EventType
		if events := s.Take(); len(events) > 0 {
			got = events[0].Body.Type()
		}
		if got != tt.event {
			t.Errorf("%q makes the event %q, want %q", tt.in, got, tt.event)
		}
	}
}

// TestEarlyRefusal: standard error may overtake standard output, and nothing comes before the session.
func TestEarlyRefusal(t *testing.T) {
	t.Parallel()
	p, s := newAppParser(newRequest(), ""), cliagent.NewSink(false)
	p.Open(s)
	p.Line(process.Stderr, []byte("2026-11-20T11:44:46.240464Z ERROR codex_core::tools::router: error=approval policy is Never; reject command"), s)
	if e := s.Take(); len(e) != 0 {
		t.Errorf("before the session come %s", types(e))
	}
	feed(p, s, `{"id":1,"result":{}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`)
	if got := types(s.Take()); got != "session_start approval_denied" {
		t.Errorf("the events are %s", got)
	}
}

// TestStructured: an output schema is satisfied by a JSON object only.
func TestStructured(t *testing.T) {
	t.Parallel()
	req := newRequest()
	wantsAnswer(&req)
	for text, want := range map[string]string{`{"answer":1}`: `{"answer":1}`, " {\"answer\":1}\n": `{"answer":1}`, `[1]`: "", `"x"`: "", "null": "", "": "", "```json\n{}\n```": ""} {
		o := newOutcome(req, text, nil)
		if string(o.Structured) != want || (o.Failure == nil) != (want != "") {
			t.Errorf("%q is %s, %+v", text, o.Structured, o.Failure)
		}
	}
	if o := newOutcome(newRequest(), "x", nil); o.Failure != nil || o.Structured != nil {
		t.Errorf("without a schema the outcome is %+v", o)
	}
}

// TestMCPDenial: a call that the policy denies is a denial, like that of any other tool.
func TestMCPDenial(t *testing.T) {
	t.Parallel()
	p, s := began(t, nil)
	feed(p, s, `{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"mcpToolCall","id":"c1","server":"probe","tool":"echo","status":"inProgress","arguments":{}}}}`,
		`{"method":"item/completed","params":{"threadId":"T","turnId":"U","item":{"type":"mcpToolCall","id":"c1","server":"probe","tool":"echo","status":"failed","arguments":{},"error":{"message":"MCP tool call requires approval, but approval policy is never"}}}}`)
	if got := types(s.Take()); got != "mcp_tool_call_start approval_denied mcp_tool_error" {
		t.Errorf("the events are %s", got)
	}
}

// TestRunCapabilities: a run whose questions nobody could answer asks none.
func TestRunCapabilities(t *testing.T) {
	t.Parallel()
	a := agent.New(agent.BackendOf(Descriptor()))
	n := a.Negotiate(newRequest(), agent.Options{})
	if e := n.EffectiveCapabilities; !e.Agent.TextStreaming || e.ApprovalInterrupts != execution.ApprovalsNone || e.TraceDepth != execution.TraceDetailed || !n.Supported {
		t.Errorf("nobody is asked: %+v", e)
	}
	asked := agent.Options{OnApproval: func(context.Context, execution.ApprovalRequired) execution.Decision { return execution.Decision{} }}
	if e := a.Negotiate(newRequest(), asked).EffectiveCapabilities; e.ApprovalInterrupts != execution.ApprovalsNative {
		t.Errorf("somebody is asked: %+v", e)
	}
}
