//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// everything and memory are servers of the protocol's authors.
const (
	everything = "mcp-server-everything"
	memory     = "mcp-server-memory"
)

// everythingOverHTTP starts the server in the lab and returns its address.
func everythingOverHTTP(l *lab) string {
	l.t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		l.t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		l.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(programs, everything), "streamableHttp")
	var said bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stderr = append(l.environ(), "PORT="+port), l.work, &said
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			return "http://" + address + "/mcp"
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%s does not listen: %s", everything, said.String())
		}
	}
}

// TestMCPServersOfOthers: the harness uses published servers over both transports: results with texts, images, resources and structured
// content, progress, errors, and a server that is killed. A tool that needs a model of the client is not offered to it.
func TestMCPServersOfOthers(t *testing.T) {
	only(t, "harness", func(t *testing.T, k kit) {
		calls := []struct {
			call, want string
			failed     bool
		}{
			{k.mcp("near", "echo", `{"message":"ping"}`), "Echo: ping", false},
			{k.mcp("far", "echo", `{"message":"pong"}`), "Echo: pong", false},
			{k.mcp("far", "get-tiny-image", `{}`), "[an image, image/png, ", false},
			{k.mcp("near", "get-resource-reference", `{"resourceType":"Text","resourceId":2}`),
				"demo://resource/dynamic/text/2\nResource 2: This is a plaintext resource", false},
			{k.mcp("far", "get-resource-reference", `{"resourceType":"Blob","resourceId":3}`), "[a resource: demo://resource/dynamic/blob/3, ", false},
			{k.mcp("near", "get-resource-links", `{"count":2}`), "[a resource: demo://resource/dynamic/text/2]", false},
			{k.mcp("near", "get-structured-content", `{"location":"Chicago"}`), `"temperature":36`, false},
			{k.mcp("far", "trigger-long-running-operation", `{"duration":1,"steps":3}`), "Long running operation completed", false},
			{k.mcp("near", "echo", `{"message":1}`), "message", true},
			{k.mcp("near", "trigger-sampling-request", `{"prompt":"hi"}`), "there is no tool mcp__near__trigger-sampling-request", true},
			{k.mcp("notes", "create_entities", `{"entities":[{"name":"heron","entityType":"bird","observations":["grey"]}]}`), "heron", false},
			{k.mcp("notes", "read_graph", `{}`), "grey", false},
			{k.shell("kill -9 $(cat near.pid)"), "", false},
			{k.mcp("near", "echo", `{"message":"late"}`), "the call of MCP server near failed", true},
			{k.mcp("far", "echo", `{"message":"still there"}`), "still there", false},
		}
		script := ""
		for _, c := range calls {
			script += `{"tools":[` + c.call + `]},`
		}
		l := newLab(t, k, `{"turns":[`+script+`{"text":"done"}]}`)
		config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
			"near": map[string]any{"command": "/bin/sh", "args": []string{"-c", "echo $$ > near.pid; exec " + filepath.Join(programs, everything)}},
			"far":  map[string]any{"url": everythingOverHTTP(l)},
			"notes": map[string]any{"command": filepath.Join(programs, memory),
				"env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(l.root, "memory.jsonl")}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(l.root, "mcp.json")
		if err := os.WriteFile(file, config, 0o600); err != nil {
			t.Fatal(err)
		}
		o := l.run("--mcp", file, "--approve", "yolo", "use every tool")
		o.completed(t)
		sent := l.sent()
		if len(sent) != len(calls)+1 {
			t.Fatalf("%d calls of the model, want %d", len(sent), len(calls)+1)
		}
		for i, c := range calls {
			got := lastResult(t, sent[i+1])
			if !strings.Contains(got.text, c.want) || got.failed != c.failed {
				t.Errorf("%s: failed %t: %s", c.call, got.failed, got.text)
			}
		}
		for _, name := range []string{"mcp__near__echo", "mcp__far__get-tiny-image", "mcp__notes__read_graph"} {
			if !strings.Contains(sent[0], `"`+name+`"`) {
				t.Errorf("the model has no tool %s", name)
			}
		}
		if strings.Contains(sent[0], "sampling") {
			t.Error("the model is offered a tool that needs sampling")
		}
		if !strings.Contains(sent[3], `"media_type":"image/png"`) {
			t.Error("the model does not see the image")
		}
		if n := len(bodies[execution.MCPToolResult](o)); n != len(calls)-4 {
			t.Errorf("%d results, errors %+v", n, bodies[execution.MCPToolError](o))
		}
	})
}

// toolResult is what the model got for its last call.
type toolResult struct {
	text   string
	failed bool
}

func lastResult(t *testing.T, body string) (r toolResult) {
	t.Helper()
	var req struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		t.Fatal(err)
	}
	for _, m := range req.Messages {
		var parts []struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
			IsError bool            `json:"is_error"`
		}
		if json.Unmarshal(m.Content, &parts) != nil {
			continue // a text
		}
		for _, p := range parts {
			if p.Type != "tool_result" {
				continue
			}
			r.failed, r.text = p.IsError, string(p.Content)
			var text string
			if json.Unmarshal(p.Content, &text) == nil {
				r.text = text
			}
		}
	}
	return r
}

// TestMCPRuntimeWithServersOfOthers: a role whose worker is a published server that knows nothing of turns gets a reason, over both
// transports. The tool that reports its progress takes 10 seconds, more than the limit that each report renews.
func TestMCPRuntimeWithServersOfOthers(t *testing.T) {
	only(t, "harness", func(t *testing.T, k kit) {
		stdio := func(tool string, command ...string) func(*lab) string {
			return func(*lab) string {
				return fmt.Sprintf(`"command": [%s], "tool_name": %s`, joinQuoted(command), q(tool))
			}
		}
		for _, tt := range []struct {
			name    string
			runtime func(*lab) string
			want    []string // in the error or the log
		}{
			{"no such tool", stdio("agentxchain_turn", everything), []string{"has no tool agentxchain_turn (it has echo, ", "correct runtimes.person.tool_name"}},
			{"tool error", stdio("echo", everything), []string{"the tool echo reports an error: ", "message"}},
			{"another result", stdio("read_graph", memory), []string{"the answer of the tool read_graph is not a turn result"}},
			{"progress renews the limit", func(l *lab) string {
				return fmt.Sprintf(`"transport": "streamable_http", "url": %s, "timeout_ms": 5000, "tool_name": "trigger-long-running-operation"`,
					q(everythingOverHTTP(l)))
			}, []string{"progress 1 of 5", "progress 5 of 5", "the answer of the tool trigger-long-running-operation is not a turn result"}},
			{"no server", stdio("echo", everything, "nonsense"), []string{"Unknown transport: nonsense", "exit"}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				g := newGoverned(t, k, "")
				g.env["MEMORY_FILE_PATH"] = filepath.Join(g.root, "memory.jsonl")
				g.file("agentxchain.json", strings.Replace(fmt.Sprintf(threeRoles, ""), `{"type": "manual"}`, `{"type": "mcp", `+tt.runtime(g.lab)+`}`, 1))
				g.git("commit", "-qam", "a server plans")
				g.trust()
				o := g.command("govern", "step", "--role", "pm", "--json")
				logs, err := filepath.Glob(filepath.Join(g.work, ".agentxchain/dispatch/turns/*/evidence/mcp.log"))
				if err != nil || len(logs) != 1 {
					t.Fatalf("logs %q, %v, exit %d: %s%s", logs, err, o.code, o.stdout, o.stderr)
				}
				log, err := os.ReadFile(logs[0])
				if err != nil {
					t.Fatal(err)
				}
				got := o.stdout + string(log)
				for _, want := range tt.want {
					if !strings.Contains(got, want) {
						t.Errorf("%q is missing in exit %d: %s", want, o.code, got)
					}
				}
				if o.code == 0 {
					t.Errorf("the turn was accepted: %s", o.stdout)
				}
			})
		}
	})
}

func joinQuoted(words []string) string {
	var list []string
	for _, w := range words {
		list = append(list, q(w))
	}
	return strings.Join(list, ", ")
}
