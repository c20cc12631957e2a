package cli

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// agents are two that run a program of the caller's.
func agents() []adapter.Descriptor {
	var list []adapter.Descriptor
	for _, name := range []string{"first", "second"} {
		fake := &adaptertest.Fake{Declared: func() execution.Capabilities {
			c := adaptertest.Bare()
			c.Agent.TakesCommand = true
			return c
		}}
		list = append(list, adapter.Descriptor{Name: name, DisplayName: name, Command: name, Config: settings.Schema{Agent: name},
			New: func() adapter.Adapter { return fake }})
	}
	return list
}

// written is one value of an option, in JSON, and as its flag and its variable have it.
type written struct{ json, flag, env string }

func samples(t *testing.T) map[string]written {
	t.Helper()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	word := func(s string) written { return written{`"` + s + `"`, s, s} }
	return map[string]written{
		"agent": word("second"), "model": word("m"), "profile": word("p"), "approvalMode": word("deny"), "allowTools": {`["Read"]`, "Read", ""}, "denyTools": {`["Bash(rm:*)"]`, "Bash(rm:*)", ""}, "sandbox": word("read-only"), "thinkingEffort": word("low"),
		"thinkingBudgetTokens": {"2000", "2000", ""}, "maxOutputTokens": {"10", "10", ""}, "maxTurns": {"2", "2", "2"}, "maxBudgetUsd": {"0.5", "0.5", "0.5"},
		"timeout": {"1000", "1s", "1s"}, "inactivityTimeout": {"2000", "2s", "2s"}, "gracePeriodMs": {"100", "100ms", "100ms"}, "stream": word("off"),
		"retryPolicy": {`{"maxAttempts":2}`, "2", ""}, "systemPromptMode": word("append"), "environment": word("minimal"), "env": {`{"A":"1"}`, "A=1", ""},
		"mcpServers": {`[{"name":"x","transport":"stdio","command":"c"}]`, file("mcp.json", `{"mcpServers":{"x":{"command":"c"}}}`), ""},
		"skills":     {"[" + quoted(dir) + "]", dir, ""}, "tags": {`["t"]`, "t", ""}, "projectId": word("p1"), "temperature": {"1.5", "1.5", ""}, "topP": {"0.5", "0.5", ""},
		"topK": {"3", "3", ""}, "maxTokens": {"4", "", ""}, "thinkingOverride": {`{"a":1}`, "", ""}, "outputFormat": word("json"),
		"outputSchema": {`{"type":"object"}`, file("schema.json", `{"type":"object"}`), ""}, "keepRetrying": {"true", "true", ""}, "debug": {"true", "true", ""},
		"command": {`["c","x"]`, "", ""}, "invocation": word("local"), "cwd": {quoted(dir), dir, ""}, "agentsDoc": {`"a"`, file("AGENTS.md", "a"), ""}, "interactive": {"true", "", ""},
		"nonInteractive": {"true", "", ""}, "collectEvents": {"true", "", ""}, "sessionId": word("s"), "forkSessionId": word("s"), "noSession": {"true", "true", ""},
		"runId": word("01JD0000000000000000000000"),
	}
}

// stage is where options of a run can be stated.
type stage struct {
	words, env                          map[string]string // flags, variables
	user, project, profile, projectsOwn string            // texts of files: configurations and profiles p
}

// request is what a command line makes of it all.
func (s stage) request(t *testing.T, agent string) (execution.RunOptions, error) {
	t.Helper()
	root := t.TempDir()
	user, project := filepath.Join(root, "user"), filepath.Join(root, "repo", ".drawbar")
	for path, text := range map[string]string{filepath.Join(user, "config.json"): s.user, filepath.Join(project, "config.json"): s.project,
		filepath.Join(user, "profiles", "p.json"): s.profile, filepath.Join(project, "profiles", "p.json"): s.projectsOwn} {
		if text == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"DRAWBAR_CONFIG_DIR": user, "DRAWBAR_PROJECT_DIR": project}
	maps.Copy(env, s.env)
	app := &App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Getenv: func(k string) string { return env[k] },
		MakeClient: func(o drawbar.Options) (*drawbar.Client, error) {
			o.Agents, o.NoRecord = agents(), true
			return drawbar.New(o)
		}}
	cmd := &cobra.Command{Use: "run"}
	var flags RequestFlags
	flags.Register(cmd)
	args := []string{}
	for name, v := range s.words {
		args = append(args, "--"+name+"="+v)
	}
	if err := cmd.ParseFlags(args); err != nil {
		return execution.RunOptions{}, err
	}
	words := []string{"hello there"}
	if agent != "" {
		words = append([]string{agent}, words...)
	}
	e, words, err := flags.Agent(app, cmd, words)
	if err != nil {
		return execution.RunOptions{}, err
	}
	req, err := flags.Request(app, cmd, e.Descriptor.Name, flags.Split(cmd, false, words), true)
	return req.Run, err
}

// TestEveryOption states every option of the table wherever it can be stated, and wherever it cannot: it arrives in the request,
// or it is refused, as its row says.
func TestEveryOption(t *testing.T) {
	values := samples(t)
	for o := range execution.Options() {
		v, ok := values[o.Name]
		if !ok || o.Flag != "" && v.flag == "" || o.Env != "" && v.env == "" {
			t.Errorf("%s: no value to try", o.Name)
			continue
		}
		agent := "first"
		if o.Name == "agent" {
			agent = ""
		}
		byName, atTop := `{"`+o.Name+`":`+v.json+`}`, `{"`+cmp.Or(o.Key, o.Name)+`":`+v.json+`}`
		want := execution.RunOptions{}
		if err := json.Unmarshal([]byte(byName), &want); err != nil {
			t.Fatal(err)
		}
		field := o.Field().Index
		arrives := func(how string, got execution.RunOptions, err error, allowed bool) {
			t.Helper()
			if !allowed {
				if err == nil {
					t.Errorf("%s %s is taken: %+v", how, o.Name, got)
				}
				return
			}
			have, must := reflect.ValueOf(got).FieldByIndex(field).Interface(), reflect.ValueOf(want).FieldByIndex(field).Interface()
			if o.Name == "profile" { // it is resolved: what stands in it arrives
				have, must = any(got.Tags), any([]string{"of p"})
			}
			if err != nil || !reflect.DeepEqual(have, must) {
				t.Errorf("%s %s: got %v, want %v, %v", how, o.Name, have, must, err)
			}
		}
		try := func(how string, s stage, allowed bool) {
			t.Helper()
			if o.Name == "profile" && s.profile == "" && s.projectsOwn == "" {
				s.profile = `{"tags":["of p"]}`
			}
			got, err := s.request(t, agent)
			arrives(how, got, err, allowed)
		}
		configured := o.In(execution.ReachUser)
		perAgent := configured && o.Name != "agent" && o.Name != "profile"
		if o.Flag != "" {
			words := map[string]string{o.Flag: v.flag}
			if o.Name == "systemPromptMode" {
				words["system"] = "x"
			}
			try("flag", stage{words: words}, true)
		}
		if o.Env != "" {
			try("variable", stage{env: map[string]string{o.Env: v.env}}, true)
		}
		try("user", stage{user: atTop}, configured)
		try("user, agent", stage{user: `{"agents":{"first":` + byName + `}}`}, perAgent)
		mine := "" // what has to be allowed before it can be tightened
		if o.Name == "retryPolicy" {
			mine = `{"retryPolicy":{"maxAttempts":3}}`
		}
		try("project", stage{user: mine, project: atTop}, o.In(execution.ReachProject))
		try("project, agent", stage{user: mine, project: `{"agents":{"first":` + byName + `}}`}, perAgent && o.In(execution.ReachProject))
		named := map[string]string{"profile": "p"}
		try("profile", stage{words: named, profile: byName}, o.In(execution.ReachProfile))
		try("project's profile", stage{user: mine, words: named, projectsOwn: byName}, o.In(execution.ReachProfile|execution.ReachProject))

		got, err := byDefaults(t, want, agent)
		arrives("default", got, err, o.In(execution.ReachDefaults))
	}
}

// byDefaults is the request that a client with defaults makes.
func byDefaults(t *testing.T, defaults execution.RunOptions, agent string) (execution.RunOptions, error) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DRAWBAR_CONFIG_DIR", dir)
	if err := os.MkdirAll(filepath.Join(dir, "profiles"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "profiles", "p.json"), []byte(`{"tags":["of p"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := drawbar.New(drawbar.Options{Agents: agents(), NoRecord: true, Defaults: defaults})
	if err != nil {
		return execution.RunOptions{}, err
	}
	defer c.Close()
	run, err := c.Run(t.Context(), execution.Request{Message: execution.Message{Text: "hello"}, Run: execution.RunOptions{Agent: agent}}, drawbar.RunOptions{})
	if err != nil {
		return execution.RunOptions{}, err
	}
	return run.Request().Run, nil
}

// TestStatedZero: a zero that is typed or written takes back what a weaker layer says.
func TestStatedZero(t *testing.T) {
	const under = `{"timeout":1000,"inactivityTimeout":1000,"retryPolicy":{"maxAttempts":3},"debug":true,"keepRetrying":true}`
	const user = `{"timeout":1000,"inactivityTimeout":1000,"retryPolicy":{"maxAttempts":3}}`
	for flag, zero := range map[string]string{"timeout": "0", "idle-timeout": "0", "attempts": "1", "debug": "false", "keep-retrying": "false"} {
		before, err := stage{profile: under, words: map[string]string{"profile": "p"}}.request(t, "first")
		if err != nil || before.TimeoutMs == 0 || before.InactivityTimeoutMs == 0 || before.RetryPolicy.MaxAttempts != 3 || !before.Debug || !before.KeepRetrying {
			t.Fatalf("got %+v, %v", before, err)
		}
		got, err := stage{profile: under, words: map[string]string{"profile": "p", flag: zero}}.request(t, "first")
		held := map[string]bool{"timeout": got.TimeoutMs != 0, "idle-timeout": got.InactivityTimeoutMs != 0, "attempts": got.RetryPolicy != nil && got.RetryPolicy.MaxAttempts > 1,
			"debug": got.Debug, "keep-retrying": got.KeepRetrying}
		for name, is := range held {
			if is != (name != flag) || err != nil {
				t.Errorf("--%s=%s: %s is stated: %v, %v", flag, zero, name, is, err)
			}
		}
	}
	got, err := stage{user: user, profile: `{"timeout":0,"retryPolicy":{"maxAttempts":1}}`, words: map[string]string{"profile": "p"}}.request(t, "first")
	if err != nil || got.TimeoutMs != 0 || got.InactivityTimeoutMs != 1000 || got.RetryPolicy.MaxAttempts != 1 {
		t.Errorf("a profile's zero: got %+v, %v", got, err)
	}
}
