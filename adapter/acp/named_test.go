package acp

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

type noInput struct{}

func (noInput) Receive(context.Context) (execution.Command, error) { return nil, io.EOF }

// started runs an agent until it would start its program, and returns how.
func started(t *testing.T, a acpagent.Agent, run execution.RunOptions) process.Spec {
	t.Helper()
	var spec process.Spec
	made := a.Adapter(cliagent.Options{
		LookPath: func(command string, _ []string, _ string) (string, error) { return "/bin/" + command, nil },
		Runner: func(_ context.Context, s process.Spec) (process.Handle, error) {
			spec = s
			return nil, errors.New("not started")
		}})
	req := adaptertest.PlayRequest(adaptertest.Simple)
	req.Run = run
	for range made.Execute(t.Context(), req, noInput{}) {
	}
	return spec
}

// TestOtherName: a program that has another name by now is found under it, and the first name is preferred.
func TestOtherName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have, want string
	}{{"cursor-agent agent", "/bin/cursor-agent"}, {"agent", "/bin/agent"}, {"", ""}} {
		look := func(command string) (string, error) {
			if slices.Contains(strings.Fields(c.have), command) {
				return "/bin/" + command, nil
			}
			return "", fs.ErrNotExist
		}
		var spec process.Spec
		a := cursor().Adapter(cliagent.Options{
			LookPath: func(command string, _ []string, _ string) (string, error) { return look(command) },
			Runner: func(_ context.Context, s process.Spec) (process.Handle, error) {
				spec = s
				return nil, errors.New("not started")
			}})
		for range a.Execute(t.Context(), adaptertest.PlayRequest(adaptertest.Simple), noInput{}) {
		}
		found, err := a.Probe(t.Context(), adapter.Host{LookPath: look, Spawn: func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			return adapter.SpawnOutcome{Stdout: "1.2.3"}, nil
		}}.Complete())
		if spec.Path != c.want || found.Path != c.want || found.Installed != (c.want != "") || err != nil {
			t.Errorf("with %q: started %q, found %+v %v", c.have, spec.Path, found, err)
		}
	}
}

// The files have the forms of the documents that cursorConfig names.
func TestCursorConfig(t *testing.T) {
	t.Parallel()
	adaptertest.Config(t, cursorConfig(), "testdata/cursor")
}

// TestRows: every row describes an agent, says how to get and start its program, and where that is documented.
func TestRows(t *testing.T) {
	t.Parallel()
	exercised := 0
	for _, row := range named() {
		a := row()
		d := a.Descriptor()
		if d.Protocol != adapter.ProtocolACP || d.Docs == "" || len(d.Install) == 0 || (d.Documented == "") != (len(d.TestedVersions) > 0) {
			t.Errorf("%s: %+v", d.Name, d)
		}
		if d.Documented == "" {
			exercised++
		}
		if s := started(t, a, execution.RunOptions{}); s.Path != "/bin/"+d.Command || !slices.Equal(s.Args, a.Args) {
			t.Errorf("%s: started %s %q, want %s %q", d.Name, s.Path, s.Args, d.Command, a.Args)
		}
	}
	if exercised != 2 {
		t.Errorf("%d agents were exercised", exercised)
	}
}

// TestToolNames: agents put the name of a tool in different places.
func TestToolNames(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{"editor: {\"path\":\"/w/hello.txt\"}": "editor", "Create /w/hello.txt": "Create", "write": "write", "": ""} {
		if got := acpagent.TitleWord(&acpagent.ToolCall{Title: title}); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
	call := &acpagent.ToolCall{Input: []byte(`{"server":"files","tool":"echo","arguments":{}}`), Meta: []byte(`{"is_mcp_tool_call":true}`)}
	if server, tool, ok := codexTool(call, nil); server != "files" || tool != "echo" || !ok {
		t.Error(server, tool, ok)
	}
	call.Meta = nil
	if _, _, ok := codexTool(call, nil); ok {
		t.Error("an input that looks like one")
	}
}

// TestCodexNotices: pieces of the message that come from the program have no id.
func TestCodexNotices(t *testing.T) {
	t.Parallel()
	for update, want := range map[string]acpagent.Notice{
		`{"content":{"type":"text","text":"exceeded retry limit, last status: 429 Too Many Requests, request id: r\n\n"}}`: {
			Message: "exceeded retry limit, last status: 429 Too Many Requests, request id: r", Failed: execution.CodeRateLimited},
		`{"content":{"type":"text","text":"stream disconnected before completion: Transport error\n\n"}}`: {
			Message: "stream disconnected before completion: Transport error", Failed: execution.CodeProvider},
		`{"content":{"type":"text","text":"unexpected status 401 Unauthorized: wrong key"}}`: {Message: "unexpected status 401 Unauthorized: wrong key", Failed: execution.CodeAuth},
		`{"content":{"type":"text","text":"We’re currently experiencing high demand, which may cause temporary errors.\n\n"}}`: {
			Message: "We’re currently experiencing high demand, which may cause temporary errors.", Failed: execution.CodeProvider},
		`{"messageId":"m","content":{"type":"text","text":"unexpected status 401 is what it said"}}`:            {},
		`{"content":{"text":"{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no such field\"}}"}}`: {Message: "no such field", Failed: execution.CodeInvalidRequest},
		`{"content":{"text":"Warning: no metadata.\n\n"}}`:                                                      {Message: "no metadata."},
		`{"content":{"text":"{\"error\":{\"message\":\"429 slow down\"}}\n\n"}}`:                                {Message: "429 slow down", Failed: execution.CodeRateLimited},
		`{"content":{"text":"{\"error\":{\"message\":\"it broke\"}}\n\n"}}`:                                     {Message: "it broke", Failed: execution.CodeProvider},
		`{"messageId":"m","content":{"text":"Warning: the model says this"}}`:                                   {},
		`{"messageId":"m","content":{"text":"{\"error\":{\"message\":\"an example\"}}"}}`:                       {},
		`{"content":{"text":"{\"name\":\"x\"}"}}`:                                                               {},
		`{"content":{"type":"image"}}`:                                                                          {},
	} {
		v, err := jsonscan.Parse([]byte(update))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := codexNotice(v); ok != (want != acpagent.Notice{}) || ok && got != want {
			t.Errorf("%s: %+v %v", update, got, ok)
		}
	}
}

// TestLogins: a key, a file, or nothing that is known.
func TestLogins(t *testing.T) {
	t.Parallel()
	vars := map[string]string{}
	h := adapter.Host{Home: "/home/u", Platform: "linux", Getenv: func(name string) string { return vars[name] }, FS: fstest.MapFS{}}.Complete()
	a := adapterOf(claudeBridge())
	if s := a.DetectAuth(t.Context(), h); s.Status != adapter.AuthUnknown || s.Method != "" {
		t.Errorf("nothing: %+v", s)
	}
	h.FS = fstest.MapFS{"home/u/.claude/.credentials.json": {Data: []byte("{}")}}
	if s := a.DetectAuth(t.Context(), h); s.Status != adapter.AuthUnknown || s.Method != "config_file" || !strings.Contains(s.Details, "~/.claude/.credentials.json exists") {
		t.Errorf("a file: %+v", s)
	}
	vars["ANTHROPIC_API_KEY"] = "k"
	if s := a.DetectAuth(t.Context(), h); s.Status != adapter.Authenticated || s.Method != "api_key" {
		t.Errorf("a key: %+v", s)
	}
	if keys := claudeBridge().Descriptor().Keys; !slices.Contains(keys, "ANTHROPIC_API_KEY") || !slices.Contains(keys, "ANTHROPIC_BASE_URL") {
		t.Errorf("a minimal environment keeps %v", keys)
	}
	g := a.AuthGuidance()
	if g.LoginCommand != "claude /login" || len(g.Steps) != 3 || len(g.EnvVars) != 2 || g.Provider != "Anthropic" {
		t.Errorf("%+v", g)
	}
	if g := adapterOf(stakpak()).AuthGuidance(); len(g.Steps) != 1 || g.Steps[0].URL == "" || g.Provider != "Stakpak" {
		t.Errorf("%+v", g)
	}
}

func adapterOf(a acpagent.Agent) acpagent.Adapter { return a.Adapter(cliagent.Options{}) }

// TestProbeOfADocumentedAgent says that nobody tried it.
func TestProbeOfADocumentedAgent(t *testing.T) {
	t.Parallel()
	h := adapter.Host{Home: "/home/u", LookPath: func(string) (string, error) { return "/bin/stakpak", nil },
		Spawn: func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			return adapter.SpawnOutcome{Stdout: "stakpak 0.3.1"}, nil
		}}.Complete()
	in, err := adapterOf(stakpak()).Probe(t.Context(), h)
	if err != nil || in.Version != "0.3.1" || !strings.Contains(in.Notes, adapter.NotExercised) {
		t.Errorf("%+v, %v", in, err)
	}
	h.LookPath = func(string) (string, error) { return "", fs.ErrNotExist }
	if in, err := adapterOf(stakpak()).Probe(t.Context(), h); err != nil || in.Installed {
		t.Errorf("%+v, %v", in, err)
	}
}

// TestClaudeShell: the text for the model has the exit code of a command that failed; one that ended well exited with 0.
func TestClaudeShell(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status, input, output, want string
		exit                        *int
	}{
		{"completed", `{"command":"x"}`, `"hi"`, "hi", new(0)},
		{"failed", `{"command":"x"}`, `"Exit code 3\nbroken"`, "broken", new(3)},
		{"failed", `{"command":"x"}`, `"Exit code 3"`, "", new(3)},
		{"failed", `{"command":"x"}`, `"refused"`, "refused", nil},
		{"completed", `{"command":"x","run_in_background":true}`, `"Command running"`, "", nil},
		{"in_progress", `{"command":"x"}`, `null`, "", nil},
	} {
		sh, ok := claudeShell(&acpagent.ToolCall{Kind: "execute", Status: tt.status, Input: []byte(tt.input), Output: []byte(tt.output)})
		if !ok || sh.Output != tt.want || (sh.ExitCode == nil) != (tt.exit == nil) || tt.exit != nil && *sh.ExitCode != *tt.exit {
			t.Errorf("%s %s: %+v %v", tt.status, tt.output, sh, ok)
		}
	}
}
