package codex

import (
	"encoding/json"
	"maps"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// quiet are notifications that repeat others, some of them long.
var quiet = []string{"turn/diff/updated", "thread/readState/changed", "remoteControl/status/changed", "skills/changed", "app/list/updated"}

type initializeParams struct {
	ClientInfo   clientInfo         `json:"clientInfo"`
	Capabilities clientCapabilities `json:"capabilities"`
}

type clientInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

type clientCapabilities struct {
	OptOut []string `json:"optOutNotificationMethods"`
	// Experimental allows methods that Codex may still change, such as ending the commands of an interrupted turn.
	Experimental bool `json:"experimentalApi,omitempty"`
}

func newInitialize(interactive bool) initializeParams {
	return initializeParams{clientInfo{"drawbar", "Drawbar", execution.SchemaVersion}, clientCapabilities{quiet, interactive}}
}

type loginParams struct {
	Type   string `json:"type"`
	APIKey string `json:"apiKey"`
}

// threadParams are the parameters of thread/start, thread/resume and thread/fork.
type threadParams struct {
	ThreadID       string         `json:"threadId,omitempty"`
	ExcludeTurns   bool           `json:"excludeTurns,omitempty"`
	Cwd            string         `json:"cwd,omitempty"`
	Model          string         `json:"model,omitempty"`
	ApprovalPolicy string         `json:"approvalPolicy"`
	Reviewer       string         `json:"approvalsReviewer"`
	Sandbox        string         `json:"sandbox"`
	Ephemeral      bool           `json:"ephemeral,omitempty"`
	Base           string         `json:"baseInstructions,omitempty"`
	Developer      string         `json:"developerInstructions,omitempty"`
	Config         map[string]any `json:"config,omitempty"`
}

type inputItem struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	Path string `json:"path,omitempty"`
	URL  string `json:"url,omitempty"`
}

type turnParams struct {
	ThreadID     string          `json:"threadId"`
	Input        []inputItem     `json:"input"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

type steerParams struct {
	ThreadID string      `json:"threadId"`
	TurnID   string      `json:"expectedTurnId"`
	Input    []inputItem `json:"input"`
}

type interruptParams struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

type injectParams struct {
	ThreadID string        `json:"threadId"`
	Items    []historyItem `json:"items"`
}

type historyItem struct {
	Type    string        `json:"type"`
	Role    string        `json:"role"`
	Content []historyText `json:"content"`
}

type historyText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// thread returns the request that opens the conversation.
func thread(req execution.Request) (method string, params threadParams) {
	run := req.Run
	replace, added := cliagent.Instructions(req)
	id, fork := cliagent.SessionOf(req)
	params = threadParams{ThreadID: id, Cwd: run.Cwd, Model: run.Model, Reviewer: "user", Base: replace, Config: config(req)}
	params.ApprovalPolicy, params.Sandbox = permissions(req)
	switch {
	case fork:
		params.ExcludeTurns = true
		return "thread/fork", params
	case id != "":
		params.ExcludeTurns = true
		return "thread/resume", params
	}
	params.Ephemeral, params.Developer = run.NoSession, added
	params.Cwd = "" // the process's own is the same; one that is named here becomes trusted in the user's settings, and what it configures runs
	return "thread/start", params
}

// toolTimeout is how many seconds Codex waits for a caller's tool. The caller's own limits are shorter.
const toolTimeout = 7 * 24 * 3600

// config returns the settings without a parameter of their own.
func config(req execution.Request) map[string]any {
	c := map[string]any{}
	if e := req.Run.ThinkingEffort; e != "" {
		c["model_reasoning_effort"] = effortWord(e, req.Run.Model)
	}
	maps.Copy(c, req.Run.ThinkingOverride)
	servers := map[string]any{}
	for _, m := range req.Run.MCPServers {
		s := map[string]any{}
		if m.Transport == execution.MCPStdio {
			s["command"] = m.Command
			if len(m.Args) > 0 {
				s["args"] = m.Args
			}
			if len(m.Env) > 0 {
				s["env"] = m.Env
			}
		} else {
			s["url"] = m.URL
			if len(m.Headers) > 0 {
				s["http_headers"] = m.Headers
			}
		}
		if len(req.Tools) > 0 && m.Name == cliagent.CallerTools {
			serveTools(s, req.Tools)
		}
		servers[m.Name] = s
	}
	if len(servers) > 0 {
		c["mcp_servers"] = servers
	}
	if len(c) == 0 {
		return nil
	}
	return c
}

// serveTools sets the approval of the caller's tools: the caller chose them, so they need none unless it says so.
func serveTools(server map[string]any, tools []execution.Tool) {
	server["default_tools_approval_mode"] = "approve"
	server["tool_timeout_sec"] = toolTimeout
	ask := map[string]any{}
	for _, t := range tools {
		if t.RequiresApproval {
			ask[t.Name] = map[string]any{"approval_mode": "prompt"}
		}
	}
	if len(ask) > 0 {
		server["tools"] = ask
	}
}

// input returns the request's message for the first turn.
func (m message) input() []inputItem {
	items := []inputItem{{Type: "text", Text: m.text}}
	for _, p := range m.images {
		if p.path != "" {
			items = append(items, inputItem{Type: "localImage", Path: p.path})
		} else {
			items = append(items, inputItem{Type: "image", URL: p.image})
		}
	}
	return items
}

// cleanParams are the parameters of thread/backgroundTerminals/clean.
type cleanParams struct {
	ThreadID string `json:"threadId"`
}
