package cliagent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbar/drawbar/execution"
)

// callTools is what an agent does with an MCP server.
func callTools(url, authorization string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "fake", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: &http.Client{Transport: authorized(authorization)}}, nil)
	if err != nil {
		return "", err
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return "", err
	}
	var said []string
	for _, tool := range list.Tools {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: map[string]any{"n": 7}})
		if err != nil {
			return "", err
		}
		said = append(said, fmt.Sprintf("%s %v %v", tool.Name, res.IsError, res.Content[0].(*mcp.TextContent).Text))
	}
	return strings.Join(said, "; "), nil
}

type authorized string

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", string(a))
	return http.DefaultTransport.RoundTrip(r)
}

// toolInbox is an inbox whose caller handles tools.
type toolInbox struct {
	*inbox
	call func(ctx context.Context, c execution.ToolCall) (execution.ToolResult, error)
}

func (in toolInbox) CallTool(ctx context.Context, c execution.ToolCall) (execution.ToolResult, error) {
	return in.call(ctx, c)
}

func toolSpec(t *testing.T, url *string) Spec {
	spec := fakeSpec(t, "toolcaller")
	spawn := spec.Spawn
	spec.Spawn = func(l *Launch) (Invocation, error) {
		inv, err := spawn(l)
		servers := l.Request.Run.MCPServers
		server := servers[len(servers)-1]
		if server.Name != "drawbar" || server.Transport != execution.MCPStreamableHTTP {
			t.Errorf("Spawn saw %+v", servers)
		}
		*url = server.URL
		inv.Args = []string{server.URL}
		inv.Env["TOOL_AUTH"] = server.Headers["Authorization"]
		return inv, err
	}
	return spec
}

func TestTools(t *testing.T) {
	t.Parallel()
	var url string
	spec := toolSpec(t, &url)
	req := request()
	req.Tools = []execution.Tool{{Name: "add"}, {Name: "break"}}
	req.Run.MCPServers = []execution.MCPServer{{Name: "other", Transport: execution.MCPStdio, Command: "x"}}
	// A call takes longer than the agent may be silent.
	req.Run.InactivityTimeoutMs = 1500
	var calls atomic.Int64
	in := toolInbox{closedInbox(), func(_ context.Context, c execution.ToolCall) (execution.ToolResult, error) {
		calls.Add(1)
		if c.Name == "break" {
			return execution.ToolResult{Error: "broken"}, nil
		}
		time.Sleep(2 * time.Second)
		return execution.ToolResult{Output: c.Input}, nil
	}}
	o := execute(t, t.Context(), New(spec, Options{}), req, in, nil)
	if got, want := o.text(), `add false {"n":7}; break true broken|`; got != want {
		t.Errorf("got %q, want %q (%+v)", got, want, o.result.Error)
	}
	if len(req.Run.MCPServers) != 1 {
		t.Error("the caller's request was changed")
	}
	if calls.Load() != 2 {
		t.Errorf("%d calls, want 2", calls.Load())
	}
	if res, err := http.Get(url); err == nil {
		res.Body.Close()
		t.Error("the tool server outlived the run")
	}
}

func TestToolsRefused(t *testing.T) {
	t.Parallel()
	host := toolInbox{closedInbox(), nil}
	for _, tt := range []struct {
		name   string
		change func(*Spec, *execution.Request)
		code   execution.ErrorCode
		status execution.Status
	}{
		{"the agent takes no MCP server", func(s *Spec, _ *execution.Request) {
			s.Capabilities = func() execution.Capabilities { return execution.Capabilities{} }
		}, execution.CodeCapability, "unsupported"},
		{"the agent takes no HTTP server", func(s *Spec, _ *execution.Request) {
			s.Capabilities = func() execution.Capabilities {
				return execution.Capabilities{Agent: execution.AgentCapabilities{MCP: true, MCPTransports: []execution.MCPTransport{execution.MCPStdio}}}
			}
		}, execution.CodeCapability, "unsupported"},
		{"the name is taken", func(_ *Spec, r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "drawbar"}}
		}, execution.CodeValidation, "failed"},
		{"a bad schema", func(_ *Spec, r *execution.Request) { r.Tools[0].InputSchema = json.RawMessage(`[]`) }, execution.CodeValidation, "failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec, req := fakeSpec(t, "simple"), request()
			req.Tools = []execution.Tool{{Name: "x"}}
			spec.Spawn = func(*Launch) (Invocation, error) { t.Error("Spawn was called"); return Invocation{}, nil }
			tt.change(&spec, &req)
			o := execute(t, t.Context(), New(spec, Options{}), req, host, nil)
			if o.result.Status != tt.status || o.result.Error.ErrorCode() != tt.code {
				t.Errorf("got %s %+v", o.result.Status, o.result.Error)
			}
		})
	}
}
