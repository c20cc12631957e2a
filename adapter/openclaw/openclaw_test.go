package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acpgolden"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// TestGoldens replays conversations with the real program.
func TestGoldens(t *testing.T) {
	t.Parallel()
	acpgolden.Test(t, map[string]acpagent.Spec{name: row().Spec()}, 1)
}

// The file in testdata/config has what the program's documentation shows.
func TestConfig(t *testing.T) {
	t.Parallel()
	adaptertest.Config(t, configSchema(), "testdata/config")
}

type noInput struct{}

func (noInput) Receive(context.Context) (execution.Command, error) { return nil, io.EOF }

// started runs a request until its program would start, and returns what the starter is told.
func started(t *testing.T, run execution.RunOptions, environ ...string) (p plan) {
	t.Helper()
	a := New(cliagent.Options{
		Environ:  func() []string { return environ },
		LookPath: func(command string, _ []string, _ string) (string, error) { return "/bin/" + command, nil },
		Runner: func(_ context.Context, s process.Spec) (process.Handle, error) {
			if s.Path != "/bin/openclaw" || len(s.Args) != 1 || s.Args[0] != "acp" {
				t.Errorf("started %s %q", s.Path, s.Args)
			}
			options := ""
			for _, v := range s.Env {
				if value, ok := strings.CutPrefix(v, "NODE_OPTIONS="); ok {
					options = value
				}
			}
			before, file, _ := strings.Cut(options, "--import=")
			u, err := url.Parse(file)
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := os.ReadFile(u.Path)
			if err != nil || string(loaded) != string(starter) {
				t.Errorf("NODE_OPTIONS %q: %v", options, err)
			}
			text, err := os.ReadFile(filepath.Join(filepath.Dir(u.Path), "plan.json"))
			if err == nil {
				err = json.Unmarshal(text, &p)
			}
			if err != nil || strings.TrimSpace(before) != p.NodeOptions {
				t.Errorf("NODE_OPTIONS %q, after it %q: %v", options, p.NodeOptions, err)
			}
			return nil, errors.New("not started")
		}})
	req := adaptertest.PlayRequest(adaptertest.Simple)
	run.Cwd = t.TempDir()
	req.Run = run
	for range a.Execute(t.Context(), req, noInput{}) {
	}
	return p
}

// TestPlan: the options of a request are settings of the run's own gateway, and those that another gateway does not take are named.
func TestPlan(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("SKIPPED: file URLs are paths only where the system's root is /")
	}
	t.Parallel()
	servers := []execution.MCPServer{{Name: "files", Transport: execution.MCPStdio, Command: "mcp-files", Args: []string{"-v"}, Env: map[string]string{"A": "b"}},
		{Name: "web", Transport: execution.MCPStreamableHTTP, URL: "https://mcp.example/", Headers: map[string]string{"X": "y"}}, {Name: "old", Transport: execution.MCPSSE, URL: "https://mcp.example/sse"}}
	for _, tt := range []struct {
		name     string
		run      execution.RunOptions
		environ  []string
		want     plan
		settings string
	}{
		{"nothing", execution.RunOptions{}, nil, plan{},
			`{"agents":{"defaults":{"heartbeat":{"every":"0m"}}},"cron":{"enabled":false},"tools":{"exec":{"mode":"ask"},"fs":{"workspaceOnly":true}}}`},
		{"a session", execution.RunOptions{SessionID: "s1"}, nil, plan{Session: "s1", Keys: []string{"s1", "agent:main:acp-bridge:s1"}},
			`{"agents":{"defaults":{"heartbeat":{"every":"0m"}}},"cron":{"enabled":false},"tools":{"exec":{"mode":"ask"},"fs":{"workspaceOnly":true}}}`},
		{"a gateway in the environment", execution.RunOptions{ApprovalMode: execution.ApprovalYolo}, []string{"OPENCLAW_GATEWAY_PORT=1", "NODE_OPTIONS=--use-system-ca"},
			plan{Given: true, NodeOptions: "--use-system-ca"},
			`{"agents":{"defaults":{"heartbeat":{"every":"0m"}}},"cron":{"enabled":false},"tools":{"exec":{"mode":"full"}}}`},
		{"a model and servers", execution.RunOptions{Model: "a/b", ApprovalMode: execution.ApprovalDeny, MCPServers: servers}, nil, plan{Needs: "approval mode deny, model, MCP servers"},
			`{"agents":{"defaults":{"heartbeat":{"every":"0m"},"model":{"primary":"a/b"},"models":{"a/b":{}}}},"cron":{"enabled":false},"mcp":{"servers":{` +
				`"files":{"args":["-v"],"command":"mcp-files","env":{"A":"b"}},"old":{"transport":"sse","url":"https://mcp.example/sse"},` +
				`"web":{"headers":{"X":"y"},"transport":"streamable-http","url":"https://mcp.example/"}}},"tools":{"deny":["write","edit","apply_patch","skill_workshop","plugins"],"exec":{"mode":"ask"},"fs":{"workspaceOnly":true}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := started(t, tt.run, tt.environ...)
			if err := json.Unmarshal([]byte(tt.settings), &tt.want.Settings); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestReports: what the starter states about a turn, and what it refuses.
func TestReports(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]execution.ErrorCode{
		`drawbar:{"failed":"script/m request failed (authentication failed, HTTP 401). Re-authenticate the provider and try again."}`: execution.CodeAuth,
		`drawbar:{"failed":"No route-compatible authentication source is configured for openai."}`:                                    execution.CodeAuth,
		`drawbar:{"failed":"LLM request failed: provider rejected the request schema or tool payload."}`:                              execution.CodeInvalidRequest,
		`drawbar:{"failed":"LLM request rejected: configured maxTokens is 9000, above the provider maximum of 4096."}`:                execution.CodeInvalidRequest,
		`drawbar:{"failed":"Context overflow: this conversation is too large for the model. Try /compact."}`:                          execution.CodeContextExceeded,
		`drawbar:{"failed":"script/m request failed (rate limited). This is usually temporary - try again shortly."}`:                 execution.CodeRateLimited,
		`drawbar:{"failed":"script/m request failed (provider billing issue). Check script billing and try again."}`:                  execution.CodeRateLimited,
		`drawbar:{"failed":"script/m request failed (model not found)."}`:                                                             execution.CodeModelNotFound,
		`drawbar:{"failed":"script/m request failed (provider overloaded, HTTP 529). This is usually temporary."}`:                    execution.CodeProvider,
		`drawbar:{"failed":"the turn failed"}`: execution.CodeProvider, `drawbar:{}`: "", `drawbar:`: "", `{"failed":"x"}`: "", `[gateway] HTTP 401`: "",
	} {
		if r, ok := reportOf([]byte(line)); ok != (want != "") || ok && r.Failed != want {
			t.Errorf("%s: %+v %v", line, r, ok)
		}
	}
	if r, ok := reportOf([]byte(`drawbar:{"model":"script/m"}`)); !ok || r != (acpagent.Report{Model: "script/m"}) {
		t.Errorf("%+v %v", r, ok)
	}
	if r, ok := reportOf([]byte(`drawbar:{"notice":"goes on"}`)); !ok || r != (acpagent.Report{Notice: "goes on"}) {
		t.Errorf("%+v %v", r, ok)
	}
	for code, want := range map[int64]execution.ErrorCode{-32090: execution.CodeCapability, -32091: execution.CodeSpawn, -32092: execution.CodeSessionNotFound, -32603: ""} {
		if got := classify(code, ""); got != want {
			t.Errorf("%d: %s", code, got)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	call := &acpagent.ToolCall{Title: "files__echo: text: ping"}
	if server, tool, ok := mcpTool(call, []string{"other", "files"}); server != "files" || tool != "echo" || !ok {
		t.Error(server, tool, ok)
	}
	if _, _, ok := mcpTool(&acpagent.ToolCall{Title: "exec: command: files__echo"}, []string{"files"}); ok {
		t.Error("a command that looks like one")
	}
	if got := toolName(&acpagent.ToolCall{Title: "exec: command: echo a: b"}); got != "exec" {
		t.Error(got)
	}
}

// TestModel: the settings name a model, or one with fallbacks.
func TestModel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`{"agents":{"defaults":{"model":"a/b",}}}`: "a/b", `{"agents":{"defaults":{"model":{"primary":"c/d"}}}}`: "c/d", `{}`: "",
		"{agents: {defaults: {model: {primary: 'e/f'}}}} // JSON5": "e/f"} {
		h := adapter.Host{Home: "/home/u", Platform: "linux", FS: fstest.MapFS{"home/u/.openclaw/openclaw.json": {Data: []byte(text)}}}.Complete()
		if got := configuredModel(h); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestShell: the exit code and the directory of a command stand in the details of its output; remarks of the tool are no output.
func TestShell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"hi": "hi", "hi\n\n(Command exited with code 3)": "hi", "(no output)\n\n(Command exited with code 3)": "", "(no output)": ""} {
		sh, ok := shellOf(&acpagent.ToolCall{Kind: "execute", Input: []byte(`{"command":"x"}`), Content: []acpagent.Content{{Text: text}},
			Output: []byte(`{"details":{"exitCode":3,"cwd":"/w"}}`)})
		if !ok || sh.Command != "x" || sh.Cwd != "/w" || sh.ExitCode == nil || *sh.ExitCode != 3 || sh.Output != want {
			t.Errorf("%q: %+v %v", text, sh, ok)
		}
	}
	if sh, ok := shellOf(&acpagent.ToolCall{Kind: "execute", Input: []byte(`{"command":"x"}`), Output: []byte(`{"details":{"status":"running"}}`)}); !ok || sh.ExitCode != nil {
		t.Errorf("a command in the background: %+v %v", sh, ok)
	}
}
