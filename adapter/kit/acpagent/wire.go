package acpagent

import (
	"encoding/json"
	"maps"
	"slices"

	acp "github.com/coder/acp-go-sdk"

	"github.com/drawbar/drawbar/execution"
)

// Only this file knows the SDK's types, which are those of one version of the protocol: messages to the agent are
// built here, and the names of both sides are defined here.

// protocolVersion is the supported version.
const protocolVersion = acp.ProtocolVersionNumber

// Methods of the agent and of the client.
const (
	methodInitialize   = acp.AgentMethodInitialize
	methodAuthenticate = acp.AgentMethodAuthenticate
	methodNew          = acp.AgentMethodSessionNew
	methodLoad         = acp.AgentMethodSessionLoad
	methodResume       = acp.AgentMethodSessionResume
	methodFork         = acp.AgentMethodSessionFork
	methodPrompt       = acp.AgentMethodSessionPrompt
	methodCancel       = acp.AgentMethodSessionCancel
	methodSetMode      = acp.AgentMethodSessionSetMode
	methodSetConfig    = acp.AgentMethodSessionSetConfigOption
	methodSetModel     = "session/set_model" // of agents that list their models; the stable protocol has a config option instead
	methodUpdate       = acp.ClientMethodSessionUpdate
	methodPermission   = acp.ClientMethodSessionRequestPermission
	methodGiveUp       = "$/cancel_request"
)

// Names of tool calls, permissions and ends of turns.
const (
	kindRead    = string(acp.ToolKindRead)
	kindEdit    = string(acp.ToolKindEdit)
	kindDelete  = string(acp.ToolKindDelete)
	kindMove    = string(acp.ToolKindMove)
	kindSearch  = string(acp.ToolKindSearch)
	kindExecute = string(acp.ToolKindExecute)
	kindThink   = string(acp.ToolKindThink)
	kindFetch   = string(acp.ToolKindFetch)
	kindSwitch  = string(acp.ToolKindSwitchMode)
	kindOther   = string(acp.ToolKindOther)

	statusPending   = string(acp.ToolCallStatusPending)
	statusRunning   = string(acp.ToolCallStatusInProgress)
	statusCompleted = string(acp.ToolCallStatusCompleted)
	statusFailed    = string(acp.ToolCallStatusFailed)

	allowOnce    = string(acp.PermissionOptionKindAllowOnce)
	allowAlways  = string(acp.PermissionOptionKindAllowAlways)
	rejectOnce   = string(acp.PermissionOptionKindRejectOnce)
	rejectAlways = string(acp.PermissionOptionKindRejectAlways)

	stopEnd       = string(acp.StopReasonEndTurn)
	stopTokens    = string(acp.StopReasonMaxTokens)
	stopRequests  = string(acp.StopReasonMaxTurnRequests)
	stopRefusal   = string(acp.StopReasonRefusal)
	stopCancelled = string(acp.StopReasonCancelled)
)

// codeAuthRequired and codeNotFound are the protocol's own error codes.
const (
	codeAuthRequired = -32000
	codeNotFound     = -32002
	codeCancelled    = -32800
)

// initializeParams declares no client capabilities: agents would use a file system or a terminal in place of their
// own.
func initializeParams() any {
	return acp.InitializeRequest{ProtocolVersion: protocolVersion,
		ClientInfo: &acp.Implementation{Name: "drawbar", Title: new("Drawbar"), Version: execution.SchemaVersion}}
}

func authenticateParams(method string) any { return acp.AuthenticateRequest{MethodId: method} }

// sessionParams returns the parameters of session/new, or with an id of session/load, session/resume or session/fork.
func sessionParams(method, id, cwd string, servers []execution.MCPServer) any {
	list := mcpServers(servers)
	switch method {
	case methodLoad:
		return acp.LoadSessionRequest{SessionId: acp.SessionId(id), Cwd: cwd, McpServers: list}
	case methodResume, methodFork: // one type for all
		return acp.ResumeSessionRequest{SessionId: acp.SessionId(id), Cwd: cwd, McpServers: list}
	}
	return acp.NewSessionRequest{Cwd: cwd, McpServers: list}
}

func mcpServers(servers []execution.MCPServer) []acp.McpServer {
	list := []acp.McpServer{}
	for _, s := range servers {
		headers := []acp.HttpHeader{}
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			headers = append(headers, acp.HttpHeader{Name: name, Value: s.Headers[name]})
		}
		switch s.Transport {
		case execution.MCPStreamableHTTP:
			list = append(list, acp.McpServer{Http: &acp.McpServerHttpInline{Type: "http", Name: s.Name, Url: s.URL, Headers: headers}})
		case execution.MCPSSE:
			list = append(list, acp.McpServer{Sse: &acp.McpServerSseInline{Type: "sse", Name: s.Name, Url: s.URL, Headers: headers}})
		default:
			env := []acp.EnvVariable{}
			for _, name := range slices.Sorted(maps.Keys(s.Env)) {
				env = append(env, acp.EnvVariable{Name: name, Value: s.Env[name]})
			}
			list = append(list, acp.McpServer{Stdio: &acp.McpServerStdio{Name: s.Name, Command: s.Command, Args: append([]string{}, s.Args...), Env: env}})
		}
	}
	return list
}

func setModeParams(session, mode string) any {
	return acp.SetSessionModeRequest{SessionId: acp.SessionId(session), ModeId: acp.SessionModeId(mode)}
}

func setConfigParams(session, option, value string) any {
	return acp.SetSessionConfigOptionRequest{ValueId: &acp.SetSessionConfigOptionValueId{SessionId: acp.SessionId(session),
		ConfigId: acp.SessionConfigId(option), Value: acp.SessionConfigValueId(value)}}
}

type setModel struct {
	SessionID string `json:"sessionId"`
	ModelID   string `json:"modelId"`
}

func setModelParams(session, model string) any { return setModel{session, model} }

func promptParams(session string, blocks []block) any {
	prompt := make([]acp.ContentBlock, len(blocks))
	for i, b := range blocks {
		prompt[i] = b.content()
	}
	return acp.PromptRequest{SessionId: acp.SessionId(session), Prompt: prompt}
}

func (b block) content() acp.ContentBlock {
	var mime *string
	if b.mime != "" {
		mime = &b.mime
	}
	switch b.kind {
	case blockImage:
		return acp.ImageBlock(b.data, b.mime)
	case blockAudio:
		return acp.AudioBlock(b.data, b.mime)
	case blockLink:
		c := acp.ResourceLinkBlock(b.name, b.uri)
		c.ResourceLink.MimeType = mime
		return c
	case blockText:
		return acp.TextBlock(b.text)
	}
	if b.data == "" {
		return acp.ResourceBlock(acp.EmbeddedResourceResource{TextResourceContents: &acp.TextResourceContents{Uri: b.uri, Text: b.text, MimeType: mime}})
	}
	return acp.ResourceBlock(acp.EmbeddedResourceResource{BlobResourceContents: &acp.BlobResourceContents{Uri: b.uri, Blob: b.data, MimeType: mime}})
}

func cancelParams(session string) any {
	return acp.CancelNotification{SessionId: acp.SessionId(session)}
}

// outcome answers a permission request with the chosen option, or with cancelled if empty.
func outcome(option string) any {
	if option == "" {
		return acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Cancelled: &acp.RequestPermissionOutcomeCancelled{Outcome: "cancelled"}}}
	}
	return acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{
		Selected: &acp.RequestPermissionOutcomeSelected{Outcome: "selected", OptionId: acp.PermissionOptionId(option)}}}
}

// raw marshals a value that always encodes.
func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("acpagent: a value is not JSON: " + err.Error())
	}
	return b
}
