package codex

import (
	"reflect"
	"slices"
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
	a.Models[0].ID, a.Keys[0], a.HostSignals[0] = "x", "x", "x"
	if b.Models[0].ID == "x" || b.Keys[0] == "x" || b.HostSignals[0] == "x" || Descriptor().Keys[0] == "x" {
		t.Error("descriptors share memory")
	}
	for _, m := range b.Models {
		if m.Price != nil && (m.Price.Input <= 0 || m.Price.Output <= 0 || m.Price.CacheRead == nil) {
			t.Errorf("the price of %s is %+v", m.ID, m.Price)
		}
		if slices.Contains(topEffort, m.ID) && m.ContextWindow == 0 {
			t.Errorf("model %s of the catalogue has no window", m.ID)
		}
	}
	for _, id := range topEffort {
		if !hasModel(b.Models, id) {
			t.Errorf("there is no model %s", id)
		}
	}
	if b.New() == nil {
		t.Error("there is no adapter")
	}
}

func hasModel(models []execution.Model, id string) bool {
	for _, m := range models {
		if m.ID == id {
			return true
		}
	}
	return false
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	a := New(cliagent.Options{})
	caps := a.Capabilities()
	if err := caps.Validate(); err != nil {
		t.Fatal(err)
	}
	if caps.Agent.Budget || caps.Agent.MaxTurns || caps.Agent.CostReported || caps.Agent.Sampling || caps.Agent.ThinkingBudgetTokens {
		t.Error("codex is said to do what it cannot")
	}
	caps.Agent.ThinkingEfforts[0], caps.Agent.Verbs[0] = "x", "x"
	if again := a.Capabilities(); again.Agent.ThinkingEfforts[0] == "x" || again.Agent.Verbs[0] == "x" {
		t.Error("capabilities share memory")
	}
	if _, ok := adapter.As[adapter.Negotiator](a); !ok {
		t.Error("the adapter does not negotiate")
	}
	if _, ok := adapter.As[adapter.Retrier](a); !ok {
		t.Error("the adapter does not retry")
	}
}

func TestNegotiate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		set  func(*execution.Request)
		want string // capability and severity of the reasons
	}{
		{"nothing", func(*execution.Request) {}, ""},
		{"unknown context", func(r *execution.Request) { r.Context = &execution.Context{Structured: map[string]any{"f": func() {}}} }, "context blocking"},
		{"known context", func(r *execution.Request) { r.Context = &execution.Context{Structured: map[string]any{"f": 1}} }, ""},
		{"document", attach(execution.Attachment{FilePath: "/a.pdf"}), "attachments[0] blocking"},
		{"audio", attach(execution.Attachment{Base64: "eA==", MimeType: "audio/mpeg"}), "attachments[0] blocking"},
		{"address", attach(execution.Attachment{URL: "https://x.example/a.png"}), "attachments[0] blocking"},
		{"data", attach(execution.Attachment{URL: "data:image/png;base64,eA=="}), ""},
		{"image", attach(execution.Attachment{FilePath: "/a.png"}), ""},
		{"text", attach(execution.Attachment{FilePath: "/a"}), ""},
		{"highest effort", func(r *execution.Request) { r.Run.ThinkingEffort = execution.EffortMax }, "thinking info"},
		{"highest effort of a model that has it", func(r *execution.Request) { r.Run.Model, r.Run.ThinkingEffort = "gpt-6-sol", execution.EffortMax }, ""},
		{"questions not wanted", func(r *execution.Request) {
			interactive(r)
			r.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportNone}
		}, "approvalInterrupts info"},
	} {
		req := newRequest()
		tt.set(&req)
		var got []string
		for _, r := range negotiate(req) {
			if err := r.Validate(); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			got = append(got, r.Capability+" "+string(r.Severity))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: the reasons are %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRedirect(t *testing.T) {
	t.Parallel()
	a := New(cliagent.Options{})
	r := a.RedirectModel("http://127.0.0.1:1234/", "/home/x")
	if len(r.Files) != 1 || r.Env["HOME"] != "/home/x" || r.Model == "" {
		t.Fatalf("the redirect is %+v", r)
	}
	for path, content := range r.Files {
		if !strings.HasPrefix(path, r.Env["CODEX_HOME"]) || !strings.Contains(string(content), `base_url = "http://127.0.0.1:1234/v1"`) {
			t.Errorf("%s is\n%s", path, content)
		}
		if strings.Contains(string(content), r.Env["DRAWBAR_MODEL_KEY"]) {
			t.Error("the key is in the file")
		}
	}
	if c := r.Shell("ls", true); c.Name != "exec_command" || !strings.Contains(string(c.Input), "require_escalated") {
		t.Errorf("the call is %+v", c)
	}
	if c := r.MCP("s", "t", []byte(`{}`)); c.Name != "t" || c.Namespace != "mcp__s" {
		t.Errorf("the call is %+v", c)
	}
	if !reflect.DeepEqual(r.Env, a.RedirectModel("http://127.0.0.1:1234", "/home/x").Env) {
		t.Error("the redirect is not pure")
	}
}
