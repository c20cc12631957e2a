package drawbar_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// TestAnotherModule follows docs/adapter-in-your-module.md: an adapter in a module of its own, certified, and a command line that has it.
func TestAnotherModule(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent of the page is a shell script")
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	dir := t.TempDir()
	files := map[string]string{"go.sum": read("go.sum"), "go.mod": strings.Replace(read("go.mod"), "module github.com/drawbar/drawbar", "module example.org/mine", 1) +
		fmt.Sprintf("\nrequire github.com/drawbar/drawbar v0.0.0\n\nreplace github.com/drawbar/drawbar => %q\n", filepath.ToSlash(root))}
	for _, m := range regexp.MustCompile("(?s)\n`([a-z_/]+\\.go)`.*?```go\n(.*?)```").FindAllStringSubmatch(read(filepath.Join("docs", "adapter-in-your-module.md")), -1) {
		files[m[1]] = m[2]
	}
	if lines := strings.Count(files["parrot/parrot.go"], "\n"); len(files) != 5 || lines > 80 {
		t.Fatalf("the page has %d files, and an adapter of %d lines", len(files)-2, lines)
	}
	files["bin/parrot"] = regexp.MustCompile("(?s)#!/bin/sh.*?\n`").FindString(files["parrot/parrot_test.go"])
	files["bin/parrot"] = strings.TrimSuffix(files["bin/parrot"], "`")
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil { //nolint:gosec // one of them is a program
			t.Fatal(err)
		}
	}
	command := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local", "HOME="+dir, "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"),
			"PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	command("go", "test", "./parrot")
	command("go", "build", "-o", "mine", ".")
	if out := command(filepath.Join(dir, "mine"), "run", "parrot", "hello", "--no-color"); !strings.Contains(out, "hi") {
		t.Errorf("run printed %q", out)
	}
}

// echo answers with the prompt; it is the smallest adapter there is.
type echo struct{}

func (echo) Capabilities() execution.Capabilities {
	no := execution.HookUnsupported
	return execution.Capabilities{SchemaVersion: execution.SchemaVersion, ToolUse: execution.ToolsNone, ContinuationSupport: execution.ContinuationsNone,
		ApprovalInterrupts: execution.ApprovalsNone, TraceDepth: execution.TraceMinimal, MaxContextStrategy: execution.ContextUnknown, Notes: []string{},
		Agent: execution.AgentCapabilities{SessionPersistence: "none", StructuredSession: execution.TransportNone, Platforms: []string{"linux"}, TextStreaming: true,
			ApprovalModes: []execution.ApprovalMode{execution.ApprovalPrompt, execution.ApprovalDeny},
			RuntimeHooks:  execution.RuntimeHooks{PreToolUse: no, PostToolUse: no, SessionStart: no, SessionEnd: no, Stop: no, UserPromptSubmit: no}}}
}

func (echo) Execute(_ context.Context, req execution.Request, _ adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		text := string(req.Message.Text)
		_ = yield(execution.Event{Body: execution.TextDelta{Delta: text, Accumulated: text}}, nil) &&
			yield(execution.Event{Body: execution.MessageStop{Text: text}}, nil) &&
			yield(execution.Event{Body: execution.TurnEnd{}}, nil) &&
			yield(execution.Event{Body: execution.Finished{Result: execution.Result{BackendID: "echo", Status: execution.StatusCompleted}}}, nil)
	}
}

func echoDescriptor() adapter.Descriptor {
	return adapter.Descriptor{Name: "echo", DisplayName: "Echo", Command: "echo", Config: settings.Schema{Agent: "echo"}, New: func() adapter.Adapter { return echo{} }}
}

func client(t *testing.T, o drawbar.Options) *drawbar.Client {
	t.Helper()
	o.Agents = []adapter.Descriptor{echoDescriptor()}
	if !o.NoRecord && o.StateDir == "" {
		o.StateDir = filepath.Join(t.TempDir(), "state")
	}
	c, err := drawbar.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestClientFillsInAndRecords(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	c := client(t, drawbar.Options{StateDir: state, DefaultAgent: "echo", Defaults: execution.RunOptions{Tags: []string{"t1"}, Model: "m1"}})
	if _, err := os.Stat(state); err == nil {
		t.Error("making a client touched the disk")
	}
	run, err := c.Run(t.Context(), execution.Request{Message: execution.Message{Text: "hello"}}, drawbar.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := run.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	req := run.Request()
	if res.Text != "hello" || res.AssistantID != "drawbar" || res.TurnID == "" || req.Message.ID == "" || req.Run.Model != "m1" || req.Run.Cwd == "" || len(res.Tags) != 1 {
		t.Errorf("result %+v\nrequest %+v", res, req)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(state, "runs", string(run.ID()), "result.json")); err != nil {
		t.Errorf("the run is not on record: %v", err)
	}
}

// TestUnrecordedRunSaysSo: who gets the result is told that its record is missing, whatever the caller adds.
func TestUnrecordedRunSaysSo(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(state, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := client(t, drawbar.Options{StateDir: state})
	var opts drawbar.RunOptions
	opts.ResultMetadata = func() map[string]any { return map[string]any{"mine": 1} }
	run, err := c.Run(t.Context(), execution.Request{Message: execution.Message{Text: "hello"}, Run: execution.RunOptions{Agent: "echo"}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	res, err := run.Result(t.Context())
	if why, _ := res.Metadata["recordIncomplete"].(string); err != nil || !strings.Contains(why, state) || res.Metadata["mine"] != 1 {
		t.Errorf("got %v, %v", res.Metadata, err)
	}
}

func TestClientRefuses(t *testing.T) {
	c := client(t, drawbar.Options{NoRecord: true})
	ctx := t.Context()
	for _, tc := range []struct {
		name string
		req  execution.Request
		code execution.ErrorCode
		hint string
	}{
		{"no agent", execution.Request{Message: execution.Message{Text: "x"}}, execution.CodeValidation, "agents list"},
		{"unknown agent", execution.Request{Message: execution.Message{Text: "x"}, Run: execution.RunOptions{Agent: "ecko"}}, execution.CodeUnknownAgent, "echo"},
		{"blank prompt", execution.Request{Message: execution.Message{Text: " "}, Run: execution.RunOptions{Agent: "echo"}}, execution.CodeValidation, ""},
		{"bad run id", execution.Request{Message: execution.Message{Text: "x"}, Run: execution.RunOptions{Agent: "echo", RunID: "../x"}}, execution.CodeValidation, ""},
	} {
		_, err := c.Run(ctx, tc.req, drawbar.RunOptions{})
		if execution.CodeOf(err) != tc.code || !strings.Contains(fmt.Sprint(err), tc.hint) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if _, err := c.Run(ctx, execution.Request{Message: execution.Message{Text: "x"}, Run: execution.RunOptions{Agent: "echo"}}, drawbar.RunOptions{Fallback: []string{"nosuch"}}); execution.CodeOf(err) != execution.CodeUnknownAgent {
		t.Errorf("unknown fallback: %v", err)
	}
	if _, err := drawbar.New(drawbar.Options{NoRecord: true, StateDir: "/x"}); err == nil {
		t.Error("contradicting options were accepted")
	}
	if _, err := drawbar.New(drawbar.Options{Agents: []adapter.Descriptor{echoDescriptor()}, DefaultAgent: "nosuch"}); err == nil {
		t.Error("an unknown default agent was accepted")
	}
	n, err := c.Negotiate(execution.Request{Message: execution.Message{Text: "x"}, Run: execution.RunOptions{Agent: "echo", ApprovalMode: execution.ApprovalYolo}}, drawbar.RunOptions{})
	if err != nil || n.Supported {
		t.Errorf("negotiation: %+v, %v", n, err)
	}
}

// TestProfileOfAClient: the profile is found where the run works, brings its agent, and is no other agent's.
func TestProfileOfAClient(t *testing.T) {
	user, repo := t.TempDir(), t.TempDir()
	t.Setenv("DRAWBAR_CONFIG_DIR", user)
	for path, text := range map[string]string{filepath.Join(user, "profiles", "mine.json"): `{"agent":"echo","model":"m1"}`,
		filepath.Join(user, "profiles", "other.json"): `{"agent":"nosuch"}`, filepath.Join(repo, ".drawbar", "profiles", "theirs.json"): `{"model":"m2"}`} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name     string
		defaults execution.RunOptions
		run      execution.RunOptions
		model    string // of the request
		refused  execution.ErrorCode
	}{
		{"the profile's agent", execution.RunOptions{}, execution.RunOptions{Profile: "mine"}, "m1", ""},
		{"by default", execution.RunOptions{Profile: "mine"}, execution.RunOptions{}, "m1", ""},
		{"another than by default", execution.RunOptions{Profile: "mine", Cwd: repo}, execution.RunOptions{Profile: "theirs", Agent: "echo"}, "m2", ""},
		{"for another agent", execution.RunOptions{}, execution.RunOptions{Profile: "other", Agent: "echo"}, "", execution.CodeValidation},
		{"of no agent", execution.RunOptions{Cwd: repo}, execution.RunOptions{Profile: "theirs"}, "", execution.CodeValidation},
	} {
		c := client(t, drawbar.Options{NoRecord: true, Defaults: tc.defaults})
		run, err := c.Run(t.Context(), execution.Request{Message: execution.Message{Text: "x"}, Run: tc.run}, drawbar.RunOptions{})
		if execution.CodeOf(err) != tc.refused || err == nil && (run.Request().Run.Model != tc.model || run.Request().Run.Agent != "echo") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestConfigured: what the configuration states lies under the request and over the defaults, by agent.
func TestConfigured(t *testing.T) {
	user, repo := t.TempDir(), t.TempDir()
	t.Setenv("DRAWBAR_CONFIG_DIR", user)
	t.Setenv("DRAWBAR_MAX_TURNS", "7")
	for path, text := range map[string]string{
		filepath.Join(user, "config.json"): `{"defaultAgent": "echo", "profile": "mine", "agents": {"echo": {"model": "m1"}, "other": {"model": "m9"}},
			"models": [{"agent": "echo", "modelId": "m3"}]}`,
		filepath.Join(user, "profiles", "mine.json"): `{"tags": ["p"]}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := drawbar.Configured(repo)
	if err != nil {
		t.Fatal(err)
	}
	o.NoRecord, o.Defaults = true, execution.RunOptions{Model: "m0", Cwd: repo}
	c := client(t, o)
	for want, run := range map[string]execution.RunOptions{"m1": {}, "m2": {Model: "m2"}} {
		r, err := c.Run(t.Context(), execution.Request{Message: execution.Message{Text: "x"}, Run: run}, drawbar.RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Request().Run; got.Model != want || got.MaxTurns != 7 || got.Cwd != repo || len(got.Tags) != 1 {
			t.Errorf("want %s, got %+v", want, got)
		}
	}
	if _, err := c.Models().Model("echo", "m3"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(user, "config.json"), []byte(`{"nonsense": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := drawbar.Configured(repo); execution.CodeOf(err) != execution.CodeConfig {
		t.Errorf("a broken file: %v", err)
	}
}

// TestDefaultsAreHonouredOrRefused: what a client's defaults cannot be is said when it is made.
func TestDefaultsAreHonouredOrRefused(t *testing.T) {
	for want, d := range map[string]execution.RunOptions{
		"set Options.DefaultAgent": {Agent: "echo"}, "Run.RunID": {RunID: "01JD0000000000000000000000"}, "Run.SessionID": {SessionID: "s"},
		"Run.ForkSessionID": {ForkSessionID: "s"}, "run.sandbox": {Sandbox: "glass"}, "contradicts run.interactive": {Interactive: true, NonInteractive: true},
	} {
		_, err := drawbar.New(drawbar.Options{Agents: []adapter.Descriptor{echoDescriptor()}, Defaults: d})
		if execution.CodeOf(err) != execution.CodeValidation || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	// A default sandbox reaches the agent's negotiation: this one has none.
	c := client(t, drawbar.Options{NoRecord: true, DefaultAgent: "echo", Defaults: execution.RunOptions{Sandbox: execution.SandboxReadOnly}})
	if n, err := c.Negotiate(execution.Request{Message: execution.Message{Text: "x"}}, drawbar.RunOptions{}); err != nil || n.Supported {
		t.Errorf("negotiation: %+v, %v", n, err)
	}
	// A default command is for agents that run one: this one has a program of its own.
	c = client(t, drawbar.Options{NoRecord: true, DefaultAgent: "echo", Defaults: execution.RunOptions{Command: []string{"x"}}})
	if n, err := c.Negotiate(execution.Request{Message: execution.Message{Text: "x"}}, drawbar.RunOptions{}); err != nil || !n.Supported {
		t.Errorf("negotiation: %+v, %v", n, err)
	}
}

func ExampleClient_Run() {
	c, err := drawbar.New(drawbar.Options{Agents: []adapter.Descriptor{echoDescriptor()}, NoRecord: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx := context.Background()
	run, err := c.Run(ctx, execution.Request{Message: execution.Message{Text: "hello"}, Run: execution.RunOptions{Agent: "echo"}},
		drawbar.RunOptions{Options: agent.Options{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range run.Events(ctx, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if d, ok := e.Body.(execution.TextDelta); ok {
			fmt.Println(d.Delta)
		}
	}
	// Output: hello
}

// goEnv is a setting of the go command, which a program with another home directory would not find.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
