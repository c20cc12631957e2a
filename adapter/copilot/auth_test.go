package copilot

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/drawbar/drawbar/adapter"
)

// hostWith is a machine with these variables, and these files below /home/ann/.copilot.
func hostWith(env, files map[string]string) adapter.Host {
	fsys := fstest.MapFS{}
	for name, content := range files {
		path := "home/ann/.copilot/" + name
		if strings.HasPrefix(name, "/") {
			path = name[1:]
		}
		fsys[path] = &fstest.MapFile{Data: []byte(content)}
	}
	return adapter.Host{FS: fsys, Getenv: func(name string) string { return env[name] }, Home: "/home/ann", Platform: "linux"}
}

func TestDetectAuth(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-value"
	for _, tc := range []struct {
		name     string
		env      map[string]string
		files    map[string]string
		want     adapter.AuthStatus
		method   string
		identity string
		details  string
	}{
		{name: "nothing", want: adapter.Unauthenticated, details: "copilot login"},
		{name: "token", env: map[string]string{"COPILOT_GITHUB_TOKEN": secret, "GH_TOKEN": "x"}, want: adapter.Authenticated, method: "github_token", details: "COPILOT_GITHUB_TOKEN is set"},
		{name: "gh token before github token", env: map[string]string{"GITHUB_TOKEN": secret, "GH_TOKEN": secret}, want: adapter.Authenticated, method: "github_token", details: "GH_TOKEN is set"},
		{name: "github token", env: map[string]string{"GITHUB_TOKEN": secret}, want: adapter.Authenticated, method: "github_token", details: "GITHUB_TOKEN is set"},
		{name: "classic token", env: map[string]string{"GH_TOKEN": "ghp_" + secret}, want: adapter.Unauthenticated, method: "github_token", details: "classic"},
		{name: "own provider goes first", env: map[string]string{"COPILOT_PROVIDER_BASE_URL": "http://x", "COPILOT_PROVIDER_API_KEY": secret, "GH_TOKEN": secret}, want: adapter.Authenticated, method: "provider_api_key"},
		{name: "bearer before key", env: map[string]string{"COPILOT_PROVIDER_BASE_URL": "http://x", "COPILOT_PROVIDER_API_KEY": secret, "COPILOT_PROVIDER_BEARER_TOKEN": secret}, want: adapter.Authenticated, method: "provider_bearer_token"},
		{name: "provider without a key", env: map[string]string{"COPILOT_PROVIDER_BASE_URL": "http://x"}, want: adapter.Authenticated, method: "provider"},
		{name: "account, token elsewhere", files: map[string]string{"config.json": "// User settings belong in settings.json.\n{\"lastLoggedInUser\":{\"host\":\"https://github.com\",\"login\":\"ann\"}}"},
			want: adapter.AuthUnknown, method: "oauth", identity: "ann", details: "credential store"},
		{name: "account with a token in the file", files: map[string]string{"config.json": `{"loggedInUsers":[{"host":"https://acme.ghe.com","login":"ann"}],"copilotTokens":{"k":"` + secret + `"}}`},
			want: adapter.Authenticated, method: "oauth", identity: "ann@acme.ghe.com", details: "config.json"},
		{name: "older spelling", files: map[string]string{"config.json": `{"logged_in_users":[{"host":"https://github.com","login":"bob"}],"last_logged_in_user":{"host":"https://github.com","login":"ann"},"copilot_tokens":{"k":"` + secret + `"}}`},
			want: adapter.Authenticated, method: "oauth", identity: "ann"},
		{name: "nobody", files: map[string]string{"config.json": `{"firstLaunchAt":"2026-11-20T16:18:15.070Z"}`}, want: adapter.Unauthenticated},
		{name: "garbage", files: map[string]string{"config.json": "{" + secret}, want: adapter.AuthUnknown, details: "/home/ann/.copilot/config.json"},
		{name: "another shape", files: map[string]string{"config.json": `{"loggedInUsers":"` + secret + `"}`}, want: adapter.AuthUnknown, details: "config.json"},
		{name: "moved home", env: map[string]string{"COPILOT_HOME": "/elsewhere"}, files: map[string]string{"/elsewhere/config.json": `{"loggedInUsers":[{"login":"ann"}]}`},
			want: adapter.AuthUnknown, identity: "ann", method: "oauth"},
		{name: "borrowed from gh", files: map[string]string{"/home/ann/.config/gh/hosts.yml": "github.com:\n  oauth_token: " + secret}, want: adapter.AuthUnknown, method: "gh", details: "hosts.yml"},
		{name: "gh moved", env: map[string]string{"GH_CONFIG_DIR": "/g"}, files: map[string]string{"/g/hosts.yml": "github.com:"}, want: adapter.AuthUnknown, method: "gh", details: "/g/hosts.yml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := Adapter{}.DetectAuth(context.Background(), hostWith(tc.env, tc.files))
			if got.Status != tc.want || tc.method != "" && got.Method != tc.method || got.Identity != tc.identity || !strings.Contains(got.Details, tc.details) {
				t.Errorf("got %+v, want %s by %q, %q, %q", got, tc.want, tc.method, tc.identity, tc.details)
			}
			if strings.Contains(got.Details+got.Identity+got.Method, secret[:6]) {
				t.Errorf("the secret is shown: %+v", got)
			}
		})
	}
}

func TestAuthGuidance(t *testing.T) {
	t.Parallel()
	g := Adapter{}.AuthGuidance()
	if g.LoginCommand != "copilot login" || len(g.Steps) < 4 || len(g.EnvVars) < 4 || len(g.Documentation) == 0 || g.PlatformNotes["linux"] == "" {
		t.Errorf("%+v", g)
	}
}
