package openclaw

import (
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// keys are the variables of OpenClaw's settings and of the model APIs that it is most used with.
var keys = append([]string{"OPENCLAW_GATEWAY_TOKEN", "OPENCLAW_GATEWAY_PASSWORD", "OPENCLAW_GATEWAY_URL", "OPENCLAW_GATEWAY_PORT", "OPENCLAW_STATE_DIR",
	"OPENCLAW_CONFIG_PATH", "OPENCLAW_HOME", "OPENCLAW_WORKSPACE_DIR", "OPENCLAW_INCLUDE_ROOTS", "NODE_OPTIONS"}, logins...)

var logins = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"}

// login: the settings or the database of an agent have the keys of models, or the environment.
var login = declared.LoginTable{
	Variables: declared.APIKeys(logins...),
	Stored: func(h adapter.Host, now time.Time) adapter.AuthState {
		return declared.StoredIn(home, "openclaw onboard, or set a key such as ANTHROPIC_API_KEY", "openclaw.json")(h, now)
	},
	Guidance: adapter.AuthGuidance{
		Provider: "any model API", LoginCommand: "openclaw onboard", EnvVars: declared.ProviderKeys(logins...),
		Documentation: []string{"https://docs.openclaw.ai/gateway/authentication"},
		Steps: []adapter.AuthStep{{Description: "choose a provider and a model, and store the key", Command: "openclaw onboard"},
			{Description: "or set the provider's key, such as ANTHROPIC_API_KEY, and choose a model: openclaw models set PROVIDER/MODEL"}},
	},
}

// configuredModel returns the model of the settings: a text, or an object with fallbacks.
func configuredModel(h adapter.Host) string {
	if model := declared.Setting("", home, "openclaw.json", "agents", "defaults", "model", "primary")(h); model != "" {
		return model
	}
	return declared.Setting("", home, "openclaw.json", "agents", "defaults", "model")(h)
}

// configSchema describes openclaw.json, which is for the user alone. OpenClaw reads JSON5 and writes JSON.
func configSchema() settings.Schema {
	return settings.NewSchema(name, version, []settings.File{
		{Scope: settings.Global, Path: "~/.openclaw/openclaw.json", Moved: "$OPENCLAW_STATE_DIR/openclaw.json", Format: "json5"},
	}, &settings.MCPShape{TypeKey: "transport", Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio},
		{Transport: execution.MCPSSE, Type: transports[execution.MCPSSE], URL: "url", Headers: "headers"}, // the transport of an address alone
		{Transport: execution.MCPStreamableHTTP, Type: transports[execution.MCPStreamableHTTP], URL: "url", Headers: "headers"},
	}}, []settings.Field{
		{Path: "model", Label: "Model", Type: settings.TypeString, Normalized: true, Native: "agents.defaults.model.primary", Scope: settings.Global, Description: "model to use when a run names none, as provider/model"},
		{Path: "thinkingEffort", Label: "Thinking effort", Type: settings.TypeString, Normalized: true, Native: "agents.defaults.thinkingDefault", Scope: settings.Global, Description: "how hard the model thinks"},
		{Path: "approvalMode", Label: "Approval mode", Type: settings.TypeEnum, Normalized: true, Native: "tools.exec.mode", Scope: settings.Global,
			Enum:   []string{"deny", "allowlist", "ask", "auto", "full"},
			Values: []settings.Value{{Value: "prompt", Native: "ask"}, {Value: "yolo", Native: "full"}, {Value: "deny", Native: "deny"}}, Description: "which commands need approval"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcp.servers", Scope: settings.Global, Description: "MCP servers by name"},
		{Path: "tools.profile", Type: settings.TypeEnum, Native: "tools.profile", Scope: settings.Global, Enum: []string{"minimal", "coding", "messaging", "full"}, Description: "tools that the model has"},
		{Path: "tools.toolSearch", Type: settings.TypeBoolean, Native: "tools.toolSearch", Scope: settings.Global, Description: "whether the model searches for tools instead of seeing all of them"},
		{Path: "agents.defaults.workspace", Type: settings.TypeString, Native: "agents.defaults.workspace", Scope: settings.Global, Description: "folder of the agent's own files"},
		{Path: "agents.defaults.heartbeat.every", Type: settings.TypeString, Native: "agents.defaults.heartbeat.every", Scope: settings.Global, Description: "time between the agent's own turns"},
		{Path: "gateway.port", Type: settings.TypeInteger, Native: "gateway.port", Scope: settings.Global, Min: new(1.0), Max: new(65535.0), Default: 18789, Description: "port of the gateway"},
		{Path: "gateway.mode", Type: settings.TypeEnum, Native: "gateway.mode", Scope: settings.Global, Enum: []string{"local", "remote"}, Description: "where the gateway runs"},
		{Path: "cron.enabled", Type: settings.TypeBoolean, Native: "cron.enabled", Scope: settings.Global, Default: true, Description: "automations at times"},
	})
}
