package gemini

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
			if c.Command != "/usr/bin/gemini" || strings.Join(c.Args, " ") != "--version" {
				return adapter.SpawnOutcome{}, fmt.Errorf("asked to run %v", c)
			}
			return adapter.SpawnOutcome{Stdout: "0.61.0\n"}, nil
		}}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	a := New(cliagent.Options{})
	in, err := a.Probe(t.Context(), host(nil, fstest.MapFS{"home/ann/.gemini/settings.json": {Data: []byte("// mine\n{\"model\": {\"name\": \"gemini-2.5-pro\"} /* best */}")}}))
	if want := (adapter.Installation{Installed: true, Path: "/usr/bin/gemini", Version: "0.61.0", ActiveModel: "gemini-2.5-pro"}); err != nil || in != want {
		t.Errorf("got %+v, %v, want %+v", in, err, want)
	}
	h := host(map[string]string{"GEMINI_CLI_HOME": "/srv"}, fstest.MapFS{"srv/.gemini/settings.json": {Data: []byte(`{"model":{"name":"flash"}}`)}})
	if in, err = a.Probe(t.Context(), h); err != nil || in.ActiveModel != "flash" {
		t.Errorf("got %+v, %v, want the model of GEMINI_CLI_HOME", in, err)
	}
	h = host(map[string]string{"GEMINI_MODEL": "pro"}, fstest.MapFS{"home/ann/.gemini/settings.json": {Data: []byte(`{"model":{"name":"flash"}}`)}})
	if in, err = a.Probe(t.Context(), h); err != nil || in.ActiveModel != "pro" {
		t.Errorf("got %+v, %v, want the model of the environment", in, err)
	}
	h.LookPath = func(string) (string, error) { return "", errors.New("not here") }
	if in, err = a.Probe(t.Context(), h); err != nil || in.Installed || in.Notes == "" {
		t.Errorf("got %+v, %v for an agent that is not there", in, err)
	}
}

// token is a token that says the given claims of itself.
func token(claims string) string {
	return "eyJh." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".secret"
}

func TestDetectAuth(t *testing.T) {
	t.Parallel()
	const dir = "home/ann/.gemini/"
	with := func(pairs ...string) fstest.MapFS {
		files := fstest.MapFS{}
		for i := 0; i < len(pairs); i += 2 {
			files[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
		}
		return files
	}
	chooses := func(kind string) string { return `{"security":{"auth":{"selectedType":"` + kind + `"}}}` }
	login := func(expires time.Duration, refresh, id string) string {
		return fmt.Sprintf(`{"access_token":"a-secret","refresh_token":%q,"id_token":%q,"expiry_date":%d}`, refresh, id, time.Now().Add(expires).UnixMilli())
	}
	for _, tt := range []struct {
		name     string
		env      map[string]string
		files    fstest.MapFS
		status   adapter.AuthStatus
		method   string
		identity string
		says     string // part of the details
	}{
		{"nothing", nil, nil, adapter.Unauthenticated, "", "", "GEMINI_API_KEY"},
		{"key of the environment", map[string]string{"GEMINI_API_KEY": "secret"}, nil, adapter.Authenticated, "api_key", "", ""},
		{"key that gemini does not use", map[string]string{"GOOGLE_API_KEY": "secret"}, nil, adapter.Unauthenticated, "", "", ""},
		{"key in a file of variables", nil, with(dir+".env", "# x\nexport GEMINI_API_KEY='secret'\n"), adapter.Authenticated, "api_key", "", ""},
		{"empty key in a file of variables", nil, with(dir+".env", "GEMINI_API_KEY=\n"), adapter.Unauthenticated, "", "", ""},
		{"chosen key that is not there", nil, with(dir+"settings.json", chooses(authKey)), adapter.Unauthenticated, "", "", ""},
		{"chosen key in the keyring", nil, with(dir+"settings.json", chooses(authKey), dir+keyringFile, "secret"), adapter.AuthUnknown, "keychain", "", keyringFile},
		{"address alone", map[string]string{"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1", "GEMINI_API_KEY": "secret"}, nil, adapter.Unauthenticated, "", "", "selectedType"},
		{"address and a chosen key", map[string]string{"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1", "GEMINI_API_KEY": "secret"}, with(dir+"settings.json", chooses(authKey)), adapter.Authenticated, "api_key", "", ""},
		{"Vertex AI with a key", map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_API_KEY": "secret"}, nil, adapter.Authenticated, "api_key", "", ""},
		{"Vertex AI without anything", map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "true", "GEMINI_API_KEY": "secret"}, nil, adapter.Unauthenticated, "", "", "GOOGLE_CLOUD_PROJECT"},
		{"Vertex AI with a service account", map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l", "GOOGLE_APPLICATION_CREDENTIALS": "/srv/key.json"},
			with("srv/key.json", `{"type":"service_account","client_email":"robot@example.com","private_key":"secret"}`), adapter.Authenticated, "config_file", "robot@example.com", ""},
		{"Vertex AI with garbage", map[string]string{"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l", "GOOGLE_APPLICATION_CREDENTIALS": "/srv/key.json"},
			with("srv/key.json", "secret"), adapter.AuthUnknown, "config_file", "", "/srv/key.json"},
		{"account", nil, with(dir+"settings.json", chooses(authGoogle), dir+oauthFile, login(time.Hour, "r-secret", token(`{"email":"ann@example.com"}`))), adapter.Authenticated, "oauth", "ann@example.com", ""},
		{"account by its note", nil, with(dir+"settings.json", chooses(authGoogle), dir+oauthFile, login(time.Hour, "r-secret", ""), dir+accountsFile, `{"active":"bea@example.com","old":[]}`), adapter.Authenticated, "oauth", "bea@example.com", ""},
		{"account to renew", nil, with(dir+"settings.json", chooses(authGoogle), dir+oauthFile, login(-time.Hour, "r-secret", "")), adapter.Authenticated, "oauth", "", "renews"},
		{"account that has expired", nil, with(dir+"settings.json", chooses(authGoogle), dir+oauthFile, login(-time.Hour, "", "")), adapter.AuthExpired, "oauth", "", "GEMINI_API_KEY"},
		{"account by the environment", map[string]string{"GOOGLE_GENAI_USE_GCA": "true", "GOOGLE_CLOUD_ACCESS_TOKEN": "secret"}, nil, adapter.Authenticated, "oauth", "", ""},
		{"account that is not chosen", nil, with(dir+oauthFile, login(time.Hour, "r-secret", "")), adapter.Unauthenticated, "", "", "does not choose it"},
		{"logged out", nil, with(dir+"settings.json", chooses(authGoogle)), adapter.Unauthenticated, "", "", ""},
		{"login without a token", nil, with(dir+"settings.json", chooses(authGoogle), dir+oauthFile, `{}`), adapter.Unauthenticated, "", "", oauthFile},
		{"broken login", nil, with(dir+"settings.json", chooses(authGoogle), dir+oauthFile, `{"access_token":"secret`), adapter.AuthUnknown, "oauth", "", oauthFile},
		{"login of another shape", nil, with(dir+"settings.json", chooses(authGoogle), dir+oauthFile, `{"access_token":["secret"]}`), adapter.AuthUnknown, "oauth", "", oauthFile},
		{"broken settings", map[string]string{"GEMINI_API_KEY": "secret"}, with(dir+"settings.json", `{"security": secret`), adapter.AuthUnknown, "", "", "settings.json"},
		{"settings of another shape", nil, with(dir+"settings.json", `{"security":["secret"]}`), adapter.AuthUnknown, "", "", "settings.json"},
		{"machine", map[string]string{"CLOUD_SHELL": "true"}, nil, adapter.AuthUnknown, "oauth", "", ""},
		{"a kind nobody knows", nil, with(dir+"settings.json", chooses("moon")), adapter.AuthUnknown, "", "", "settings.json"},
	} {
		got := New(cliagent.Options{}).DetectAuth(t.Context(), host(tt.env, tt.files))
		if got.Status != tt.status || got.Method != tt.method || got.Identity != tt.identity || !strings.Contains(got.Details, tt.says) {
			t.Errorf("%s: got %+v, want %s %s %s, with %q", tt.name, got, tt.status, tt.method, tt.identity, tt.says)
		}
		if strings.Contains(fmt.Sprintf("%+v", got), "secret") {
			t.Errorf("%s: a secret is shown: %+v", tt.name, got)
		}
	}
}

func TestAuthGuidance(t *testing.T) {
	t.Parallel()
	g := New(cliagent.Options{}).AuthGuidance()
	if g.Provider == "" || len(g.Steps) == 0 || g.LoginCommand == "" || len(g.EnvVars) == 0 || len(g.Documentation) == 0 {
		t.Errorf("the guidance is %+v", g)
	}
}
