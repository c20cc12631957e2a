package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/external"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/modelserver"
)

// The variables of the program that shows its keys: the folder where it notes what it saw, the names of the variables with keys, and
// its version.
const (
	keysDir     = "DRAWBAR_TEST_KEYS"
	keysNames   = "DRAWBAR_TEST_KEYS_NAMES"
	keysVersion = "DRAWBAR_TEST_KEYS_VERSION"
)

// playKeys is any agent's program: it notes its arguments and which keys reached it, prints every key, and fails; an agent that is
// asked over the Agent Client Protocol answers.
func playKeys() {
	dir := os.Getenv(keysDir)
	note := func(file, line string) {
		f, err := os.OpenFile(filepath.Join(dir, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, line)
		_ = f.Close()
	}
	parent, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid())) // only where there is such a file
	note("argv", fmt.Sprintf("%q %q", os.Args, parent))
	if len(os.Args) == 2 && strings.Contains(strings.ToLower(os.Args[1]), "version") {
		fmt.Println(os.Getenv(keysVersion))
		os.Exit(0)
	}
	var keys []string
	for name := range strings.SplitSeq(os.Getenv(keysNames), ",") {
		if key := os.Getenv(name); key != "" {
			note("got", name)
			keys = append(keys, key)
			fmt.Fprintf(os.Stderr, "%s=%s\n", name, key)
		}
	}
	said := strings.Join(keys, " ")
	if strings.HasPrefix(filepath.Base(os.Args[0]), external.Prefix) {
		fake := &adaptertest.Fake{Script: func(c *adaptertest.Call) execution.Result {
			c.Say("my keys are ", said)
			return adaptertest.Completed()
		}}
		d := adapter.Descriptor{Name: "ext", Keys: strings.Split(os.Getenv(keysNames), ","), New: func() adapter.Adapter { return fake }}
		if err := external.Serve(d, "1.0.0", nil, os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	time.AfterFunc(5*time.Second, func() { os.Exit(1) }) // its input may stay open without a line
	in := bufio.NewReader(os.Stdin)
	line, _ := in.ReadString('\n') // nothing is a line too
	if strings.Contains(line, `"protocolVersion"`) {
		r, w, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		os.Stdin = r
		go func() {
			_, _ = io.Copy(w, io.MultiReader(strings.NewReader(line), in)) // the end of either side is the end
			_ = w.Close()
		}()
		os.Exit((&acptest.Agent{Scenario: adaptertest.Simple, Initialize: acptest.Fields{"agentInfo": acptest.Fields{"name": said, "version": "1"}}}).Serve())
	}
	fmt.Println(said)
	fmt.Printf("{\"type\":\"text\",\"text\":%q}\n", said)
	os.Exit(1)
}

// keyed is an agent with the variables of its login.
type keyed struct {
	name, program string
	version       string
	names         []string
	service       bool
	to            func(url, home string) adapter.Redirect
	add           []string // adds it to the configuration; {url} is the service's
	rest          []string // of the command line
}

// everyAgent lists the built-in agents, and one of each kind that a user can add.
func everyAgent() (list []keyed) {
	const own = "PLANTED_API_KEY"
	for _, d := range adapter.Builtins() {
		k := keyed{name: d.Name, program: d.Command, names: slices.Clone(d.Keys)}
		if n := len(d.TestedVersions); n > 0 {
			k.version = d.TestedVersions[n-1]
		}
		a := d.New()
		if g, ok := adapter.As[adapter.AuthGuide](a); ok {
			for _, v := range g.AuthGuidance().EnvVars {
				k.names = append(k.names, v.Name)
			}
		}
		if k.service = d.Programless(); k.service {
			r, ok := adapter.As[adapter.ModelRedirector](a)
			if !ok {
				panic(d.Name + " cannot be pointed at another service")
			}
			k.to = r.RedirectModel
		} else if k.program == "" { // it takes a command
			k.program, k.rest = "keys-agent", []string{"--", "keys-agent"}
		}
		list = append(list, k)
	}
	list = append(list,
		keyed{name: "mine", program: "keys-agent", add: []string{"mine", "--", "own-agent", "-p", "{prompt}"}},
		keyed{name: "talker", program: "keys-agent", add: []string{"talker", "--output", "acp", "--", "own-agent"}},
		keyed{name: "ext", program: external.Prefix + "ext"},
		keyed{name: "box", program: "claude", names: []string{"ANTHROPIC_API_KEY"}, add: []string{"box", "--output", "drawbar", "--", "drawbar", "agents", "serve", "claude"}},
		keyed{name: "router", service: true, names: []string{"ROUTER_KEY"}, add: []string{"router", "--api", "chat", "--url", "{url}/v1", "--key", "ROUTER_KEY", "--model", "m"}},
		keyed{name: "far", service: true, names: []string{"FAR_TOKEN"}, add: []string{"far", "--api", "a2a", "--url", "{url}/far", "--key", "FAR_TOKEN"}})
	for i, k := range list {
		names := slices.DeleteFunc(k.names, func(name string) bool { return !secret.Name(name) })
		if !k.service {
			names = append(names, own) // of a login that the adapter does not know
		}
		slices.Sort(names)
		list[i].names = slices.Compact(names)
	}
	return list
}

// keyService answers like a model, or refuses the key and shows it.
type keyService struct {
	model   http.Handler
	refuses bool

	mu  sync.Mutex
	got string // all headers
}

func (s *keyService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.got += fmt.Sprintf("%v %v\n", r.URL, r.Header)
	s.mu.Unlock()
	if !s.refuses {
		s.model.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	fmt.Fprintf(w, `{"error":{"type":"authentication_error","message":%q}}`, fmt.Sprint("wrong key: ", r.Header))
}

// TestEveryAgentKeepsItsKeys plants a key in every variable of an agent's login. The agent's program prints it, or its service repeats it; it
// stands in nothing that is shown, recorded or left in a file, and in no argument of a process.
func TestEveryAgentKeepsItsKeys(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agents' programs are links and scripts")
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range everyAgent() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for _, refuses := range []bool{false, true} {
				if !refuses || k.service {
					k.run(t, self, refuses)
				}
			}
		})
	}
}

func (k keyed) run(t *testing.T, self string, refuses bool) {
	dir := t.TempDir()
	for _, d := range []string{"home", "bin", "repo", "state", "tmp", "seen"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"drawbar", k.program} {
		if name == "" {
			continue
		}
		if err := os.Symlink(self, filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	// An entry must not run Drawbar itself, which this binary is.
	if err := os.WriteFile(filepath.Join(dir, "bin", "own-agent"), []byte("#!/bin/sh\nexec keys-agent \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	env := map[string]string{"HOME": home, "PATH": filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"XDG_STATE_HOME": filepath.Join(dir, "state"), "TMPDIR": filepath.Join(dir, "tmp"), "NO_COLOR": "1", "GORACE": "atexit_sleep_ms=0",
		actsAsDrawbar: "1", keysDir: filepath.Join(dir, "seen"), keysNames: strings.Join(k.names, ","), keysVersion: k.version}
	script, err := modelserver.Parse([]byte(`{"turns":[{"text":"hi","repeat":true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	service := &keyService{model: modelserver.New(script, modelserver.Options{}), refuses: refuses}
	server := httptest.NewServer(service)
	defer server.Close()
	agent := k.name
	if k.to != nil {
		to := k.to(server.URL, home)
		maps.Copy(env, to.Env)
		delete(env, "DRAWBAR_STATE_DIR") // that of the test is in XDG_STATE_HOME
		if agent = k.name + "/" + to.Model; to.Model == "" {
			agent = k.name
		}
	}
	keys := make([]string, len(k.names))
	for i, name := range k.names {
		keys[i] = fmt.Sprintf("planted-%d-Zq83", i)
		env[name] = keys[i]
	}
	drawbar := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(dir, "bin", "drawbar"), args...)
		cmd.Dir = filepath.Join(dir, "repo")
		for name, value := range env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, _ := cmd.CombinedOutput() // most of these agents fail
		return string(out)
	}
	shown := ""
	if k.add != nil {
		add := []string{"agents", "add"}
		for _, a := range k.add {
			add = append(add, strings.ReplaceAll(a, "{url}", server.URL))
		}
		shown += drawbar(add...)
	}
	run := append([]string{"run", agent, "--json", "--debug", "--timeout", "20s", "-p", "say hi"}, k.rest...)
	shown += drawbar(run...)
	id := strings.Fields(drawbar("ps", "--all", "--quiet"))
	if len(id) != 1 {
		t.Fatalf("%d runs are recorded: %.3000s", len(id), shown)
	}
	shown += drawbar("ps", "--all", "--json") + drawbar("logs", "--json", id[0]) + drawbar("logs", id[0]) + drawbar("sessions", "list", "--json")
	argv, _ := os.ReadFile(filepath.Join(dir, "seen", "argv")) // none of a service
	got, _ := os.ReadFile(filepath.Join(dir, "seen", "got"))
	reached := len(bytes.Fields(got)) > 0
	if k.service {
		reached = slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(service.got, key) })
	}
	if !reached {
		t.Errorf("no key reached the agent, so this proves nothing: %.3000s", shown)
	}
	places := map[string]string{"what is shown": shown + joined([]byte(shown)), "the arguments of a process": string(argv)}
	for _, folder := range []string{"home", "repo", "state", "tmp"} {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			places[path] = string(b) + joined(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for place, text := range places {
		for i, key := range keys {
			if strings.Contains(text, key) {
				t.Errorf("the key in %s stands in %s: %.1500s", k.names[i], place, around(text, key))
			}
		}
	}
}

// around is the part of a text that shows where a key stands.
func around(text, key string) string {
	at := strings.Index(text, key)
	return text[max(0, at-200):min(len(text), at+200)]
}
