package openclaw

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// starter is what OpenClaw loads before its bridge.
//
//go:embed gateway.mjs
var starter []byte

// plan is what starter is told about a run.
type plan struct {
	Settings    map[string]any `json:"settings"`              // of a gateway of the run's own, over the user's
	Needs       string         `json:"needs,omitempty"`       // what a gateway of the user's does not take
	Given       bool           `json:"given,omitempty"`       // the environment names a gateway
	NodeOptions string         `json:"nodeOptions,omitempty"` // without starter
	Session     string         `json:"session,omitempty"`     // to go on with: the bridge begins an unknown one
	Keys        []string       `json:"keys,omitempty"`        // that it may have in the database
}

// execModes are the values of tools.exec.mode by approval mode.
var execModes = map[execution.ApprovalMode]string{"": "ask", execution.ApprovalPrompt: "ask", execution.ApprovalDeny: "ask", execution.ApprovalYolo: "full"}

// unasked are the tools that change files, skills and plugins without asking. The mode deny leaves them out of a run.
var unasked = []string{"write", "edit", "apply_patch", "skill_workshop", "plugins"}

func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	run := l.Request.Run
	defaults := map[string]any{"heartbeat": map[string]any{"every": "0m"}}
	tools := map[string]any{"exec": map[string]any{"mode": execModes[run.ApprovalMode]}}
	if run.ApprovalMode != execution.ApprovalYolo {
		tools["fs"] = map[string]any{"workspaceOnly": true} // nobody would be asked outside either
	}
	p := plan{NodeOptions: l.Variable("NODE_OPTIONS"), Given: l.Variable("OPENCLAW_GATEWAY_URL") != "" || l.Variable("OPENCLAW_GATEWAY_PORT") != "",
		Settings: map[string]any{
			"agents": map[string]any{"defaults": defaults},
			"cron":   map[string]any{"enabled": false},
			"tools":  tools,
		}}
	if p.Session = cmp.Or(run.SessionID, run.ForkSessionID); p.Session != "" {
		p.Keys = []string{p.Session, bridge + p.Session}
	}
	var needs []string
	if run.ApprovalMode == execution.ApprovalDeny {
		needs, tools["deny"] = append(needs, "approval mode deny"), unasked
	}
	if run.Model != "" {
		needs = append(needs, "model")
		defaults["model"], defaults["models"] = map[string]any{"primary": run.Model}, map[string]any{run.Model: map[string]any{}}
	}
	if len(run.MCPServers) > 0 {
		needs = append(needs, "MCP servers")
		p.Settings["mcp"] = map[string]any{"servers": servers(run.MCPServers)}
	}
	p.Needs = strings.Join(needs, ", ")
	text, err := json.Marshal(p)
	if err != nil {
		return cliagent.Invocation{}, err
	}
	l.File("plan.json", text)
	path := filepath.ToSlash(l.File("gateway.mjs", starter))
	file := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(path, "/")}
	return cliagent.Invocation{Args: []string{"acp"}, EnvOver: map[string]string{"NODE_OPTIONS": strings.TrimSpace(p.NodeOptions + " --import=" + file.String())}}, nil
}

// server is an MCP server in the settings.
type server struct {
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	URL       string            `json:"url,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	Transport string            `json:"transport,omitempty"`
}

// transports are the settings' words for what is not started as a program.
var transports = map[execution.MCPTransport]string{execution.MCPStreamableHTTP: "streamable-http", execution.MCPSSE: "sse"}

func servers(list []execution.MCPServer) map[string]server {
	m := map[string]server{}
	for _, s := range list {
		m[s.Name] = server{s.Command, s.Args, s.Env, s.URL, s.Headers, transports[s.Transport]}
	}
	return m
}

var reportShape jsonscan.Shape[struct {
	_                     jsonscan.Camel
	Failed, Model, Notice jsonscan.Value
}]

// failures are OpenClaw's words for failures of a model API, whose own words it leaves out.
var failures = cliagent.Phrases{
	{Code: execution.CodeAuth, Parts: []string{"no route-compatible authentication source", "(authentication ", "provider session expired"}},
	{Code: execution.CodeContextExceeded, Parts: []string{"context overflow", "context limit exceeded"}},
	{Code: execution.CodeRateLimited, Parts: []string{"(rate limited", "provider billing issue"}},
	{Code: execution.CodeModelNotFound, Parts: []string{"(model not found"}},
	{Code: execution.CodeInvalidRequest, Parts: []string{"rejected the request schema", "llm request rejected", "request format rejected"}},
}

// reportOf reads a line of starter: the bridge names no model, and reports a turn that failed as one that ended without a word.
func reportOf(line []byte) (r acpagent.Report, ok bool) {
	f, ok := acpagent.Reported(line, &reportShape)
	if !ok {
		return r, false
	}
	r.Model, r.Message, r.Notice = f.Model.Str(), f.Failed.Str(), f.Notice.Str()
	if r.Message != "" {
		r.Failed = cmp.Or(failures.Code(strings.ToLower(r.Message)), acpagent.CodeOfText(r.Message), execution.CodeProvider)
	}
	return r, r != (acpagent.Report{})
}

// classify returns the code of what starter refuses.
func classify(code int64, _ string) execution.ErrorCode {
	switch code {
	case -32090:
		return execution.CodeCapability
	case -32091:
		return execution.CodeSpawn
	case -32092:
		return execution.CodeSessionNotFound
	}
	return ""
}
