package copilot

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// launched is what a request makes of the command line, with the run's directory as DIR and its session as SESSION.
func launched(t *testing.T, req execution.Request) (cliagent.Invocation, map[string]string) {
	t.Helper()
	l := &cliagent.Launch{Request: req, Dir: filepath.Join(t.TempDir(), "run")}
	session := ""
	var inv cliagent.Invocation
	var err error
	if twoWay(req) {
		inv, err = protocol.Launch(l)
	} else {
		p := newParser(req).(*parser)
		session, l.Parser = p.session, p
		inv, err = spawn(l)
	}
	if err != nil {
		t.Fatal(err)
	}
	neutral := func(s string) string {
		s = strings.ReplaceAll(s, l.Dir, "DIR")
		if session != "" {
			s = strings.ReplaceAll(s, session, "SESSION")
		}
		return s
	}
	for i, a := range inv.Args {
		inv.Args[i] = neutral(a)
	}
	lists := map[string]string{}
	for k, v := range inv.EnvLists {
		lists[k] = neutral(v)
	}
	return inv, lists
}

var (
	oneShot = []string{"--output-format=json", "--no-ask-user", "--usage-output-file=DIR/usage.json", "--session-id=SESSION", "--stream=on"}
	twoWays = []string{"--acp", "--no-ask-user", "--stream=on"}
)

func plus(base []string, more ...string) []string { return append(slices.Clone(base), more...) }

// TestSpawn states, for every option, what becomes of it. An option that is ignored has no row that passes.
func TestSpawn(t *testing.T) {
	t.Parallel()
	image := filepath.Join(t.TempDir(), "pixel.png")
	if err := os.WriteFile(image, []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tools := []execution.Tool{{Name: "weather"}, {Name: "pay", RequiresApproval: true}}
	for _, tc := range []struct {
		name    string
		request func(*execution.Request)
		args    []string
		stdin   string
		lists   map[string]string
		allowed bool // the person's own approvals stay
	}{
		{name: "plain", args: oneShot},
		{name: "stream off", request: func(r *execution.Request) { r.Run.Stream = execution.StreamOff }, args: plus(oneShot[:4], "--stream=off")},
		{name: "model", request: func(r *execution.Request) { r.Run.Model = "gpt-5.5" }, args: plus(oneShot, "--model=gpt-5.5")},
		{name: "effort", request: func(r *execution.Request) { r.Run.ThinkingEffort = execution.EffortMax }, args: plus(oneShot, "--reasoning-effort=max")},
		{name: "yolo", request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }, args: plus(oneShot, "--allow-all"), allowed: true},
		{name: "deny", request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalDeny }, args: oneShot},
		{name: "tools", request: func(r *execution.Request) { r.Tools, r.Run.ApprovalMode = tools, execution.ApprovalDeny }, args: plus(oneShot, "--allow-tool=drawbar(weather)")},
		{name: "mcp", request: func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "x", Transport: execution.MCPStdio, Command: "c"}}
		}, args: plus(oneShot, "--additional-mcp-config=@DIR/mcp.json")},
		{name: "instructions", request: func(r *execution.Request) { r.Instructions.SystemPrompt = "S" }, args: oneShot,
			lists: map[string]string{instructionsVariable: "DIR/instructions"}},
		{name: "prompt like flags", request: func(r *execution.Request) { r.Message.Text = "--allow-all $(touch x)" }, args: oneShot, stdin: "--allow-all $(touch x)"},
		{name: "image file", request: func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{{FilePath: image}} }, args: plus([]string{"--output-format=json", "--no-ask-user",
			"--usage-output-file=DIR/usage.json", "--session-id=SESSION", "--attachment=" + image}, "--stream=on")},
		{name: "image as base64", request: func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{Base64: "aGk=", MimeType: "image/png"}}
		}, args: plus([]string{"--output-format=json", "--no-ask-user", "--usage-output-file=DIR/usage.json", "--session-id=SESSION", "--attachment=DIR/attachments/1.png"}, "--stream=on")},
		{name: "text attachment", request: func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{Base64: "aGk=", MimeType: "text/plain", Name: "a.txt"}}
		}, args: oneShot, stdin: "<file name=\"a.txt\">\nhi\n</file>\n\nhello"},

		{name: "conversation", request: func(r *execution.Request) { r.Run.Interactive = true }, args: twoWays},
		{name: "asks", request: func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalPrompt }, args: twoWays},
		{name: "wants to be asked", request: func(r *execution.Request) {
			r.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportPreferred}
		}, args: twoWays},
		{name: "a tool that needs approval", request: func(r *execution.Request) { r.Tools = tools }, args: plus(twoWays, "--allow-tool=drawbar(weather)")},
		{name: "resume goes two-way: usage", request: func(r *execution.Request) { r.Run.SessionID = "s-1" }, args: twoWays},
		{name: "conversation, yolo", request: func(r *execution.Request) {
			r.Run.Interactive, r.Run.ApprovalMode = true, execution.ApprovalYolo
		}, args: plus(twoWays, "--allow-all"), allowed: true},
		{name: "conversation with everything", request: func(r *execution.Request) {
			r.Run.Interactive, r.Run.Model, r.Run.ThinkingEffort, r.Run.Stream = true, "m", execution.EffortLow, execution.StreamOff
			r.Run.MCPServers = []execution.MCPServer{{Name: "x", Transport: execution.MCPStdio, Command: "c"}}
			r.Instructions.DeveloperPrompt = "D"
		}, args: []string{"--acp", "--no-ask-user", "--stream=off", "--model=m", "--reasoning-effort=low", "--additional-mcp-config=@DIR/mcp.json"},
			lists: map[string]string{instructionsVariable: "DIR/instructions"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			req := request()
			if tc.request != nil {
				tc.request(&req)
			}
			inv, lists := launched(t, req)
			if diff := cmp.Diff(tc.args, inv.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if tc.stdin == "" && !inv.KeepStdin {
				tc.stdin = "hello"
			}
			if string(inv.Stdin) != tc.stdin {
				t.Errorf("standard input %q, want %q", inv.Stdin, tc.stdin)
			}
			if !maps.Equal(lists, tc.lists) {
				t.Errorf("lists %v, want %v", lists, tc.lists)
			}
			value, unset := inv.Env["COPILOT_ALLOW_ALL"]
			if unset == tc.allowed || value != "" {
				t.Errorf("environment %v", inv.Env)
			}
		})
	}
}

// TestSessionsNeverCollide: a known id would resume the session behind it, so every start has one of its own.
func TestSessionsNeverCollide(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		req := request()
		req.Run.RunID = "01JD0000000000000000000000" // another attempt of the same run
		id := newParser(req).(*parser).session
		if len(id) != 36 || id[14] != '4' || seen[id] {
			t.Fatalf("session %q", id)
		}
		seen[id] = true
	}
}

func TestMCPConfigHasNoSecretsInArguments(t *testing.T) {
	t.Parallel()
	servers := []execution.MCPServer{
		{Name: "a", Transport: execution.MCPStdio, Command: "c", Args: []string{"x"}, Env: map[string]string{"KEY": "s3cret"}},
		{Name: "b", Transport: execution.MCPStreamableHTTP, URL: "http://h", Headers: map[string]string{"Authorization": "s3cret"}},
		{Name: "c", Transport: execution.MCPSSE, URL: "http://s"},
	}
	for _, interactive := range []bool{false, true} {
		req := request()
		req.Run.MCPServers, req.Run.Interactive = servers, interactive
		inv, _ := launched(t, req)
		if strings.Contains(strings.Join(inv.Args, " "), "s3cret") {
			t.Errorf("a secret is in the arguments: %q", inv.Args)
		}
	}
	var got struct {
		Servers map[string]map[string]any `json:"mcpServers"`
	}
	if err := json.Unmarshal(mcpConfig(servers), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{
		"a": {"type": "stdio", "command": "c", "args": []any{"x"}, "env": map[string]any{"KEY": "s3cret"}, "tools": []any{"*"}},
		"b": {"type": "http", "url": "http://h", "headers": map[string]any{"Authorization": "s3cret"}, "tools": []any{"*"}},
		"c": {"type": "sse", "url": "http://s", "tools": []any{"*"}},
	}
	if diff := cmp.Diff(want, got.Servers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInstructionsNeedADirectoryWithoutComma(t *testing.T) {
	t.Parallel()
	req := request()
	req.Instructions.SystemPrompt = "S"
	l := &cliagent.Launch{Request: req, Dir: "/tmp/a,b/run"}
	if _, err := spawn(l); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("%v", err)
	}
}

func TestNegotiate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		request func(*execution.Request)
		want    string // the capability of the blocking reason, empty for none
	}{
		{"plain", func(*execution.Request) {}, ""},
		{"image", func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{Base64: "aGk=", MimeType: "image/png"}}
		}, ""},
		{"pdf", func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{{FilePath: "/a.pdf"}} }, "attachments[0]"},
		{"film", func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{{FilePath: "/a.mp4"}} }, "attachments[0]"},
		{"address", func(r *execution.Request) { r.Message.Attachments = []execution.Attachment{{URL: "https://x/a.png"}} }, "attachments[0]"},
		{"data address", func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{URL: "data:image/png;base64,aGk="}}
		}, ""},
		{"context", func(r *execution.Request) {
			r.Context = &execution.Context{Structured: map[string]any{"f": func() {}}}
		}, "context"},
		{"turn limit in a conversation", func(r *execution.Request) { r.Run.Interactive, r.Run.MaxTurns = true, 2 }, "maxTurns"},
		{"turn limit in one shot", func(r *execution.Request) { r.Run.MaxTurns = 2 }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			req := request()
			tc.request(&req)
			n, ok := adapter.As[adapter.Negotiator](New(cliagent.Options{}))
			if !ok {
				t.Fatal("no negotiator")
			}
			got := ""
			for _, r := range n.Negotiate(req) {
				if r.Severity == execution.SeverityBlocking {
					got = r.Capability
				}
			}
			if got != tc.want {
				t.Errorf("blocked by %q, want %q", got, tc.want)
			}
		})
	}
}
