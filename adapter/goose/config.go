package goose

import (
	"errors"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// keys are the variables of goose's settings and of the model APIs that it is most used with.
var keys = append([]string{"GOOSE_PROVIDER", "GOOSE_MODEL", "GOOSE_MODE", "GOOSE_DISABLE_KEYRING", "GOOSE_PATH_ROOT", "OPENAI_HOST", "OPENAI_BASE_PATH", "OLLAMA_HOST",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME"}, logins...)

var logins = []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"}

var errUnreadable = errors.New("it is not YAML of the expected shape")

const loginGuidance = "goose configure, or set GOOSE_PROVIDER, GOOSE_MODEL and the provider's key"

// login: the settings name the provider, whose key is in the system's keyring, in a file, or in the environment.
var login = declared.LoginTable{
	Stored: storedLogin,
	Guidance: adapter.AuthGuidance{
		Provider: "any model API",
		Steps: []adapter.AuthStep{
			{Description: "choose a provider and a model, and store the key", Command: "goose configure"},
			{Description: "or set GOOSE_PROVIDER, GOOSE_MODEL and the provider's key, such as ANTHROPIC_API_KEY"},
		},
		EnvVars: append([]adapter.AuthVariable{{Name: "GOOSE_PROVIDER", Description: "the provider", Example: "anthropic"}, {Name: "GOOSE_MODEL", Description: "the model"}},
			declared.ProviderKeys(logins...)...),
		Documentation: []string{"https://goose-docs.ai/docs/getting-started/providers"}, LoginCommand: "goose configure",
	},
}

// configured are the settings that say what a run without options does; variables of the same names win.
type configured struct {
	Provider string `yaml:"GOOSE_PROVIDER"`
	Model    string `yaml:"GOOSE_MODEL"`
}

func readSettings(h adapter.Host) (s configured, err error) {
	text, err := home.Read(h, "config.yaml")
	if err == nil && yaml.Unmarshal(text, &s) != nil { // the error could quote the file
		return configured{}, errUnreadable
	}
	if v := h.Getenv("GOOSE_PROVIDER"); v != "" {
		s.Provider = v
	}
	if v := h.Getenv("GOOSE_MODEL"); v != "" {
		s.Model = v
	}
	return s, nil
}

func configuredModel(h adapter.Host) string {
	s, _ := readSettings(h) // an unreadable file names no model
	return s.Model
}

func storedLogin(h adapter.Host, _ time.Time) adapter.AuthState {
	s, err := readSettings(h)
	switch {
	case err != nil:
		return adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file", Details: home.Path(h, "config.yaml") + " cannot be read: " + err.Error()}
	case s.Provider == "":
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: "no provider is configured; " + loginGuidance}
	}
	for _, v := range logins {
		if h.Getenv(v) != "" && ofProvider[v] == s.Provider {
			return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Identity: s.Provider, Details: v + " is set"}
		}
	}
	return adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file", Identity: s.Provider,
		Details: "the provider is " + s.Provider + "; goose keeps its key in the keyring or in secrets.yaml, which are not read"}
}

// ofProvider are the providers of keys.
var ofProvider = map[string]string{"ANTHROPIC_API_KEY": "anthropic", "OPENAI_API_KEY": "openai", "GOOGLE_API_KEY": "google", "OPENROUTER_API_KEY": "openrouter"}

// unasked is what it runs of a project: plugins.
func unasked() []settings.Unasked {
	const plugin = ".agents/plugins/*/"
	return []settings.Unasked{
		{Path: plugin + "plugin.json", Format: "json", Keys: []string{"mcpServers", "hooks"}},
		{Path: plugin + ".mcp.json", Format: "json", Keys: []string{"mcpServers"}},
		{Path: plugin + "hooks/hooks.json", Format: "json", Keys: []string{"hooks"}},
	}
}

// configSchema describes config.yaml, which goose has for the user alone.
func configSchema() settings.Schema {
	on := map[string]any{"enabled": true}
	return settings.NewSchema(name, version, []settings.File{
		{Scope: settings.Global, Path: "~/.config/goose/config.yaml", Moved: "$XDG_CONFIG_HOME/goose/config.yaml", Format: "yaml"},
	}, &settings.MCPShape{Other: []string{"builtin", "platform", "frontend", "inline_python"}, Kinds: []settings.MCPKind{
		{Transport: execution.MCPStdio, Type: "stdio", Command: "cmd", Env: "envs", Name: "name", Constant: on},
		{Transport: execution.MCPStreamableHTTP, Type: "streamable_http", URL: "uri", Headers: "headers", Name: "name", Constant: on},
		{Transport: execution.MCPSSE, Type: "sse", URL: "uri", Name: "name", Constant: on},
	}}, []settings.Field{
		{Path: "model", Label: "Model", Type: settings.TypeString, Normalized: true, Native: "GOOSE_MODEL", Variable: "GOOSE_MODEL", Scope: settings.Global, Description: "model to use when a run names none"},
		{Path: "provider", Label: "Provider", Type: settings.TypeString, Normalized: true, Native: "GOOSE_PROVIDER", Variable: "GOOSE_PROVIDER", Scope: settings.Global, Description: "provider of the model"},
		{Path: "approvalMode", Label: "Approval mode", Type: settings.TypeEnum, Normalized: true, Native: "GOOSE_MODE", Variable: "GOOSE_MODE", Scope: settings.Global,
			Enum: []string{"auto", "approve", "smart_approve", "chat"}, Default: "auto",
			Values: []settings.Value{{Value: "prompt", Native: "approve"}, {Value: "yolo", Native: "auto"}}, Description: "what needs approval"},
		{Path: "mcpServers", Label: "MCP servers", Type: settings.TypeMCPServers, Normalized: true, Native: "extensions", Scope: settings.Global, Description: "MCP servers by name"},
		{Path: "GOOSE_MAX_TURNS", Type: settings.TypeInteger, Native: "GOOSE_MAX_TURNS", Variable: "GOOSE_MAX_TURNS", Scope: settings.Global, Min: new(1.0), Default: 1000, Description: "model calls without a word of the user"},
		{Path: "GOOSE_TEMPERATURE", Type: settings.TypeNumber, Native: "GOOSE_TEMPERATURE", Variable: "GOOSE_TEMPERATURE", Scope: settings.Global, Min: new(0.0), Description: "temperature of the model"},
		{Path: "GOOSE_AUTO_COMPACT_THRESHOLD", Type: settings.TypeNumber, Native: "GOOSE_AUTO_COMPACT_THRESHOLD", Variable: "GOOSE_AUTO_COMPACT_THRESHOLD", Scope: settings.Global, Min: new(0.0), Max: new(1.0), Description: "part of the context window at which it is compacted"},
		{Path: "GOOSE_TELEMETRY_ENABLED", Type: settings.TypeBoolean, Native: "GOOSE_TELEMETRY_ENABLED", Variable: "GOOSE_TELEMETRY_ENABLED", Scope: settings.Global, Description: "usage statistics to the vendor"},
	})
}
