package pi

import (
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
)

// login is detected from the providers' variables, auth.json, and the providers of one's own in models.json. Which of
// them a run uses depends on its model.
var login = declared.LoginTable{
	Variables: declared.APIKeys(keys...),
	Stored:    storedLogin,
	Guidance: adapter.AuthGuidance{
		Provider: "any of Pi's model providers",
		Steps: []adapter.AuthStep{
			{Description: "with an account or a key: start pi, type /login and choose the provider", Command: "pi"},
			{Description: "or with a key: set the provider's variable"},
			{Description: "or with a provider of your own, such as a local server: describe it in ~/.pi/agent/models.json", URL: "https://pi.dev/docs/models"},
		},
		EnvVars:       declared.ProviderKeys("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"),
		Documentation: []string{"https://pi.dev/docs/providers"},
		LoginCommand:  "pi",
	},
}

func storedLogin(h adapter.Host, now time.Time) adapter.AuthState {
	state := declared.File{Agent: "pi", Dir: home, Name: "auth.json", Hint: loginGuidance, Missing: ownProvider, Read: declared.ReadProviders}.State(h, now)
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
		Details: "models.json has providers of one's own, whose keys are not checked: " + declared.Names(found.Providers)}
}
