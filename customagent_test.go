package drawbar_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
)

// TestConfiguredAgents: a program runs the agents that the configuration describes; a project's only after its user trusts it, and
// never under the name of another one.
func TestConfiguredAgents(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent is a shell script")
	}
	user, repo := t.TempDir(), t.TempDir()
	t.Setenv("DRAWBAR_CONFIG_DIR", user)
	for path, text := range map[string]string{
		filepath.Join(user, "config.json"): `{"defaultModel": "not for these", "customAgents": {"mine": {"command": ["/bin/sh", "-c", "echo mine; cat"]}, "both": {"command": ["/bin/sh", "-c", "echo mine"]},
			"here": {"command": ["./agent.sh"]}, "twin": {"command": ["x"], "capabilities": {"parallelRuns": false}}}}`,
		filepath.Join(repo, ".drawbar", "config.json"): `{"customAgents": {"ours": {"command": ["./agent.sh"]}, "both": {"command": ["./agent.sh"]},
			"out": {"command": ["../agent.sh"]}}}`,
		filepath.Join(repo, "agent.sh"): "#!/bin/sh\necho ours\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o, err := drawbar.Configured(repo)
	if err != nil {
		t.Fatal(err)
	}
	o.NoRecord, o.Agents = true, []adapter.Descriptor{echoDescriptor()}
	c := client(t, o)
	run := func(name string) (execution.Result, error) {
		r, err := c.Run(t.Context(), execution.Request{Message: execution.Message{Text: "x"}, Run: execution.RunOptions{Agent: name, Cwd: repo}}, drawbar.RunOptions{})
		if err != nil {
			return execution.Result{}, err
		}
		return r.Result(t.Context())
	}
	for name, want := range map[string]string{"mine": "mine\nx", "both": "mine"} {
		if res, err := run(name); err != nil || res.Text != want {
			t.Errorf("%s: %q %v", name, res.Text, err)
		}
	}
	for name, want := range map[string]execution.ErrorCode{"ours": execution.CodeUntrusted, "out": execution.CodeConfig, "here": execution.CodeConfig} {
		if _, err := run(name); execution.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for _, i := range c.Adapters().List() {
		if i.Agent == "ours" || i.Source == catalog.SourceConfiguration && i.Agent == "here" {
			t.Errorf("%s is listed, but cannot run", i.Agent)
		}
	}
	problems := strings.Join(c.Adapters().Problems(), "\n")
	for _, want := range []string{"agent both is ignored", "customAgents.ours", "outside the project", "another file in each directory"} {
		if !strings.Contains(problems, want) {
			t.Errorf("the problems do not say %q:\n%s", want, problems)
		}
	}
}

// TestDeclaredNames: the agents of a program keep their names, and a configuration that cannot be read is the error of every other name.
func TestDeclaredNames(t *testing.T) {
	t.Parallel()
	declared := catalog.Declared{Agents: []adapter.Descriptor{declarative.Describe("echo", declarative.Entry{Command: []string{"x"}})},
		Broken: execution.Errorf(execution.CodeConfig, "config.json: unreadable")}
	c := client(t, drawbar.Options{NoRecord: true, Agents: []adapter.Descriptor{echoDescriptor()}, Declared: declared})
	if _, err := c.Adapters().Get("echo"); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "built-in") {
		t.Errorf("echo: %v", err)
	}
	if _, err := c.Adapters().Get("other"); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "unreadable") {
		t.Errorf("other: %v", err)
	}
}
