package claude

import (
	"encoding/json"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
)

// login lists Claude's variables in order of precedence, and its login file. On macOS the login is in the keychain
// instead of a file.
var login = declared.LoginTable{
	Variables: []declared.Variable{
		{Name: "CLAUDE_CODE_USE_BEDROCK", Method: "bedrock", Elsewhere: "through Amazon Bedrock"},
		{Name: "CLAUDE_CODE_USE_VERTEX", Method: "vertex", Elsewhere: "through Google Vertex AI"},
		{Name: "CLAUDE_CODE_USE_FOUNDRY", Method: "foundry", Elsewhere: "through Microsoft Foundry"},
		{Name: "ANTHROPIC_AUTH_TOKEN", Method: "auth_token"}, {Name: "ANTHROPIC_API_KEY", Method: "api_key"}, {Name: "CLAUDE_CODE_OAUTH_TOKEN", Method: "oauth"},
	},
	Stored: declared.File{
		Agent: name, Dir: home, Name: ".credentials.json", Hint: loginGuidance, Read: storedLogin,
		Missing: func(h adapter.Host) adapter.AuthState {
			if h.Platform == "darwin" {
				return adapter.AuthState{Status: adapter.AuthUnknown, Details: "a login on macOS is in the keychain, which is not checked"}
			}
			return adapter.AuthState{Status: adapter.Unauthenticated, Details: loginGuidance}
		},
	}.State,
	Guidance: adapter.AuthGuidance{
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
	},
}

// storedLogin reads the login file.
func storedLogin(h adapter.Host, data []byte) (t declared.Token, err error) {
	var file struct {
		OAuth struct {
			AccessToken  string `json:"accessToken"`
			RefreshToken string `json:"refreshToken"`
			ExpiresAt    int64  `json:"expiresAt"` // milliseconds
			Subscription string `json:"subscriptionType"`
		} `json:"claudeAiOauth"`
	}
	if err = json.Unmarshal(data, &file); err != nil || file.OAuth.AccessToken == "" {
		return t, err
	}
	t = declared.Token{Method: "oauth", Identity: account(h), Renews: file.OAuth.RefreshToken != ""}
	if file.OAuth.Subscription != "" {
		t.Details = "subscription " + file.OAuth.Subscription
	}
	if file.OAuth.ExpiresAt > 0 {
		t.Expires = time.UnixMilli(file.OAuth.ExpiresAt).UTC()
	}
	return t, nil
}

// account returns the address of the logged-in account, empty if unknown.
func account(h adapter.Host) string {
	var file struct {
		Account struct {
			Email string `json:"emailAddress"`
		} `json:"oauthAccount"`
	}
	dir := home
	dir.Default = "" // the file is next to the folder, not in it
	if data, err := dir.Read(h, ".claude.json"); err != nil || json.Unmarshal(data, &file) != nil {
		return ""
	}
	return file.Account.Email
}
