//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	_ "github.com/drawbar/drawbar/adapter/all"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/modelserver"
)

// binary is the built drawbar, programs the folder with the agents' programs; both come from e2e/run.
var (
	binary   = os.Getenv("DRAWBAR_E2E_BINARY")
	programs = os.Getenv("DRAWBAR_E2E_PROGRAMS")
)

const echoServer = "DRAWBAR_E2E_ECHO_SERVER"

func TestMain(m *testing.M) {
	drawbar.Supervise()
	if os.Getenv(echoServer) != "" {
		serveEcho()
		return
	}
	if os.Getenv(chainWorker) != "" {
		if err := workOnChain(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if binary == "" || programs == "" {
		fmt.Fprintln(os.Stderr, "e2e: run these tests with e2e/run")
		os.Exit(2)
	}
	if err := loopbackUp(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: bring up the loopback interface:", err)
		os.Exit(2)
	}
	ifaces, err := net.Interfaces()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(2)
	}
	for _, i := range ifaces {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 {
			fmt.Fprintf(os.Stderr, "e2e: the network interface %s is up; the agents run only where there is nothing but loopback\n", i.Name)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}

// serveEcho is an MCP server on standard input and output with one tool.
func serveEcho() {
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "says it back"}, func(_ context.Context, _ *mcp.CallToolRequest, v in) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "echo: " + v.Text}}}, nil, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// can is what the agent declares.
func (k kit) can(t *testing.T) execution.Capabilities {
	t.Helper()
	return k.entry(t).Adapter.Capabilities()
}

// entry is the agent in the catalog.
func (k kit) entry(t *testing.T) catalog.Entry {
	t.Helper()
	c, err := drawbar.New(drawbar.Options{NoRecord: true})
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Adapters().Get(k.name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// refused runs what the agent does not declare: nothing may start.
func (l *lab) refused(args ...string) {
	l.t.Helper()
	unsupported(l.t, "refused before anything starts: "+strings.ReplaceAll(strings.Join(args[:len(args)-1], " "), l.root+"/", ""))
	l.nothingStarts(args...)
}

func (l *lab) nothingStarts(args ...string) {
	l.t.Helper()
	if o := l.run(args...); o.result.Status != execution.StatusUnsupported || o.code != execution.ExitCapability || l.turns() != 0 {
		l.t.Errorf("%v: %s, exit %d, %d model calls; want it refused before anything starts", args, o.result.Status, o.code, l.turns())
	}
}

func q(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// smoke are the scenarios that every agent runs each time. Claude and Codex run all of them, the others when
// DRAWBAR_E2E_FULL is set: their programs take seconds of a processor to start. What a scenario of these shows beside its own, a tool
// that is denied, a permission over ACP alone or the protocol without a tool, is not run once more.
var (
	smoke = map[string]bool{"TestPlain": true, "TestToolWritesFile": true, "TestResumeForkAndUnknownSession": true, "TestMCPServer": true, "TestUnauthorized": true,
		"TestSeveralTurns": true, "TestPermissionAllowAndDeny": true, "TestAbortWhileToolRuns": true, "TestNestedAgent": true, "TestHostInsideAgent": true,
		"TestConfigServersWrittenByDrawbar": true, "TestSessions": true, "TestNativeHook": true, "TestNativeHooksOfAProject": true,
		"TestCosts": true, "TestGuessedCost": true, "TestCostOfAStoppedRun": true, "TestQuestionsOnATerminal": true, "TestInterruptKeepsTheConversation": true,
		"TestSessionsInADatabase": true, "TestOpenClaw": true, "TestMCPServersOfOthers": true, "TestMCPRuntimeWithServersOfOthers": true}
	always = map[string]bool{"claude": true, "codex": true}
	// Those of heavy agents, whose start costs five seconds of a processor and more, are fewer.
	heavy = map[string]bool{"opencode": true, "qwen": true, "cline": true, "omp": true}
	few   = map[string]bool{"TestToolWritesFile": true, "TestResumeForkAndUnknownSession": true, "TestMCPServer": true, "TestUnauthorized": true,
		"TestPermissionAllowAndDeny": true, "TestAbortWhileToolRuns": true, "TestConfigServersWrittenByDrawbar": true,
		"TestSessionsInADatabase": true}
	full = os.Getenv("DRAWBAR_E2E_FULL") != ""
)

// forEach runs a test for every agent.
func forEach(t *testing.T, f func(t *testing.T, k kit)) {
	t.Helper()
	t.Parallel()
	for _, k := range kits {
		if !k.slow || full {
			forAgent(t, k.name, func(t *testing.T) { f(t, k) })
		}
	}
}

// only runs a test for one agent.
func only(t *testing.T, agent string, f func(t *testing.T, k kit)) {
	t.Helper()
	i := slices.IndexFunc(kits, func(k kit) bool { return k.name == agent })
	if i < 0 {
		t.Fatalf("%s has no entry", agent)
	}
	t.Parallel()
	forAgent(t, agent, func(t *testing.T) { f(t, kits[i]) })
}

// forAgent runs a test as the sub-test that stands in the agent's column of the table of scenarios.
func forAgent(t *testing.T, agent string, f func(t *testing.T)) {
	t.Helper()
	scenario := t.Name()
	t.Run(agent, func(t *testing.T) {
		t.Parallel()
		if !full && !always[agent] && (!smoke[scenario] || heavy[agent] && !few[scenario]) {
			t.Skip("not among the scenarios that every agent runs each time; DRAWBAR_E2E_FULL=1 runs it")
		}
		f(t)
	})
}

// unsupported notes for the table of scenarios that the agent does not declare what a scenario needs, and was refused.
func unsupported(t *testing.T, what string) {
	t.Helper()
	t.Logf("scenario unsupported: %s", what)
}

// partly notes for the table of scenarios what of a scenario the agent does not declare or does in its own way, while the rest passes.
func partly(t *testing.T, what string) {
	t.Helper()
	t.Logf("scenario partly: %s", what)
}

// defect notes for the table of scenarios what a vendor's program does wrong, and how that was seen. The test goes on with
// what Drawbar must make of it.
func defect(t *testing.T, evidence string) {
	t.Helper()
	t.Logf("scenario defect: %s", evidence)
}

// lab is a private world for one test: home, work and state directories, and a model server.
type lab struct {
	t      *testing.T
	kit    kit
	root   string
	home   string
	work   string
	model  *modelserver.Server
	server *modelserver.Running
	env    map[string]string
	args   []string             // for every run
	agents []adapter.Descriptor // of the verbs of the handle; nil for those that are built in

	redirected string // the model that the redirected agent must be asked for, empty for its default
}

func newLab(t *testing.T, k kit, script string) *lab {
	t.Helper()
	l := bareLab(t, k, script)
	l.redirect(l.server.URL())
	if k.warm != nil {
		k.warm(l)
	}
	return l
}

// bareLab is a lab whose agent is not pointed at the model server.
func bareLab(t *testing.T, k kit, script string) *lab {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, kit: k, root: root, home: filepath.Join(root, "home"), work: filepath.Join(root, "work")}
	for _, d := range []string{l.home, l.work, filepath.Join(root, "state"), filepath.Join(root, "tmp")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := modelserver.Parse([]byte(script))
	if err != nil {
		t.Fatalf("script: %v\n%s", err, script)
	}
	l.model = modelserver.New(parsed, modelserver.Options{})
	if l.server, err = l.model.Listen(context.Background(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.server.Close(); err != nil {
			t.Error(err)
		}
		l.noSurvivors()
	})
	l.env = map[string]string{"HOME": l.home, "PATH": programs + ":" + filepath.Dir(mustLook(t, "node")) + ":/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb",
		"TMPDIR": filepath.Join(root, "tmp"), "XDG_STATE_HOME": filepath.Join(root, "state"), "DRAWBAR_E2E_LAB": root, "IS_SANDBOX": "1"}
	return l
}

func mustLook(t *testing.T, name string) string {
	p, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// redirector returns an adapter's own account of how its agent is pointed at another model API.
func redirector(t *testing.T, agent string) adapter.ModelRedirector {
	t.Helper()
	c, err := drawbar.New(drawbar.Options{NoRecord: true})
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Adapters().Get(agent)
	if err != nil {
		t.Fatal(err)
	}
	r, ok := adapter.As[adapter.ModelRedirector](e.Adapter)
	if !ok {
		t.Fatalf("%s cannot be pointed at a scripted model", agent)
	}
	return r
}

// redirect points the agent at the model server, by the adapter's own account of how that is done.
func (l *lab) redirect(url string) {
	l.t.Helper()
	to := redirector(l.t, l.kit.name).RedirectModel(url, l.home)
	l.redirected = to.Model
	for k, v := range to.Env {
		l.env[k] = v
	}
	l.env["HOME"] = l.home
	delete(l.env, "DRAWBAR_STATE_DIR") // that of the lab is in XDG_STATE_HOME
	for path, content := range to.Files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			l.t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
}

// patient takes back limits on retries, so that failures are endless.
func (l *lab) patient() {
	delete(l.env, "CLAUDE_CODE_MAX_RETRIES")
	if l.kit.patient != nil {
		l.kit.patient(l)
	}
	config := filepath.Join(l.env["CODEX_HOME"], "config.toml")
	if b, err := os.ReadFile(config); err == nil {
		var out []string
		for line := range strings.Lines(string(b)) {
			// Retries of the stream are told, those of the request are silent.
			switch name, _, _ := strings.Cut(line, "="); strings.TrimSpace(name) {
			case "request_max_retries":
				line = "request_max_retries = 0\n"
			case "stream_max_retries":
				line = "stream_max_retries = 100\n"
			}
			out = append(out, line)
		}
		if err := os.WriteFile(config, []byte(strings.Join(out, "")), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
}

// outside is a directory that no sandbox of an agent lets it write to: neither its work directory nor a temporary one.
func (l *lab) outside() string {
	l.t.Helper()
	base, err := os.UserCacheDir()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		l.t.Fatal(err)
	}
	dir, err := os.MkdirTemp(base, "drawbar-e2e-outside-*")
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (l *lab) environ() []string {
	var list []string
	for k, v := range l.env {
		list = append(list, k+"="+v)
	}
	return list
}

// outcome is what a run of the binary showed.
type outcome struct {
	events []execution.Event
	result execution.Result
	code   int
	stdout string
	stderr string
	took   time.Duration
}

// run runs "drawbar run AGENT --json ARGS" to its end.
func (l *lab) run(args ...string) outcome {
	l.t.Helper()
	return l.stream(append([]string{"run", l.kit.name, "--json", "--cwd", l.work}, append(slices.Clone(l.args), args...)...)...)
}

// stream runs a command that prints events to its end.
func (l *lab) stream(args ...string) outcome {
	l.t.Helper()
	o := l.command(args...)
	for line := range strings.Lines(o.stdout) {
		var e execution.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			l.t.Fatalf("a line of --json is no event: %v\n%s\nstderr: %s", err, line, o.stderr)
		}
		o.events = append(o.events, e)
		if f, ok := e.Body.(execution.Finished); ok {
			o.result = f.Result
		}
	}
	if len(o.events) == 0 || !o.events[len(o.events)-1].Terminal() {
		l.t.Fatalf("the stream does not end with finished: %d events, exit code %d\nstdout: %s\nstderr: %s", len(o.events), o.code, o.stdout, o.stderr)
	}
	l.order(o)
	return o
}

func (l *lab) command(args ...string) outcome {
	l.t.Helper()
	return l.program(binary, args...)
}

// program runs a program in the lab to its end.
func (l *lab) program(path string, args ...string) outcome {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = l.environ(), l.work, 5*time.Second // what it started may keep its output open
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	name := filepath.Base(path) + " " + strings.Join(args, " ")
	if ctx.Err() != nil {
		l.t.Fatalf("%s did not end within %s\nstdout: %s\nstderr: %s", name, patience, out.String(), errs.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatalf("%s: %v", name, err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: errs.String(), took: time.Since(start)}
}

// order holds the stream against the ordering contract.
func (l *lab) order(o outcome) {
	l.t.Helper()
	var seq uint64
	open := false
	for i, e := range o.events {
		if e.Seq <= seq {
			l.t.Errorf("event %d: number %d after %d", i, e.Seq, seq)
		}
		seq = e.Seq
		switch e.Body.(type) {
		case execution.TurnStart:
			if open {
				l.t.Errorf("event %d: a turn begins inside a turn", i)
			}
			open = true
		case execution.TurnEnd:
			if !open {
				l.t.Errorf("event %d: a turn ends that never began", i)
			}
			open = false
		}
	}
	if err := o.result.Validate(); err != nil {
		l.t.Errorf("%v", err)
	}
}

// bodies are the events of one kind.
func bodies[T execution.Body](o outcome) []T {
	var list []T
	for _, e := range o.events {
		if b, ok := e.Body.(T); ok {
			list = append(list, b)
		}
	}
	return list
}

// turns counts the model requests that were turns.
func (l *lab) turns() int {
	n := 0
	for _, r := range l.model.Requests() {
		if r.Side == "" {
			n++
		}
	}
	return n
}

// sent is the bodies of the turn requests, for looking at what reached the model.
func (l *lab) sent() []string { return bodiesOf(l.model) }

// want fails unless the run ended as expected.
func (o outcome) want(t *testing.T, status execution.Status, code execution.ErrorCode, exit int) {
	t.Helper()
	if o.result.Status != status || o.result.Error.ErrorCode() != code || o.code != exit {
		t.Fatalf("got %s %q exit %d, want %s %q exit %d\nerror: %+v\nstderr: %s", o.result.Status, o.result.Error.ErrorCode(), o.code, status, code, exit, o.result.Error, o.stderr)
	}
}

// completed fails unless the run completed, with the exit code that says whether calls were denied because nobody could be asked.
func (o outcome) completed(t *testing.T) {
	t.Helper()
	exit := execution.ExitOK
	if o.result.DeniedCalls > 0 {
		exit = execution.ExitDenied
	}
	o.want(t, execution.StatusCompleted, "", exit)
}

// noSurvivors fails when a process of this lab is still there. Its environment names the lab.
func (l *lab) noSurvivors() {
	l.t.Helper()
	deadline := time.Now().Add(2 * time.Second)
	for {
		left := l.processes()
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			l.t.Errorf("left running: %s", strings.Join(left, "; "))
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// running waits until n processes of the lab are the command that is given: those of a tool that the model called.
func (l *lab) running(command string, n int) {
	l.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		found, all := 0, l.processes()
		for _, p := range all {
			_, cmdline, _ := strings.Cut(p, " ")
			if strings.TrimSpace(cmdline) == command {
				found++
			}
		}
		if found >= n {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%d of %d processes run %s: %s", found, n, command, strings.Join(all, "; "))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (l *lab) processes() []string {
	var left []string
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, d := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(d))
		if pid == os.Getpid() {
			continue
		}
		env, _ := os.ReadFile(filepath.Join(d, "environ")) // it may be gone, which is what we want
		cwd, _ := os.Readlink(filepath.Join(d, "cwd"))
		if !bytes.Contains(env, []byte("DRAWBAR_E2E_LAB="+l.root)) && !strings.HasPrefix(cwd, l.root) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(d, "stat"))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		left = append(left, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(cmdline, []byte{0}, []byte(" "))))
	}
	return left
}
