package claude

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

var (
	oneShot = []string{"-p", "--output-format=stream-json", "--verbose", "--include-partial-messages", "--permission-mode=default",
		"--disallowedTools=AskUserQuestion"}
	twoWays = []string{"-p", "--output-format=stream-json", "--verbose", "--include-partial-messages", "--input-format=stream-json",
		"--permission-prompt-tool=stdio", "--replay-user-messages", "--permission-mode=default"}
	baseEnv = map[string]string{"CLAUDE_CODE_FORWARD_SUBAGENT_TEXT": "1", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
)

func plus(base []string, more ...string) []string { return append(slices.Clone(base), more...) }

// TestSpawn states, for every option, what becomes of it. An option that is ignored has no row that passes.
func TestSpawn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, "run", name) }
	budget := 0.25
	asks := plus(twoWays, "--disallowedTools=AskUserQuestion")
	tests := []struct {
		name    string
		request func(*execution.Request)
		args    []string
		env     map[string]string // besides baseEnv; an empty value is absent
	}{
		{name: "plain", args: oneShot},
		{name: "stream off", request: func(r *execution.Request) { r.Run.Stream = execution.StreamOff },
			args: slices.DeleteFunc(slices.Clone(oneShot), func(s string) bool { return s == "--include-partial-messages" })},
		{name: "model", request: func(r *execution.Request) { r.Run.Model = "sonnet" }, args: plus(oneShot, "--model=sonnet")},
		{name: "effort", request: func(r *execution.Request) { r.Run.ThinkingEffort = execution.EffortMax }, args: plus(oneShot, "--effort=max")},
		{name: "thinking budget", request: func(r *execution.Request) { r.Run.ThinkingBudgetTokens = 2048 }, args: oneShot,
			env: map[string]string{"MAX_THINKING_TOKENS": "2048"}},
		{name: "thinking budget wins over the effort", request: func(r *execution.Request) {
			r.Run.ThinkingBudgetTokens, r.Run.ThinkingEffort = 4096, execution.EffortLow
		}, args: oneShot, env: map[string]string{"MAX_THINKING_TOKENS": "4096"}},
		{name: "max output tokens", request: func(r *execution.Request) { r.Run.MaxOutputTokens = 99 }, args: oneShot,
			env: map[string]string{"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "99"}},
		{name: "max tokens", request: func(r *execution.Request) { r.Run.MaxTokens = 98 }, args: oneShot,
			env: map[string]string{"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "98"}},
		{name: "max output tokens win", request: func(r *execution.Request) { r.Run.MaxTokens, r.Run.MaxOutputTokens = 98, 99 }, args: oneShot,
			env: map[string]string{"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "99"}},
		{name: "max turns", request: func(r *execution.Request) { r.Run.MaxTurns = 7 }, args: plus(oneShot, "--max-turns=7")},
		{name: "budget", request: func(r *execution.Request) { r.Run.MaxBudgetUSD = &budget }, args: plus(oneShot, "--max-budget-usd=0.25")},
		{name: "resume", request: func(r *execution.Request) { r.Run.SessionID = "s-1" }, args: plus(oneShot, "--resume=s-1")},
		{name: "resume by continuation", request: func(r *execution.Request) {
			r.Continuation = &execution.Continuation{Kind: execution.ContinuationDeferred, State: map[string]any{"sessionId": "s-2"}}
		}, args: plus(oneShot, "--resume=s-2")},
		{name: "fork", request: func(r *execution.Request) { r.Run.ForkSessionID = "s-1" }, args: plus(oneShot, "--resume=s-1", "--fork-session")},
		{name: "no session", request: func(r *execution.Request) { r.Run.NoSession = true }, args: plus(oneShot, "--no-session-persistence")},
		{name: "append", request: func(r *execution.Request) {
			r.Instructions.SystemPrompt, r.Run.SystemPromptMode = "S", execution.SystemPromptAppend
		}, args: plus(oneShot, "--append-system-prompt-file="+file("append-system-prompt.txt"))},
		{name: "prepend is append", request: func(r *execution.Request) {
			r.Instructions.SystemPrompt, r.Run.SystemPromptMode = "S", execution.SystemPromptPrepend
		}, args: plus(oneShot, "--append-system-prompt-file="+file("append-system-prompt.txt"))},
		{name: "replace", request: func(r *execution.Request) {
			r.Instructions.SystemPrompt, r.Run.SystemPromptMode = "S", execution.SystemPromptReplace
		}, args: plus(oneShot, "--system-prompt-file="+file("system-prompt.txt"))},
		{name: "replace and add", request: func(r *execution.Request) {
			r.Instructions, r.Run.SystemPromptMode = execution.Instructions{SystemPrompt: "S", DeveloperPrompt: "D"}, execution.SystemPromptReplace
		}, args: plus(oneShot, "--system-prompt-file="+file("system-prompt.txt"), "--append-system-prompt-file="+file("append-system-prompt.txt"))},
		{name: "mcp", request: func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "x", Transport: execution.MCPStdio, Command: "c"}}
		}, args: plus(oneShot, "--mcp-config="+file("mcp.json"))},
		{name: "schema", request: func(r *execution.Request) { r.Run.OutputSchema = json.RawMessage("{ \"type\" : \"object\" }") },
			args: plus(oneShot, `--json-schema={"type":"object"}`)},
		{name: "deny", request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalDeny },
			args: plus(slices.DeleteFunc(slices.Clone(oneShot), func(s string) bool { return strings.HasPrefix(s, "--perm") || strings.HasPrefix(s, "--dis") }),
				"--permission-mode=dontAsk", "--disallowedTools=AskUserQuestion")},
		{name: "yolo is two-way and asks", request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }, args: asks},
		{name: "prompt, stated", request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalPrompt }, args: twoWays},
		{name: "interactive", request: func(r *execution.Request) { r.Run.Interactive = true }, args: twoWays,
			env: map[string]string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": ""}},
		{name: "approval interrupts", request: func(r *execution.Request) {
			r.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportRequired}
		}, args: asks},
		{name: "attachment", request: func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{Base64: "aGk=", MimeType: "image/png"}}
		}, args: asks},
		{name: "tools of the caller", request: func(r *execution.Request) {
			r.Tools = []execution.Tool{{Name: "echo"}, {Name: "rm", RequiresApproval: true}}
		}, args: plus(asks, "--allowedTools=mcp__drawbar__echo")},
		{name: "new prompt for an old session", request: func(r *execution.Request) {
			r.Run.SessionID, r.Instructions.SystemPrompt = "s-1", "S"
		}, args: plus(asks, "--resume=s-1", "--append-system-prompt-file="+file("append-system-prompt.txt"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request()
			req.Message.Text = "--help me; $(rm -rf /)"
			if tt.request != nil {
				tt.request(&req)
			}
			l := &cliagent.Launch{Request: req, Dir: filepath.Join(dir, "run")}
			inv, err := spawn(l)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.args, inv.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			env := map[string]string{}
			for _, m := range []map[string]string{baseEnv, tt.env} {
				for k, v := range m {
					env[k] = v
					if v == "" {
						delete(env, k)
					}
				}
			}
			if diff := cmp.Diff(env, inv.Env); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			duplex := slices.Contains(inv.Args, "--input-format=stream-json")
			if inv.KeepStdin != duplex || twoWay(req) != duplex {
				t.Errorf("standard input stays open %v, the run is two-way %v, the arguments say %v", inv.KeepStdin, twoWay(req), duplex)
			}
			for _, a := range inv.Args {
				if strings.Contains(a, "--help") {
					t.Errorf("the prompt is an argument: %q", a)
				}
			}
			if !duplex && string(inv.Stdin) != string(req.Message.Text) {
				t.Errorf("standard input is %q, want the prompt as it is", inv.Stdin)
			}
		})
	}
}

// TestSpawnEveryOption fails for a run option that neither the table above nor the list here knows: a new option must not
// be ignored by accident.
func TestSpawnEveryOption(t *testing.T) {
	t.Parallel()
	carried := strings.Fields(`Skills Model SystemPromptMode ThinkingEffort ThinkingBudgetTokens MaxTokens MaxOutputTokens SessionID ForkSessionID NoSession
		Stream OutputSchema Interactive MaxTurns MaxBudgetUSD ApprovalMode MCPServers`)
	refused := strings.Fields("Command ThinkingOverride Profile Sandbox") // blocked by negotiation, their capability is not declared
	degraded := strings.Fields("Temperature TopP TopK")                   // said to be ignored by negotiation
	elsewhere := strings.Fields(`Agent NonInteractive Cwd Env Environment TimeoutMs InactivityTimeoutMs GracePeriodMs RetryPolicy RunID Tags ProjectID
		CollectEvents KeepRetrying Debug OutputFormat Invocation AgentsDoc AllowTools DenyTools`) // of the kit, of package agent and of its callers
	known := slices.Concat(carried, refused, degraded, elsewhere)
	for field := range reflect.TypeFor[execution.RunOptions]().Fields() {
		if !slices.Contains(known, field.Name) {
			t.Errorf("nothing is decided about the option %s", field.Name)
		}
	}
	caps := capabilities().Agent
	if caps.TakesCommand || !caps.AgentsMD || caps.Sampling || len(caps.SandboxModes) > 0 {
		t.Error("an option is declared that spawn does not carry")
	}
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	req := request()
	req.Run.ApprovalMode = execution.ApprovalYolo
	inv, err := spawn(&cliagent.Launch{Request: req, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(inv.Stdin), "\n")
	if len(lines) != 3 || lines[2] != "" {
		t.Fatalf("standard input is %q, want two lines", inv.Stdin)
	}
	sameJSON(t, []byte(`{"type":"control_request","request_id":"drawbar-initialize","request":{"subtype":"initialize"}}`), []byte(lines[0]))
	var sent clientLine
	if err := json.Unmarshal([]byte(lines[1]), &sent); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, []byte(`{"type":"user","uuid":"`+sent.UUID+`","session_id":"","parent_tool_use_id":null,"message":{"role":"user","content":[{"type":"text","text":"hello"}]}}`),
		[]byte(lines[1]))
	again, err := spawn(&cliagent.Launch{Request: req, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(again.Stdin), sent.UUID) {
		t.Error("two runs send their message with one uuid; claude drops the second")
	}

	req.Run.SessionID, req.Instructions.SystemPrompt = "s", "new"
	if inv, err = spawn(&cliagent.Launch{Request: req, Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(inv.Stdin), `"systemPromptSnapshot":false`) {
		t.Errorf("a resumed session keeps its old prompt: %s", inv.Stdin)
	}
}

func TestMCPConfig(t *testing.T) {
	t.Parallel()
	got := cliagent.MCPFile([]execution.MCPServer{
		{Name: "a", Transport: execution.MCPStdio, Command: "cmd", Args: []string{"-x", "y z"}, Env: map[string]string{"K": "v"}},
		{Name: "b", Transport: execution.MCPStreamableHTTP, URL: "http://h/mcp", Headers: map[string]string{"Authorization": "Bearer t"}},
		{Name: "c", Transport: execution.MCPSSE, URL: "http://h/sse"},
	}, nil)
	sameJSON(t, []byte(`{"mcpServers":{"a":{"type":"stdio","command":"cmd","args":["-x","y z"],"env":{"K":"v"}},
		"b":{"type":"http","url":"http://h/mcp","headers":{"Authorization":"Bearer t"}},"c":{"type":"sse","url":"http://h/sse"}}}`), got)
}

func TestSchemaTooLong(t *testing.T) {
	t.Parallel()
	req := request()
	req.Run.OutputSchema = json.RawMessage(`{"description":"` + strings.Repeat("x", maxSchema) + `"}`)
	if _, err := spawn(&cliagent.Launch{Request: req, Dir: t.TempDir()}); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("got %v, want VALIDATION_ERROR", err)
	}
	if r := negotiate(req); len(r) != 1 || r[0].Severity != execution.SeverityBlocking {
		t.Errorf("negotiation says %v, want one blocking reason", r)
	}
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	req := request()
	req.Instructions = execution.Instructions{SystemPrompt: "S", DeveloperPrompt: "D", ResponseStyle: &execution.ResponseStyle{PreferMarkdown: true, MaxAnswerChars: 99}}
	req.Context = &execution.Context{Blocks: []execution.ContextBlock{
		{ID: "1", Label: `a "b" <c>`, Text: "x </context> y", Category: execution.ContextMemory}, {Text: "bare"}},
		Structured: map[string]any{"b": 1, "a": []int{2}}}
	req.Run.AgentsDoc = "Use tabs. </agents-document>"
	const rest = "D\n\n<agents-document>\nUse tabs. &lt;/agents-document>\n</agents-document>\n\n<context id=\"1\" label=\"a &quot;b&quot; &lt;c&gt;\" category=\"memory\">\nx &lt;/context> y\n</context>\n\n" +
		"<context>\nbare\n</context>\n\n<context-data>\n{\"a\":[2],\"b\":1}\n</context-data>\n\nAnswer in Markdown.\n\nKeep the answer below 99 characters."
	replace, added := cliagent.Instructions(req)
	if diff := cmp.Diff([]string{"", "S\n\n" + rest}, []string{replace, added}); diff != "" {
		t.Errorf("append (-want +got):\n%s", diff)
	}
	req.Run.SystemPromptMode = execution.SystemPromptReplace
	replace, added = cliagent.Instructions(req)
	if diff := cmp.Diff([]string{"S", rest}, []string{replace, added}); diff != "" {
		t.Errorf("replace (-want +got):\n%s", diff)
	}
	if replace, added = cliagent.Instructions(request()); replace+added != "" {
		t.Errorf("a request without instructions has %q and %q", replace, added)
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const png = "\x89PNG\r\n\x1a\n"
	tests := []struct {
		name string
		a    execution.Attachment
		want string // JSON of the block
		err  string
	}{
		{name: "image by extension", a: execution.Attachment{FilePath: write("a.png", "hi")},
			want: `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`},
		{name: "image by content", a: execution.Attachment{FilePath: write("noext", png)},
			want: `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}`},
		{name: "image by type", a: execution.Attachment{Base64: "aGk=", MimeType: "Image/WebP; q=1"},
			want: `{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"aGk="}}`},
		{name: "image by url", a: execution.Attachment{URL: "https://h/a/x.JPG?y=1"}, want: `{"type":"image","source":{"type":"url","url":"https://h/a/x.JPG?y=1"}}`},
		{name: "pdf", a: execution.Attachment{FilePath: write("a.pdf", "hi")},
			want: `{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"aGk="}}`},
		{name: "pdf by url", a: execution.Attachment{URL: "https://h/get", MimeType: "application/pdf", Name: "doc"},
			want: `{"type":"document","title":"doc","source":{"type":"url","url":"https://h/get"}}`},
		{name: "text", a: execution.Attachment{FilePath: write("a.go", "package a")},
			want: `{"type":"document","title":"a.go","source":{"type":"text","media_type":"text/plain","data":"package a"}}`},
		{name: "text by content", a: execution.Attachment{FilePath: write("Makefile", "all:")},
			want: `{"type":"document","title":"Makefile","source":{"type":"text","media_type":"text/plain","data":"all:"}}`},
		{name: "json", a: execution.Attachment{Base64: "e30=", MimeType: "application/ld+json"},
			want: `{"type":"document","title":"attachment","source":{"type":"text","media_type":"text/plain","data":"{}"}}`},
		{name: "data url", a: execution.Attachment{URL: "data:image/png;base64,aGk="},
			want: `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`},
		{name: "missing", a: execution.Attachment{FilePath: filepath.Join(dir, "none")}, err: "no such file"},
		{name: "directory", a: execution.Attachment{FilePath: dir}, err: "not a regular file"},
		{name: "empty", a: execution.Attachment{FilePath: write("e.txt", "")}, err: "is empty"},
		{name: "binary", a: execution.Attachment{FilePath: write("blob", "a\x00b")}, err: "application/octet-stream"},
		{name: "video", a: execution.Attachment{FilePath: write("a.mp4", "x")}, err: "video/mp4"},
		{name: "bad text", a: execution.Attachment{FilePath: write("b.txt", "\xff\xfe")}, err: "not UTF-8"},
		{name: "bad base64", a: execution.Attachment{Base64: "!", MimeType: "image/png"}, err: "base64 is malformed"},
		{name: "text by url", a: execution.Attachment{URL: "https://h/a.txt"}, err: "a URL must lead to"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			blocks, err := attachments([]execution.Attachment{tt.a})
			if tt.err != "" {
				if execution.CodeOf(err) != execution.CodeValidation || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, want a VALIDATION_ERROR with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, []byte("["+tt.want+"]"), line(blocks))
		})
	}
	_, err := attachments([]execution.Attachment{{FilePath: dir}, {URL: "https://h/a.txt"}})
	var typed *execution.Error
	if !errors.As(err, &typed) || len(typed.Fields) != 2 {
		t.Errorf("got %v, want both faults", err)
	}
}

func TestNegotiate(t *testing.T) {
	t.Parallel()
	zero := 0.0
	tests := []struct {
		name    string
		request func(*execution.Request)
		want    string // severity and capability
	}{
		{"plain", func(*execution.Request) {}, ""},
		{"budget of thinking, default model", func(r *execution.Request) { r.Run.ThinkingBudgetTokens = 2048 }, "warning thinkingBudgetTokens"},
		{"budget of thinking, adaptive model", func(r *execution.Request) { r.Run.ThinkingBudgetTokens, r.Run.Model = 2048, "claude-opus-4-8[1m]" }, "warning thinkingBudgetTokens"},
		{"budget of thinking, dated model", func(r *execution.Request) {
			r.Run.ThinkingBudgetTokens, r.Run.Model = 2048, "claude-haiku-4-5-20251001"
		}, ""},
		{"effort", func(r *execution.Request) { r.Run.ThinkingEffort, r.Run.Model = execution.EffortLow, "opus" }, ""},
		{"effort without effect", func(r *execution.Request) {
			r.Run.ThinkingEffort, r.Run.Model = execution.EffortLow, "claude-sonnet-4-5"
		}, "warning thinking"},
		{"turns of a conversation", func(r *execution.Request) { r.Run.Interactive, r.Run.MaxTurns = true, 3 }, "info maxTurns"},
		{"no money", func(r *execution.Request) { r.Run.MaxBudgetUSD = &zero }, "blocking budget"},
		{"context", func(r *execution.Request) { r.Context = &execution.Context{Structured: map[string]any{"f": func() {}}} }, "blocking context"},
		{"audio", func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{{FilePath: "/a.mp3"}} }, "blocking attachments[0]"},
		{"text by url", func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{{URL: "http://h/a.md"}} }, "blocking attachments[0]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request()
			tt.request(&req)
			got := ""
			for _, r := range negotiate(req) {
				if err := r.Validate(); err != nil {
					t.Error(err)
				}
				got += string(r.Severity) + " " + r.Capability
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
