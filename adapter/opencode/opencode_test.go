package opencode

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acpgolden"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
)

// TestGoldens replays conversations with the real program.
func TestGoldens(t *testing.T) {
	t.Parallel()
	acpgolden.Test(t, map[string]acpagent.Spec{name: row().Spec()}, 8)
}

// The files in testdata/config have what the program's documentation shows, and it started with them.
func TestConfig(t *testing.T) {
	t.Parallel()
	adaptertest.Config(t, configSchema(), "testdata/config")
}

// TestAsks: OpenCode asks unless everything is allowed.
func TestAsks(t *testing.T) {
	t.Parallel()
	asks := func(mode execution.ApprovalMode) bool {
		inv, err := spawn(&cliagent.Launch{Request: execution.Request{Run: execution.RunOptions{ApprovalMode: mode}}})
		return err == nil && inv.Args[0] == "acp" && strings.HasPrefix(inv.Env["OPENCODE_PERMISSION"], `{"**":"ask",`)
	}
	if !asks("") || !asks(execution.ApprovalPrompt) || !asks(execution.ApprovalDeny) || asks(execution.ApprovalYolo) {
		t.Error("the approval mode does not decide whether it asks")
	}
}

func TestServerTool(t *testing.T) {
	t.Parallel()
	if server, tool, ok := serverTool(&acpagent.ToolCall{Title: "files_echo"}, []string{"files"}); server != "files" || tool != "echo" || !ok {
		t.Error(server, tool, ok)
	}
	if _, _, ok := serverTool(&acpagent.ToolCall{Title: "files_of/w"}, []string{"files"}); ok {
		t.Error("a path is no tool")
	}
}

// TestReports: what the plugin states of a model call is read, and nothing else is taken for it.
func TestReports(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]acpagent.Report{
		`drawbar:{}`: {},
		`drawbar:{"session":"s","ended":true,"tokens":{"total":9,"input":5,"output":2,"reasoning":1,"cache":{"read":1,"write":0}},"cost":0.25}`: {Session: "s", Ended: true,
			Usage: execution.Usage{Input: 5, Output: 3, Thinking: 1, Cached: 1}.WithTotal(), USD: 0.25},
		`drawbar:{"session":"s","failed":"slow down","error":"APIError","status":429}`:     {Session: "s", Failed: execution.CodeRateLimited, Message: "slow down"},
		`drawbar:{"session":"s","failed":"no such field","error":"APIError","status":400}`: {Session: "s", Failed: execution.CodeInvalidRequest, Message: "no such field"},
		`drawbar:{"session":"s","failed":"no key","error":"ProviderAuthError"}`:            {Session: "s", Failed: execution.CodeAuth, Message: "no key"},
		`drawbar:{"session":"s","failed":"too much","error":"ContextOverflowError"}`:       {Session: "s", Failed: execution.CodeContextExceeded, Message: "too much"},
		`drawbar:{"session":"s","failed":"broken","error":"UnknownError"}`:                 {Session: "s", Failed: execution.CodeProvider, Message: "broken"},
		`drawbar:{"session":"s","lost":true}`:                                              {Session: "s", Lost: true},
		`drawbar:{"session":"sub","refused":"bash"}`:                                       {Session: "sub", Notice: "lets nobody answer a sub-agent: its request for bash was refused"},
		`drawbar:{"session":"s","retry":"Too Many Requests"}`:                              {Session: "s", Retry: execution.CodeRateLimited, Message: "Too Many Requests"},
	} {
		if got, ok := reportOf([]byte(line)); !ok || got != want {
			t.Errorf("%s: %+v %v, want %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{"", "drawbar:", "drawbar:[]", `drawbar:{"ended":`, `{"ended":true}`, "drawbar: it works"} {
		if got, ok := reportOf([]byte(line)); ok {
			t.Errorf("%q is taken for a report: %+v", line, got)
		}
	}
}

func FuzzReports(f *testing.F) {
	f.Add([]byte(`drawbar:{"session":"s","ended":true,"tokens":{"input":5,"cache":{"read":1}},"cost":0.25,"failed":"x","status":500}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if r, ok := reportOf(line); ok && (r.USD < 0 || r.Usage.Input < 0 || r.Failed != "" && r.Retry != "") {
			t.Errorf("%q: %+v", line, r)
		}
	})
}

// TestReporter: the plugin is added to the settings of the environment, whose other parts stay, and npm has limits unless the user
// set them.
func TestReporter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, user, pure string
		want             string // the settings, without the plugin of Drawbar
		loaded           bool
	}{
		{name: "no settings", want: `{"plugin":[]}`, loaded: true},
		{name: "settings", user: `{"model":"a/b", "plugin":["mine",["other",{"x":1}]]} // mine`, want: `{"model":"a/b","plugin":["mine",["other",{"x":1}]]}`, loaded: true},
		{name: "broken settings", user: `{"model":`},
		{name: "other plugins", user: `{"plugin":"mine"}`},
		{name: "no plugins wanted", pure: "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := &cliagent.Launch{Dir: "/private", Request: execution.Request{Run: execution.RunOptions{Env: map[string]string{inline: tc.user, "OPENCODE_PURE": tc.pure, "npm_config_fetch_retries": "7"}}}}
			inv, err := spawn(l)
			if err != nil {
				t.Fatal(err)
			}
			got := inv.EnvOver[inline]
			if !tc.loaded {
				if got != "" || inv.Env["npm_config_fetch_timeout"] != "" {
					t.Errorf("%+v", inv.Env)
				}
				return
			}
			plugin := `"/private/drawbar-report.js"]`
			if rest, ok := strings.CutSuffix(got, plugin+"}"); !ok || strings.TrimSuffix(rest, ",")+"]}" != tc.want {
				t.Errorf("got %s, want %s with %s", got, tc.want, plugin)
			}
			if _, set := inv.Env["npm_config_fetch_retries"]; set || inv.Env["npm_config_fetch_timeout"] == "" {
				t.Errorf("%+v", inv.Env)
			}
		})
	}
}

// TestHook: the plugin of a run's hook is loaded beside the other, with the run's commands; where no plugin is loaded the run is refused.
func TestHook(t *testing.T) {
	t.Parallel()
	launch := func(env map[string]string) *cliagent.Launch {
		return &cliagent.Launch{Dir: "/private", Request: execution.Request{Run: execution.RunOptions{Env: env}},
			Hook: &cliagent.HookLines{PreTool: "'me' ask", Start: "'me' start", Timeout: time.Hour}}
	}
	inv, err := spawn(launch(nil))
	if got := inv.EnvOver[inline]; err != nil || got != `{"plugin":["/private/drawbar-report.js","/private/drawbar-hook.js"]}` {
		t.Error(got, err)
	}
	for _, env := range []map[string]string{{"OPENCODE_PURE": "1"}, {inline: "{"}} {
		if _, err := spawn(launch(env)); execution.CodeOf(err) != execution.CodeCapability {
			t.Errorf("%v: %v", env, err)
		}
	}
	program := plugin(map[string]any{"event": beforeTool, "command": "'me' ask", "start": "'me' start", "patience": 7})
	for _, line := range []string{`const event = "tool.execute.before";`, `const command = "'me' ask";`, `const start = "'me' start";`, "const patience = 7; // ms"} {
		if !strings.Contains(program, line+"\n") {
			t.Errorf("the plugin has no line %s", line)
		}
	}
}

// TestHookCalls: what a call of the hook would do, and whose tool it is.
func TestHookCalls(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]execution.ToolUse{
		`{"session_id":"s","tool_name":"bash","tool_input":{"command":"ls"}}`:                                         {Kind: execution.ToolShell, Command: "ls"},
		`{"session_id":"s","tool_name":"write","tool_input":{"filePath":"/a","content":"x"}}`:                         {Kind: execution.ToolEdit, Paths: []string{"/a"}},
		`{"session_id":"s","tool_name":"read","tool_input":{"filePath":"/a"}}`:                                        {Kind: execution.ToolRead, Paths: []string{"/a"}},
		`{"session_id":"s","tool_name":"webfetch","tool_input":{"url":"https://a.example"}}`:                          {Kind: execution.ToolFetch},
		`{"session_id":"s","tool_name":"my_files_rm_all","tool_input":{"command":"x"},"mcp_server":"my.files"}`:       {Kind: execution.ToolMCP, Server: "my.files", Tool: "rm_all"},
		`{"session_id":"s","tool_name":"x","tool_input":{},"mcp_server":"a long name of a server that is not there"}`: {Kind: execution.ToolMCP, Server: "a long name of a server that is not there"},
	} {
		call, err := toolHook().Read("preTool", []byte(payload))
		if d := cmp.Diff(want, call.Use); err != nil || d != "" {
			t.Errorf("%s: %v %s", payload, err, d)
		}
	}
	for _, payload := range []string{`{`, `{"tool_input":{}}`, `{"tool_name":"x","mcp_server":1}`} {
		if _, err := toolHook().Read("preTool", []byte(payload)); err == nil {
			t.Errorf("%s is read", payload)
		}
	}
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	if s := row().Spec(); !s.Blobs("application/pdf") || s.Blobs("video/mp4") {
		t.Error("a film is passed on, or a document is not")
	}
}

// TestShell: the exit code of a command is in the tool's own form.
func TestShell(t *testing.T) {
	t.Parallel()
	c := acpagent.ToolCall{Kind: "execute", Status: "completed", Input: []byte(`{"command":"false"}`), Output: []byte(`{"output":"","metadata":{"output":"","exit":1}}`)}
	if sh, ok := shellOf(&c); !ok || sh.Command != "false" || sh.ExitCode == nil || *sh.ExitCode != 1 {
		t.Errorf("%+v %v", sh, ok)
	}
	c.Output = []byte(`{"error":"refused","metadata":{}}`)
	if sh, ok := shellOf(&c); !ok || sh.ExitCode != nil {
		t.Errorf("%+v %v", sh, ok)
	}
	c.Kind, c.Output = "read", []byte(`{"metadata":{"exit":1}}`)
	if sh, ok := shellOf(&c); ok {
		t.Errorf("%+v", sh)
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	clitest.TestShapes(t, map[string]clitest.Shape{"reportShape": &reportShape})
}

func FuzzModels(f *testing.F) { adaptertest.FuzzModels(f, Adapter{}) }

func FuzzHooks(f *testing.F) { adaptertest.FuzzHooks(f, Adapter{}) }

// TestPluginAsks: the plugin of a run that asks has the rules that ask.
func TestPluginAsks(t *testing.T) {
	t.Parallel()
	if !strings.Contains(string(reporter), "const asks = undefined;") {
		t.Fatal("the plugin has no place for the rules")
	}
	for mode, want := range map[execution.ApprovalMode]bool{execution.ApprovalPrompt: true, execution.ApprovalDeny: true, execution.ApprovalYolo: false} {
		if got := strings.Contains(string(reporterOf(execution.RunOptions{ApprovalMode: mode}, nil)), "const asks = "+asks+";"); got != want {
			t.Errorf("%s: %v", mode, got)
		}
	}
}
