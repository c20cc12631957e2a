//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// configured is what differs between the agents when their configuration is looked at.
type configured struct {
	name string
	// add are the agent's own commands that add a server of a command ("theirs") and one with an address ("theirs-http").
	add     [][]string
	header  bool // theirs-http has the header X-A: b
	list    []string
	get     [][]string // further commands that show what list does not
	listed  []string   // what the agent's own list says about "ours", beside its name
	project bool       // a server of the project is in the list without further consent
	model   func(l *lab)
	shows   []string // the agent's own command that shows the model, where a run against another model server does not take it
}

const address = "http://127.0.0.1:9/mcp" // nothing listens there

var configs = []configured{
	{
		name: "claude", header: true, list: []string{"mcp", "list"}, listed: []string{"Connected"}, project: true,
		add: [][]string{{"mcp", "add", "-s", "user", "theirs", "-e", "A=b", "--", "/bin/cat", "x y", "--flag"},
			{"mcp", "add", "-s", "user", "-t", "http", "theirs-http", address, "-H", "X-A: b"}},
	},
	{
		name: "codex", list: []string{"mcp", "list", "--json"}, listed: []string{`"A": "it's \"b\""`},
		add: [][]string{{"mcp", "add", "theirs", "--env", "A=b", "--", "/bin/cat", "x y", "--flag"}, {"mcp", "add", "theirs-http", "--url", address}},
	},
	{
		name: "gemini", header: true, list: []string{"mcp", "list"}, listed: []string{"Connected"}, project: true,
		add: [][]string{{"mcp", "add", "-s", "user", "theirs", "-e", "A=b", "/bin/cat", "x y", "--", "--flag"},
			{"mcp", "add", "-s", "user", "-t", "http", "theirs-http", address, "-H", "X-A: b"}},
		model: func(l *lab) { delete(l.env, "GEMINI_MODEL") },
	},
	{
		name: "qwen", header: true, list: []string{"mcp", "list"}, listed: []string{"Connected"}, project: true,
		add: [][]string{{"mcp", "add", "-s", "user", "theirs", "-e", "A=b", "/bin/cat", "x y", "--", "--flag"},
			{"mcp", "add", "-s", "user", "-t", "http", "theirs-http", address, "-H", "X-A: b"}},
		model: func(l *lab) { delete(l.env, "OPENAI_MODEL") },
	},
	{
		name: "copilot", header: true, list: []string{"mcp", "list"}, get: [][]string{{"mcp", "get", "ours", "--show-secrets"}, {"mcp", "get", "ours-http"}},
		listed: []string{`it's "b"`}, project: true,
		add: [][]string{{"mcp", "add", "theirs", "--env", "A=b", "--", "/bin/cat", "x y", "--flag"},
			{"mcp", "add", "--transport", "http", "--header", "X-A: b", "theirs-http", address}},
		shows: []string{"config", "model"}, // with a model server of one's own copilot takes the model from the environment only
	},
	{
		name: "pi", header: true, list: []string{"mcp", "list"}, listed: []string{"connected, 1 tool"},
		add: [][]string{{"mcp", "add", "theirs", "--env", "A=b", "--", "/bin/cat", "x y", "--flag"}, {"mcp", "add", "theirs-http", "--url", address, "--header", "X-A=b"}},
		model: func(l *lab) { // a model that it does not know is replaced by one that it does
			file := filepath.Join(l.home, ".pi", "agent", "models.json")
			data, err := os.ReadFile(file)
			if err != nil {
				l.t.Fatal(err)
			}
			known := strings.NewReplacer(`"scripted-model"`, `"model-one"`, `"scripted-other"`, `"model-two"`).Replace(string(data))
			if err := os.WriteFile(file, []byte(known), 0o600); err != nil {
				l.t.Fatal(err)
			}
		},
	},
}

// forEachConfig runs a test for every agent that this build knows.
func forEachConfig(t *testing.T, f func(t *testing.T, c configured, l *lab)) {
	known := map[string]bool{}
	for _, d := range adapter.Builtins() {
		known[d.Name] = true
	}
	t.Helper()
	t.Parallel()
	for _, c := range configs {
		forAgent(t, c.name, func(t *testing.T) {
			if !known[c.name] {
				t.Skipf("SKIPPED: %s is none of this build's agents", c.name)
			}
			l := newLab(t, kit{name: c.name}, `{"turns":[{"text":"Hello."},{"text":"Hello again."}]}`)
			l.env["GEMINI_CLI_TRUST_WORKSPACE"] = "true" // gemini uses no servers in a folder that nobody trusts
			if out, err := exec.Command("git", "init", "-q", l.work).CombinedOutput(); err != nil {
				t.Fatalf("git init: %v\n%s", err, out)
			}
			f(t, c, l)
		})
	}
}

// own runs one of the agent's own commands in the lab and gives what it printed.
func (l *lab) own(args ...string) string {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, l.kit.name), args...)
	cmd.Env, cmd.Dir = l.environ(), l.work
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) && (l.kit.name != "pi" || args[1] != "list") { // it fails for a server that is not there
		l.t.Fatalf("%s %s: %v\n%s", l.kit.name, strings.Join(args, " "), err, out.String())
	}
	return out.String()
}

// drawbar runs a command that must succeed, and decodes the data of its answer.
func (l *lab) drawbar(data any, args ...string) {
	l.t.Helper()
	o := l.command(append([]string{"--json"}, args...)...)
	answer := struct{ Data any }{data}
	if o.code != 0 {
		l.t.Fatalf("drawbar %s: exit %d\n%s%s", strings.Join(args, " "), o.code, o.stdout, o.stderr)
	}
	if err := json.Unmarshal([]byte(o.stdout), &answer); err != nil {
		l.t.Fatalf("drawbar %s: %v\n%s", strings.Join(args, " "), err, o.stdout)
	}
}

// A server that Drawbar adds is in the agent's own list, with its command as it was given; a removed one is not.
func TestConfigServersWrittenByDrawbar(t *testing.T) {
	forEachConfig(t, func(t *testing.T, c configured, l *lab) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		l.drawbar(nil, "mcp", "add", c.name, "ours", "--env", echoServer+"=1", "--env", `A=it's "b"`, "--", self, "an arg", `"q"`)
		l.drawbar(nil, "mcp", "add", c.name, "ours-http", "--url", address)
		list := l.own(c.list...)
		for _, args := range c.get {
			list += l.own(args...)
		}
		for _, want := range append([]string{"ours", "ours-http", self, "an arg", address}, c.listed...) {
			if !strings.Contains(list, want) {
				t.Errorf("%s %s does not say %q:\n%s", c.name, strings.Join(c.list, " "), want, list)
			}
		}
		l.drawbar(nil, "mcp", "remove", c.name, "ours-http")
		if list := l.own(c.list...); strings.Contains(list, "ours-http") || !strings.Contains(list, "ours") {
			t.Errorf("after the removal:\n%s", list)
		}
		if !c.project {
			partly(t, "its own list leaves out servers of a project that nobody has trusted")
			return
		}
		if c.name == "copilot" {
			trusted, _ := json.Marshal([]string{l.work})
			l.drawbar(nil, "config", "set", c.name, "trustedFolders", string(trusted))
		}
		l.drawbar(nil, "mcp", "add", c.name, "shared-one", "--scope", "project", "--", self)
		if list := l.own(c.list...); !strings.Contains(list, "shared-one") {
			t.Errorf("the project's server is not listed:\n%s", list)
		}
	})
}

// What the agent's own command adds is read as it was given, and survives what Drawbar does to the file.
func TestConfigServersWrittenByAgent(t *testing.T) {
	forEachConfig(t, func(t *testing.T, c configured, l *lab) {
		for _, args := range c.add {
			l.own(args...)
		}
		type server struct {
			Name, Transport, Command, URL, Scope, Error string
			Args                                        []string
			Env, Headers                                map[string]string
		}
		read := func() map[string]server {
			var list []server
			l.drawbar(&list, "mcp", "list", c.name, "--reveal")
			m := map[string]server{}
			for _, s := range list {
				m[s.Name] = s
			}
			return m
		}
		check := func(m map[string]server) {
			t.Helper()
			s := m["theirs"]
			if s.Transport != "stdio" || s.Command != "/bin/cat" || fmt.Sprintf("%q", s.Args) != `["x y" "--flag"]` || s.Env["A"] != "b" || s.Error != "" || s.Scope != "global" {
				t.Errorf("theirs: %+v", s)
			}
			if s := m["theirs-http"]; s.Transport != "streamable-http" || s.URL != address || c.header && s.Headers["X-A"] != "b" {
				t.Errorf("theirs-http: %+v", s)
			}
		}
		check(read())
		l.drawbar(nil, "mcp", "add", c.name, "ours", "--", "/bin/true")
		l.drawbar(nil, "mcp", "remove", c.name, "ours")
		check(read())
		if o := l.command("mcp", "add", c.name, "theirs", "--", "/bin/true"); o.code != 7 || !strings.Contains(o.stderr, "already") {
			t.Errorf("added twice: exit %d\n%s", o.code, o.stderr)
		}
		if o := l.command("mcp", "list", c.name, "--json"); strings.Contains(o.stdout, `"A":"b"`) || strings.Contains(o.stdout, `"X-A":"b"`) {
			t.Errorf("a secret is shown:\n%s", o.stdout)
		}
	})
}

// The model that Drawbar sets is the one the agent asks for when a run names none.
func TestConfigModel(t *testing.T) {
	forEachConfig(t, func(t *testing.T, c configured, l *lab) {
		if c.model != nil {
			c.model(l)
		}
		for _, id := range []string{"model-one", "model-two"} {
			l.drawbar(nil, "config", "set", c.name, "model", id)
			var got struct{ Value string }
			if l.drawbar(&got, "config", "get", c.name, "model"); got.Value != id {
				t.Errorf("read back %q", got.Value)
			}
			if c.shows != nil {
				partly(t, "with a model server of one's own the model comes from the environment only: the agent's own command shows what was set, a run does not")
				if shown := strings.TrimSpace(l.own(c.shows...)); !strings.HasSuffix(shown, id) {
					t.Errorf("%s %s shows %q", c.name, strings.Join(c.shows, " "), shown)
				}
				continue
			}
			l.run("say hello").completed(t)
			asked := ""
			for _, r := range l.model.Requests() {
				if r.Side == "" {
					asked = r.Model + " " + r.Path
				}
			}
			if !strings.Contains(asked, id) {
				t.Errorf("the agent asked for %q, want %s", asked, id)
			}
		}
		var v struct{ Valid bool }
		if l.drawbar(&v, "config", "validate", c.name); !v.Valid {
			t.Error("not valid")
		}
	})
}

// Variables that Drawbar sets are there in the commands that the agent runs; a value that a shell would change is as it was.
func TestConfigEnv(t *testing.T) {
	forEachConfig(t, func(t *testing.T, c configured, l *lab) {
		if o := l.command("config", "set", c.name, "env.DRAWBAR_E2E_SET", "x"); o.code == execution.ExitCapability {
			unsupported(t, "refused: config set "+c.name+" env.NAME")
			return
		}
		i := slices.IndexFunc(kits, func(k kit) bool { return k.name == c.name })
		if i < 0 {
			t.Skipf("SKIPPED: nothing is known of the tools of %s here", c.name)
		}
		out := filepath.Join(l.work, "out.txt")
		l = newLab(t, kits[i], fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"done"}]}`, kits[i].shell(`printf %s "$DRAWBAR_E2E_SET" > `+shellQuote(out))))
		l.work = filepath.Dir(out)
		l.drawbar(nil, "config", "set", c.name, "env.DRAWBAR_E2E_SET", `a "b" $c`)
		l.run("--approve", "yolo", "go").completed(t)
		if b, err := os.ReadFile(out); err != nil || string(b) != `a "b" $c` {
			t.Errorf("the command saw %q, %v", b, err)
		}
	})
}

// TestListsOfTwoScopes: a list that stands in the user's and in the project's settings has the value that the agent itself makes of them.
func TestListsOfTwoScopes(t *testing.T) {
	t.Parallel()
	both := func(l *lab, field string, of func(scope string) string) (joined bool) {
		for _, scope := range []string{"global", "project"} {
			if o := l.command("config", "set", l.kit.name, field, fmt.Sprintf("[%s]", q(of(scope))), "--scope", scope); o.code != 0 {
				l.t.Fatalf("set %s: %s", field, o.stderr)
			}
		}
		value := l.command("config", "get", l.kit.name, field).stdout
		if !strings.Contains(value, of("project")) {
			l.t.Errorf("%s is %s", field, value)
		}
		return strings.Contains(value, of("global"))
	}
	forAgent(t, "opencode", func(t *testing.T) {
		l := newLab(t, kit{name: "opencode"}, `{"turns":[{"text":"hello"}]}`)
		fields := map[string]string{"skills": "/skills-%s", "agentsDoc": "%s.md", "enabled_providers": "enabled-%s", "disabled_providers": "disabled-%s"}
		joined := map[string]bool{}
		for field, form := range fields {
			joined[field] = both(l, field, func(scope string) string { return fmt.Sprintf(form, scope) })
		}
		own := l.agent("opencode", "debug", "config", "--pure")
		for field, form := range fields {
			if theirs := strings.Contains(own, q(fmt.Sprintf(form, "global"))); theirs != joined[field] || !strings.Contains(own, q(fmt.Sprintf(form, "project"))) {
				t.Errorf("%s: joined by drawbar %v, by opencode %v", field, joined[field], theirs)
			}
		}
	})
	forAgent(t, "pi", func(t *testing.T) {
		l := newLab(t, kit{name: "pi"}, `{"turns":[{"text":"hello"}],"onExhausted":"last"}`)
		folder := func(scope string) string { return filepath.Join(l.root, "of-"+scope) }
		for _, scope := range []string{"global", "project"} {
			text := fmt.Sprintf("---\nname: heron-%s\ndescription: Stands in the water.\n---\nStand.\n", scope)
			if err := errors.Join(os.MkdirAll(filepath.Join(folder(scope), "heron-"+scope), 0o755),
				os.WriteFile(filepath.Join(folder(scope), "heron-"+scope, "SKILL.md"), []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		log := &strings.Builder{}
		url, _ := loggedModel(t, `{"turns":[{"text":"hello"}],"onExhausted":"last"}`, log)
		l.redirect(url)
		joined := both(l, "skills", folder)
		l.agent("pi", "-p", "--approve", "hi")
		if theirs := strings.Contains(log.String(), "heron-global"); theirs != joined || !strings.Contains(log.String(), "heron-project") {
			t.Errorf("skills: joined by drawbar %v, by pi %v\n%s", joined, theirs, log)
		}
	})
}
