package execution

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestZeroCapabilities: what is left out is none, and has a word in what is written.
func TestZeroCapabilities(t *testing.T) {
	t.Parallel()
	if err := (Capabilities{}).Validate(); err != nil {
		t.Error(err)
	}
	b, err := json.Marshal(Capabilities{}.Stated())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"schemaVersion":"` + SchemaVersion + `"`, `"toolUse":"none"`, `"continuationSupport":"none"`, `"approvalInterrupts":"none"`,
		`"traceDepth":"minimal"`, `"maxContextStrategy":"unknown"`, `"notes":[]`, `"sessionPersistence":"none"`, `"structuredSessionTransport":"none"`,
		`"preToolUse":"unsupported"`, `"stop":"unsupported"`, `"supportedPlatforms":["darwin","linux","windows"]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is missing in %s", want, b)
		}
	}
	if strings.Contains(string(b), "null") || strings.Contains(string(b), `:""`) {
		t.Errorf("something is not stated: %s", b)
	}
}

// TestStatedCapabilities: what is declared stays as it is, and what is no word is refused.
func TestStatedCapabilities(t *testing.T) {
	t.Parallel()
	c := Capabilities{ToolUse: ToolsNativeIterative, Notes: []string{"odd"}}
	c.Agent.Platforms, c.Agent.RuntimeHooks.Stop = []string{"linux"}, HookBlocking
	got := c.Stated()
	if got.ToolUse != ToolsNativeIterative || len(got.Notes) != 1 || len(got.Agent.Platforms) != 1 || got.Agent.RuntimeHooks.Stop != HookBlocking {
		t.Errorf("%+v", got)
	}
	if c.ApprovalInterrupts != "" {
		t.Error("the caller's copy changed")
	}
	for name, change := range map[string]func(*Capabilities){
		"toolUse":                 func(c *Capabilities) { c.ToolUse = "much" },
		"schemaVersion":           func(c *Capabilities) { c.SchemaVersion = "9.0" },
		"agent.runtimeHooks.stop": func(c *Capabilities) { c.Agent.RuntimeHooks.Stop = "sometimes" },
		"agent.verbs":             func(c *Capabilities) { c.Agent.Verbs = []Verb{"fly"} },
	} {
		c := Capabilities{}
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
