//go:build unix

package turnruntime

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbar/drawbar/govern/protocol"
)

// BenchmarkLocalCLI is a turn of a trivial shell agent: what a runtime adds to it.
func BenchmarkLocalCLI(b *testing.B) {
	d := Dispatch{Root: b.TempDir(), Run: "run_1", Turn: protocol.Turn{TurnID: "turn_1"}, RoleID: "dev", RuntimeID: "sh", Environ: os.Environ()}
	d.BundleDir, d.StagedPath = d.Root+"/bundle", d.Root+"/staging/turn_1/turn-result.json"
	d.Runtime = protocol.Runtime{Type: protocol.RuntimeLocalCLI, Command: protocol.Words{List: []string{"/bin/sh", "-c",
		`printf '{"turn_id":"turn_1"}' > "$AGENTXCHAIN_STAGING_PATH"`}}}
	rt, err := For(d.Runtime, Deps{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o, err := rt.Run(context.Background(), d, nil)
		if err != nil || !o.Staged {
			b.Fatalf("%+v %v", o, err)
		}
		_ = os.RemoveAll(d.BundleDir)
	}
}

// BenchmarkMCP is a turn through a server over stdio; BenchmarkMCPServer starts the same server and calls the same tool without a runtime.
func BenchmarkMCP(b *testing.B) {
	d, rt := mcpBench(b)
	for b.Loop() {
		o, err := rt.Run(b.Context(), d, nil)
		if err != nil || !o.Staged {
			b.Fatalf("%+v %v", o, err)
		}
	}
}

func BenchmarkMCPServer(b *testing.B) {
	d, _ := mcpBench(b)
	for b.Loop() {
		cmd := exec.Command(d.Runtime.Command.List[0]) //nolint:gosec // the test binary
		cmd.Env = append(os.Environ(), workerEnv+"=mcp structured")
		s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.ListTools(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		if _, err := s.CallTool(b.Context(), &mcp.CallToolParams{Name: "agentxchain_turn", Arguments: map[string]any{}}); err != nil {
			b.Fatal(err)
		}
		_ = s.Close() // its exit code is its own
	}
}

func mcpBench(b *testing.B) (Dispatch, Runtime) {
	b.Helper()
	d := mcpScene(b, "structured")
	rt, err := For(d.Runtime, Deps{})
	if err == nil {
		err = rt.Check(d)
	}
	if err != nil {
		b.Fatal(err)
	}
	return d, rt
}
