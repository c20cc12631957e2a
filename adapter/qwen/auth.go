package qwen

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
)

// login is detected from variables and the user's files, in Qwen Code's order of precedence.
var login = declared.LoginTable{
	Stored: func(h adapter.Host, now time.Time) adapter.AuthState { return readWorld(h).auth(now) },
	Guidance: adapter.AuthGuidance{
		Provider: "Alibaba Cloud, or any API that speaks OpenAI's, Anthropic's or Google's protocol",
		Steps: []adapter.AuthStep{
			{Description: "with an account at Alibaba Cloud: type /auth in qwen, choose Coding Plan or Model Studio and paste the key", Command: "qwen",
				URL: "https://modelstudio.console.alibabacloud.com"},
			{Description: "or with any API that speaks Chat Completions: set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL"},
			{Description: "or with Anthropic: set ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL and ANTHROPIC_MODEL"},
			{Description: "or with Gemini: set GEMINI_API_KEY and GEMINI_MODEL"},
		},
		EnvVars: []adapter.AuthVariable{
			{Name: "OPENAI_API_KEY", Description: "key of an API that speaks Chat Completions", Example: "sk-..."},
			{Name: "OPENAI_BASE_URL", Description: "its address, with /v1 where it has one"},
			{Name: "OPENAI_MODEL", Description: "the model to ask it for"},
			{Name: "ANTHROPIC_API_KEY", Description: "key of the Claude API; needs ANTHROPIC_BASE_URL and ANTHROPIC_MODEL besides"},
			{Name: "GEMINI_API_KEY", Description: "key of the Gemini API; needs GEMINI_MODEL besides"},
			{Name: "BAILIAN_CODING_PLAN_API_KEY", Description: "key of Alibaba's Coding Plan, for the provider that /auth configures", Example: "sk-sp-..."},
		},
		Documentation: []string{"https://qwenlm.github.io/qwen-code-docs"},
		PlatformNotes: map[string]string{
			"linux":  "what /auth stores is in ~/.qwen/settings.json; logins with a Qwen account ended on 2026-04-15",
			"darwin": "what /auth stores is in ~/.qwen/settings.json; logins with a Qwen account ended on 2026-04-15",
		},
	},
}

// Kinds of login that are named elsewhere or have rules of their own.
const (
	authOpenAI  = "openai"
	authVertex  = "vertex-ai"
	authAccount = "qwen-oauth"
)

// loginKind is a kind of login with a key. Qwen Code selects it by itself if the variables of the key, a model and
// the address are set.
type loginKind struct {
	name, key, address string
	models             []string
	selected           bool // only if the settings select it
}

var loginKinds = []loginKind{
	{name: authOpenAI, key: "OPENAI_API_KEY", address: "OPENAI_BASE_URL", models: []string{"OPENAI_MODEL", "QWEN_MODEL"}},
	{name: "openai-responses", key: "OPENAI_API_KEY", models: []string{"OPENAI_MODEL", "QWEN_MODEL"}, selected: true},
	{name: "gemini", key: "GEMINI_API_KEY", models: []string{"GEMINI_MODEL"}},
	{name: authVertex, key: "GOOGLE_API_KEY", models: []string{"GOOGLE_MODEL"}},
	{name: "anthropic", key: "ANTHROPIC_API_KEY", address: "ANTHROPIC_BASE_URL", models: []string{"ANTHROPIC_MODEL"}},
}

// accountEnd explains why a stored Qwen account is useless.
const accountEnd = "logins with a Qwen account ended on 2026-04-15; " + loginGuidance

// world is what Qwen Code's choice depends on: the environment, the user's .env files and settings.
type world struct {
	host   adapter.Host
	dir    string            // folder of Qwen's files
	vars   map[string]string // of the .env files and of the settings
	file   settingsForm
	broken string // the unreadable file
}

// settings are the parts of settings.json that concern a login. Keys are never shown.
type settingsForm struct {
	Security struct {
		Auth struct {
			Selected string `json:"selectedType"`
			APIKey   string `json:"apiKey"`
		} `json:"auth"`
	} `json:"security"`
	Model struct {
		Name string `json:"name"`
	} `json:"model"`
	Env       map[string]any `json:"env"`
	Providers map[string][]struct {
		ID     string `json:"id"`
		EnvKey string `json:"envKey"`
	} `json:"modelProviders"`
}

// readWorld reads the files that concern a login.
func readWorld(h adapter.Host) *world {
	w := &world{host: h, dir: home.In(h), vars: map[string]string{}}
	data, path, err := w.read(w.dir, "settings.json")
	if err == nil {
		err = declared.UnmarshalJSONC(data, &w.file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.broken = path // the error is not shown: it could quote the file
	}
	for name, value := range w.file.Env {
		if text, ok := value.(string); ok {
			w.vars[name] = text
		}
	}
	// The first file that has a variable wins, and precedes the settings.
	for _, dir := range []string{h.Home, filepath.Join(h.Home, ".qwen"), w.dir} {
		if data, _, err := w.read(dir, ".env"); err == nil {
			declared.ReadEnv(string(data), w.vars)
		}
	}
	return w
}

func (w *world) read(dir, file string) (data []byte, path string, err error) {
	path = filepath.Join(dir, file)
	data, err = declared.Read(w.host, path)
	return data, path, err
}

// get returns a variable as Qwen Code sees it.
func (w *world) get(name string) string {
	if value := w.host.Getenv(name); value != "" {
		return value
	}
	return w.vars[name]
}

// kind returns the kind of login that Qwen Code would use: the selected one, or the one implied by variables.
func (w *world) kind() string {
	if w.file.Security.Auth.Selected != "" {
		return w.file.Security.Auth.Selected
	}
	if w.get("QWEN_OAUTH") != "" {
		return authAccount
	}
	for _, k := range loginKinds {
		keyed := w.get(k.key) != "" || k.name == authVertex && w.get("GOOGLE_CLOUD_PROJECT") != ""
		if keyed && !k.selected && w.modelOf(k) != "" && (k.address == "" || w.get(k.address) != "") {
			return k.name
		}
	}
	return ""
}

func (w *world) modelOf(k loginKind) (model string) {
	for _, variable := range k.models {
		model = cmp.Or(model, w.get(variable))
	}
	return model
}

// model returns the model of a run that names none, empty for Qwen Code's default.
func (w *world) model() string {
	kind := w.kind()
	for _, k := range loginKinds {
		if k.name == kind && w.file.Model.Name == "" {
			return w.modelOf(k)
		}
	}
	return w.file.Model.Name
}

// key returns where the key of a kind of login comes from, empty for none.
func (w *world) key(kind string) (where, wanted string) {
	for _, k := range loginKinds {
		if k.name == kind {
			wanted = k.key
		}
	}
	for _, m := range w.file.Providers[kind] {
		if m.EnvKey != "" && (m.ID == w.model() || w.model() == "") {
			wanted = m.EnvKey
			break
		}
	}
	switch {
	case wanted != "" && w.host.Getenv(wanted) != "":
		return wanted + " is set", wanted
	case wanted != "" && w.vars[wanted] != "":
		return wanted + " is stored in the user's files", wanted
	case w.file.Security.Auth.APIKey != "":
		return "a key is stored in " + filepath.Join(w.dir, "settings.json"), wanted
	}
	return "", wanted
}

func (w *world) auth(now time.Time) adapter.AuthState {
	kind := w.kind()
	if w.broken != "" {
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: declared.Unreadable(w.broken)}
	}
	switch kind {
	case "":
		return w.unselected()
	case authAccount:
		return w.account(now)
	}
	where, wanted := w.key(kind)
	switch {
	case where != "":
		return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Identity: kind, Details: where}
	case kind == authVertex:
		return adapter.AuthState{Status: adapter.AuthUnknown, Method: authVertex, Details: "through Google Cloud, whose own login is not checked"}
	case wanted == "":
		return adapter.AuthState{Status: adapter.AuthUnknown, Method: kind, Details: "the settings select an unknown kind of login"}
	}
	return adapter.AuthState{Status: adapter.Unauthenticated, Method: "api_key", Identity: kind, Details: "there is no " + wanted + "; " + loginGuidance}
}

// unselected describes a key that Qwen Code would not use, or a missing key.
func (w *world) unselected() adapter.AuthState {
	for _, v := range []struct{ key, more string }{
		{"OPENAI_API_KEY", "OPENAI_BASE_URL and OPENAI_MODEL"}, {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL and ANTHROPIC_MODEL"}, {"GEMINI_API_KEY", "GEMINI_MODEL"},
	} {
		if w.get(v.key) != "" {
			return adapter.AuthState{Status: adapter.Unauthenticated, Method: "api_key",
				Details: v.key + " is set, which qwen uses with " + v.more + " only, or when its settings select that login"}
		}
	}
	if state := w.account(time.Now()); state.Status != adapter.Unauthenticated {
		return state
	}
	return adapter.AuthState{Status: adapter.Unauthenticated, Details: loginGuidance}
}

// account checks a login with a Qwen account. Its servers were shut down, so every stored token has expired.
func (w *world) account(now time.Time) adapter.AuthState {
	data, path, err := w.read(w.dir, "oauth_creds.json")
	if errors.Is(err, fs.ErrNotExist) {
		return adapter.AuthState{Status: adapter.Unauthenticated, Method: "oauth", Details: accountEnd}
	}
	var login struct {
		AccessToken string `json:"access_token"`
		Expiry      int64  `json:"expiry_date"` // milliseconds
	}
	if err != nil || json.Unmarshal(data, &login) != nil {
		return adapter.AuthState{Status: adapter.AuthUnknown, Method: "oauth", Details: declared.Unreadable(path)}
	}
	if login.AccessToken == "" {
		return adapter.AuthState{Status: adapter.Unauthenticated, Method: "oauth", Details: accountEnd}
	}
	details := accountEnd
	if login.Expiry > 0 && time.UnixMilli(login.Expiry).Before(now) {
		details = "the stored token expired on " + time.UnixMilli(login.Expiry).UTC().Format(time.DateOnly) + "; " + accountEnd
	}
	return adapter.AuthState{Status: adapter.AuthExpired, Method: "oauth", Details: details}
}
