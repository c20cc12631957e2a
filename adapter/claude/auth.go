package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/drawbar/drawbar/adapter"
)

// DetectAuth looks at the variables and at the file of a login, in the order in which Claude takes them. It cannot look
// into the keychain of macOS, where a login leaves no file.
func (Adapter) DetectAuth(ctx context.Context, h adapter.Host) adapter.AuthState {
	for _, v := range []struct{ variable, method, details string }{
		{"CLAUDE_CODE_USE_BEDROCK", "bedrock", "through Amazon Bedrock"},
		{"CLAUDE_CODE_USE_VERTEX", "vertex", "through Google Vertex AI"},
		{"CLAUDE_CODE_USE_FOUNDRY", "foundry", "through Microsoft Foundry"},
	} {
		if on := h.Getenv(v.variable); on != "" && on != "0" && on != "false" {
			return adapter.AuthState{Status: adapter.AuthUnknown, Method: v.method, Details: v.variable + " is set: " + v.details + ", whose login is not looked at"}
		}
	}
	for _, v := range []struct{ variable, method string }{
		{"ANTHROPIC_AUTH_TOKEN", "auth_token"}, {"ANTHROPIC_API_KEY", "api_key"}, {"CLAUDE_CODE_OAUTH_TOKEN", "oauth"},
	} {
		if h.Getenv(v.variable) != "" {
			return adapter.AuthState{Status: adapter.Authenticated, Method: v.method, Details: v.variable + " is set"}
		}
	}
	return storedLogin(h, time.Now())
}

// storedLogin reads whether a login is stored and until when it holds.
func storedLogin(h adapter.Host, now time.Time) adapter.AuthState {
	dir := configDir(h)
	data, err := readFile(h, dir, ".credentials.json")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if h.Platform == "darwin" {
			return adapter.AuthState{Status: adapter.AuthUnknown, Details: "a login on macOS is in the keychain, which is not looked at"}
		}
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: loginGuidance}
	case err != nil:
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: fmt.Sprintf("read the login: %v", err)}
	}
	var file struct {
		OAuth *struct {
			AccessToken  string `json:"accessToken"`
			RefreshToken string `json:"refreshToken"`
			ExpiresAt    int64  `json:"expiresAt"` // milliseconds
			Subscription string `json:"subscriptionType"`
		} `json:"claudeAiOauth"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		// The error is not shown: it could quote the file.
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: "the stored login cannot be read: it is no JSON of the expected shape"}
	}
	login := file.OAuth
	if login == nil || login.AccessToken == "" {
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: loginGuidance}
	}
	state := adapter.AuthState{Status: adapter.Authenticated, Method: "oauth", Identity: account(h, dir)}
	if login.Subscription != "" {
		state.Details = "subscription " + login.Subscription
	}
	if login.ExpiresAt > 0 {
		state.ExpiresAt = time.UnixMilli(login.ExpiresAt).UTC()
	}
	if login.ExpiresAt > 0 && state.ExpiresAt.Before(now) {
		if login.RefreshToken == "" {
			state.Status, state.Details = adapter.AuthExpired, loginGuidance
		} else {
			state.Details = "the access token has expired; claude renews it by itself"
		}
	}
	return state
}

// account is the address of the account that is logged in, empty when it is not told.
func account(h adapter.Host, dir string) string {
	var file struct {
		Account struct {
			Email string `json:"emailAddress"`
		} `json:"oauthAccount"`
	}
	if h.Getenv("CLAUDE_CONFIG_DIR") == "" {
		dir = h.Home
	}
	if data, err := readFile(h, dir, ".claude.json"); err != nil || json.Unmarshal(data, &file) != nil {
		return ""
	}
	return file.Account.Email
}

// AuthGuidance tells how to log in.
func (Adapter) AuthGuidance() adapter.AuthGuidance {
	return adapter.AuthGuidance{
		Provider: "Anthropic",
		Steps: []adapter.AuthStep{
			{Description: "with a Claude account: log in and follow the browser", Command: "claude auth login"},
			{Description: "or with an API key: make one and set ANTHROPIC_API_KEY", URL: "https://platform.claude.com/settings/keys"},
			{Description: "or on a machine without a browser: make a long-lived token elsewhere and set CLAUDE_CODE_OAUTH_TOKEN", Command: "claude setup-token"},
		},
		EnvVars: []adapter.AuthVariable{
			{Name: "ANTHROPIC_API_KEY", Description: "key of the Claude API, billed by use", Example: "sk-ant-api03-..."},
			{Name: "ANTHROPIC_AUTH_TOKEN", Description: "bearer token, for gateways"},
			{Name: "CLAUDE_CODE_OAUTH_TOKEN", Description: "long-lived token of a Claude account", Example: "sk-ant-oat01-..."},
			{Name: "CLAUDE_CODE_USE_BEDROCK", Description: "1: log in through Amazon Bedrock, with the login of AWS"},
			{Name: "CLAUDE_CODE_USE_VERTEX", Description: "1: log in through Google Vertex AI, with the login of Google Cloud"},
		},
		Documentation: []string{"https://code.claude.com/docs/en/iam"},
		PlatformNotes: map[string]string{
			"darwin":  "the login of an account is kept in the keychain, where Drawbar does not look",
			"linux":   "the login of an account is kept in ~/.claude/.credentials.json",
			"windows": "the login of an account is kept in %USERPROFILE%\\.claude\\.credentials.json",
		},
		LoginCommand:  "claude auth login",
		VerifyCommand: "claude auth status",
	}
}
