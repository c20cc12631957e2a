package codex

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
)

// DetectAuth looks at the variables and at the file of a login. It cannot look into a keyring, where a login leaves no
// file.
func (Adapter) DetectAuth(ctx context.Context, h adapter.Host) adapter.AuthState {
	if h.Getenv("CODEX_API_KEY") != "" {
		return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: "CODEX_API_KEY is set"}
	}
	stored := storedLogin(h, time.Now())
	if stored.Status == adapter.Unauthenticated {
		if data, err := readFile(h, "config.toml"); err == nil {
			if provider := topLevelText(data, "model_provider"); provider != "" && provider != "openai" {
				return adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file",
					Details: "config.toml names the model provider " + provider + ", whose login is not looked at"}
			}
			if store := topLevelText(data, "cli_auth_credentials_store"); store == "keyring" || store == "auto" {
				return adapter.AuthState{Status: adapter.AuthUnknown, Method: "keychain", Details: "logins are kept in the keyring, which is not looked at"}
			}
		}
	}
	return stored
}

// authFile is what Codex keeps of a login. No field of it is ever shown.
type authFile struct {
	Mode   string `json:"auth_mode"`
	APIKey string `json:"OPENAI_API_KEY"`
	Tokens *struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		ID      string `json:"id_token"`
	} `json:"tokens"`
}

// storedLogin reads whether a login is stored and until when it holds.
func storedLogin(h adapter.Host, now time.Time) adapter.AuthState {
	data, err := readFile(h, "auth.json")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: loginGuidance}
	case err != nil:
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: fmt.Sprintf("read the login: %v", err)}
	}
	var file authFile
	if err := json.Unmarshal(data, &file); err != nil {
		// The error is not shown: it could quote the file.
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: "the stored login cannot be read: it is no JSON of the expected shape"}
	}
	switch {
	case file.Tokens != nil && file.Tokens.Access != "":
		state := adapter.AuthState{Status: adapter.Authenticated, Method: "oauth", Identity: claims(file.Tokens.ID).Email}
		expires := claims(file.Tokens.Access).Expires
		if expires > 0 {
			state.ExpiresAt = time.Unix(expires, 0).UTC()
		}
		if expires > 0 && state.ExpiresAt.Before(now) {
			if file.Tokens.Refresh == "" {
				state.Status, state.Details = adapter.AuthExpired, loginGuidance
			} else {
				state.Details = "the access token has expired; codex renews it by itself"
			}
		}
		return state
	case file.APIKey != "":
		return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: "an API key is stored"}
	}
	return adapter.AuthState{Status: adapter.Unauthenticated, Details: loginGuidance}
}

type tokenClaims struct {
	Expires int64  `json:"exp"` // seconds
	Email   string `json:"email"`
}

// claims reads what a token says of itself, without a check of its signature: nothing is granted for it.
func claims(token string) (c tokenClaims) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &c) != nil {
		return tokenClaims{}
	}
	return c
}

// AuthGuidance tells how to log in.
func (Adapter) AuthGuidance() adapter.AuthGuidance {
	return adapter.AuthGuidance{
		Provider: "OpenAI",
		Steps: []adapter.AuthStep{
			{Description: "with a ChatGPT account: log in and follow the browser", Command: "codex login"},
			{Description: "or on a machine without a browser: log in with a code that is entered elsewhere", Command: "codex login --device-auth"},
			{Description: "or with an API key: make one and store it", Command: "printenv OPENAI_API_KEY | codex login --with-api-key", URL: "https://platform.openai.com/api-keys"},
			{Description: "or set CODEX_API_KEY, which is used and not stored"},
		},
		EnvVars: []adapter.AuthVariable{
			{Name: "CODEX_API_KEY", Description: "key of the OpenAI API, billed by use; OPENAI_API_KEY is not read", Example: "sk-proj-..."},
			{Name: "CODEX_HOME", Description: "where settings and the login are kept; default ~/.codex"},
		},
		Documentation: []string{"https://developers.openai.com/codex/auth"},
		PlatformNotes: map[string]string{
			"darwin":  "with cli_auth_credentials_store = \"keyring\" the login is in the keychain, where Drawbar does not look",
			"linux":   "the login is kept in ~/.codex/auth.json unless config.toml puts it into the keyring",
			"windows": "the login is kept in %USERPROFILE%\\.codex\\auth.json unless config.toml puts it into the credential manager",
		},
		LoginCommand:  "codex login",
		VerifyCommand: "codex login status",
	}
}
