package declared

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
)

// providerKeys describes the keys of the model APIs for agents that use any of them.
var providerKeys = map[string]adapter.AuthVariable{
	"ANTHROPIC_API_KEY":  {Description: "key of the Anthropic API", Example: "sk-ant-..."},
	"OPENAI_API_KEY":     {Description: "key of the OpenAI API", Example: "sk-..."},
	"GEMINI_API_KEY":     {Description: "key of the Gemini API"},
	"GOOGLE_API_KEY":     {Description: "key of the Gemini API"},
	"OPENROUTER_API_KEY": {Description: "key of OpenRouter"},
}

// ProviderKeys describes keys of model APIs by the names of their variables.
func ProviderKeys(names ...string) []adapter.AuthVariable {
	list := make([]adapter.AuthVariable, 0, len(names))
	for _, n := range names {
		v := providerKeys[n]
		v.Name = n
		list = append(list, v)
	}
	return list
}

// APIKeys returns variables that each log in with a key.
func APIKeys(names ...string) []Variable {
	list := make([]Variable, 0, len(names))
	for _, n := range names {
		list = append(list, Variable{Name: n, Method: "api_key"})
	}
	return list
}

// ReadProviders is File.Read for a file of logins by provider, of which only the kind and the expiry are read. The agent renews an
// expired token.
func ReadProviders(_ adapter.Host, text []byte) (Token, error) {
	var found map[string]struct {
		Type    string `json:"type"`    // api or api_key, oauth, wellknown
		Expires int64  `json:"expires"` // of an oauth token, milliseconds since 1970
	}
	if err := UnmarshalJSONC(text, &found); err != nil || len(found) == 0 {
		return Token{}, err
	}
	providers := slices.Sorted(maps.Keys(found))
	t := Token{Method: "oauth", Identity: strings.Join(providers, ", "), Details: "logged in to " + strings.Join(providers, ", "), Renews: true}
	if only := found[providers[0]]; len(providers) == 1 {
		if strings.HasPrefix(only.Type, "api") {
			t.Method = "api_key"
		}
		if only.Expires > 0 {
			t.Expires = time.UnixMilli(only.Expires)
		}
	}
	return t, nil
}

// Names returns the member names of a JSON object, sorted and joined, for a list of providers of one's own.
func Names(object map[string]json.RawMessage) string {
	return strings.Join(slices.Sorted(maps.Keys(object)), ", ")
}
