package pi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// TestGate: what the extension of a run does.
func TestGate(t *testing.T) {
	t.Parallel()
	server := execution.MCPServer{Name: "my-files", Transport: execution.MCPStdio, Command: "x", Env: map[string]string{"A": "!rm", "B": "a $HOME", "C": "plain!"}}
	asked := []execution.Tool{{Name: "ask-me", RequiresApproval: true}, {Name: "go-on"}}
	for name, tt := range map[string]struct {
		run   execution.RunOptions
		tools []execution.Tool
		hook  bool
		want  string
	}{
		"yolo":             {run: execution.RunOptions{ApprovalMode: execution.ApprovalYolo}, want: "null"},
		"deny":             {run: execution.RunOptions{ApprovalMode: execution.ApprovalDeny}, want: "null"},
		"deny with hook":   {run: execution.RunOptions{ApprovalMode: execution.ApprovalDeny}, hook: true, want: `{"asks":true}`},
		"no mode":          {want: `{"asks":true,"free":["read","grep","find","ls"]}`},
		"prompt":           {run: execution.RunOptions{ApprovalMode: execution.ApprovalPrompt}, want: `{"asks":true,"free":["read","grep","find","ls"]}`},
		"tools":            {run: execution.RunOptions{ApprovalMode: execution.ApprovalYolo}, tools: asked, want: `{"asks":true,"free":["read","grep","find","ls","mcp__drawbar__go_on"]}`},
		"tools and a hook": {run: execution.RunOptions{ApprovalMode: execution.ApprovalYolo}, tools: asked, hook: true, want: `{"asks":true}`},
		"servers": {run: execution.RunOptions{ApprovalMode: execution.ApprovalYolo, MCPServers: []execution.MCPServer{server}},
			want: `{"mcpServers":{"my-files":{"command":"x","env":{"A":"$!rm","B":"a $$HOME","C":"plain!"},"type":"stdio"}}}`},
	} {
		l := &cliagent.Launch{Request: execution.Request{Run: tt.run, Tools: tt.tools}}
		if tt.hook {
			l.Hook = &cliagent.HookLines{}
		}
		file, err := gateFile(l)
		var does any
		if _, rest, ok := strings.Cut(string(file), "const run = "); ok {
			rest, _, _ = strings.Cut(rest, ";\n")
			if err := json.Unmarshal([]byte(rest), &does); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, _ := json.Marshal(does); err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, tt.want)
		}
	}
	if server.Env["A"] != "!rm" {
		t.Error("the caller's server was changed")
	}
}

// TestServerOfItsOwn: a server that Pi has under the name would be used in place of that of the run.
func TestServerOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		global, moved, project string
		refused                bool
	}{
		"global":      {global: `{"mcpServers":{"my_files":{"command":"y"}}}`, refused: true},
		"moved":       {moved: `{"mcpServers":{"my-files":{"url":"http://127.0.0.1:1"}}}`, global: "{}", refused: true},
		"project":     {project: `{"mcpServers":{"my-files":{"command":"y"}}}`, refused: true},
		"another":     {global: `{"mcpServers":{"files":{"command":"y"}}}`},
		"an override": {project: `{"mcpServers":{"my-files":{"enabled":false}}}`},
		"no JSON":     {global: `{"mcpServers":`},
		"none":        {},
	} {
		dir := t.TempDir()
		env := map[string]string{"HOME": filepath.Join(dir, "home")}
		for place, content := range map[string]string{"home/.pi/agent": tt.global, "moved": tt.moved, "project/.pi": tt.project} {
			if content == "" {
				continue
			}
			if err := os.MkdirAll(filepath.Join(dir, place), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, place, mcpFile), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if place == "moved" {
				env["PI_CODING_AGENT_DIR"] = filepath.Join(dir, "moved")
			}
		}
		run := execution.RunOptions{Cwd: filepath.Join(dir, "project"), Env: env, MCPServers: []execution.MCPServer{{Name: "my-files", Transport: execution.MCPStdio, Command: "x"}}}
		_, err := gateFile(&cliagent.Launch{Request: execution.Request{Run: run}})
		if (execution.CodeOf(err) == execution.CodeValidation) != tt.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestServersNotAccepted: the extension says why Pi does not accept the servers, before the prompt is sent.
func TestServersNotAccepted(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]execution.ErrorCode{"": execution.CodeCapability, "the name is taken": execution.CodeValidation} {
		c := &conversation{t, newParser(request()).(*parser), cliagent.NewSink(false)}
		c.p.Open(c.s)
		c.print(`{"type":"extension_ui_request","id":"1","method":"notify","message":"drawbar:mcp ` + why + `","notifyType":"error"}`)
		if err := c.s.Failure(); execution.CodeOf(err) != want || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %s", why, err, want)
		}
	}
}
