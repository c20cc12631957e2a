package claude

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/catalog"
)

func host(env map[string]string, files fstest.MapFS) adapter.Host {
	return adapter.Host{FS: files, Home: "/home/ann", Platform: "linux", Getenv: func(k string) string { return env[k] },
		LookPath: func(name string) (string, error) { return "/usr/bin/" + name, nil },
		Spawn: func(_ context.Context, c adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			if c.Command != "/usr/bin/claude" || strings.Join(c.Args, " ") != "--version" {
				return adapter.SpawnOutcome{}, fmt.Errorf("asked to run %v", c)
			}
			return adapter.SpawnOutcome{Stdout: "2.1.329 (Claude Code)\n"}, nil
		}}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	a := New(cliagent.Options{})
	in, err := a.Probe(t.Context(), host(nil, fstest.MapFS{"home/ann/.claude/settings.json": {Data: []byte(`{"model":"opus"}`)}}))
	if want := (adapter.Installation{Installed: true, Path: "/usr/bin/claude", Version: "2.1.329", ActiveModel: "opus"}); err != nil || in != want {
		t.Errorf("got %+v, %v, want %+v", in, err, want)
	}
	h := host(map[string]string{"ANTHROPIC_MODEL": "sonnet"}, nil)
	if in, err = a.Probe(t.Context(), h); err != nil || in.ActiveModel != "sonnet" {
		t.Errorf("got %+v, %v, want the model of the environment", in, err)
	}
	h.LookPath = func(string) (string, error) { return "", errors.New("not here") }
	if in, err = a.Probe(t.Context(), h); err != nil || in.Installed || in.Notes == "" {
		t.Errorf("got %+v, %v for an agent that is not there", in, err)
	}
}

func TestDetectAuth(t *testing.T) {
	t.Parallel()
	login := func(rest string, expires time.Duration) fstest.MapFS {
		return fstest.MapFS{
			"home/ann/.claude/.credentials.json": {Data: fmt.Appendf(nil, `{"claudeAiOauth":{"accessToken":"sk-secret","expiresAt":%d,"subscriptionType":"max"%s}}`, time.Now().Add(expires).UnixMilli(), rest)},
			"home/ann/.claude.json":              {Data: []byte(`{"oauthAccount":{"emailAddress":"ann@example.com"}}`)},
		}
	}
	tests := []struct {
		name     string
		env      map[string]string
		files    fstest.MapFS
		platform string
		status   adapter.AuthStatus
		method   string
		identity string
	}{
		{name: "nothing", status: adapter.Unauthenticated},
		{name: "nothing on macOS", platform: "darwin", status: adapter.AuthUnknown},
		{name: "key", env: map[string]string{"ANTHROPIC_API_KEY": "sk-secret"}, status: adapter.Authenticated, method: "api_key"},
		{name: "token before key", env: map[string]string{"ANTHROPIC_API_KEY": "a", "ANTHROPIC_AUTH_TOKEN": "b"}, status: adapter.Authenticated, method: "auth_token"},
		{name: "long-lived token", env: map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "x"}, status: adapter.Authenticated, method: "oauth"},
		{name: "bedrock", env: map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_API_KEY": "a"}, status: adapter.AuthUnknown, method: "bedrock"},
		{name: "bedrock off", env: map[string]string{"CLAUDE_CODE_USE_BEDROCK": "0", "ANTHROPIC_API_KEY": "a"}, status: adapter.Authenticated, method: "api_key"},
		{name: "login", files: login("", time.Hour), status: adapter.Authenticated, method: "oauth", identity: "ann@example.com"},
		{name: "login that renews itself", files: login(`,"refreshToken":"sk-secret"`, -time.Hour), status: adapter.Authenticated, method: "oauth", identity: "ann@example.com"},
		{name: "expired", files: login("", -time.Hour), status: adapter.AuthExpired, method: "oauth", identity: "ann@example.com"},
		{name: "moved", env: map[string]string{"CLAUDE_CONFIG_DIR": "/cfg"}, files: fstest.MapFS{"cfg/.credentials.json": {Data: []byte(`{"claudeAiOauth":{"accessToken":"sk-secret"}}`)},
			"cfg/.claude.json": {Data: []byte(`{"oauthAccount":{"emailAddress":"bob@example.com"}}`)}}, status: adapter.Authenticated, method: "oauth", identity: "bob@example.com"},
		{name: "garbage", files: fstest.MapFS{"home/ann/.claude/.credentials.json": {Data: []byte("sk-secret")}}, status: adapter.AuthUnknown},
		{name: "other logins only", files: fstest.MapFS{"home/ann/.claude/.credentials.json": {Data: []byte(`{"mcpOAuth":{}}`)}}, status: adapter.Unauthenticated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := host(tt.env, tt.files)
			if tt.platform != "" {
				h.Platform = tt.platform
			}
			got := New(cliagent.Options{}).DetectAuth(t.Context(), h)
			if got.Status != tt.status || got.Method != tt.method || got.Identity != tt.identity {
				t.Errorf("got %+v, want %s %s %s", got, tt.status, tt.method, tt.identity)
			}
			if strings.Contains(fmt.Sprint(got), "secret") {
				t.Errorf("the state holds a secret: %+v", got)
			}
		})
	}
}

func TestDescriptor(t *testing.T) {
	t.Parallel()
	r := catalog.Builtins(host(nil, nil))
	for _, name := range []string{"claude", "claude-code"} {
		if info, err := r.Detect(t.Context(), name); err != nil || info == nil || info.Version != "2.1.329" || !info.MeetsMinVersion || !info.WithinTested {
			t.Errorf("%s: got %+v, %v", name, info, err)
		}
	}
	if err := capabilities().Validate(); err != nil {
		t.Error(err)
	}
	a := Descriptor().New()
	if _, ok := adapter.As[adapter.Negotiator](a); !ok {
		t.Error("the adapter does not negotiate")
	}
	if _, ok := adapter.As[adapter.Retrier](a); !ok {
		t.Error("the adapter does not retry")
	}
	if _, ok := adapter.As[adapter.Prober](a); !ok {
		t.Error("the adapter does not probe")
	}
}
