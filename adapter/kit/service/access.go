// Package service says how an agent that is a service is reached: its address, and the variables with its keys. What is sent to it
// belongs to the adapters.
package service

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/transport/httpcall"
)

// Access is where a service is, and what opens it. Keys come from variables only.
type Access struct {
	Name  string // of the agent
	Title string // of the service, for people

	Base     string   // default address, without a slash at its end
	BaseVars []string // variables that replace it, the first one set
	Root     func(base string) string
	KeyVars  []string // variables with the key, the first one set
	Keyless  bool     // works without a key
	KeyPage  string   // URL of the page that issues keys, empty if unknown
	// Headers are further headers. In a value, {NAME} is replaced by that variable, which must be set.
	Headers map[string]string
}

// Opened is an access with the values of its variables.
type Opened struct {
	Base, Key string
	Header    http.Header // the further headers
	hidden    []string    // values in them that are secret
}

// shortestKey is the length of the shortest key that is removed: what is shorter, such as the key of a local service, is an ordinary word.
const shortestKey = 8

// Clean removes the keys from a text.
func (o *Opened) Clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for _, secret := range o.Secrets() {
		text = strings.ReplaceAll(text, secret, "[REDACTED]")
	}
	return text
}

// Secrets are the keys that are removed.
func (o *Opened) Secrets() []string {
	return slices.DeleteFunc(append([]string{o.Key}, o.hidden...), func(s string) bool { return len(s) < shortestKey })
}

// Open reads the variables of an access. An error says what is missing and what to type.
func (a *Access) Open(getenv func(string) string) (Opened, *execution.Error) {
	fail := func(code execution.ErrorCode, hint, format string, args ...any) (Opened, *execution.Error) {
		e := execution.Errorf(code, format, args...)
		e.Agent = a.Name
		return Opened{}, e.WithHint("%s", hint)
	}
	o := Opened{Base: a.Base, Header: http.Header{}}
	if value, name := first(getenv, a.BaseVars); value != "" {
		if a.Root != nil {
			value = a.Root(value)
		}
		if !IsAddress(value) {
			return fail(execution.CodeConfig, "set "+name+" to a URL like "+a.Base+": http or https, a host, and no user or query", "%s is not the address of an API", name)
		}
		o.Base = strings.TrimSuffix(value, "/")
	}
	if o.Key, _ = first(getenv, a.KeyVars); o.Key == "" && len(a.KeyVars) > 0 && !a.Keyless {
		return fail(execution.CodeAuth, a.keyHint(), "%s needs a key", a.Title)
	}
	if !printable(o.Key) {
		return fail(execution.CodeAuth, a.keyHint(), "the key of %s contains a character that no header can have", a.Title)
	}
	values := map[string]string{}
	for _, name := range HeaderVariables(a.Headers) {
		value := strings.TrimSpace(getenv(name))
		switch {
		case value == "":
			return fail(execution.CodeAuth, a.keyHint(), "%s needs the variable %s, which is not set", a.Title, name)
		case !printable(value):
			return fail(execution.CodeAuth, a.keyHint(), "the variable %s contains a character that no header can have", name)
		}
		values[name] = value
		o.hidden = append(o.hidden, value)
	}
	for name, value := range a.Headers {
		o.Header.Set(name, placeholders().ReplaceAllStringFunc(value, func(found string) string { return values[strings.Trim(found, "{}")] }))
	}
	return o, nil
}

// IsAddress reports whether a text is the address of a service: http or https, a host, and neither a user nor a query.
func IsAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// placeholders are the variables in the value of a header, as {NAME}.
var placeholders = lazy.Regexp(`\{[A-Za-z_][A-Za-z0-9_]*\}`)

// HeaderVariables returns the variables that the values of headers name as {NAME}, sorted.
func HeaderVariables(headers map[string]string) (names []string) {
	for _, value := range headers {
		for _, found := range placeholders().FindAllString(value, -1) {
			names = append(names, strings.Trim(found, "{}"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Secrets are the variables without which the service refuses a call: the key's, and those of the headers.
func (a *Access) Secrets() []string {
	return append(slices.Clone(a.KeyVars), HeaderVariables(a.Headers)...)
}

// Variables are all variables that an access reads.
func (a *Access) Variables() []string { return append(a.Secrets(), a.BaseVars...) }

// Methods are the ways to log in, none for a service without a key.
func (a *Access) Methods() []execution.AuthMethod {
	if a.Keyless {
		return nil
	}
	return []execution.AuthMethod{{Type: "api_key", Name: a.Secrets()[0]}}
}

// DetectAuth says which of the keys are set. Only the service knows whether they are valid.
func (a *Access) DetectAuth(getenv func(string) string) adapter.AuthState {
	_, name := first(getenv, a.KeyVars)
	set := NonEmpty(name)
	for _, v := range HeaderVariables(a.Headers) {
		if strings.TrimSpace(getenv(v)) == "" {
			return adapter.AuthState{Status: adapter.Unauthenticated, Details: "set " + v}
		}
		set = append(set, v)
	}
	switch {
	case name == "" && len(a.KeyVars) > 0 && !a.Keyless:
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: a.keyHint()}
	case len(set) > 0:
		return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: strings.Join(set, ", ") + " is set"}
	}
	return adapter.AuthState{Status: adapter.AuthUnknown, Details: a.Title + " needs no key"}
}

func (a *Access) keyHint() string {
	hint := "set " + strings.Join(NonEmpty(append([]string{strings.Join(a.KeyVars, " or ")}, HeaderVariables(a.Headers)...)...), " and ")
	if a.KeyPage != "" {
		hint += "; keys: " + a.KeyPage
	}
	return hint
}

// AuthGuidance says how to get a key and where to put it.
func (a *Access) AuthGuidance() adapter.AuthGuidance {
	g := adapter.AuthGuidance{Provider: a.Title}
	if a.Keyless {
		g.Steps = []adapter.AuthStep{{Description: "nothing to do: " + a.Title + " needs no key"}}
		return g
	}
	names := a.Secrets()
	g.Steps = []adapter.AuthStep{{Description: "create a key", URL: a.KeyPage},
		{Description: "set it in your shell", Command: "export " + names[0] + "=..."}}
	g.Documentation = NonEmpty(a.KeyPage)
	for _, name := range names {
		g.EnvVars = append(g.EnvVars, adapter.AuthVariable{Name: name, Description: "key of " + a.Title})
	}
	return g
}

// AddressHint says what to type after a call of an address that was redirected or refused.
func (a *Access) AddressHint(base string, err error) string {
	names := strings.Join(a.BaseVars, ", ")
	if errors.Is(err, httpcall.ErrRedirect) {
		return "set the address that it redirects to, if you trust it: " + names
	}
	return "is it running at " + base + "? Another address: " + names
}

// Install is how a service is installed.
func Install() []adapter.InstallMethod {
	return []adapter.InstallMethod{{Platform: "all", Type: "manual", Notes: "nothing to install: it is a service"}}
}

// Environment returns the variables as a run sees them: its own before the inherited ones, which are name=value.
func Environment(run execution.RunOptions, inherited []string) func(name string) string {
	values := map[string]string{}
	for _, e := range inherited {
		if name, value, ok := strings.Cut(e, "="); ok {
			values[name] = value
		}
	}
	return func(name string) string {
		if value, ok := run.Env[name]; ok {
			return value
		}
		return values[name]
	}
}

// first returns the first variable that is set.
func first(getenv func(string) string, names []string) (value, name string) {
	for _, name := range names {
		if value := strings.TrimSpace(getenv(name)); value != "" {
			return value, name
		}
	}
	return "", ""
}

// printable reports whether a text can be the value of a header that has no space.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// NonEmpty returns the texts that are not empty.
func NonEmpty(list ...string) (kept []string) {
	for _, s := range list {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}
