package declarative

import (
	"cmp"
	"context"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// variables returns the names of the login's variables.
func (e *Entry) variables() (names []string) {
	for _, v := range e.Login.Variables {
		names = append(names, v.Name)
	}
	return names
}

func (e *Entry) authMethods() (list []execution.AuthMethod) {
	if names := e.variables(); len(names) > 0 {
		list = append(list, execution.AuthMethod{Type: "api_key", Name: "key in a variable", Description: strings.Join(names, ", ")})
	}
	if len(e.Login.Command) > 0 {
		list = append(list, execution.AuthMethod{Type: "config_file", Name: "the program's own login", Description: strings.Join(e.Login.Command, " ")})
	}
	return list
}

// loginHint is what to type to log in.
func (f *form) loginHint() string {
	var ways []string
	if names := f.variables(); len(names) > 0 {
		ways = append(ways, "set "+strings.Join(names, " or "))
	}
	if len(f.Login.Command) > 0 {
		ways = append(ways, "log in with: "+strings.Join(f.Login.Command, " "))
	}
	return cmp.Or(strings.Join(ways, ", or "), f.Docs)
}

// DetectAuth checks the variables of the login. Another login of the program is not checked.
func (d described) DetectAuth(_ context.Context, h adapter.Host) adapter.AuthState {
	f := d.form
	var missing []string
	required := 0
	for _, v := range f.Login.Variables {
		set := h.Getenv(v.Name) != "" || f.Environment[v.Name] != ""
		switch {
		case v.Required:
			if required++; !set {
				missing = append(missing, v.Name)
			}
		case set:
			return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: v.Name + " is set"}
		}
	}
	switch {
	case len(missing) > 0:
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: "not set: " + strings.Join(missing, ", ") + "; " + f.loginHint()}
	case required > 0:
		return adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: "every required variable is set"}
	}
	// The program may have another login, such as a file of its own.
	return adapter.AuthState{Status: adapter.AuthUnknown, Details: cmp.Or(f.loginHint(), "unknown until the program runs")}
}

// AuthGuidance returns what the entry says about logins.
func (d described) AuthGuidance() adapter.AuthGuidance {
	f := d.form
	g := adapter.AuthGuidance{Provider: cmp.Or(f.Login.Provider, f.DisplayName), LoginCommand: strings.Join(f.Login.Command, " ")}
	if f.Docs != "" {
		g.Documentation = []string{f.Docs}
	}
	for _, v := range f.Login.Variables {
		g.EnvVars = append(g.EnvVars, adapter.AuthVariable{Name: v.Name, Description: cmp.Or(v.Description, "a key"), Required: v.Required})
		g.Steps = append(g.Steps, adapter.AuthStep{Description: "set " + v.Name + ": " + cmp.Or(v.Description, "a key")})
	}
	if g.LoginCommand != "" {
		g.Steps = append(g.Steps, adapter.AuthStep{Description: "use the program's own login", Command: g.LoginCommand})
	}
	if len(g.Steps) == 0 {
		g.Steps = []adapter.AuthStep{{Description: "log in with the program's own command, if it needs a login", URL: f.Docs}}
	}
	return g
}
