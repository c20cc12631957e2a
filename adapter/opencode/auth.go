package opencode

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
)

// keys are the variables of OpenCode's settings and of the model APIs that it is most used with.
var keys = append([]string{"OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR", "OPENCODE_DB", "XDG_CONFIG_HOME", "XDG_DATA_HOME"}, logins...)

var logins = []string{"OPENCODE_AUTH_CONTENT", "OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"}

const loginGuidance = "opencode auth login, or set the key of a provider"

// login is detected from variables, the stored logins, and the providers in the user's settings. OpenCode also has models of its
// own that need no login, so that none is no fault.
var login = declared.LoginTable{
	Variables: declared.APIKeys(logins...),
	Stored:    storedLogin,
	Guidance: adapter.AuthGuidance{
		Provider: "any model API",
		Steps: []adapter.AuthStep{
			{Description: "log in to a provider", Command: "opencode auth login"},
			{Description: "or set the provider's key, such as ANTHROPIC_API_KEY"},
			{Description: "or describe a provider of your own in ~/.config/opencode/opencode.json", URL: "https://opencode.ai/docs/providers"},
		},
		EnvVars: append([]adapter.AuthVariable{{Name: "OPENCODE_API_KEY", Description: "key of OpenCode's own models"}},
			declared.ProviderKeys("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")...),
		Documentation: []string{"https://opencode.ai/docs/providers"}, LoginCommand: "opencode auth login",
	},
}

func storedLogin(h adapter.Host, now time.Time) adapter.AuthState {
	dir := declared.Dir{Default: data + "/opencode", Variable: "XDG_DATA_HOME", Below: "opencode"}
	state := declared.File{Agent: name, Dir: dir, Name: "auth.json", Hint: loginGuidance, Method: "config_file", Read: declared.ReadProviders}.State(h, now)
	if state.Status != adapter.Unauthenticated {
		return state
	}
	providers := map[string]any{}
	for _, s := range readSettings(h) {
		maps.Copy(providers, s.Provider)
	}
	if len(providers) == 0 {
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: "no login is stored; opencode has models that need none; " + loginGuidance}
	}
	return adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file",
		Details: "the settings describe providers, whose keys are not checked: " + strings.Join(slices.Sorted(maps.Keys(providers)), ", ")}
}
