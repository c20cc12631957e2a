package turnruntime

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/mcpwire"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/transport/process"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	transportHTTP = "streamable_http"
	defaultTool   = "agentxchain_turn"

	// mcpVersion is the protocol version that is offered: the newest with the handshake that every server knows.
	mcpVersion = "2025-11-25"
	mostTools  = 1000
)

// mcpRuntime calls one tool of an MCP server, which answers with the turn's result.
type mcpRuntime struct{ deps Deps }

// Check prepares the server's command, or checks its address. Nothing is started.
func (m *mcpRuntime) Check(d Dispatch) error {
	_, err := m.plan(d)
	return err
}

// mcpPlan is a server that is ready to be started or connected to.
type mcpPlan struct {
	command plan    // stdio
	service service // streamable_http
	http    bool
	tool    string
	worker  string // for people
	redact  *secret.Redactor
}

func (m *mcpRuntime) plan(d Dispatch) (p mcpPlan, err error) {
	p.tool = cmp.Or(d.Runtime.ToolName, defaultTool)
	switch t := d.Runtime.Transport; t {
	case transportHTTP:
		p.http = true
		if p.service, err = d.service(); err != nil {
			return p, err
		}
		p.redact, p.worker = p.service.redact, p.service.shown()
	case "", "stdio":
		d.Runtime.PromptTransport = protocol.TransportBundleOnly // the prompt is an argument of the tool
		if p.command, err = d.plan(); err != nil {
			return p, err
		}
		p.redact, p.worker = p.command.redact, filepath.Base(p.command.program)
	default:
		return p, configError("runtimes.%s.transport is %q", d.RuntimeID, t).WithHint("use stdio or %s", transportHTTP)
	}
	return p, nil
}

// Run starts or contacts the server and calls the tool.
func (m *mcpRuntime) Run(ctx context.Context, d Dispatch, w Watch) (Outcome, error) {
	p, err := m.plan(d)
	if err != nil {
		return Outcome{}, err
	}
	if err := d.makeRoom(); err != nil {
		return Outcome{}, err
	}
	log, err := openTranscript(d, mcpLog, p.redact, m.deps.Now)
	if err != nil {
		return Outcome{}, err
	}
	defer func() {
		if err := log.close(); err != nil {
			d.say("The log of turn %s is incomplete: %v", d.Turn.TurnID, err)
		}
	}()
	c := &mcpCall{job: m.deps.job(d, w, p.worker, govern.StageStarting), plan: p, log: log, deps: m.deps}
	for _, n := range p.command.notes {
		d.say("%s", n)
		log.note("%s", n)
	}
	log.note("attempt %d: %s, tool %s", max(1, d.Turn.Attempt), p.worker, p.tool)
	defer c.beat(defaultStartup, log, nil)()
	ctx, patience, stop := c.patient(ctx)
	defer stop()
	c.patience = patience
	data, err := c.talk(ctx)
	if err == nil {
		log.note("the tool returned a result")
		return Outcome{Staged: true, Meta: c.latency(nil)}, d.put(redactJSON(p.redact, data))
	}
	log.note("%v", err)
	o := c.failed(ctx, ClassMCP, err, p.redact, filepath.Join(d.evidenceDir(), mcpLog))
	o.Meta = c.latency(o.Meta)
	return o, nil
}

// mcpLog is the evidence: what the server prints, and what Drawbar did.
const mcpLog = "mcp.log"

// mcpCall is one conversation with a server.
type mcpCall struct {
	*job
	plan     mcpPlan
	deps     Deps
	log      *transcript
	patience *patience
}

// talk connects, checks that the tool exists, calls it, and returns its result in the form of a file.
func (c *mcpCall) talk(ctx context.Context) (data []byte, err error) {
	transport, end, err := c.transport(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = end(err) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "drawbar", Version: protocol.ResultVersion}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, // no roots, no sampling, no questions
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.progress(r.Params)
		},
	})
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: mcpVersion})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.plan.worker, err)
	}
	defer func() { _ = session.Close() }() // how the server ends is reported by end
	c.sign("mcp", c.now())
	c.patience.reset(c.job)
	if err := c.offered(ctx, session); err != nil {
		return nil, err
	}
	c.patience.reset(c.job)
	params := &mcp.CallToolParams{Name: c.plan.tool, Arguments: c.d.envelope()}
	params.SetProgressToken(c.d.Turn.TurnID)
	res, err := session.CallTool(ctx, params)
	if err != nil {
		return nil, fmt.Errorf("call the tool %s: %w", c.plan.tool, err)
	}
	return c.result(res)
}

// progress is a sign of life of the tool: it renews the time limit.
func (c *mcpCall) progress(p *mcp.ProgressNotificationParams) {
	now := c.now()
	c.patience.reset(c.job)
	c.sign("mcp", now)
	c.change(func(g *govern.Progress) {
		g.LastSign, g.Doing = now, head(strings.Join(strings.Fields(p.Message), " "), 100)
	})
	c.tellChange()
	c.log.note("progress %v of %v: %s", p.Progress, p.Total, p.Message)
}

// offered checks that the server has the tool.
func (c *mcpCall) offered(ctx context.Context, session *mcp.ClientSession) error {
	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the tools of %s: %w", c.plan.worker, err)
		}
		if names = append(names, tool.Name); tool.Name == c.plan.tool {
			return nil
		}
		if len(names) >= mostTools {
			break
		}
	}
	has := "it has no tools"
	if len(names) > 0 {
		has = "it has " + strings.Join(names[:min(len(names), 10)], ", ")
	}
	return fmt.Errorf("%s has no tool %s (%s): correct runtimes.%s.tool_name", c.plan.worker, c.plan.tool, has, c.d.RuntimeID)
}

// result is the turn result in the tool's answer: structured content, else JSON text.
func (c *mcpCall) result(res *mcp.CallToolResult) ([]byte, error) {
	var texts []string
	for _, content := range res.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	if res.IsError {
		return nil, fmt.Errorf("the tool %s reports an error: %s", c.plan.tool, cmp.Or(head(strings.Join(texts, "; "), 500), "it does not say which"))
	}
	if res.StructuredContent != nil {
		b, err := json.Marshal(res.StructuredContent)
		if err != nil {
			return nil, fmt.Errorf("the tool's structured content: %w", err)
		}
		texts = slices.Insert(texts, 0, string(b))
	}
	data, err := resultIn(texts...)
	if err != nil {
		return nil, fmt.Errorf("the answer of the tool %s is not a turn result: %w", c.plan.tool, err)
	}
	return data, nil
}

// transport connects to the server. end closes the connection and adds to an error what the server says about its own
// end.
func (c *mcpCall) transport(ctx context.Context) (t mcp.Transport, end func(error) error, err error) {
	if c.plan.http {
		base, end := c.deps.HTTP, func(err error) error { return err }
		if base == nil {
			own := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // documented type
			base, end = own, func(err error) error { own.CloseIdleConnections(); return err }
		}
		c.attached(0)
		client := mcpwire.HTTPClient(base, c.plan.service.header, unwrapMessage)
		return &mcp.StreamableClientTransport{Endpoint: c.plan.service.url, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true}, end, nil
	}
	p := c.plan.command
	h, err := c.deps.Start(ctx, process.Spec{Path: p.program, Args: p.args, Dir: p.dir, Env: p.env, KeepStdin: true, Grace: c.d.grace(),
		Run: ProcessName(c.d.Root, c.d.Turn.TurnID)})
	if err != nil {
		return nil, nil, err
	}
	c.attached(h.PID())
	program := mcpwire.NewProgram(h, func(l process.Line) { c.log.line("["+l.Stream.String()+"] ", l.Data) }, unwrapMessage)
	return program, func(err error) error {
		grace := c.d.grace()
		exit := program.End(min(closeWait, max(grace, 0)), grace)
		_, early, _ := program.Ended()
		c.log.note("ended: %s", describe(exit))
		// A write to a server that is dead may fail before its output is read to the end.
		died := early || exit.Code != 0 && !exit.Stopped
		if err == nil || !died || context.Cause(ctx) != nil {
			return err
		}
		err = fmt.Errorf("%w; the server ended (%s)", err, describe(exit))
		if tail := lastLine(exit.StderrTail); tail != "" {
			err = fmt.Errorf("%w: %s", err, tail)
		}
		return err
	}, nil
}

// closeWait is how long a server may take to end after its input ended.
const closeWait = 2 * time.Second

// unwrapMessage rewrites a response whose result some SDKs wrap in toolResult to the form without it. Anything else is
// returned as it is.
func unwrapMessage(data []byte) []byte {
	if !bytes.Contains(data, []byte(`"toolResult"`)) {
		return data
	}
	var m, result, inner protocol.Extra
	if json.Unmarshal(data, &m) != nil || json.Unmarshal(m.At("result"), &result) != nil || protocol.Is(result.At("content")) || protocol.Is(result.At("structuredContent")) ||
		json.Unmarshal(result.At("toolResult"), &inner) != nil {
		return data
	}
	if !protocol.Is(inner.At("content")) && !protocol.Is(inner.At("structuredContent")) && !inner.Has("isError") {
		whole := inner
		inner = protocol.Extra{}
		b, err := protocol.Marshal(whole)
		if err != nil {
			return data
		}
		inner.Set("structuredContent", b)
	}
	if !protocol.Is(inner.At("content")) {
		inner.Set("content", json.RawMessage("[]"))
	}
	b, err := protocol.Marshal(inner)
	if err != nil {
		return data
	}
	m.Set("result", b)
	if b, err = protocol.Marshal(m); err != nil {
		return data
	}
	return b
}
