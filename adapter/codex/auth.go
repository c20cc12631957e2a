package codex

import (
	"encoding/json"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
)

// login is detected from a variable and the login file. A keyring, which leaves no file, cannot be read.
var login = declared.LoginTable{
	Variables: []declared.Variable{{Name: "CODEX_API_KEY", Method: "api_key"}},
	Stored:    storedLogin,
	Guidance: adapter.AuthGuidance{
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
	},
}

var loginFile = declared.File{Agent: name, Dir: home, Name: "auth.json", Hint: loginGuidance, Read: readLogin}

// storedLogin returns the state of the stored login.
func storedLogin(h adapter.Host, now time.Time) adapter.AuthState {
	stored := loginFile.State(h, now)
	if stored.Status != adapter.Unauthenticated {
		return stored
	}
	data, err := home.Read(h, "config.toml")
	if err != nil {
		return stored
	}
	if provider := topLevelText(data, "model_provider"); provider != "" && provider != "openai" {
		return adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file",
			Details: "config.toml names the model provider " + provider + ", whose login is not checked"}
	}
	if store := topLevelText(data, "cli_auth_credentials_store"); store == "keyring" || store == "auto" {
		return adapter.AuthState{Status: adapter.AuthUnknown, Method: "keychain", Details: "logins are kept in the keyring, which is not checked"}
	}
	return stored
}

// readLogin reads the login file. No field of it is ever shown.
func readLogin(_ adapter.Host, data []byte) (t declared.Token, err error) {
	var file struct {
		APIKey string `json:"OPENAI_API_KEY"`
		Tokens struct {
			Access  string `json:"access_token"`
			Refresh string `json:"refresh_token"`
			ID      string `json:"id_token"`
		} `json:"tokens"`
	}
	err = json.Unmarshal(data, &file)
	switch {
	case err != nil:
	case file.Tokens.Access != "":
		t = declared.Token{Method: "oauth", Identity: declared.ReadClaims(file.Tokens.ID).Email, Renews: file.Tokens.Refresh != ""}
		if seconds := declared.ReadClaims(file.Tokens.Access).Expires; seconds > 0 {
			t.Expires = time.Unix(seconds, 0).UTC()
		}
	case file.APIKey != "":
		t = declared.Token{Method: "api_key", Details: "an API key is stored"}
	}
	return t, err
}
