package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
)

// Probe looks for the claude command, asks it for its version and reads the model of the user's settings.
func (Adapter) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	in, err := cliagent.DetectVersion(ctx, h, "claude")
	if err != nil {
		return in, err
	}
	if in.ActiveModel = h.Getenv("ANTHROPIC_MODEL"); in.ActiveModel == "" {
		var settings struct {
			Model string `json:"model"`
		}
		if data, err := readFile(h, configDir(h), "settings.json"); err == nil && json.Unmarshal(data, &settings) == nil {
			in.ActiveModel = settings.Model
		}
	}
	return in, nil
}

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
	if login.ExpiresAt > 0 && time.UnixMilli(login.ExpiresAt).Before(now) {
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

// configDir is where Claude keeps its settings.
func configDir(h adapter.Host) string {
	if dir := h.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(h.Home, ".claude")
}

func readFile(h adapter.Host, dir, file string) ([]byte, error) {
	path, err := h.Name(filepath.Join(dir, file))
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(h.FS, path)
}

// AuthGuidance tells how to log in.
func (Adapter) AuthGuidance() adapter.AuthGuidance {
	return adapter.AuthGuidance{
		Provider: "Anthropic",
		Steps: []string{
			"with a Claude account: run `claude auth login` and follow the browser",
			"with an API key: make one at https://platform.claude.com and set ANTHROPIC_API_KEY",
			"on a machine without a browser: run `claude setup-token` elsewhere and set CLAUDE_CODE_OAUTH_TOKEN",
		},
		EnvVars:       []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		Documentation: []string{"https://code.claude.com/docs"},
		LoginCommand:  "claude auth login",
	}
}
