package declared

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/configfile"
)

// Model returns the model of a run that names none.
type Model func(adapter.Host) string

// Setting returns a Model that reads a variable, or else a member of a settings file: YAML if it is named so, else JSON with
// comments.
func Setting(variable string, d Dir, file string, path ...string) Model {
	return func(h adapter.Host) string {
		if model := h.Getenv(variable); model != "" {
			return model
		}
		data, err := d.Read(h, file)
		if err != nil {
			return ""
		}
		format := configfile.JSON5 // agents accept different parts of it
		if ext := filepath.Ext(file); ext == ".yml" || ext == ".yaml" {
			format = configfile.YAML
		}
		doc, err := configfile.Parse(format, file, data)
		if err != nil {
			return ""
		}
		v, _ := doc.Get(path)
		model, _ := v.(string) // a value of another type names no model
		return model
	}
}

// UnmarshalJSONC is cliagent.UnmarshalJSONC with an error that does not quote the text, which may contain secrets.
func UnmarshalJSONC(data []byte, v any) error {
	if cliagent.UnmarshalJSONC(data, v) != nil {
		return errShape
	}
	return nil
}

var errShape = errors.New("it is not JSON of the expected shape")

// Note returns a warning about an installation of a version.
type Note func(ctx context.Context, h adapter.Host, version string) string

// LoginTable describes how an agent logs in.
type LoginTable struct {
	Variables []Variable // in the agent's order of precedence
	// Stored inspects the stored login; it is called if no variable decides.
	Stored   func(h adapter.Host, now time.Time) adapter.AuthState
	Guidance adapter.AuthGuidance
}

// Variable is a variable that decides the login.
type Variable struct {
	Name, Method string
	Elsewhere    string // set for a switch: the login is kept elsewhere and not checked
}

// LoginsOf implements adapter.Prober and adapter.AuthGuide from the table.
type LoginsOf[D Declares] struct{}

// Probe finds the agent's command, asks for its version and reads the model of the user's settings.
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

// DetectAuth checks variables, then the stored login, in the agent's order of precedence.
func (LoginsOf[D]) DetectAuth(_ context.Context, h adapter.Host) adapter.AuthState {
	l := of[D]().Login
	for _, v := range l.Variables {
		switch value := h.Getenv(v.Name); {
		case value == "", v.Elsewhere != "" && (value == "0" || value == "false"):
		case v.Elsewhere != "":
			return adapter.AuthState{Status: adapter.AuthUnknown, Method: v.Method,
				Details: v.Name + " is set: " + v.Elsewhere + ", whose login is not checked"}
		default:
			return adapter.AuthState{Status: adapter.Authenticated, Method: v.Method, Details: v.Name + " is set"}
		}
	}
	return l.Stored(h, time.Now())
}

// AuthGuidance returns how to log in.
func (LoginsOf[D]) AuthGuidance() adapter.AuthGuidance { return of[D]().Login.Guidance }

// File is a login that an agent keeps in a JSON file.
type File struct {
	Agent  string
	Dir    Dir
	Name   string
	Hint   string // how to log in
	Method string // method reported for an unreadable file
	// Read parses the login. An error means unexpected JSON; it is not shown because it could quote the file.
	Read func(h adapter.Host, data []byte) (Token, error)
	// Missing returns the state if the file does not exist; nil means logged out.
	Missing func(h adapter.Host) adapter.AuthState
}

// Token is a login in a file, without its secret.
type Token struct {
	Method, Identity, Details string // an empty method means logged out
	Expires                   time.Time
	Renews                    bool // the agent renews it automatically
}

// State returns the state of the login in the file.
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
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: f.Dir.Path(h, f.Name) + " contains no login; " + f.Hint}
	}
	state := adapter.AuthState{Status: adapter.Authenticated, Method: token.Method, Identity: token.Identity, Details: token.Details,
		ExpiresAt: token.Expires}
	if token.Expires.IsZero() || !token.Expires.Before(now) {
		return state
	}
	state.Details = "the access token has expired; " + f.Agent + " renews it automatically"
	if !token.Renews {
		state.Status, state.Details = adapter.AuthExpired, f.Hint
	}
	return state
}

// StoredFile reports that a login may be in a file that only the agent can read; false if it does not exist.
func StoredFile(h adapter.Host, path string) (adapter.AuthState, bool) {
	shown := path
	if rel, err := filepath.Rel(h.Home, path); err == nil && filepath.IsLocal(rel) {
		shown = "~/" + filepath.ToSlash(rel)
	}
	name, err := h.Name(path)
	if err != nil {
		return adapter.AuthState{}, false
	}
	state := adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file", Details: shown + " exists; only the agent knows whether its login is valid"}
	if _, err = fs.Stat(h.FS, name); err != nil {
		state.Details = shown + " cannot be read"
	}
	return state, !errors.Is(err, fs.ErrNotExist)
}

// StoredIn is a LoginTable.Stored for logins in files that only the agent can read. Without any of them nobody is logged in.
func StoredIn(d Dir, hint string, files ...string) func(adapter.Host, time.Time) adapter.AuthState {
	return func(h adapter.Host, _ time.Time) adapter.AuthState {
		for _, file := range files {
			if state, ok := StoredFile(h, d.Path(h, file)); ok {
				return state
			}
		}
		return adapter.AuthState{Status: adapter.Unauthenticated, Details: hint}
	}
}

// Unreadable returns the message for a login file of an unexpected format.
func Unreadable(path string) string { return path + " cannot be read: " + errShape.Error() }

// Claims are the claims of a token that are read.
type Claims struct {
	Expires int64  `json:"exp"` // seconds since 1970
	Email   string `json:"email"`
}

// ReadClaims reads a JSON Web Token without verifying its signature: nothing is granted for it. Any other text has no
// claims.
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

// ReadEnv reads NAME=VALUE lines into a map.
func ReadEnv(text string, into map[string]string) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if name = strings.TrimSpace(name); ok && name != "" && !strings.HasPrefix(name, "#") {
			into[name] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
}
