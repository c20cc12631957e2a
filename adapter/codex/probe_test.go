package codex

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

func host(env map[string]string, files fstest.MapFS) adapter.Host {
	return adapter.Host{FS: files, Home: "/home/ann", Platform: "linux", Getenv: func(k string) string { return env[k] },
		LookPath: func(name string) (string, error) { return "/usr/bin/" + name, nil },
		Spawn: func(_ context.Context, c adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			if c.Command != "/usr/bin/codex" || strings.Join(c.Args, " ") != "--version" {
				return adapter.SpawnOutcome{}, fmt.Errorf("asked to run %v", c)
			}
			return adapter.SpawnOutcome{Stdout: "codex-cli 0.169.0\n"}, nil
		}}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	a := New(cliagent.Options{})
	in, err := a.Probe(t.Context(), host(nil, fstest.MapFS{"home/ann/.codex/config.toml": {Data: []byte("# mine\nmodel = \"gpt-6-sol\" # fast\n[profiles.x]\nmodel = \"other\"\n")}}))
	if want := (adapter.Installation{Installed: true, Path: "/usr/bin/codex", Version: "0.169.0", ActiveModel: "gpt-6-sol"}); err != nil || in != want {
		t.Errorf("got %+v, %v, want %+v", in, err, want)
	}
	h := host(map[string]string{"CODEX_HOME": "/srv/codex"}, fstest.MapFS{"srv/codex/config.toml": {Data: []byte("model = 'gpt-5.5'")}})
	if in, err = a.Probe(t.Context(), h); err != nil || in.ActiveModel != "gpt-5.5" {
		t.Errorf("got %+v, %v, want the model of CODEX_HOME", in, err)
	}
	h.LookPath = func(string) (string, error) { return "", errors.New("not here") }
	if in, err = a.Probe(t.Context(), h); err != nil || in.Installed || in.Notes == "" {
		t.Errorf("got %+v, %v for an agent that is not there", in, err)
	}
}

func TestTopLevelText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`model = "a"`:              "a",
		`"model"='a b'`:            "a b",
		"[t]\nmodel = \"a\"":       "",
		`model = 3`:                "",
		`model = "a`:               "",
		`model = "a\"b"`:           "",
		`models = "a"`:             "",
		"x = 1\n\nmodel = \"y\"\n": "y",
	} {
		if got := topLevelText([]byte(in), "model"); got != want {
			t.Errorf("%q = %q, want %q", in, got, want)
		}
	}
}

// token is a token that says the given claims of itself.
func token(claims string) string {
	return "eyJh." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".secret"
}

func TestDetectAuth(t *testing.T) {
	t.Parallel()
	login := func(content string) fstest.MapFS {
		return fstest.MapFS{"home/ann/.codex/auth.json": {Data: []byte(content)}}
	}
	tokens := func(expires time.Duration, refresh string) fstest.MapFS {
		return login(fmt.Sprintf(`{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":"%s","access_token":"%s","refresh_token":"%s"}}`,
			token(`{"email":"ann@example.com"}`), token(fmt.Sprintf(`{"exp":%d}`, time.Now().Add(expires).Unix())), refresh))
	}
	config := func(content string) fstest.MapFS {
		return fstest.MapFS{"home/ann/.codex/config.toml": {Data: []byte(content)}}
	}
	for _, tt := range []struct {
		name     string
		env      map[string]string
		files    fstest.MapFS
		status   adapter.AuthStatus
		method   string
		identity string
	}{
		{"nothing", nil, nil, adapter.Unauthenticated, "", ""},
		{"key of the environment", map[string]string{"CODEX_API_KEY": "sk-secret"}, nil, adapter.Authenticated, "api_key", ""},
		{"key that codex does not read", map[string]string{"OPENAI_API_KEY": "sk-secret"}, nil, adapter.Unauthenticated, "", ""},
		{"stored key", nil, login(`{"auth_mode":"apikey","OPENAI_API_KEY":"sk-secret"}`), adapter.Authenticated, "api_key", ""},
		{"account", nil, tokens(time.Hour, "r-secret"), adapter.Authenticated, "oauth", "ann@example.com"},
		{"account to renew", nil, tokens(-time.Hour, "r-secret"), adapter.Authenticated, "oauth", "ann@example.com"},
		{"account that has expired", nil, tokens(-time.Hour, ""), adapter.AuthExpired, "oauth", "ann@example.com"},
		{"token of another form", nil, login(`{"tokens":{"access_token":"secret"}}`), adapter.Authenticated, "oauth", ""},
		{"logged out", nil, login(`{"OPENAI_API_KEY":null,"tokens":null}`), adapter.Unauthenticated, "", ""},
		{"broken file", nil, login(`{"OPENAI_API_KEY":"sk-secret`), adapter.AuthUnknown, "", ""},
		{"file of another shape", nil, login(`{"OPENAI_API_KEY":["sk-secret"]}`), adapter.AuthUnknown, "", ""},
		{"own provider", nil, config("model_provider = \"azure\""), adapter.AuthUnknown, "config_file", ""},
		{"keyring", nil, config("cli_auth_credentials_store = \"keyring\""), adapter.AuthUnknown, "keychain", ""},
	} {
		got := New(cliagent.Options{}).DetectAuth(t.Context(), host(tt.env, tt.files))
		if got.Status != tt.status || got.Method != tt.method || got.Identity != tt.identity {
			t.Errorf("%s: got %+v, want %s %s %s", tt.name, got, tt.status, tt.method, tt.identity)
		}
		if strings.Contains(fmt.Sprintf("%+v", got), "secret") {
			t.Errorf("%s: a secret is shown: %+v", tt.name, got)
		}
	}
}

func TestAuthGuidance(t *testing.T) {
	t.Parallel()
	g := New(cliagent.Options{}).AuthGuidance()
	if g.Provider == "" || len(g.Steps) == 0 || g.LoginCommand == "" {
		t.Errorf("the guidance is %+v", g)
	}
}
