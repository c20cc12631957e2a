package declared

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// Model is the model of a run that names none.
type Model func(adapter.Host) string

// Setting is the model of a variable, or else of a member of a settings file in JSON, in which comments may stand.
func Setting(variable string, d Dir, file string, path ...string) Model {
	return func(h adapter.Host) string {
		if model := h.Getenv(variable); model != "" {
			return model
		}
		data, err := d.Read(h, file)
		if err != nil {
			return ""
		}
		for _, member := range path {
			var object map[string]json.RawMessage
			if UnmarshalJSONC(data, &object) != nil {
				return ""
			}
			data = object[member]
		}
		var model string
		_ = json.Unmarshal(data, &model) // anything else names no model
		return model
	}
}

// UnmarshalJSONC reads JSON with comments and trailing commas. An error says nothing of the text, which may hold secrets.
func UnmarshalJSONC(data []byte, v any) error {
	plain, err := hujson.Standardize(append(data[:len(data):len(data)], '\n')) // a comment may end the text
	if err != nil || json.Unmarshal(plain, v) != nil {
		return errShape
	}
	return nil
}

var errShape = errors.New("it is not JSON of the expected shape")

// Note says what is wrong with an installation of a version.
type Note func(ctx context.Context, h adapter.Host, version string) string

// LoginTable is how an agent logs in.
type LoginTable struct {
	Variables []Variable // in the order in which the agent takes them
	// Stored looks at the files of a login; it is asked where no variable decides.
	Stored   func(h adapter.Host, now time.Time) adapter.AuthState
	Guidance adapter.AuthGuidance
}

// Variable is a variable that decides about a login.
type Variable struct {
	Name, Method string
	Elsewhere    string // the variable is a switch: the login is somewhere else, which is not looked at
}

// LoginsOf makes an adapter.Prober and an adapter.AuthGuide of the table.
type LoginsOf[D Declares] struct{}

// Probe looks for the agent's command, asks it for its version and reads the model of the user's settings.
func (LoginsOf[D]) Probe(ctx context.Context, h adapter.Host) (adapter.Installation, error) {
	t := of[D]()
	in, err := cliagent.DetectVersion(ctx, h, t.Command)
	if err != nil || !in.Installed {
		return in, err
	}
	if t.Model != nil {
		in.ActiveModel = t.Model(h)
	}
	if t.Note != nil && in.Notes == "" {
		in.Notes = t.Note(ctx, h, in.Version)
	}
	return in, ctx.Err()
}

// DetectAuth looks at variables and files, in the order in which the agent takes them.
func (LoginsOf[D]) DetectAuth(_ context.Context, h adapter.Host) adapter.AuthState {
	l := of[D]().Login
	for _, v := range l.Variables {
		switch value := h.Getenv(v.Name); {
		case value == "", v.Elsewhere != "" && (value == "0" || value == "false"):
		case v.Elsewhere != "":
			return adapter.AuthState{Status: adapter.AuthUnknown, Method: v.Method,
				Details: v.Name + " is set: " + v.Elsewhere + ", whose login is not looked at"}
		default:
			return adapter.AuthState{Status: adapter.Authenticated, Method: v.Method, Details: v.Name + " is set"}
		}
	}
	return l.Stored(h, time.Now())
}

// AuthGuidance tells how to log in.
func (LoginsOf[D]) AuthGuidance() adapter.AuthGuidance { return of[D]().Login.Guidance }

// File is a login that an agent keeps in a file of JSON.
type File struct {
	Agent  string
	Dir    Dir
	Name   string
	Hint   string // how to log in
	Method string // of what cannot be read
	// Read reads the login. Only what is not JSON of the expected shape is an error, which is not shown: it could quote the file.
	Read func(h adapter.Host, data []byte) (Token, error)
	// Missing is what it means that there is no file; nil: that nobody is logged in.
	Missing func(h adapter.Host) adapter.AuthState
}

// Token is a login in a file. It holds no secret.
type Token struct {
	Method, Identity, Details string // without a method nobody is logged in
	Expires                   time.Time
	Renews                    bool // the agent renews it by itself
}

// State is what the file says of the login.
func (f File) State(h adapter.Host, now time.Time) adapter.AuthState {
	data, err := f.Dir.Read(h, f.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.Missing != nil:
		return f.Missing(h)
	case errors.Is(err, fs.ErrNotExist):
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: f.Hint}
	case err != nil:
		return adapter.AuthState{Status: adapter.AuthUnknown, Method: f.Method, Details: fmt.Sprintf("read the login: %v", err)}
	}
	token, err := f.Read(h, data)
	switch {
	case err != nil:
		return adapter.AuthState{Status: adapter.AuthUnknown, Method: f.Method, Details: Unreadable(f.Dir.Path(h, f.Name))}
	case token.Method == "":
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: f.Dir.Path(h, f.Name) + " holds no login; " + f.Hint}
	}
	state := adapter.AuthState{Status: adapter.Authenticated, Method: token.Method, Identity: token.Identity, Details: token.Details,
		ExpiresAt: token.Expires}
	if token.Expires.IsZero() || !token.Expires.Before(now) {
		return state
	}
	state.Details = "the access token has expired; " + f.Agent + " renews it by itself"
	if !token.Renews {
		state.Status, state.Details = adapter.AuthExpired, f.Hint
	}
	return state
}

// Unreadable says that a file of a login has another form than expected.
func Unreadable(path string) string { return path + " cannot be read: " + errShape.Error() }

// Claims are what a token says of itself.
type Claims struct {
	Expires int64  `json:"exp"` // seconds
	Email   string `json:"email"`
}

// ReadClaims reads a JSON Web Token without a check of its signature: nothing is granted for it. Another text has no claims.
func ReadClaims(token string) (c Claims) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &c) != nil {
		return Claims{}
	}
	return c
}

// ReadEnv reads a file of variables into a map, NAME=VALUE by line.
func ReadEnv(text string, into map[string]string) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if name = strings.TrimSpace(name); ok && name != "" && !strings.HasPrefix(name, "#") {
			into[name] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
}
