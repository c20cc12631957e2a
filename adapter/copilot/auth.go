package copilot

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
)

const loginGuidance = "log in with: copilot login, or set COPILOT_GITHUB_TOKEN"

// login is detected from variables and from the file of accounts, in Copilot's order of precedence. The system's
// credential store cannot be read, nor the login of GitHub's command line program, which Copilot uses as a fallback.
var login = declared.LoginTable{
	Stored: func(h adapter.Host, _ time.Time) adapter.AuthState { return detectLogin(h) },
	Guidance: adapter.AuthGuidance{
		Provider: "GitHub Copilot",
		Steps: []adapter.AuthStep{
			{Description: "with a GitHub account that has Copilot: log in and follow the browser; without a browser it shows a code to enter elsewhere", Command: "copilot login"},
			{Description: "or with a token: make a fine-grained personal access token with the permission \"Copilot Requests\" and set COPILOT_GITHUB_TOKEN; classic tokens (ghp_) are not taken",
				URL: "https://github.com/settings/personal-access-tokens/new"},
			{Description: "or with the GitHub CLI, whose login Copilot borrows when it has none of its own", Command: "gh auth login"},
			{Description: "or without GitHub, with a model provider of your own: set COPILOT_PROVIDER_BASE_URL, COPILOT_PROVIDER_API_KEY and COPILOT_MODEL", Command: "copilot help providers"},
		},
		EnvVars: []adapter.AuthVariable{
			{Name: "COPILOT_GITHUB_TOKEN", Description: "GitHub token for Copilot alone; goes before the next two", Example: "github_pat_..."},
			{Name: "GH_TOKEN", Description: "GitHub token, also of the GitHub CLI"},
			{Name: "GITHUB_TOKEN", Description: "GitHub token"},
			{Name: "COPILOT_PROVIDER_BASE_URL", Description: "address of a model provider of your own; no GitHub login is needed then", Example: "http://localhost:11434/v1"},
			{Name: "COPILOT_PROVIDER_API_KEY", Description: "key of that provider, if it wants one"},
			{Name: "COPILOT_PROVIDER_BEARER_TOKEN", Description: "token of that provider; goes before the key"},
		},
		Documentation: []string{"https://docs.github.com/copilot/how-tos/copilot-cli"},
		PlatformNotes: map[string]string{
			"darwin":  "the token is kept in the keychain, where Drawbar does not look",
			"linux":   "the token is kept in the credential store of the desktop, or in plain text below ~/.copilot where there is none",
			"windows": "the token is kept in the credential manager, where Drawbar does not look",
		},
		LoginCommand: "copilot login",
	},
}

func detectLogin(h adapter.Host) adapter.AuthState {
	if h.Getenv("COPILOT_PROVIDER_BASE_URL") != "" {
		return ownProvider(h)
	}
	for _, variable := range []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"} {
		token := h.Getenv(variable)
		switch {
		case token == "":
			continue
		case strings.HasPrefix(token, "ghp_"):
			return adapter.AuthState{Status: adapter.Unauthenticated, Method: "github_token",
				Details: variable + " holds a classic personal access token, which Copilot does not take; " + loginGuidance}
		}
		return adapter.AuthState{Status: adapter.Authenticated, Method: "github_token", Details: variable + " is set"}
	}
	return storedLogin(h)
}

// ownProvider returns the login at the user's own model provider, which needs none at GitHub.
func ownProvider(h adapter.Host) adapter.AuthState {
	for _, v := range []struct{ variable, method string }{{"COPILOT_PROVIDER_API_KEY_COMMAND", "provider_key_command"},
		{"COPILOT_PROVIDER_BEARER_TOKEN", "provider_bearer_token"}, {"COPILOT_PROVIDER_API_KEY", "provider_api_key"}} {
		if h.Getenv(v.variable) != "" {
			return adapter.AuthState{Status: adapter.Authenticated, Method: v.method, Details: "COPILOT_PROVIDER_BASE_URL and " + v.variable + " are set"}
		}
	}
	return adapter.AuthState{Status: adapter.Authenticated, Method: "provider", Details: "COPILOT_PROVIDER_BASE_URL is set, without a key: a provider that asks for none"}
}

// account is a login in config.json.
type account struct {
	Host  string `json:"host"`
	Login string `json:"login"`
}

// accounts are the members of config.json that state who is logged in; spellings differ between versions. The file
// may also contain tokens, which are only checked for existence.
type accounts struct {
	Last      *account           `json:"lastLoggedInUser"`
	LastOld   *account           `json:"last_logged_in_user"`
	Users     []account          `json:"loggedInUsers"`
	UsersOld  []account          `json:"logged_in_users"`
	Tokens    map[string]present `json:"copilotTokens"`
	TokensOld map[string]present `json:"copilot_tokens"`
}

// present accepts any value and keeps nothing of it.
type present struct{}

// UnmarshalJSON drops the value.
func (*present) UnmarshalJSON([]byte) error { return nil }

// storedLogin reads from config.json who is logged in. The token itself is usually in the system's credential store.
func storedLogin(h adapter.Host) adapter.AuthState {
	file := home.Path(h, "config.json")
	data, err := declared.Read(h, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notLoggedIn(h)
	case err != nil:
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: fmt.Sprintf("read the login: %v", err)}
	}
	var found accounts
	if declared.UnmarshalJSONC(data, &found) != nil {
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: declared.Unreadable(file)}
	}
	users := append(found.Users, found.UsersOld...)
	for _, last := range []*account{found.Last, found.LastOld} {
		if last != nil {
			users = append([]account{*last}, users...)
		}
	}
	for _, u := range users {
		if u.Login == "" {
			continue
		}
		if len(found.Tokens)+len(found.TokensOld) > 0 {
			return adapter.AuthState{Status: adapter.Authenticated, Method: "oauth", Identity: identity(u), Details: "the token is in " + file}
		}
		return adapter.AuthState{Status: adapter.AuthUnknown, Method: "oauth", Identity: identity(u),
			Details: "an account is logged in; its token is in the credential store of the system, which is not checked"}
	}
	if len(found.Tokens)+len(found.TokensOld) > 0 {
		return adapter.AuthState{Status: adapter.Authenticated, Method: "oauth", Details: "the token is in " + file}
	}
	return notLoggedIn(h)
}

func identity(u account) string {
	host := strings.TrimPrefix(strings.TrimPrefix(u.Host, "https://"), "http://")
	if host == "" || host == "github.com" {
		return u.Login
	}
	return u.Login + "@" + host
}

// notLoggedIn is the end of Copilot's own search. It then asks GitHub's command line program for a token.
func notLoggedIn(h adapter.Host) adapter.AuthState {
	for _, dir := range ghDirs(h) {
		file := filepath.Join(dir, "hosts.yml")
		if data, err := declared.Read(h, file); err == nil && len(strings.TrimSpace(string(data))) > 0 {
			return adapter.AuthState{Status: adapter.AuthUnknown, Method: "gh",
				Details: "Copilot has no login of its own; it borrows that of the GitHub CLI, whose accounts are in " + file}
		}
	}
	return adapter.AuthState{Status: adapter.Unauthenticated, Details: loginGuidance}
}

// ghDirs are the folders of the GitHub CLI's accounts; the first that is set counts.
func ghDirs(h adapter.Host) []string {
	switch {
	case h.Getenv("GH_CONFIG_DIR") != "":
		return []string{h.Getenv("GH_CONFIG_DIR")}
	case h.Getenv("XDG_CONFIG_HOME") != "":
		return []string{filepath.Join(h.Getenv("XDG_CONFIG_HOME"), "gh")}
	case h.Platform == "windows" && h.Getenv("AppData") != "":
		return []string{filepath.Join(h.Getenv("AppData"), "GitHub CLI")}
	}
	return []string{filepath.Join(h.Home, ".config", "gh")}
}
