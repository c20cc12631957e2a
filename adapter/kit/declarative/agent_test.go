package declarative

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// runs runs an entry whose command is "agent", a shell script.
func runs(t *testing.T, entry, script string, change func(*execution.Request)) execution.Result {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the agents are shell scripts")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "agent"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	req := clitest.Request()
	req.Message.Text = "do it"
	req.Run.Env = map[string]string{"PATH": dir + string(os.PathListSeparator) + os.Getenv("PATH")}
	if change != nil {
		change(&req)
	}
	r, err := agent.New(agent.BackendOf(describe(t, "mine", entry))).Start(context.Background(), req, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Result(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// show prints its arguments, the files among them, and its input.
const show = `for a; do case $a in /*) echo "[$(cat "$a")]";; *) echo "<$a>";; esac; done; cat`

// TestArguments: every option of a run becomes the arguments that the entry states, in its place, and nothing else does.
func TestArguments(t *testing.T) {
	t.Parallel()
	const entry = `{"command": ["agent", "run", "{options}", "--", "{prompt}"], "prompt": "argument", "environment": {"COLOUR": "blue"}, "options": {
		"model": ["--model", "{model}"], "effort": ["-e{effort}"], "efforts": {"low": "little"}, "approval": {"yolo": ["--yes"], "deny": []},
		"mcp": ["--mcp", "{mcp_file}"], "newSession": ["--id", "{session}"], "resume": ["--resume={session}"], "ephemeral": ["--no-save"],
		"systemPrompt": ["--system", "{system_prompt_file}"], "replaceSystemPrompt": ["--replace", "{system_prompt}"]}}`
	for name, c := range map[string]struct {
		change func(*execution.Request)
		want   string
	}{
		"nothing":  {func(r *execution.Request) { r.Run.NoSession = true }, "<run>\n<--no-save>\n<-->\n<do it>"},
		"braces":   {func(r *execution.Request) { r.Run.NoSession, r.Message.Text = true, "a {model} {prompt}" }, "<run>\n<--no-save>\n<-->\n<a {model} {prompt}>"},
		"model":    {func(r *execution.Request) { r.Run.SessionID, r.Run.Model = "s1", "{prompt}" }, "<run>\n<--resume=s1>\n<--model>\n<{prompt}>\n<-->\n<do it>"},
		"effort":   {func(r *execution.Request) { r.Run.SessionID, r.Run.ThinkingEffort = "s1", "low" }, "<run>\n<--resume=s1>\n<-elittle>\n<-->\n<do it>"},
		"approval": {func(r *execution.Request) { r.Run.SessionID, r.Run.ApprovalMode = "s1", "yolo" }, "<run>\n<--resume=s1>\n<--yes>\n<-->\n<do it>"},
		"denial":   {func(r *execution.Request) { r.Run.SessionID, r.Run.ApprovalMode = "s1", "deny" }, "<run>\n<--resume=s1>\n<-->\n<do it>"},
		"system":   {func(r *execution.Request) { r.Run.SessionID, r.Instructions.SystemPrompt = "s1", "Be kind." }, "<run>\n<--resume=s1>\n<--system>\n[Be kind.]\n<-->\n<do it>"},
		"replaced": {func(r *execution.Request) {
			r.Run.SessionID, r.Instructions.SystemPrompt, r.Run.SystemPromptMode = "s1", "Be kind.", "replace"
		}, "<run>\n<--resume=s1>\n<--replace>\n<Be kind.>\n<-->\n<do it>"},
		"servers": {func(r *execution.Request) {
			r.Run.SessionID = "s1"
			r.Run.MCPServers = []execution.MCPServer{{Name: "f", Transport: "stdio", Command: "c"}}
		}, "<run>\n<--resume=s1>\n<--mcp>\n[{\"mcpServers\":{\"f\":{\"type\":\"stdio\",\"command\":\"c\"}}}]\n<-->\n<do it>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if res := runs(t, entry, show, c.change); res.Text != c.want {
				t.Errorf("got\n%s\nwant\n%s\n%+v", res.Text, c.want, res.Error)
			}
		})
	}
	if res := runs(t, entry, `echo "$COLOUR" "$3"`, nil); res.SessionID == "" || res.Text != "blue "+res.SessionID {
		t.Errorf("a new session: %q, text %q", res.SessionID, res.Text)
	}
	if res := runs(t, entry, `echo "$COLOUR"`, func(r *execution.Request) { r.Run.Env["COLOUR"] = "red" }); res.Text != "red" {
		t.Errorf("a variable of the request: %q", res.Text)
	}
}

// TestPrompt: the three ways of the prompt, with instructions before it.
func TestPrompt(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`{"command": ["agent", "a"]}`:                                     "<a>\nBe kind.\n\ndo it",
		`{"command": ["agent", "-f", "{prompt_file}"], "prompt": "file"}`: "<-f>\n[Be kind.\n\ndo it]",
		`{"command": ["agent", "-m={prompt}"], "prompt": "argument"}`:     "<-m=Be kind.\n\ndo it>",
	} {
		if res := runs(t, entry, show, func(r *execution.Request) { r.Instructions.SystemPrompt = "Be kind." }); res.Text != want {
			t.Errorf("%s: got %q, want %q", entry, res.Text, want)
		}
	}
	dir := t.TempDir()
	if res := runs(t, `{"command": ["agent", "dir={cwd}"]}`, show, func(r *execution.Request) { r.Run.Cwd = dir }); !strings.HasPrefix(res.Text, "<dir="+dir+">") {
		t.Errorf("the directory: %q", res.Text)
	}
}

// TestRefusals: what the entry does not state is refused before the program starts.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const entry = `{"command": ["agent"], "login": {"variables": [{"name": "MINE_KEY", "required": true}], "command": ["agent", "login"]}}`
	for name, c := range map[string]struct {
		change func(*execution.Request)
		want   string
	}{
		"model":   {func(r *execution.Request) { r.Run.Model = "m" }, "mine cannot be given a model"},
		"effort":  {func(r *execution.Request) { r.Run.ThinkingEffort = "low" }, "thinking effort"},
		"session": {func(r *execution.Request) { r.Run.SessionID = "s" }, "resuming a session"},
		"mode":    {func(r *execution.Request) { r.Run.ApprovalMode = "yolo" }, "approval mode yolo"},
		"login":   {nil, "mine needs the variable MINE_KEY, which is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := runs(t, entry, `echo started`, c.change)
			if res.Error == nil || !strings.Contains(res.Error.Message, c.want) || res.Text != "" {
				t.Errorf("%+v", res)
			}
		})
	}
	if res := runs(t, entry, `echo "$MINE_KEY"`, func(r *execution.Request) { r.Run.Env["MINE_KEY"] = "k" }); res.Status != execution.StatusCompleted {
		t.Errorf("%+v", res.Error)
	}
	if res := runs(t, strings.Replace(entry, ", \"required\": true", "", 1), `echo started`, nil); res.Text != "started" {
		t.Errorf("a variable that is not required: %+v", res.Error)
	}
	if res := runs(t, `{"command": ["nowhere-to-be-found"], "install": [{"platform": "all", "type": "npm", "package": "it", "command": "npm i it"}]}`, ``, nil); res.Error == nil ||
		res.Error.ErrorCode() != execution.CodeAgentNotInstalled || res.Error.Metadata["hint"] != "install it with: npm i it" {
		t.Errorf("%+v", res.Error)
	}
}

// TestDetection: versions and logins of the machine.
func TestDetection(t *testing.T) {
	t.Parallel()
	vars := map[string]string{}
	host := adapter.Host{Getenv: func(n string) string { return vars[n] }, LookPath: func(name string) (string, error) { return "/bin/" + name, nil },
		Spawn: func(_ context.Context, c adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			return adapter.SpawnOutcome{Stdout: c.Command + " " + strings.Join(c.Args, " ") + " 3.4.5"}, nil
		}}.Complete()
	probe := func(entry string) (adapter.Installation, adapter.AuthState) {
		p, ok := adapter.As[adapter.Prober](describe(t, "mine", entry).New())
		if !ok {
			t.Fatal("no prober")
		}
		in, err := p.Probe(t.Context(), host)
		if err != nil {
			t.Fatal(err)
		}
		return in, p.DetectAuth(t.Context(), host)
	}
	if in, auth := probe(`{"command": ["x"], "version": {"args": ["version"]}}`); in.Version != "3.4.5" || !in.Installed || auth.Status != adapter.AuthUnknown {
		t.Errorf("%+v %+v", in, auth)
	}
	if in, _ := probe(`{"command": ["x"]}`); in.Version != "" || in.Path != "/bin/x" {
		t.Errorf("a program without a version command was asked: %+v", in)
	}
	const either = `{"command": ["x"], "login": {"variables": [{"name": "A"}, {"name": "B"}]}}`
	const both = `{"command": ["x"], "login": {"variables": [{"name": "A", "required": true}, {"name": "B", "required": true}]}}`
	const stored = `{"command": ["x"], "login": {"variables": [{"name": "A"}], "command": ["x", "login"]}}`
	for _, c := range []struct {
		entry string
		set   string
		want  adapter.AuthStatus
	}{{either, "", adapter.AuthUnknown}, {either, "B", adapter.Authenticated}, {both, "B", adapter.Unauthenticated}, {both, "AB", adapter.Authenticated},
		{stored, "", adapter.AuthUnknown}, {stored, "A", adapter.Authenticated}} {
		clear(vars)
		for _, n := range c.set {
			vars[string(n)] = "k"
		}
		if _, auth := probe(c.entry); auth.Status != c.want {
			t.Errorf("%s with %q: %+v", c.entry, c.set, auth)
		}
	}
}
