//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// piWithoutProvider names a provider of Pi's own in place of the one that models.json describes with its key.
func piWithoutProvider(l *lab) {
	folder := filepath.Join(l.home, ".pi", "agent")
	if err := errors.Join(os.Remove(filepath.Join(folder, "models.json")),
		os.WriteFile(filepath.Join(folder, "settings.json"), []byte(`{"defaultProvider":"openai","defaultModel":"gpt-5.1"}`), 0o600)); err != nil {
		l.t.Fatal(err)
	}
}

// ompWithoutKey takes away the provider that models.yml describes with its key; Oh My Pi knows the other only by name.
func ompWithoutKey(l *lab) {
	folder := filepath.Join(l.home, ".omp", "agent")
	if err := errors.Join(os.Remove(filepath.Join(folder, "models.yml")),
		os.WriteFile(filepath.Join(folder, "config.yml"), []byte(`{"modelRoles":{"default":"openai/gpt-5.1"}}`), 0o600)); err != nil {
		l.t.Fatal(err)
	}
}

// TestOmpReports: what Oh My Pi leaves out of the protocol comes from the extension of the run: that a failed request is tried again,
// and what sub-agents used, which is what the session's files say.
func TestOmpReports(t *testing.T) {
	only(t, "omp", func(t *testing.T, k kit) {
		t.Run("retries", func(t *testing.T) {
			t.Parallel()
			l := newLab(t, k, `{"turns":[{"status":500,"error":{"type":"api_error","message":"broken"},"repeat":true}]}`)
			o := l.run("--timeout", "50s", "--grace", "2s", "hi")
			o.want(t, execution.StatusFailed, execution.CodeTimeout, execution.ExitTimeout)
			if r := bodies[execution.Retry](o); len(r) == 0 || r[0].Code != execution.CodeProvider || o.result.Retries != len(r) {
				t.Errorf("retries %+v, counted %d", r, o.result.Retries)
			}
		})
		t.Run("the calls of sub-agents are no turns", func(t *testing.T) {
			t.Parallel()
			l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[{"name":"task","input":{"name":"Looker","task":"look around"}}]},
				{"tools":[%s],"repeat":true}]}`, k.shell("sleep 0.5")))
			o := l.run("--approve", "yolo", "--max-turns", "4", "go")
			o.want(t, execution.StatusDeferred, "", execution.ExitLimit)
			if n := len(bodies[execution.ToolCallReady](o)); n != 4 || o.result.ExitReason != execution.ExitTurnLimit {
				t.Errorf("%s after %d calls of tools, want 4", o.result.ExitReason, n)
			}
		})
		t.Run("sub-agents", func(t *testing.T) {
			t.Parallel()
			l := newLab(t, k, `{"onExhausted":"text:more","turns":[{"text":"I ask.","tools":[{"name":"task","input":{"name":"Looker","task":"look around"}}],"usage":{"input":400,"output":41}},
				{"text":"looked","delayMs":3000,"usage":{"input":500,"output":52}},{"text":"four","delayMs":500,"usage":{"input":600,"output":63}}]}`)
			o := l.run("--approve", "yolo", "go")
			o.completed(t)
			record, files := answer[costs](l, "cost", "--by", "session").lines(), answer[costs](l, "sessions", "cost", "--by", "session").lines()
			if o.result.Usage.Input < 1500 || !maps.Equal(record, files) {
				t.Errorf("usage %+v, record %v, files %v", o.result.Usage, record, files)
			}
		})
	})
}

// TestPiServersOfItsOwn: the MCP servers that Pi 1.x has of its own are tools like the others: denied, asked about, or used.
func TestPiServersOfItsOwn(t *testing.T) {
	only(t, "pi", func(t *testing.T, k kit) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		for mode, used := range map[string]bool{"deny": false, "prompt": false, "yolo": true} {
			l := newLab(t, k, `{"turns":[{"tools":[{"name":"mcp__echo__echo","input":{"text":"ping"}}]},{"text":"done"}]}`)
			config := fmt.Sprintf(`{"mcpServers":{"echo":{"command":%q,"env":{%q:"1"},"exposure":"direct"}}}`, self, echoServer)
			if err := os.WriteFile(filepath.Join(l.home, ".pi", "agent", "mcp.json"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			o := l.run("--approve", mode, "--non-interactive", "deny", "echo")
			if ran := len(bodies[execution.MCPToolResult](o)) == 1; ran != used || len(bodies[execution.MCPToolError](o)) == 1 == used {
				t.Errorf("%s: used %v, %+v", mode, ran, bodies[execution.MCPToolError](o))
			}
			if mode == "yolo" {
				file := filepath.Join(l.root, "mcp.json")
				if err := os.WriteFile(file, []byte(`{"mcpServers":{"echo":{"command":"x"}}}`), 0o600); err != nil {
					t.Fatal(err)
				}
				if o := l.run("--mcp", file, "--approve", "yolo", "echo"); o.result.Error == nil || !strings.Contains(o.result.Error.Message, "takes precedence") {
					t.Errorf("a server of the same name: %+v", o.result.Error)
				}
			}
		}
	})
}
