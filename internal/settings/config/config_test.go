package config

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// place is a home directory with a project in it.
type place struct {
	t          *testing.T
	user, work string
	env        map[string]string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	root := t.TempDir()
	p := &place{t: t, user: filepath.Join(root, "config", "drawbar"), work: filepath.Join(root, "repo", "sub"), env: map[string]string{}}
	p.env["XDG_CONFIG_HOME"] = filepath.Join(root, "config")
	if err := os.MkdirAll(p.work, 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) write(path, content string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) userFile(content string) { p.write(filepath.Join(p.user, "config.json"), content) }
func (p *place) projectFile(content string) {
	p.write(filepath.Join(filepath.Dir(p.work), ".drawbar", "config.json"), content)
}
func (p *place) getenv(k string) string { return p.env[k] }

func (p *place) read() *Config {
	p.t.Helper()
	c, err := Read(p.work, p.getenv)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func TestLayers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.userFile(`{
		// what I like
		"$schema": "https://example.test/config.json",
		"defaultAgent": "claude", "defaultModel": "user-model", "timeout": 1000, "maxTurns": 5,
		"env": {"A": "1", "B": "2"}, "tags": ["mine"],
		"retryPolicy": {"maxAttempts": 4, "baseDelayMs": 10},
		"agents": {"claude": {"model": "user-claude", "thinkingEffort": "high"}},
	}`)
	p.projectFile(`{"defaultModel": "project-model", "tags": ["theirs"], "timeout": 0, "agents": {"claude": {"maxTurns": 9}}}`)
	p.env["DRAWBAR_MAX_TURNS"] = "7"
	c := p.read()
	origins := map[string]string{}
	for _, v := range c.Values() {
		origins[v.Key] = string(v.Origin.Scope) + " " + string(v.Value)
		if v.Origin.Scope != ScopeDefault && v.Origin.Where == "" {
			t.Errorf("%s: nothing says where %+v is from", v.Key, v.Origin)
		}
	}
	want := map[string]string{
		"defaultAgent": `global "claude"`, "defaultModel": `project "project-model"`, "timeout": "global 1000", "maxTurns": "environment 7",
		"env.A": `global "1"`, "env.B": `global "2"`, "tags": `project ["theirs"]`, "retryPolicy.maxAttempts": "global 4", "retryPolicy.baseDelayMs": "global 10",
		"agents.claude.model": `global "user-claude"`, "agents.claude.thinkingEffort": `global "high"`, "agents.claude.maxTurns": "environment 7",
		"approvalMode": `default "prompt"`, "environment": `default "inherit"`, "gracePeriodMs": "default 5000", "stream": `default "auto"`,
	}
	if !reflect.DeepEqual(origins, want) {
		t.Errorf("got %v\nwant %v", origins, want)
	}
	claude, err := c.Run("claude")
	if err != nil {
		t.Fatal(err)
	}
	// The project's general model goes before the user's model of one agent: layers first, then agents.
	if claude.Model != "project-model" || claude.MaxTurns != 7 || claude.ThinkingEffort != execution.EffortHigh || claude.TimeoutMs != 1000 || claude.Env["B"] != "2" || claude.RetryPolicy.MaxAttempts != 4 {
		t.Errorf("claude: %+v", claude)
	}
	codex, err := c.Run("codex")
	if err != nil || codex.Model != "project-model" || codex.ThinkingEffort != "" {
		t.Errorf("codex: %+v, %v", codex, err)
	}
	if c.DefaultAgent() != "claude" || c.Profile() != "" {
		t.Errorf("default agent %q, profile %q", c.DefaultAgent(), c.Profile())
	}
	if v, ok := c.Get("env"); !ok || string(v.Value) != `{"A":"1","B":"2"}` {
		t.Errorf("env: %s %v", v.Value, ok)
	}
	if _, ok := c.Get("sandbox"); ok {
		t.Error("sandbox is configured")
	}
}

func TestNothingConfigured(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.read()
	if run, err := c.Run("claude"); err != nil || !reflect.DeepEqual(run, execution.RunOptions{}) {
		t.Errorf("got %+v, %v", run, err)
	}
	if c.ProjectPath != filepath.Join(p.work, ".drawbar", "config.json") {
		t.Errorf("the project's file would be %s", c.ProjectPath)
	}
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, user, project, want string
	}{
		{"no JSON", "{", "", "config.json"},
		{"no object", "[]", "", "object"},
		{"unknown key", `{"timout": 1}`, "", `did you mean "timeout"`},
		{"unknown key far from any", `{"zzzzzzzzz": 1}`, "", `unknown key "zzzzzzzzz"`},
		{"unknown key of an agent", `{"agents": {"claude": {"modelx": "x"}}}`, "", `did you mean "model`},
		{"wrong type", `{"timeout": "soon"}`, "", "timeout: want a number"},
		{"a list", `{"worktrees": []}`, "", "worktrees: want an object, not a list"},
		{"an object", `{"timeout": {}}`, "", "timeout: want a number, not an object"},
		{"out of range", `{"maxBudgetUsd": -1}`, "", "maxBudgetUsd"},
		{"no such word", `{"approvalMode": "maybe"}`, "", "approvalMode"},
		{"no model", `{"defaultModel": "-x"}`, "", "defaultModel"},
		{"no model of an agent", `{"agents": {"codex": {"model": "-x"}}}`, "", "agents.codex.model"},
		{"out of range of an agent", `{"agents": {"codex": {"thinkingBudgetTokens": 3}}}`, "", "agents.codex.thinkingBudgetTokens"},
		{"model without agent", `{"models": [{"modelId": "x"}]}`, "", "models[0].agent"},
		{"model without id", `{"models": [{"agent": "x"}]}`, "", "models[0].modelId"},
		{"negative price", `{"models": [{"agent": "x", "modelId": "y", "price": {"input": -1, "output": 0}}]}`, "", "price.input"},
		{"negative window", `{"models": [{"agent": "x", "modelId": "y", "contextWindow": -1}]}`, "", "negative"},
		{"budget without a limit", `{"budgets": [{"run": 1}]}`, "", "budgets[0]: it has no daily, weekly or monthly limit"},
		{"negative budget", `{"budgets": [{"daily": 1, "run": -1}]}`, "", "budgets[0].run: -1 is not a number of dollars"},
		{"budget of a relative path", `{"budgets": [{"daily": 1, "project": "x"}]}`, "", `budgets[0].project: "x" is not an absolute path`},
		{"two budgets of the same runs", `{"budgets": [{"daily": 1}, {"monthly": 1}]}`, "", "budgets[1] is about the same runs as budgets[0]"},
		{"the project has budgets", "", `{"budgets": []}`, "a project cannot set budgets"},
		{"a copy from elsewhere", `{"worktrees": {"copy": [".env", "a/../../x"]}}`, "", `worktrees.copy[1]: "a/../../x" is outside the repository`},
		{"a copy from an absolute path", `{"worktrees": {"copy": ["/etc/passwd"]}}`, "", "worktrees.copy[0]"},
		{"a copy of nothing", "", `{"worktrees": {"copy": [""]}}`, `worktrees.copy[0]: "" names no file`},
		{"no set-up command", "", `{"worktrees": {"setup": " "}}`, `worktrees.setup: " " is not a command`},
		{"bad profile", `{"profile": "../x"}`, "", "not a valid profile name"},
		{"the project approves", "", `{"approvalMode": "yolo"}`, "a project cannot set"},
		{"the project approves for one agent", "", `{"agents": {"claude": {"approvalMode": "yolo"}}}`, "agents.claude.approvalMode"},
		{"the project opens the sandbox", "", `{"sandbox": "none"}`, "a project cannot set"},
		{"the project sets variables", "", `{"env": {"LD_PRELOAD": "x"}}`, "a project cannot set"},
		{"the project starts programs", "", `{"mcpServers": [{"name": "x", "transport": "stdio", "command": "evil"}]}`, "a project cannot set"},
		{"the project chooses a profile", "", `{"profile": "yolo"}`, "a project cannot set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if tt.user != "" {
				p.userFile(tt.user)
			}
			if tt.project != "" {
				p.projectFile(tt.project)
			}
			_, err := Read(p.work, p.getenv)
			if execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "config.json") {
				t.Errorf("got %v, want a CONFIG_ERROR with %q and the file", err, tt.want)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	values := map[string]string{"DRAWBAR_AGENT": "codex", "DRAWBAR_MODEL": "m", "DRAWBAR_PROFILE": "p", "DRAWBAR_APPROVE": "yolo", "DRAWBAR_SANDBOX": "read-only",
		"DRAWBAR_EFFORT": "low", "DRAWBAR_ENVIRONMENT": "minimal", "DRAWBAR_STREAM": "off", "DRAWBAR_TIMEOUT": "90s", "DRAWBAR_IDLE_TIMEOUT": "1m",
		"DRAWBAR_GRACE": "0s", "DRAWBAR_MAX_TURNS": "3", "DRAWBAR_BUDGET": "1.5", "DRAWBAR_ON": "ssh:build1"}
	for o := range execution.Options() {
		if o.Env != "" && values[o.Env] == "" {
			t.Errorf("%s is not tested", o.Env)
		}
	}
	p := newPlace(t)
	maps.Copy(p.env, values)
	c := p.read()
	run, err := c.Run("codex")
	if err != nil {
		t.Fatal(err)
	}
	budget, grace := 1.5, int64(0)
	want := execution.RunOptions{Model: "m", ApprovalMode: "yolo", Sandbox: "read-only", ThinkingEffort: "low", Environment: "minimal", Stream: "off",
		TimeoutMs: 90_000, InactivityTimeoutMs: 60_000, GracePeriodMs: &grace, MaxTurns: 3, MaxBudgetUSD: &budget, Invocation: "ssh:build1"}
	if !reflect.DeepEqual(run, want) || c.DefaultAgent() != "codex" || c.Profile() != "p" {
		t.Errorf("got %+v, agent %q, profile %q; want %+v", run, c.DefaultAgent(), c.Profile(), want)
	}
	for name, bad := range map[string]string{"DRAWBAR_TIMEOUT": "soon", "DRAWBAR_GRACE": "-1s", "DRAWBAR_MAX_TURNS": "x", "DRAWBAR_APPROVE": "maybe", "DRAWBAR_ON": "vm:x", "DRAWBAR_CONFIG_DIR": "rel", "DRAWBAR_PROJECT_DIR": "rel"} {
		p := newPlace(t)
		p.env[name] = bad
		if _, err := Read(p.work, p.getenv); execution.CodeOf(err) != execution.CodeConfig {
			t.Errorf("%s=%s: got %v", name, bad, err)
		}
	}
}

func TestDirsByVariables(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["DRAWBAR_CONFIG_DIR"], p.env["DRAWBAR_PROJECT_DIR"] = filepath.Join(p.work, "u"), filepath.Join(p.work, "p")
	p.write(filepath.Join(p.work, "u", "config.json"), `{"maxTurns": 1}`)
	p.write(filepath.Join(p.work, "p", "config.json"), `{"defaultModel": "x"}`)
	if run, err := p.read().Run("claude"); err != nil || run.MaxTurns != 1 || run.Model != "x" {
		t.Errorf("got %+v, %v", run, err)
	}
	// The user's own directory as project: it is not read a second time as somebody else's.
	p.env["DRAWBAR_PROJECT_DIR"] = p.env["DRAWBAR_CONFIG_DIR"]
	p.write(filepath.Join(p.work, "u", "config.json"), `{"approvalMode": "yolo"}`)
	if run, err := p.read().Run("claude"); err != nil || run.ApprovalMode != "yolo" {
		t.Errorf("got %+v, %v", run, err)
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(filepath.Join(p.user, "profiles", "fast.json"), `{"agent": "claude", "model": "small", "tags": ["a", "b"], "retryPolicy": {"maxAttempts": 2, "baseDelayMs": 5}}`)
	p.projectFile("{}")
	project := filepath.Join(filepath.Dir(p.work), ".drawbar", "profiles")
	p.write(filepath.Join(project, "fast.json"), `{"model": "tiny", "maxTurns": 3}`)
	p.write(filepath.Join(project, "theirs.json"), `{"model": "tiny"}`)
	p.write(filepath.Join(project, "bad.json"), `{"model": `)
	p.write(filepath.Join(p.user, "profiles", "one run.json"), `{}`)
	dirs, err := FindDirs(p.work, p.getenv)
	if err != nil {
		t.Fatal(err)
	}
	profiles := Profiles{Dirs: dirs}
	// A project's profile of the same name is another one: nothing of it is laid over the user's.
	got, err := profiles.Show("fast")
	if err != nil || got.Data.Model != "small" || got.Data.MaxTurns != 0 || got.Scope != ScopeUser || got.Also != filepath.Join(project, "fast.json") {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = profiles.Show("project/fast")
	if err != nil || got.Data.Model != "tiny" || got.Data.Agent != "" || got.Data.MaxTurns != 3 || got.Scope != ScopeProject || !got.HasGlobalOverride || got.Also != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := profiles.Show("theirs"); err != nil || got.Scope != ScopeProject || got.HasGlobalOverride {
		t.Errorf("got %+v, %v", got, err)
	}
	var names []string
	list, err := profiles.List("")
	for _, l := range list {
		names = append(names, l.Name)
	}
	if err != nil || strings.Join(names, " ") != "bad fast project/fast theirs" || !strings.Contains(list[0].Corrupt, "bad.json") || list[2].Model != "tiny" {
		t.Errorf("got %+v, %v", list, err)
	}
	if list, err := profiles.List(ScopeUser); err != nil || len(list) != 1 || list[0].Model != "small" {
		t.Errorf("got %+v, %v", list, err)
	}
	run, err := profiles.Apply("fast", execution.RunOptions{Model: "mine", MaxTurns: 2})
	if err != nil || run.Model != "mine" || run.MaxTurns != 2 || run.RetryPolicy.MaxAttempts != 2 {
		t.Errorf("got %+v, %v", run, err)
	}
	for name, code := range map[string]execution.ErrorCode{"none": execution.CodeProfileNotFound, "project/none": execution.CodeProfileNotFound, "bad": execution.CodeConfig, "../fast": execution.CodeValidation, "project/../fast": execution.CodeValidation, "": execution.CodeValidation} {
		if _, err := profiles.Show(name); execution.CodeOf(err) != code {
			t.Errorf("%q: got %v, want %s", name, err, code)
		}
	}
	if profiles.Scope() != ScopeProject {
		t.Errorf("a profile would be written to %s", profiles.Scope())
	}
	if path, err := profiles.Delete("project/fast", ""); err != nil || !strings.Contains(path, ".drawbar") {
		t.Errorf("got %s, %v", path, err)
	}
	if path, err := profiles.Delete("fast", ScopeProject); execution.CodeOf(err) != execution.CodeProfileNotFound {
		t.Errorf("got %s, %v", path, err)
	}
	if path, err := profiles.Delete("fast", ""); err != nil || !strings.Contains(path, filepath.Join("drawbar", "profiles")) {
		t.Errorf("got %s, %v", path, err)
	}
	if _, err := profiles.Delete("../../x", ""); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("got %v", err)
	}
}

func TestWhatAProfileCannotHave(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"unknown": {"zzz": json.RawMessage("1")}, "out of range": {"maxTurns": json.RawMessage("-1")}, "wrong type": {"maxTurns": json.RawMessage(`"5"`)}} {
		if _, err := (Profiles{}).Encode(ScopeUser, "x", o); execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if b, err := (Profiles{}).Encode(ScopeUser, "x", Options{"maxTurns": json.RawMessage("5")}); err != nil || string(b) != "{\n  \"maxTurns\": 5\n}\n" {
		t.Errorf("got %s, %v", b, err)
	}
}

func FuzzReadLayer(f *testing.F) {
	for _, s := range []string{"", "{}", `{"agents": {"a": {"model": "m"}}, "models": [{"agent": "*", "modelId": "x"}]}`, "{", `{"env": {"A": 1}}`, "// x\n{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := layer{scope: ScopeProject, path: "config.json", raw: map[string]json.RawMessage{}}
		if l.decode(data) != nil {
			return
		}
		c := &Config{layers: []layer{l}}
		c.Values()
		if _, err := c.Run("a"); err != nil {
			t.Fatalf("a file that was taken does not work: %v", err)
		}
	})
}
