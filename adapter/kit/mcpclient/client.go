// Package mcpclient connects to the MCP servers of a run and offers their tools to a model. How a server's tool is asked about and
// shown belongs to modelapi; serving the caller's tools to an agent that is a program belongs to toolserver.
package mcpclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbar/drawbar/adapter/kit/mcpwire"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// The limits of a server.
const (
	maxTools    = 500
	maxImages   = 8        // of a result
	maxText     = 64 << 10 // bytes of a result that the model reads
	maxDescribe = 4 << 10  // bytes of a description
	maxLine     = 32 << 20 // bytes of a message
)

// Options are how servers are reached. Start and Env are for those that are programs.
type Options struct {
	Dir     string   // working directory
	Env     []string // complete environment, to which a server's own variables are added
	Grace   time.Duration
	Start   process.Runner    // default: process.Launch
	HTTP    http.RoundTripper // default: a transport of its own
	Connect time.Duration     // limit for connecting to all servers; default 30 s
}

// Client holds the connections of one run. The opener closes it.
type Client struct {
	opts     Options
	servers  []*server
	own      *http.Transport // nil if it was given
	sessions sync.WaitGroup
}

// server is one connection.
type server struct {
	execution.MCPServer
	session *mcp.ClientSession
	program *program // of a stdio server
	cancel  context.CancelCauseFunc
	tools   []*mcp.Tool
}

// Open connects to servers, beside each other. If one of them cannot be used, all are closed again; the error names each.
func Open(ctx context.Context, list []execution.MCPServer, o Options) (*Client, error) {
	if o.Start == nil {
		o.Start = process.Launch
	}
	c := &Client{opts: o}
	if c.opts.HTTP == nil {
		c.own = http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // documented type
		c.opts.HTTP = c.own
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(o.Connect, 30*time.Second), errors.New("it did not answer in time"))
	defer cancel()
	errs := make([]error, len(list))
	for i, m := range list {
		s := &server{MCPServer: m}
		c.servers = append(c.servers, s)
		c.sessions.Go(func() {
			if err := c.connect(ctx, s); err != nil {
				if ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				errs[i] = fmt.Errorf("MCP server %s: %w%s", m.Name, err, s.program.complaint())
			}
		})
	}
	c.sessions.Wait()
	if err := errors.Join(errs...); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// connect begins the session of a server and reads its tools.
func (c *Client) connect(ctx context.Context, s *server) error {
	transport, err := c.transport(s)
	if err != nil {
		return err
	}
	// The session outlives the time for connecting, and a stream of events ends with the context that it was opened in.
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	s.cancel = cancel
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer stop()
	client := mcp.NewClient(&mcp.Implementation{Name: "drawbar", Version: execution.SchemaVersion}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	if s.session, err = client.Connect(life, transport, nil); err != nil {
		return err
	}
	for t, err := range s.session.Tools(life, nil) {
		if err != nil {
			return fmt.Errorf("list its tools: %w", err)
		}
		if s.tools = append(s.tools, t); len(s.tools) > maxTools {
			return fmt.Errorf("it has more than %d tools", maxTools)
		}
	}
	return nil
}

func (c *Client) transport(s *server) (mcp.Transport, error) {
	header := http.Header{}
	for name, value := range s.Headers {
		header.Set(name, value)
	}
	client := mcpwire.HTTPClient(c.opts.HTTP, header, nil)
	switch s.Transport {
	case execution.MCPStdio:
		p, err := start(c.opts, s.MCPServer)
		s.program = p
		if err != nil {
			return nil, err
		}
		return p, nil
	case execution.MCPSSE:
		return &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxLine}, nil
	case execution.MCPStreamableHTTP:
		return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, DisableStandaloneSSE: true}, nil
	}
	return nil, fmt.Errorf("the transport %q is unknown", s.Transport)
}

// Close ends the sessions and the programs.
func (c *Client) Close() {
	for _, s := range c.servers {
		c.sessions.Go(func() {
			if s.session != nil {
				_ = s.session.Close() // the run is over, and the program ends in any case
			}
			if s.cancel != nil {
				s.cancel(nil)
			}
			s.program.stop()
		})
	}
	c.sessions.Wait()
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// Tools returns the tools of the servers, under the names of Name.
func (c *Client) Tools() (list []modelapi.Tool) {
	taken := map[string]bool{}
	for _, s := range c.servers {
		for _, t := range s.tools {
			schema, err := json.Marshal(t.InputSchema)
			if err != nil || len(schema) == 0 || schema[0] != '{' {
				schema = nil // any object
			}
			name := Name(s.Name, t.Name)
			if taken[name] {
				continue // the server lists it twice
			}
			taken[name] = true
			list = append(list, modelapi.Tool{
				Tool:   execution.Tool{Name: name, Description: clip(cmp.Or(t.Description, t.Title), maxDescribe), InputSchema: schema},
				Server: s.Name, Short: t.Name,
				Check: func(input json.RawMessage) (modelapi.Job, error) {
					var object map[string]json.RawMessage
					if json.Unmarshal(input, &object) != nil || object == nil {
						return modelapi.Job{}, errors.New("the input must be a JSON object")
					}
					return modelapi.Job{Ask: "call a tool of MCP server " + s.Name, Detail: t.Name + " " + clip(string(input), 500), Risk: execution.RiskMedium,
						Use: execution.ToolUse{Kind: execution.ToolMCP, Server: s.Name, Tool: t.Name},
						Do:  func(ctx context.Context, _ *modelapi.Live) modelapi.Answer { return s.call(ctx, t.Name, input) }}, nil
				},
			})
		}
	}
	return list
}

// longest is the length that model APIs accept for a tool's name.
const longest = 64

// Name returns the name of an MCP server's tool for a model: mcp__SERVER__TOOL, with what APIs do not accept replaced.
func Name(server, tool string) string {
	whole := "mcp__" + server + "__" + tool
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, whole)
	if name != whole || len(name) > longest { // two names must not become one
		sum := sha256.Sum256([]byte(whole))
		name = name[:min(len(name), longest-9)] + "_" + hex.EncodeToString(sum[:4])
	}
	return name
}

// call calls a tool.
func (s *server) call(ctx context.Context, tool string, input json.RawMessage) modelapi.Answer {
	res, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: input})
	switch {
	case ctx.Err() != nil:
		return modelapi.Answer{Error: "the turn is over"}
	case err != nil:
		return modelapi.Answer{Error: fmt.Sprintf("the call of MCP server %s failed: %v%s", s.Name, err, s.program.complaint())}
	}
	text := clip(said(res), maxText)
	if res.IsError {
		return modelapi.Answer{Error: cmp.Or(text, "the tool failed and gave no reason")}
	}
	return modelapi.Answer{Text: cmp.Or(text, "[no output]"), Images: s.images(res)}
}

// images returns the images of a result that a model can see.
func (s *server) images(res *mcp.CallToolResult) (list []modelapi.Part) {
	for _, c := range res.Content {
		var data []byte
		switch c := c.(type) {
		case *mcp.ImageContent:
			data = c.Data
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				data = c.Resource.Blob
			}
		}
		if image, ok := modelapi.NewImage("of MCP server "+s.Name, data); ok && len(list) < maxImages {
			list = append(list, image)
		}
	}
	return list
}

// said returns the content of a result as text.
func said(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, fmt.Sprintf("[an image, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.AudioContent:
			parts = append(parts, fmt.Sprintf("[sound, %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, "[a resource: "+c.URI+"]")
		case *mcp.EmbeddedResource:
			if r := c.Resource; r != nil && r.Text != "" {
				parts = append(parts, r.URI+"\n"+r.Text)
			} else if r != nil {
				parts = append(parts, fmt.Sprintf("[a resource: %s, %d bytes]", r.URI, len(r.Blob)))
			}
		}
	}
	if len(parts) == 0 && res.StructuredContent != nil {
		if b, err := json.Marshal(res.StructuredContent); err == nil {
			return string(b)
		}
	}
	return strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD")
}

// clip shortens a text.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n[%d more bytes]", len(text)-most)
}
