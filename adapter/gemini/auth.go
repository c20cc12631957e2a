package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
)

// Files in Gemini's configuration directory that concern a login.
const (
	settingsFile = "settings.json"
	oauthFile    = "oauth_creds.json"
	accountsFile = "google_accounts.json"
	keyringFile  = "gemini-credentials.json" // encrypted; used in place of a keyring
)

// Gemini's names of its logins.
const (
	authKey     = "gemini-api-key"
	authVertex  = "vertex-ai"
	authGoogle  = "oauth-personal"
	authCompute = "compute-default-credentials"
	authShell   = "cloud-shell"
	authGateway = "gateway"
)

// login is detected from variables, the settings that select a login, and the login files. A keyring cannot be read.
var login = declared.LoginTable{
	Stored: chosenLogin,
	Guidance: adapter.AuthGuidance{
		Provider: "Google",
		Steps: []adapter.AuthStep{
			{Description: "with an API key: make one and set GEMINI_API_KEY", URL: "https://aistudio.google.com/apikey"},
			{Description: "or with a Google account: start gemini in a terminal, choose Login with Google and follow the browser", Command: "gemini"},
			{Description: "or with Vertex AI: set GOOGLE_GENAI_USE_VERTEXAI=true and GOOGLE_API_KEY, or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION after logging in to Google Cloud",
				Command: "gcloud auth application-default login"},
			{Description: "behind an address of your own (GOOGLE_GEMINI_BASE_URL): " + gatewayGuidance},
		},
		EnvVars: []adapter.AuthVariable{
			{Name: "GEMINI_API_KEY", Description: "key of the Gemini API", Example: "AIza..."},
			{Name: "GOOGLE_API_KEY", Description: "key of Vertex AI, with GOOGLE_GENAI_USE_VERTEXAI"},
			{Name: "GOOGLE_GENAI_USE_VERTEXAI", Description: "true: log in through Vertex AI"},
			{Name: "GOOGLE_GENAI_USE_GCA", Description: "true: log in with a Google account"},
			{Name: "GOOGLE_CLOUD_PROJECT", Description: "project of Vertex AI, or of a company's account"},
			{Name: "GOOGLE_CLOUD_LOCATION", Description: "region of Vertex AI", Example: "us-central1"},
			{Name: "GOOGLE_APPLICATION_CREDENTIALS", Description: "file with the login of a service account"},
		},
		Documentation: []string{"https://geminicli.com/docs/get-started/authentication"},
		LoginCommand:  "gemini",
	},
}

// settings are the relevant parts of Gemini's settings file.
type settingsForm struct {
	Model struct {
		Name string `json:"name"`
	} `json:"model"`
	Security struct {
		Auth struct {
			SelectedType string `json:"selectedType"`
		} `json:"auth"`
	} `json:"security"`
}

// chosenLogin returns the login that the settings or the variables select.
func chosenLogin(h adapter.Host, now time.Time) adapter.AuthState {
	var s settingsForm
	switch data, err := home.Read(h, settingsFile); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: fmt.Sprintf("read the settings: %v", err)}
	case declared.UnmarshalJSONC(data, &s) != nil:
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: "read the settings: " + declared.Unreadable(home.Path(h, settingsFile))}
	}
	chosen, bySettings := s.Security.Auth.SelectedType, true
	if chosen == "" {
		chosen, bySettings = authOfEnvironment(h), false
	}
	switch chosen {
	case authKey:
		return keyLogin(h)
	case authVertex:
		return vertexLogin(h)
	case authGoogle:
		return googleLogin(h, now)
	case authCompute, authShell:
		return adapter.AuthState{Status: adapter.AuthUnknown, Method: "oauth", Details: "the login is that of the machine, which is not asked"}
	case authGateway:
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: gatewayGuidance}
	case "":
		if variable(h, "GEMINI_API_KEY") {
			return keyLogin(h) // from an .env file, which Gemini reads itself
		}
		if _, err := home.Read(h, oauthFile); err == nil {
			return adapter.AuthState{Status: adapter.Unauthenticated, Details: fmt.Sprintf("a login is stored in %s, and security.auth.selectedType in %s does not choose it",
				home.Path(h, oauthFile), home.Path(h, settingsFile))}
		}
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: loginGuidance}
	}
	if bySettings {
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: fmt.Sprintf("%s chooses a login of a kind that is not known", home.Path(h, settingsFile))}
	}
	return adapter.AuthState{Status: adapter.AuthUnknown}
}

// authOfEnvironment returns the login that Gemini selects if its settings select none.
func authOfEnvironment(h adapter.Host) string {
	switch {
	case h.Getenv("GOOGLE_GENAI_USE_GCA") == "true":
		return authGoogle
	case h.Getenv("GOOGLE_GENAI_USE_VERTEXAI") == "true":
		return authVertex
	case h.Getenv("GOOGLE_GEMINI_BASE_URL") != "":
		return authGateway
	case h.Getenv("GEMINI_API_KEY") != "":
		return authKey
	case h.Getenv("CLOUD_SHELL") == "true" || h.Getenv("GEMINI_CLI_USE_COMPUTE_ADC") == "true":
		return authCompute
	}
	return ""
}

func keyLogin(h adapter.Host) adapter.AuthState {
	if variable(h, "GEMINI_API_KEY") {
		return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: "GEMINI_API_KEY is set"}
	}
	if _, err := home.Read(h, keyringFile); err == nil {
		return adapter.AuthState{Status: adapter.AuthUnknown, Method: "keychain", Details: fmt.Sprintf("a key may be kept in %s, which is encrypted", home.Path(h, keyringFile))}
	}
	return adapter.AuthState{Status: adapter.Unauthenticated, Details: "the settings choose an API key and none is found; a keyring is not checked. " + loginGuidance}
}

func vertexLogin(h adapter.Host) adapter.AuthState {
	if variable(h, "GOOGLE_API_KEY") {
		return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: "GOOGLE_API_KEY is set"}
	}
	if !variable(h, "GOOGLE_CLOUD_PROJECT") || !variable(h, "GOOGLE_CLOUD_LOCATION") {
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: "Vertex AI needs GOOGLE_API_KEY, or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"}
	}
	file := h.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	if file == "" {
		file = filepath.Join(h.Home, ".config", "gcloud", "application_default_credentials.json")
	}
	state := adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file", Details: "the credentials of Google Cloud are not found in " + file}
	data, err := declared.Read(h, file)
	if err != nil {
		return state
	}
	var c struct {
		Type  string `json:"type"`
		Email string `json:"client_email"`
	}
	if json.Unmarshal(data, &c) != nil || c.Type == "" {
		state.Details = file + " holds no credentials of Google Cloud"
		return state
	}
	return adapter.AuthState{Status: adapter.Authenticated, Method: "config_file", Identity: c.Email, Details: "credentials of Google Cloud in " + file}
}

// googleLogin is the stored login with a Google account.
func googleLogin(h adapter.Host, now time.Time) adapter.AuthState {
	if h.Getenv("GOOGLE_GENAI_USE_GCA") != "" && h.Getenv("GOOGLE_CLOUD_ACCESS_TOKEN") != "" {
		return adapter.AuthState{Status: adapter.Authenticated, Method: "oauth", Details: "GOOGLE_CLOUD_ACCESS_TOKEN is set"}
	}
	return declared.File{Agent: name, Dir: home, Name: oauthFile, Hint: loginGuidance, Method: "oauth", Read: storedLogin,
		Missing: func(h adapter.Host) adapter.AuthState {
			if _, err := home.Read(h, keyringFile); err == nil {
				return adapter.AuthState{Status: adapter.AuthUnknown, Method: "keychain", Details: fmt.Sprintf("the login may be kept in %s, which is encrypted", home.Path(h, keyringFile))}
			}
			return adapter.AuthState{Status: adapter.Unauthenticated, Details: loginGuidance}
		}}.State(h, now)
}

// storedLogin reads the login file. No field of it is ever shown.
func storedLogin(h adapter.Host, data []byte) (t declared.Token, err error) {
	var c struct {
		Access  string  `json:"access_token"`
		Refresh string  `json:"refresh_token"`
		ID      string  `json:"id_token"`
		Type    string  `json:"type"`
		Expires float64 `json:"expiry_date"` // milliseconds
	}
	if err = json.Unmarshal(data, &c); err != nil || c.Access == "" && c.Refresh == "" && c.Type == "" {
		return t, err
	}
	t = declared.Token{Method: "oauth", Identity: identity(h, c.ID), Renews: c.Refresh != ""}
	if c.Expires > 0 {
		t.Expires = time.UnixMilli(int64(c.Expires)).UTC()
	}
	return t, nil
}

// identity returns the account of a login, from its token or from Gemini's own file.
func identity(h adapter.Host, token string) string {
	if email := declared.ReadClaims(token).Email; email != "" {
		return email
	}
	var accounts struct {
		Active string `json:"active"`
	}
	if data, err := home.Read(h, accountsFile); err != nil || json.Unmarshal(data, &accounts) != nil {
		return ""
	}
	return accounts.Active
}

// variable reports whether a variable is set, in the environment or in one of the user's .env files, which Gemini
// reads at its start.
func variable(h adapter.Host, name string) bool {
	if h.Getenv(name) != "" {
		return true
	}
	vars := map[string]string{}
	for _, file := range []string{home.Path(h, ".env"), filepath.Join(h.Home, ".env")} {
		if data, err := declared.Read(h, file); err == nil {
			declared.ReadEnv(string(data), vars)
		}
	}
	return vars[name] != ""
}
