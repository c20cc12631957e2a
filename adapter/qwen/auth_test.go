package qwen

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
)

// host is a computer with the given variables and files, with qwen and a Node.js of the given version.
func host(node string, env map[string]string, files fstest.MapFS) adapter.Host {
	return adapter.Host{FS: files, Home: "/home/ann", Platform: "linux", Getenv: func(k string) string { return env[k] },
		LookPath: func(name string) (string, error) {
			if name == "node" && node == "" {
				return "", errors.New("not here")
			}
			return "/usr/bin/" + name, nil
		},
		Spawn: func(_ context.Context, c adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			switch {
			case strings.Join(c.Args, " ") != "--version":
				return adapter.SpawnOutcome{}, fmt.Errorf("asked to run %v", c)
			case c.Command == "/usr/bin/node":
				return adapter.SpawnOutcome{Stdout: node + "\n"}, nil
			}
			return adapter.SpawnOutcome{Stdout: "0.24.4\n"}, nil
		}}
}

func with(pairs ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		files[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return files
}

func TestProbe(t *testing.T) {
	t.Parallel()
	a := New(cliagent.Options{})
	files := with("home/ann/.qwen/settings.json", "// mine\n{\"model\": {\"name\": \"qwen-max\"} /* best */}")
	in, err := a.Probe(t.Context(), host("v22.12.0", nil, files))
	if want := (adapter.Installation{Installed: true, Path: "/usr/bin/qwen", Version: "0.24.4", ActiveModel: "qwen-max"}); err != nil || in != want {
		t.Errorf("got %+v, %v, want %+v", in, err, want)
	}
	if in, err = a.Probe(t.Context(), host("v18.20.1", nil, nil)); err != nil || !in.Installed || !strings.Contains(in.Notes, "18.20.1") {
		t.Errorf("got %+v, %v, want a note of the old Node.js", in, err)
	}
	// What brings its own Node.js needs none on PATH.
	if in, err = a.Probe(t.Context(), host("", nil, nil)); err != nil || !in.Installed || in.Notes != "" {
		t.Errorf("got %+v, %v", in, err)
	}
	moved := host("v22.12.0", map[string]string{"QWEN_HOME": "~/q"}, with("home/ann/q/settings.json", `{"model":{"name":"qwen-plus"}}`))
	if in, err = a.Probe(t.Context(), moved); err != nil || in.ActiveModel != "qwen-plus" {
		t.Errorf("got %+v, %v, want the model of QWEN_HOME", in, err)
	}
}

func TestDetectAuth(t *testing.T) {
	t.Parallel()
	const dir = "home/ann/.qwen/"
	chooses := func(kind, more string) string {
		return `{"security":{"auth":{"selectedType":"` + kind + `"` + more + `}}}`
	}
	login := func(expires time.Duration) string {
		return fmt.Sprintf(`{"access_token":"a-secret","refresh_token":"a-secret","expiry_date":%d}`, time.Now().Add(expires).UnixMilli())
	}
	openai := map[string]string{"OPENAI_API_KEY": "a-secret", "OPENAI_BASE_URL": "http://x", "OPENAI_MODEL": "m"}
	for _, tt := range []struct {
		name   string
		env    map[string]string
		files  fstest.MapFS
		status adapter.AuthStatus
		method string
		says   string // part of the details
	}{
		{"nothing", nil, nil, adapter.Unauthenticated, "", "OPENAI_API_KEY"},
		{"the three variables", openai, nil, adapter.Authenticated, "api_key", "OPENAI_API_KEY is set"},
		{"a key without a model", map[string]string{"OPENAI_API_KEY": "a-secret"}, nil, adapter.Unauthenticated, "api_key", "OPENAI_BASE_URL and OPENAI_MODEL"},
		{"Anthropic", map[string]string{"ANTHROPIC_API_KEY": "a-secret", "ANTHROPIC_BASE_URL": "http://x", "ANTHROPIC_MODEL": "m"}, nil,
			adapter.Authenticated, "api_key", "ANTHROPIC_API_KEY"},
		{"Anthropic without its address", map[string]string{"ANTHROPIC_API_KEY": "a-secret", "ANTHROPIC_MODEL": "m"}, nil, adapter.Unauthenticated, "api_key", "ANTHROPIC_BASE_URL"},
		{"Gemini", map[string]string{"GEMINI_API_KEY": "a-secret", "GEMINI_MODEL": "m"}, nil, adapter.Authenticated, "api_key", "GEMINI_API_KEY"},
		{"Gemini without a model", map[string]string{"GEMINI_API_KEY": "a-secret"}, nil, adapter.Unauthenticated, "api_key", "GEMINI_MODEL"},
		{"Google Cloud", map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_MODEL": "m"}, nil, adapter.AuthUnknown, "vertex-ai", "Google Cloud"},
		{"selected, with a key of the environment", map[string]string{"OPENAI_API_KEY": "a-secret"}, with(dir+"settings.json", chooses("openai", "")),
			adapter.Authenticated, "api_key", "OPENAI_API_KEY is set"},
		{"selected, with a key of the settings", nil, with(dir+"settings.json", "// mine\n"+chooses("openai", `,"apiKey":"a-secret",`)),
			adapter.Authenticated, "api_key", "/home/ann/.qwen/settings.json"},
		{"selected, without a key", nil, with(dir+"settings.json", chooses("openai", "")), adapter.Unauthenticated, "api_key", "there is no OPENAI_API_KEY"},
		{"selected, with the settings' variables", nil, with(dir+"settings.json", `{"env":{"OPENAI_API_KEY":"a-secret"},"security":{"auth":{"selectedType":"openai"}}}`),
			adapter.Authenticated, "api_key", "stored in the user's files"},
		{"a provider with a variable of its own", map[string]string{"BAILIAN_CODING_PLAN_API_KEY": "a-secret"},
			with(dir+"settings.json", `{"security":{"auth":{"selectedType":"openai"}},"model":{"name":"m"},"modelProviders":{"openai":[{"id":"m","envKey":"BAILIAN_CODING_PLAN_API_KEY"}]}}`),
			adapter.Authenticated, "api_key", "BAILIAN_CODING_PLAN_API_KEY is set"},
		{"a provider without its variable", map[string]string{"OPENAI_API_KEY": "a-secret"},
			with(dir+"settings.json", `{"security":{"auth":{"selectedType":"openai"}},"model":{"name":"m"},"modelProviders":{"openai":[{"id":"m","envKey":"OTHER_KEY"}]}}`),
			adapter.Unauthenticated, "api_key", "there is no OTHER_KEY"},
		{"a file of variables", nil, with(dir+".env", "# x\nexport OPENAI_API_KEY='a-secret'\nOPENAI_BASE_URL=http://x\nOPENAI_MODEL = m\n"),
			adapter.Authenticated, "api_key", "stored in the user's files"},
		{"an unknown kind", nil, with(dir+"settings.json", chooses("carrier-pigeon", "")), adapter.AuthUnknown, "carrier-pigeon", "unknown kind"},
		{"an account that has expired", nil, with(dir+"settings.json", chooses("qwen-oauth", ""), dir+"oauth_creds.json", login(-time.Hour)),
			adapter.AuthExpired, "oauth", "the stored token expired on"},
		{"an account whose servers are gone", nil, with(dir+"settings.json", chooses("qwen-oauth", ""), dir+"oauth_creds.json", login(time.Hour)),
			adapter.AuthExpired, "oauth", "ended on 2026-04-15"},
		{"an account that nobody selected", nil, with(dir+"oauth_creds.json", login(time.Hour)), adapter.AuthExpired, "oauth", "ended on"},
		{"no account", nil, with(dir+"settings.json", chooses("qwen-oauth", "")), adapter.Unauthenticated, "oauth", "ended on"},
		{"garbage as settings", openai, with(dir+"settings.json", "\x00a-secret"), adapter.AuthUnknown, "", "/home/ann/.qwen/settings.json"},
		{"settings of another shape", openai, with(dir+"settings.json", `{"security":"a-secret"}`), adapter.AuthUnknown, "", "/home/ann/.qwen/settings.json"},
		{"garbage as account", nil, with(dir+"settings.json", chooses("qwen-oauth", ""), dir+"oauth_creds.json", "a-secret"), adapter.AuthUnknown, "oauth",
			"/home/ann/.qwen/oauth_creds.json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := New(cliagent.Options{}).DetectAuth(t.Context(), host("", tt.env, tt.files))
			if got.Status != tt.status || got.Method != tt.method || !strings.Contains(got.Details, tt.says) {
				t.Errorf("got %+v", got)
			}
			if strings.Contains(fmt.Sprintf("%+v", got), "a-secret") {
				t.Errorf("it shows a secret: %+v", got)
			}
		})
	}
}

func TestAuthGuidance(t *testing.T) {
	t.Parallel()
	g := New(cliagent.Options{}).AuthGuidance()
	if g.Provider == "" || len(g.Steps) == 0 || len(g.Documentation) == 0 {
		t.Fatalf("got %+v", g)
	}
	for _, v := range g.EnvVars {
		if !strings.Contains(fmt.Sprint(Descriptor().Keys), v.Name) && strings.HasSuffix(v.Name, "_KEY") {
			t.Errorf("%s is a key that the descriptor does not name", v.Name)
		}
	}
}
