package codex

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
)

// Probe looks for the codex command, asks it for its version and reads the model of the user's configuration.
func (Adapter) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	in, err := cliagent.DetectVersion(ctx, h, "codex")
	if err != nil {
		return in, err
	}
	if data, err := readFile(h, "config.toml"); err == nil {
		in.ActiveModel = topLevelText(data, "model")
	}
	return in, nil
}

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
		if expires := claims(file.Tokens.Access).Expires; expires > 0 && time.Unix(expires, 0).Before(now) {
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

// configDir is where Codex keeps its settings.
func configDir(h adapter.Host) string {
	if dir := h.Getenv("CODEX_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(h.Home, ".codex")
}

func readFile(h adapter.Host, file string) ([]byte, error) {
	path, err := h.Name(filepath.Join(configDir(h), file))
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(h.FS, path)
}

// topLevelText finds a text before the first table of a TOML file. It is for showing: what is written in any other way than
// as one quoted text on one line is not found.
func topLevelText(data []byte, key string) string {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			return ""
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok || strings.Trim(strings.TrimSpace(k), `"'`) != key {
			continue
		}
		v = strings.TrimSpace(v)
		if len(v) < 2 || v[0] != '"' && v[0] != '\'' {
			return ""
		}
		end := strings.IndexByte(v[1:], v[0])
		if end < 0 || strings.Contains(v[1:1+end], `\`) {
			return ""
		}
		return v[1 : 1+end]
	}
	return ""
}

// AuthGuidance tells how to log in.
func (Adapter) AuthGuidance() adapter.AuthGuidance {
	return adapter.AuthGuidance{
		Provider: "OpenAI",
		Steps: []string{
			"with a ChatGPT account: run `codex login` and follow the browser",
			"on a machine without a browser: run `codex login --device-auth`",
			"with an API key: make one at https://platform.openai.com/api-keys and run `printenv OPENAI_API_KEY | codex login --with-api-key`",
			"or set CODEX_API_KEY, which is used and not stored",
		},
		EnvVars:       []string{"CODEX_API_KEY"},
		Documentation: []string{"https://developers.openai.com/codex"},
		LoginCommand:  "codex login",
	}
}
