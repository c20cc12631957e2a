package gemini

import (
	"encoding/json"
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
	aliases := map[string]bool{}
	for _, m := range b.Models {
		if m.Price != nil && (m.Price.Input <= 0 || m.Price.Output <= m.Price.Input || m.Price.CacheRead == nil) {
			t.Errorf("the price of %s is %+v", m.ID, m.Price)
		}
		if m.ContextWindow == 0 {
			t.Errorf("model %s has no window", m.ID)
		}
		// What depends on the length of the prompt is not one price.
		if strings.Contains(m.ID, "pro") && m.Price != nil && m.Price.Long == nil {
			t.Errorf("model %s has one price", m.ID)
		}
		for _, alias := range append(m.Aliases, m.ID) {
			if aliases[alias] {
				t.Errorf("%s is said of two models", alias)
			}
			aliases[alias] = true
		}
	}
	for _, alias := range []string{"auto", "pro", "flash", "flash-lite"} {
		if !aliases[alias] {
			t.Errorf("there is no model %s", alias)
		}
	}
	// A key is no evidence of where a process runs, and a marker is none of a login.
	for _, key := range b.Keys {
		if slices.Contains(b.HostSignals, key) {
			t.Errorf("%s is a key and a marker", key)
		}
	}
	if b.New() == nil {
		t.Error("there is no adapter")
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	a := New(cliagent.Options{})
	caps := a.Capabilities()
	if err := caps.Validate(); err != nil {
		t.Fatal(err)
	}
	c := caps.Agent
	if c.Budget || c.MaxTurns || c.CostReported || c.Sampling || c.ThinkingBudgetTokens || c.CanFork || c.CanRunEphemeral || c.StructuredOutput || c.Thinking || len(c.SandboxModes) > 0 {
		t.Error("gemini is said to do what it cannot")
	}
	caps.Agent.ApprovalModes[0], caps.Agent.Verbs[0] = "x", "x"
	if again := a.Capabilities(); again.Agent.ApprovalModes[0] == "x" || again.Agent.Verbs[0] == "x" {
		t.Error("capabilities share memory")
	}
	for _, ok := range []bool{has[adapter.Negotiator](a), has[adapter.Retrier](a), has[adapter.Prober](a), has[adapter.AuthGuide](a), has[adapter.ModelRedirector](a)} {
		if !ok {
			t.Error("the adapter lacks an interface")
		}
	}
}

func has[T any](a adapter.Adapter) bool { _, ok := adapter.As[T](a); return ok }

func TestNegotiate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		set  func(*execution.Request)
		want string // capability and severity of the reasons
	}{
		{"nothing", func(*execution.Request) {}, ""},
		{"unknown context", func(r *execution.Request) { r.Context = &execution.Context{Structured: map[string]any{"f": func() {}}} }, "context blocking"},
		{"known context", func(r *execution.Request) {
			r.Context, r.Run.SystemPromptMode = &execution.Context{Structured: map[string]any{"f": 1}}, execution.SystemPromptAppend
		}, ""},
		{"instructions", func(r *execution.Request) { r.Instructions.SystemPrompt = "x" }, "systemPromptMode info"},
		{"replaced prompt", func(r *execution.Request) {
			r.Instructions.SystemPrompt, r.Run.SystemPromptMode = "x", execution.SystemPromptReplace
		}, ""},
		{"budget", func(r *execution.Request) { r.Run.MaxBudgetUSD = new(float64) }, "budget blocking"},
		{"turns of one prompt", func(r *execution.Request) { r.Run.MaxTurns = 2 }, ""},
		{"turns of a conversation", func(r *execution.Request) { interactive(r); r.Run.MaxTurns = 2 }, "maxTurns blocking"},
		{"image", attach(execution.Attachment{FilePath: "/a.png"}), ""},
		{"document", attach(execution.Attachment{FilePath: "/a.pdf"}), ""},
		{"audio", attach(execution.Attachment{Base64: "eA==", MimeType: "audio/mpeg"}), ""},
		{"film", attach(execution.Attachment{FilePath: "/a.mp4"}), "attachments[0] blocking"},
		{"archive", attach(execution.Attachment{FilePath: "/a.zip"}), "attachments[0] blocking"},
		{"address", attach(execution.Attachment{URL: "https://x.example/a.png"}), "attachments[0] blocking"},
		{"data", attach(execution.Attachment{URL: "data:image/png;base64,eA=="}), ""},
	} {
		req := newRequest()
		tt.set(&req)
		n, _ := adapter.As[adapter.Negotiator](New(cliagent.Options{}))
		var got []string
		for _, r := range n.Negotiate(req) {
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

// TestRedirect: the address of a model API alone makes Gemini choose a login that it refuses.
func TestRedirect(t *testing.T) {
	t.Parallel()
	a := New(cliagent.Options{})
	r := a.RedirectModel("http://127.0.0.1:1234/", "/home/x")
	if len(r.Files) != 1 || r.Env["HOME"] != "/home/x" || r.Model == "" || r.Env["GOOGLE_GEMINI_BASE_URL"] != "http://127.0.0.1:1234" {
		t.Fatalf("the redirect is %+v", r)
	}
	for path, content := range r.Files {
		var s settingsForm
		if err := json.Unmarshal(content, &s); err != nil || !strings.HasPrefix(path, "/home/x/") || s.Security.Auth.SelectedType != authKey {
			t.Errorf("%s chooses %q (%v)\n%s", path, s.Security.Auth.SelectedType, err, content)
		}
		if strings.Contains(string(content), r.Env["GEMINI_API_KEY"]) {
			t.Error("the key is in the file")
		}
	}
	if c := r.Shell("ls", true); c.Name != toolShell || !strings.Contains(string(c.Input), `"ls"`) {
		t.Errorf("the call is %+v", c)
	}
	if c := r.MCP("s", "t", []byte(`{}`)); c.Name != "mcp_s_t" {
		t.Errorf("the call is %+v", c)
	}
	if !reflect.DeepEqual(r.Env, a.RedirectModel("http://127.0.0.1:1234", "/home/x").Env) {
		t.Error("the redirect is not pure")
	}
}
