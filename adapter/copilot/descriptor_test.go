package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
)

func TestDescriptor(t *testing.T) {
	t.Parallel()
	if r := catalog.NewRegistry([]adapter.Descriptor{Descriptor()}, adapter.Host{}); len(r.List()) != 1 {
		t.Fatal("the registry does not know the agent")
	}
	a, b := Descriptor(), Descriptor()
	a.Models[0].ID, a.Keys[0], a.HostSignals[0], a.Models[0].ThinkingEfforts[0] = "x", "x", "x", "x"
	if b.Models[0].ID == "x" || Descriptor().Keys[0] == "x" || Descriptor().HostSignals[0] == "x" || Descriptor().Models[0].ThinkingEfforts[0] == "x" {
		t.Error("descriptors share memory")
	}
	for _, m := range b.Models {
		if m.Price != nil || m.ContextWindow != 0 {
			t.Errorf("model %s states what nobody but GitHub knows", m.ID)
		}
		if m.Provider == "" {
			t.Errorf("model %s has no provider", m.ID)
		}
	}
	for _, m := range b.Install {
		if m.Package == "" || m.PrerequisiteCheck == "" || m.Command == "" {
			t.Errorf("install method %+v", m)
		}
	}
	for _, signal := range b.HostSignals {
		if strings.Contains(signal, "TOKEN") || strings.Contains(signal, "KEY") {
			t.Errorf("%s is a login", signal)
		}
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	caps := New(cliagent.Options{}).Capabilities()
	if err := caps.Validate(); err != nil {
		t.Fatal(err)
	}
	a := caps.Agent
	if a.CanFork || a.CanRunEphemeral || a.StructuredOutput || a.JSONMode || a.Budget || a.MaxTurns || a.CostReported || a.ThinkingBudgetTokens || a.Has(execution.VerbSteer) {
		t.Error("copilot is said to do what it cannot")
	}
	caps.Agent.ThinkingEfforts[0], caps.Agent.Verbs[0] = "x", "x"
	if again := New(cliagent.Options{}).Capabilities(); again.Agent.ThinkingEfforts[0] == "x" || again.Agent.Verbs[0] == "x" {
		t.Error("capabilities share memory")
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	h := hostWith(nil, map[string]string{"settings.json": "// note\n{\"model\":\"gpt-5.5\"}"})
	h.LookPath = func(name string) (string, error) { return "/usr/bin/" + name, nil }
	h.Spawn = func(_ context.Context, c adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
		if c.Command != "/usr/bin/copilot" || strings.Join(c.Args, " ") != "--version" {
			t.Errorf("asked to run %v", c)
		}
		return adapter.SpawnOutcome{Stdout: "GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.\n"}, nil
	}
	in, err := Adapter{}.Probe(t.Context(), h)
	if want := (adapter.Installation{Installed: true, Path: "/usr/bin/copilot", Version: "1.0.102", ActiveModel: "gpt-5.5"}); err != nil || in != want {
		t.Errorf("got %+v, %v, want %+v", in, err, want)
	}
	h.Getenv = func(name string) string { return map[string]string{"COPILOT_MODEL": "other"}[name] }
	if in, err = (Adapter{}).Probe(t.Context(), h); err != nil || in.ActiveModel != "other" {
		t.Errorf("got %+v, %v, want the model of the environment", in, err)
	}
	h.LookPath = func(string) (string, error) { return "", errors.New("not here") }
	if in, err = (Adapter{}).Probe(t.Context(), h); err != nil || in.Installed || in.Notes == "" {
		t.Errorf("got %+v, %v for an agent that is not there", in, err)
	}
}

func TestRedirectModel(t *testing.T) {
	t.Parallel()
	r := Adapter{}.RedirectModel("http://127.0.0.1:1/", "/h")
	if r.Env["COPILOT_PROVIDER_BASE_URL"] != "http://127.0.0.1:1/v1" || r.Env["HOME"] != "/h" || r.Env["COPILOT_OFFLINE"] != "true" || r.Env["COPILOT_MODEL"] == "" {
		t.Errorf("%v", r.Env)
	}
	if c := r.Shell("a\nb", true); c.Name != "bash" || !json.Valid(c.Input) {
		t.Errorf("%+v", c)
	}
	if c := r.MCP("my-server", "tool", json.RawMessage("{}")); c.Name != "my-server-tool" {
		t.Errorf("%+v", c)
	}
	if r.Clarify != nil || r.Structured != nil {
		t.Error("copilot has no such call")
	}
}
