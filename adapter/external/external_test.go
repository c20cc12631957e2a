package external

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/testenv"
)

// TestConformance runs the suite over both sides of the protocol: the adapter of this package, and a program that uses Serve.
func TestConformance(t *testing.T) {
	in := Introduction{Agent: Agent{Name: "fake", DefaultModel: "fake-1", Models: []execution.Model{{ID: "fake-1"}}}}
	caps := adapter.CapabilitiesOf(served("").New())
	caps.Agent.RuntimeHooks = execution.RuntimeHooks{}
	in.Capabilities = caps
	adaptertest.Test(t, adaptertest.StandIn{
		Command: Prefix + "fake", Descriptor: func() adapter.Descriptor { return describe([]string{Prefix + "fake"}, in) },
		ScenarioVar: scenarioVar, StateVar: stateVar, Others: []string{"claude", "codex"},
	}.Subject(t))
}

// TestConformanceRemote runs the suite over an agent behind another Drawbar.
func TestConformanceRemote(t *testing.T) {
	in := Introduction{Agent: Agent{Name: "fake", DefaultModel: "fake-1", Models: []execution.Model{{ID: "fake-1"}}},
		Capabilities: spoken(adapter.CapabilitiesOf(served("").New()))}
	r := Remote{Name: "box", Command: []string{Prefix + "fake"}, Directory: slotDir}
	adaptertest.Test(t, adaptertest.StandIn{
		Command: Prefix + "fake", Descriptor: func() adapter.Descriptor { return r.describe(in) },
		ScenarioVar: scenarioVar, StateVar: stateVar, Others: []string{"claude", "codex"},
	}.Subject(t))
}

// faulty describes the test binary as a program that goes wrong in one way.
func faulty(t *testing.T, fault string) (adapter.Descriptor, error) {
	t.Helper()
	t.Setenv(faultVar, fault)
	self, err := testenv.Self()
	if err != nil {
		t.Fatal(err)
	}
	return Describe(t.Context(), oshost.New(cliagent.Spawn), []string{self}, true)
}

func run(t *testing.T, fault string, change func(*execution.Request), then func(*agent.Run)) (execution.Result, []execution.Event) {
	t.Helper()
	describing := fault
	if strings.HasPrefix(fault, "prints ") || strings.HasPrefix(fault, "replies ") || fault == "stays" {
		describing = "waits"
	}
	d, err := faulty(t, describing)
	if err != nil {
		t.Fatal(err)
	}
	grace := int64(100)
	req := clitest.Request()
	req.Run.Env, req.Run.GracePeriodMs = map[string]string{faultVar: fault}, &grace
	if change != nil {
		change(&req)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a hung program fails its test, not the whole package
	defer cancel()
	r, err := agent.New(agent.BackendOf(d)).Start(ctx, req, agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if then != nil {
		then(r)
	}
	var events []execution.Event
	for e, err := range r.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	res, err := r.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res, events
}

// TestBadIntroduction: every wrong reply to initialize is refused, when the program is described and when it runs.
func TestBadIntroduction(t *testing.T) {
	reply := func(version, name, caps string) string {
		return `replies "result":{"protocolVersion":` + version + `,"agent":{"name":"` + name + `"},"capabilities":` + caps + `}`
	}
	for fault, want := range map[string]string{
		"prints Loading...":                               `it printed "Loading..." before it answered initialize`,
		`prints {"json":"log"}`:                           `before it answered initialize`,
		reply("2", "fake", "{}"):                          "version 2 of the protocol",
		reply("1", "Fake!", "{}"):                         `the agent name "Fake!"`,
		reply("1", "fake", `{"toolUse":"sometimes"}`):     "toolUse",
		reply("1", "fake", `{"agent":{"verbs":["fly"]}}`): "agent.verbs",
		reply("1", "fake", `{"agent":{"runtimeHooks":{"preToolUse":"blocking"}}}`):          "runtimeHooks",
		reply("1", "fake", `{"agent":{"supportsPlugins":true}}`):                            "supportsPlugins",
		reply("1", "fake", `{"agent":{"takesCommand":true}}`):                               "takesCommand",
		`replies "result":"hello"`:                                                          "cannot be read",
		`replies "error":{"code":-1,"message":"log in first","data":{"code":"AUTH_ERROR"}}`: "log in first",
	} {
		if _, err := faulty(t, fault); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("described, %s: %v, want %q", fault, err, want)
		}
		res, _ := run(t, fault, nil, nil)
		if res.Status == execution.StatusCompleted || res.Error == nil || !strings.Contains(res.Error.Message, want) {
			t.Errorf("run, %s: %s %+v, want %q", fault, res.Status, res.Error, want)
		}
	}
	// A typing error counts only where a person can correct it.
	typo := reply("1", "fake", `{"agent":{"supportsTextStreaning":true}}`)
	if _, err := faulty(t, typo); err == nil || !strings.Contains(err.Error(), "supportsTextStreaning") {
		t.Errorf("a misspelled capability: %v", err)
	}
	if res, _ := run(t, typo, nil, nil); res.Status != execution.StatusCompleted {
		t.Errorf("a capability of a later version: %s %+v", res.Status, res.Error)
	}
}

// TestBadRun: a program cannot make more of its run than it is.
func TestBadRun(t *testing.T) {
	for fault, want := range map[string]execution.ErrorCode{
		`negotiates {"reasons":[{"code":"other","severity":"blocking","message":"not on Mondays"}]}`: execution.CodeCapability,
		`negotiates {"reasons":[{"code":"mood","severity":"blocking"}]}`:                             execution.CodeInvalidOutput,
		`negotiates []`:                         execution.CodeInvalidOutput,
		`executes "result":{"status":"great"}`:  execution.CodeInvalidOutput,
		`executes "result":{"status":"failed"}`: execution.CodeInvalidOutput,
		`executes "result":7`:                   execution.CodeInvalidOutput,
		`executes "result":{"status":"failed","error":{"code":"timeout","message":"slow"}}`: execution.CodeTimeout,
		`executes "error":{"code":-32000,"message":"no key","data":{"code":"AUTH_ERROR"}}`:  execution.CodeAuth,
		`executes "error":{"code":-32000,"message":"no key","data":{"code":"NO_SUCH"}}`:     execution.CodeAgentCrash,
		`executes "error":{"code":-32000}`:                                                  execution.CodeAgentCrash,
	} {
		res, _ := run(t, fault, nil, nil)
		if res.Error == nil || res.Error.ErrorCode() != want {
			t.Errorf("%s: %s %+v, want %s", fault, res.Status, res.Error, want)
		}
	}
	res, _ := run(t, `negotiates {"reasons":[{"code":"other","severity":"blocking","message":"not on Mondays","capability":"monday"}]}`, nil, nil)
	if res.Status != execution.StatusUnsupported || !strings.Contains(res.Error.Message, "not on Mondays") || res.Error.Metadata["capability"] != "monday" {
		t.Errorf("a blocking reason: %s %+v", res.Status, res.Error)
	}
}

// TestBadEvents: an event that cannot be is reported and left out, and the run continues.
func TestBadEvents(t *testing.T) {
	for told, want := range map[string]string{
		`{"jsonrpc":"2.0","method":"event","params":{"type":"confetti"}}`:                              `unknown event type "confetti"`,
		`{"jsonrpc":"2.0","method":"event","params":{"type":"text_delta","delta":7}}`:                  "text_delta",
		`{"jsonrpc":"2.0","method":"event","params":{"type":"finished","result":{"status":"failed"}}}`: "Drawbar's own",
	} {
		res, events := run(t, "tells "+told, nil, nil)
		said := slices.ContainsFunc(events, func(e execution.Event) bool {
			b, ok := e.Body.(execution.ErrorEvent)
			return ok && b.Recoverable && b.Code == execution.CodeParse && strings.Contains(b.Message, want)
		})
		if res.Status != execution.StatusCompleted || !said {
			t.Errorf("%s: %s, reported %v", told, res.Status, said)
		}
	}
	// A program waits for the answer to its question, so a question that cannot be read ends the run.
	res, _ := run(t, `tells {"jsonrpc":"2.0","method":"event","params":{"type":"may_i","interactionId":"q1"}}`, nil, nil)
	if res.Error == nil || res.Error.ErrorCode() != execution.CodeInvalidOutput || !strings.Contains(res.Error.Message, "may_i") {
		t.Errorf("a question of an unknown type: %s %+v", res.Status, res.Error)
	}
	if res, _ := run(t, "tells chatter", nil, nil); res.Status != execution.StatusCompleted || res.UnknownLines != 1 {
		t.Errorf("a line that is no message: %s, %d unknown lines", res.Status, res.UnknownLines)
	}
	if res, _ := run(t, "asks", nil, nil); !strings.Contains(res.Text, "-32601") || !strings.Contains(res.Text, "fs/read") {
		t.Errorf("a method that Drawbar does not have was answered with %q", res.Text)
	}
}

// TestOutlivesRun: a program that stays after its result is stopped, and the result counts.
func TestOutlivesRun(t *testing.T) {
	began := time.Now()
	res, _ := run(t, "stays", nil, nil)
	if res.Status != execution.StatusCompleted || res.Output == nil || res.Output.Text != "hi" {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
	if time.Since(began) > time.Minute {
		t.Error("it was waited for")
	}
}

// TestSessions: resuming and forking reach the program, of this machine and of another Drawbar, and its sessions come back.
func TestSessions(t *testing.T) {
	t.Setenv(scenarioVar, sessionsScenario)
	self, err := testenv.Self()
	if err != nil {
		t.Fatal(err)
	}
	local, err := Describe(t.Context(), oshost.New(cliagent.Spawn), []string{self}, true)
	if err != nil {
		t.Fatal(err)
	}
	remote, err := Remote{Name: "box", Command: []string{self}}.Find(t.Context(), oshost.New(cliagent.Spawn))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []adapter.Descriptor{local, remote} {
		for _, c := range []struct {
			change func(*execution.Request)
			want   execution.SessionStart
		}{
			{func(*execution.Request) {}, execution.SessionStart{SessionID: "new"}},
			{func(r *execution.Request) { r.Run.SessionID = "s-1" }, execution.SessionStart{SessionID: "s-1", Resumed: true}},
			{func(r *execution.Request) { r.Run.ForkSessionID = "s-1" }, execution.SessionStart{SessionID: "s-1-copy", ForkedFrom: "s-1"}},
			{func(r *execution.Request) { // what a result of this agent says, passed back
				r.Continuation = &execution.Continuation{Kind: "session", State: map[string]any{"agent": d.Name, "sessionId": "s-2"}}
			}, execution.SessionStart{SessionID: "s-2", Resumed: true}},
		} {
			req := clitest.Request()
			c.change(&req)
			r, err := agent.New(agent.BackendOf(d)).Start(t.Context(), req, agent.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var starts []execution.SessionStart
			for e, err := range r.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if b, ok := e.Body.(execution.SessionStart); ok {
					starts = append(starts, b)
				}
			}
			res, err := r.Result(t.Context())
			if err != nil || res.Status != execution.StatusCompleted || res.SessionID != c.want.SessionID || len(starts) != 1 || starts[0].SessionID != c.want.SessionID ||
				starts[0].Resumed != c.want.Resumed || starts[0].ForkedFrom != c.want.ForkedFrom {
				t.Errorf("%s: %s %+v, session %q, %+v, want %+v", d.Name, res.Status, res.Error, res.SessionID, starts, c.want)
			}
		}
		req := clitest.Request()
		req.Run.SessionID = "gone"
		r, err := agent.New(agent.BackendOf(d)).Start(t.Context(), req, agent.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := r.Result(t.Context()); err != nil || res.Error == nil || res.Error.ErrorCode() != execution.CodeSessionNotFound {
			t.Errorf("%s: a session that is gone: %+v %v", d.Name, res.Error, err)
		}
	}
}

// TestUndeclared: an event of a kind that the program does not declare is not lost.
func TestUndeclared(t *testing.T) {
	thinks := `tells {"jsonrpc":"2.0","method":"event","params":{"type":"thinking_delta","delta":"hm","accumulated":"hm"}}`
	if res, events := run(t, thinks, nil, nil); res.Status != execution.StatusCompleted || !slices.ContainsFunc(events, func(e execution.Event) bool {
		_, ok := e.Body.(execution.ThinkingDelta)
		return ok
	}) {
		t.Errorf("thinking that it does not declare: %s %+v", res.Status, res.Error)
	}
}

// TestRefusedMessage: a message that the program refuses is cancelled with its reason.
func TestRefusedMessage(t *testing.T) {
	res, events := run(t, "waits", func(r *execution.Request) { r.Run.Interactive = true }, func(r *agent.Run) {
		if _, err := r.Send("more", execution.WhenNow); err != nil {
			t.Error(err)
		}
	})
	if res.Status != execution.StatusCompleted || !slices.ContainsFunc(events, func(e execution.Event) bool {
		b, ok := e.Body.(execution.InputCancelled)
		return ok && b.Reason == "not now"
	}) {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
}

// TestSearch: programs that the project or other users control are passed over, each with the reason, and the first of a name counts.
func TestSearch(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	root := t.TempDir()
	at := func(dir, name, said string, mode os.FileMode) string {
		path := filepath.Join(root, dir, name)
		script := "#!/bin/sh\nread -r line\necho '" + said + "'\n"
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(script), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := at("bin", Prefix+"fake", introduced, 0o700)
	at("later", Prefix+"fake", "no", 0o700)
	other := at("bin", Prefix+"other", introduced, 0o700)
	inProject := at("project/bin", Prefix+"theirs", introduced, 0o700)
	open := at("bin", Prefix+"open", introduced, 0o702)
	inOpen := at("open", Prefix+"shared", introduced, 0o700)
	upper := at("bin", Prefix+"Upper", introduced, 0o700)
	at("bin", Prefix+"text", introduced, 0o600)
	at("rel", Prefix+"relative", introduced, 0o700)
	linked := filepath.Join(root, "bin", Prefix+"linked")
	if err := errors.Join(os.Symlink(inProject, linked), os.Chmod(filepath.Join(root, "open"), 0o707)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	path := strings.Join([]string{"rel", "", filepath.Join(root, "bin"), filepath.Join(root, "missing"), filepath.Join(root, "later"),
		filepath.Join(root, "project", "bin"), filepath.Join(root, "open")}, ":")
	s := Search{Host: oshost.New(cliagent.Spawn), Environ: []string{"PATH=" + path}, Project: filepath.Join(root, "project")}
	found, passed := s.List()
	var names []string
	for _, d := range found {
		names = append(names, d.Name+" "+d.Command)
	}
	if want := []string{"fake " + good, "other " + other}; !slices.Equal(names, want) {
		t.Errorf("found %q, want %q", names, want)
	}
	for path, why := range map[string]string{inProject: "in the project", open: "chmod o-w", inOpen: "chmod o-w", upper: "not a valid agent name", linked: "in the project"} {
		if !slices.ContainsFunc(passed, func(p string) bool { return strings.HasPrefix(p, path+" ") && strings.Contains(p, why) }) {
			t.Errorf("%s is not passed over because %q: %q", path, why, passed)
		}
		if _, err := s.Find(strings.TrimPrefix(filepath.Base(path), Prefix)); path != upper && execution.CodeOf(err) != execution.CodeUntrusted {
			t.Errorf("%s is found: %v", path, err)
		}
	}
	if d, err := s.Find("fake"); err != nil || d.Command != good {
		t.Errorf("%s %v", d.Command, err)
	}
	if _, err := s.Find("other"); err == nil || !strings.Contains(err.Error(), "it says that it is fake") {
		t.Errorf("a program with the name of another agent: %v", err)
	}
	for _, name := range []string{"text", "relative", "no-such"} {
		if _, err := s.Find(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDescribe: the descriptor has what the program said.
func TestDescribe(t *testing.T) {
	t.Setenv(scenarioVar, "simple")
	self, err := testenv.Self()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Describe(t.Context(), oshost.New(cliagent.Spawn), []string{self}, true)
	if err != nil {
		t.Fatal(err)
	}
	a, ok := d.New().(*Adapter)
	if !ok || d.Name != "fake" || d.DefaultModel != "fake-1" || len(d.Models) != 1 || d.Kind() != "external adapter" || !slices.Equal(a.Conformance(), []string{"simple"}) {
		t.Errorf("%+v", d)
	}
	found, err := a.Probe(t.Context(), oshost.New(nil))
	if err != nil || !found.Installed || found.Version != "1.2.3" {
		t.Errorf("%+v %v", found, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Describe(ctx, oshost.New(cliagent.Spawn), []string{self}, true); err == nil {
		t.Error("described although the caller gave up")
	}
}
