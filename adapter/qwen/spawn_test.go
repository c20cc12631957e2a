package qwen

import (
	"encoding/json"
	"maps"
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

const someSession = "11111111-1111-4111-8111-111111111111"

// TestSpawn states, for every option, what becomes of it. An option that is ignored has no row that passes.
func TestSpawn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	file := func(name string) string { return filepath.Join(dir, name) }
	oneShot := func(more ...string) []string {
		return append([]string{"--output-format=stream-json", "--include-partial-messages"}, more...)
	}
	def := "--approval-mode=default"
	for _, tt := range []struct {
		name    string
		request func(*execution.Request)
		args    []string
		env     map[string]string // besides those of every run
	}{
		{name: "plain", args: oneShot(def)},
		{name: "stream off", request: func(r *execution.Request) { r.Run.Stream = execution.StreamOff }, args: []string{"--output-format=stream-json", def}},
		{name: "model", request: func(r *execution.Request) { r.Run.Model = "m" }, args: oneShot(def, "--model=m")},
		{name: "yolo", request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }, args: oneShot("--approval-mode=yolo")},
		{name: "deny", request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalDeny }, args: oneShot(def)},
		{name: "max turns", request: func(r *execution.Request) { r.Run.MaxTurns = 7 }, args: oneShot("--max-session-turns=7", def)},
		{name: "max tokens", request: func(r *execution.Request) { r.Run.MaxTokens = 98 }, args: oneShot(def), env: map[string]string{"QWEN_CODE_MAX_OUTPUT_TOKENS": "98"}},
		{name: "max output tokens win", request: func(r *execution.Request) { r.Run.MaxTokens, r.Run.MaxOutputTokens = 98, 99 }, args: oneShot(def),
			env: map[string]string{"QWEN_CODE_MAX_OUTPUT_TOKENS": "99"}},
		{name: "resume", request: func(r *execution.Request) { r.Run.SessionID = someSession }, args: oneShot("--resume="+someSession, def)},
		{name: "continue", request: func(r *execution.Request) {
			r.Continuation = &execution.Continuation{Kind: execution.ContinuationDeferred, State: map[string]any{"sessionId": someSession}}
		}, args: oneShot("--resume="+someSession, def)},
		{name: "fork", request: func(r *execution.Request) { r.Run.ForkSessionID = someSession }, args: oneShot("--resume="+someSession, "--fork-session", def)},
		{name: "no session", request: func(r *execution.Request) { r.Run.NoSession = true }, args: oneShot(def, "--chat-recording=false")},
		{name: "append", request: func(r *execution.Request) { r.Instructions.SystemPrompt = "-S" }, args: oneShot(def, "--append-system-prompt=-S")},
		{name: "replace and add", request: func(r *execution.Request) {
			r.Instructions, r.Run.SystemPromptMode = execution.Instructions{SystemPrompt: "S", DeveloperPrompt: "D"}, execution.SystemPromptReplace
		}, args: oneShot(def, "--system-prompt=S", "--append-system-prompt=D")},
		{name: "mcp", request: func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "x", Transport: execution.MCPStdio, Command: "c"}}
		}, args: oneShot("--mcp-config="+file("mcp.json"), def)},
		{name: "schema", request: func(r *execution.Request) { r.Run.OutputSchema = json.RawMessage(`{"type":"object"}`) },
			args: oneShot("--json-schema=@"+file("output-schema.json"), def)},
		{name: "text attached", request: func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{Base64: "aGk=", MimeType: "text/plain", Name: "n.txt"}}
		}, args: oneShot(def)},
		{name: "tools of the caller", request: func(r *execution.Request) { r.Tools = []execution.Tool{{Name: "echo"}} }, args: oneShot(def, "--allowed-tools=mcp__drawbar__echo")},

		{name: "interactive", request: func(r *execution.Request) { r.Run.Interactive = true }, args: []string{"--acp", def}},
		{name: "prompt, stated", request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalPrompt }, args: []string{"--acp", def}},
		{name: "approval interrupts", request: func(r *execution.Request) {
			r.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportRequired}
		}, args: []string{"--acp", def}},
		{name: "a tool that needs approval", request: func(r *execution.Request) {
			r.Tools = []execution.Tool{{Name: "echo"}, {Name: "rm", RequiresApproval: true}}
		}, args: []string{"--acp", def, "--allowed-tools=mcp__drawbar__echo"}},
		{name: "effort", request: func(r *execution.Request) { r.Run.ThinkingEffort = execution.EffortHigh }, args: []string{"--acp", def}},
		{name: "image", request: func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{Base64: "aGk=", MimeType: "image/png"}}
		}, args: []string{"--acp", def}},
		{name: "what a conversation keeps", request: func(r *execution.Request) {
			r.Run.Interactive, r.Run.Model, r.Run.NoSession, r.Run.MaxTokens, r.Instructions.SystemPrompt = true, "m", true, 98, "S"
			r.Run.ApprovalMode = execution.ApprovalYolo
		}, args: []string{"--acp", "--approval-mode=yolo", "--model=m", "--chat-recording=false", "--append-system-prompt=S"},
			env: map[string]string{"QWEN_CODE_MAX_OUTPUT_TOKENS": "98"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request()
			req.Message.Text = "--help me; $(rm -rf /)"
			if tt.request != nil {
				tt.request(&req)
			}
			l := &cliagent.Launch{Request: req, Dir: dir}
			make, acp := spawn, slices.Contains(tt.args, "--acp")
			if acp {
				make = spawnACP
			}
			if twoWay(req) != acp {
				t.Fatalf("the run is two-way: %v", twoWay(req))
			}
			inv, err := make(l)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.args, inv.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			want := map[string]string{"QWEN_CODE_NO_RELAUNCH": "true", "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}
			if !acp {
				want["QWEN_CODE_DISABLE_CRON"] = "1"
			}
			maps.Copy(want, tt.env)
			if diff := cmp.Diff(want, inv.Env); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			if !acp && !strings.HasPrefix(string(inv.Stdin), string(req.Message.Text)) {
				t.Errorf("standard input is %q, want the prompt as it is", inv.Stdin)
			}
			if len(req.Message.Attachments) > 0 && !acp && !strings.HasSuffix(string(inv.Stdin), "<file name=\"n.txt\">\nhi\n</file>") {
				t.Errorf("the attachment is not in %q", inv.Stdin)
			}
		})
	}
}

// TestSpawnEveryOption fails for a run option that neither the table above nor the list here knows: a new option must not
// be ignored by accident.
func TestSpawnEveryOption(t *testing.T) {
	t.Parallel()
	carried := strings.Fields(`Model SystemPromptMode ThinkingEffort MaxTokens MaxOutputTokens SessionID ForkSessionID NoSession
		Stream OutputSchema Interactive MaxTurns ApprovalMode MCPServers`)
	refused := strings.Fields("Command ThinkingOverride Skills Profile Sandbox") // blocked by negotiation, their capability is not declared
	degraded := strings.Fields("Temperature TopP TopK ThinkingBudgetTokens")     // said to be ignored by negotiation
	elsewhere := strings.Fields(`Agent NonInteractive Cwd Env Environment TimeoutMs InactivityTimeoutMs GracePeriodMs RetryPolicy RunID Tags ProjectID
		CollectEvents KeepRetrying Debug OutputFormat Invocation AgentsDoc MaxBudgetUSD AllowTools DenyTools`) // of the kit, of package agent and of its callers
	known := slices.Concat(carried, refused, degraded, elsewhere)
	for field := range reflect.TypeFor[execution.RunOptions]().Fields() {
		if !slices.Contains(known, field.Name) {
			t.Errorf("nothing is decided about the option %s", field.Name)
		}
	}
	caps := capabilities().Agent
	if caps.Skills || !caps.AgentsMD || caps.Sampling || len(caps.SandboxModes) > 0 || caps.ThinkingBudgetTokens {
		t.Error("an option is declared that spawn does not carry")
	}
}

func TestMCPConfig(t *testing.T) {
	t.Parallel()
	got := mcpConfig([]execution.MCPServer{
		{Name: "a", Transport: execution.MCPStdio, Command: "cmd", Args: []string{"-x", "y z"}, Env: map[string]string{"K": "v"}},
		{Name: "b", Transport: execution.MCPStreamableHTTP, URL: "http://h/mcp", Headers: map[string]string{"Authorization": "Bearer t"}},
		{Name: "c", Transport: execution.MCPSSE, URL: "http://h/sse"},
	})
	const want = `{"mcpServers":{"a":{"command":"cmd","args":["-x","y z"],"env":{"K":"v"}},` +
		`"b":{"httpUrl":"http://h/mcp","headers":{"Authorization":"Bearer t"}},"c":{"url":"http://h/sse"}}}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRefusedBeforeSpawning: what cannot be carried out never starts a process.
func TestRefusedBeforeSpawning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blob := filepath.Join(dir, "b.txt")
	if err := os.WriteFile(blob, []byte("\xff\xfe"), 0o600); err != nil {
		t.Fatal(err)
	}
	attach := func(a execution.Attachment) func(*execution.Request) {
		return func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{a} }
	}
	for _, tt := range []struct {
		name    string
		request func(*execution.Request)
		make    func(*cliagent.Launch) (cliagent.Invocation, error)
		want    execution.ErrorCode
	}{
		{"a title in place of a session", func(r *execution.Request) { r.Run.SessionID = "latest" }, spawn, execution.CodeSessionNotFound},
		{"the same in a conversation", func(r *execution.Request) { r.Run.SessionID = "latest" }, spawnACP, execution.CodeSessionNotFound},
		{"a prompt that would be cut", func(r *execution.Request) { r.Message.Text = execution.Prompt(strings.Repeat("x", maxPrompt+1)) }, spawn, execution.CodeValidation},
		{"text that is none", attach(execution.Attachment{FilePath: blob}), spawn, execution.CodeValidation},
		{"no file", attach(execution.Attachment{FilePath: filepath.Join(dir, "none.txt")}), spawn, execution.CodeValidation},
	} {
		req := request()
		tt.request(&req)
		if _, err := tt.make(&cliagent.Launch{Request: req, Dir: dir}); execution.CodeOf(err) != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestNegotiate(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object"}`)
	for _, tt := range []struct {
		name    string
		request func(*execution.Request)
		want    string // capability and severity
	}{
		{"plain", func(*execution.Request) {}, ""},
		{"context that is no JSON", func(r *execution.Request) { r.Context = &execution.Context{Structured: map[string]any{"f": func() {}}} }, "context blocking"},
		{"schema", func(r *execution.Request) { r.Run.OutputSchema = schema }, ""},
		{"schema in a conversation", func(r *execution.Request) { r.Run.OutputSchema, r.Run.Interactive = schema, true }, "structuredOutput blocking"},
		{"fork", func(r *execution.Request) { r.Run.ForkSessionID = someSession }, ""},
		{"fork in a conversation", func(r *execution.Request) { r.Run.ForkSessionID, r.Run.Interactive = someSession, true }, "fork blocking"},
		{"effort", func(r *execution.Request) { r.Run.ThinkingEffort, r.Run.Model = execution.EffortHigh, "other" }, ""},
		{"effort of a model without", func(r *execution.Request) { r.Run.ThinkingEffort, r.Run.Model = execution.EffortHigh, "qwen3-max" }, "thinking blocking"},
		{"effort of a model with others", func(r *execution.Request) { r.Run.ThinkingEffort, r.Run.Model = execution.EffortHigh, "qwen3.8-max" }, "thinking blocking"},
		{"effort that the model has", func(r *execution.Request) { r.Run.ThinkingEffort, r.Run.Model = execution.EffortLow, "qwen3.8-max" }, ""},
		{"film", func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{{FilePath: "/a.mp4"}} }, "attachments[0] blocking"},
		{"document", func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{{FilePath: "/a.pdf"}} }, "attachments[0] blocking"},
		{"address", func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{{URL: "https://h/a.png"}} }, "attachments[0] blocking"},
		{"image", func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{{FilePath: "/a.png"}} }, ""},
	} {
		req := request()
		tt.request(&req)
		var got []string
		for _, r := range negotiate(req) {
			if err := r.Validate(); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			got = append(got, r.Capability+" "+string(r.Severity))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: the reasons are %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestHookSettings: a settings file that the request's environment names neither replaces the hooks of the run nor is left out of them.
func TestHookSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "theirs.json")
	if err := os.WriteFile(file, []byte(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"theirs"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, spawn := range map[string]func(*cliagent.Launch) (cliagent.Invocation, error){"one turn": spawn, "two-way": spawnACP} {
		l := &cliagent.Launch{Dir: t.TempDir(), Hook: &cliagent.HookLines{PreTool: "ours", Start: "ours"}}
		l.Request.Run.Env = map[string]string{systemSettings: file, systemDefaults: "/theirs/defaults.json"}
		inv, err := spawn(l)
		if want := filepath.Join(l.Dir, "system-settings.json"); err != nil || inv.EnvOver[systemSettings] != want || inv.EnvOver[systemDefaults] != "/theirs/defaults.json" {
			t.Errorf("%s: %v, %v", name, inv.EnvOver, err)
		}
		merged, err := l.SettingsWithHooks(file, map[string]any{preToolUse: hookGroup("ours", 1)})
		if err != nil || !strings.Contains(string(merged), "theirs") || !strings.Contains(string(merged), "ours") {
			t.Errorf("%s: %s, %v", name, merged, err)
		}
	}
}

// TestAllowedByProject: Qwen asks before what a repository allows, unless the user lets it do everything.
func TestAllowedByProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".qwen"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"permissions":{"allow":["run_shell_command"],"deny":["edit"]},/* by hand */"tools":{"allowed":["ShellTool(go test)"],"approvalMode":"yolo"}}`
	if err := os.WriteFile(filepath.Join(dir, ".qwen", "settings.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &cliagent.Launch{Dir: t.TempDir()}
	l.Request.Run.Cwd = dir
	if diff := cmp.Diff([]any{"run_shell_command", "ShellTool(go test)"}, allowedByProject(l)); diff != "" {
		t.Error(diff)
	}
	for name, spawn := range map[string]func(*cliagent.Launch) (cliagent.Invocation, error){"one turn": spawn, "two-way": spawnACP} {
		if inv, err := spawn(l); err != nil || inv.EnvOver[systemSettings] == "" {
			t.Errorf("%s: %v, %v", name, inv.EnvOver, err)
		}
	}
	l.Request.Run.ApprovalMode = execution.ApprovalYolo
	if inv, err := spawn(l); err != nil || inv.EnvOver[systemSettings] != "" {
		t.Errorf("yolo: %v, %v", inv.EnvOver, err)
	}
}
