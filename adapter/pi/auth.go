package pi

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
)

// login is detected from the providers' variables, auth.json, and the providers of one's own in models.json. Which of
// them a run uses depends on its model.
var login = declared.LoginTable{
	Variables: variables(),
	Stored:    storedLogin,
	Guidance: adapter.AuthGuidance{
		Provider: "any of Pi's model providers",
		Steps: []adapter.AuthStep{
			{Description: "with an account or a key: start pi, type /login and choose the provider", Command: "pi"},
			{Description: "or with a key: set the provider's variable"},
			{Description: "or with a provider of your own, such as a local server: describe it in ~/.pi/agent/models.json", URL: "https://pi.dev/docs/models"},
		},
		EnvVars: []adapter.AuthVariable{
			{Name: "ANTHROPIC_API_KEY", Description: "key of the Anthropic API", Example: "sk-ant-..."},
			{Name: "OPENAI_API_KEY", Description: "key of the OpenAI API", Example: "sk-..."},
			{Name: "GEMINI_API_KEY", Description: "key of the Gemini API"},
			{Name: "OPENROUTER_API_KEY", Description: "key of OpenRouter"},
		},
		Documentation: []string{"https://pi.dev/docs/providers"},
		LoginCommand:  "pi",
	},
}

func variables() []declared.Variable {
	list := make([]declared.Variable, 0, len(keys))
	for _, k := range keys {
		list = append(list, declared.Variable{Name: k, Method: "api_key"})
	}
	return list
}

// credential is a login in auth.json; whether it holds a key is all that is read of it.
type credential struct {
	Type    string `json:"type"`    // api_key, oauth
	Expires int64  `json:"expires"` // of an oauth token, milliseconds since 1970; Pi renews it
}

func storedLogin(h adapter.Host, now time.Time) adapter.AuthState {
	file := declared.File{Agent: "pi", Dir: home, Name: "auth.json", Hint: loginGuidance, Missing: ownProvider,
		Read: func(h adapter.Host, data []byte) (declared.Token, error) {
			var found map[string]credential
			if err := declared.UnmarshalJSONC(data, &found); err != nil || len(found) == 0 {
				return declared.Token{}, err
			}
			providers := slices.Sorted(maps.Keys(found))
			c := found[providers[0]]
			t := declared.Token{Method: c.Type, Identity: strings.Join(providers, ", "), Details: "logged in to " + strings.Join(providers, ", "), Renews: true}
			if len(providers) == 1 && c.Expires > 0 {
				t.Expires = time.UnixMilli(c.Expires)
			}
			return t, nil
		}}
	state := file.State(h, now)
	if state.Status == adapter.Unauthenticated {
		return ownProvider(h)
	}
	return state
}

// ownProvider finds the providers of models.json, whose keys Pi reads from variables and commands named there.
func ownProvider(h adapter.Host) adapter.AuthState {
	data, err := home.Read(h, "models.json")
	if errors.Is(err, fs.ErrNotExist) {
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: loginGuidance}
	}
	var found struct {
		Providers map[string]json.RawMessage `json:"providers"`
	}
	if err != nil || declared.UnmarshalJSONC(data, &found) != nil {
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: declared.Unreadable(home.Path(h, "models.json"))}
	}
	if len(found.Providers) == 0 {
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: loginGuidance}
	}
	return adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file",
		Details: "models.json has providers of one's own, whose keys are not checked: " + strings.Join(slices.Sorted(maps.Keys(found.Providers)), ", ")}
}
