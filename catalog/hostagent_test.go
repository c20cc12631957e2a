package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
)

func TestDetectHost(t *testing.T) {
	t.Parallel()
	signals := func(list ...string) func(*adapter.Descriptor) {
		return func(d *adapter.Descriptor) { d.HostSignals = list }
	}
	agents := []adapter.Descriptor{
		describe("claude", signals("CLAUDECODE", "CLAUDE_SESSION"), func(d *adapter.Descriptor) {
			d.Command, d.Keys, d.HostMetadata = "claude", []string{"ANTHROPIC_API_KEY"}, map[string]string{"sessionId": "CLAUDE_SESSION"}
		}),
		describe("codex", signals("CODEX_CI", "CODEX_THREAD"), func(d *adapter.Descriptor) {
			d.Command = "codex"
			d.Install = []adapter.InstallMethod{{Platform: "all", Type: "npm", Package: "@openai/codex", Command: "npm install -g @openai/codex"}}
		}),
		describe("pi", signals("PI_CODING_AGENT")),
		describe("omp", signals("OMPCODE", "PI_CODING_AGENT")), // a fork that sets the original's marker too
		describe("copier", signals("COPIER"), func(d *adapter.Descriptor) { d.HostCopies = []string{"CLAUDECODE"} }),
	}
	for _, tt := range []struct {
		name      string
		env       string
		ancestors []string
		want      string // agent:confidence, the innermost first
	}{
		{"nothing", "", nil, ""},
		{"an API key is no evidence", "ANTHROPIC_API_KEY=x", []string{"/usr/bin/claude"}, ""},
		{"an empty marker is none", "CLAUDECODE=", nil, ""},
		{"one marker", "CLAUDECODE=1", nil, "claude:medium"},
		{"two markers", "CLAUDECODE=1 CLAUDE_SESSION=s", nil, "claude:high"},
		{"one marker and the process", "CLAUDECODE=1", []string{"/bin/sh", "/opt/claude"}, "claude:high"},
		{"the fork, by its own marker", "OMPCODE=1 PI_CODING_AGENT=true", nil, "omp:medium pi:low"},
		{"the original, whose marker both set", "PI_CODING_AGENT=true", []string{"pi"}, "pi:medium omp:low"},
		{"a copied marker", "COPIER=1 CLAUDECODE=1", nil, "copier:medium"},
		{"a copied marker and one of the agent's own", "COPIER=1 CLAUDECODE=1 CLAUDE_SESSION=s", []string{"claude"}, "claude:high copier:medium"},
		{"two agents, one has more", "CLAUDECODE=1 CODEX_CI=1 CODEX_THREAD=t", nil, "codex:high claude:medium"},
		{"two agents, the nearer one", "CLAUDECODE=1 CODEX_CI=1 CODEX_THREAD=t", []string{"/bin/bash", "claude", "/bin/bash", "/usr/lib/node_modules/@openai/codex/bin/codex.js"}, "claude:high codex:high"},
		{"two agents, one is an ancestor", "CLAUDECODE=1 CODEX_CI=1 CODEX_THREAD=t", []string{"claude"}, "claude:high codex:high"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{}
			for v := range strings.FieldsSeq(tt.env) {
				k, value, _ := strings.Cut(v, "=")
				env[k] = value
			}
			r := NewRegistry(agents, adapter.Host{Getenv: func(k string) string { return env[k] }})
			var got []string
			for _, h := range r.DetectHost(tt.ancestors) {
				got = append(got, h.Agent+":"+h.Confidence)
				if s := env["CLAUDE_SESSION"]; h.Agent == "claude" && h.Metadata["sessionId"] != s {
					t.Errorf("the session is %q, want %q", h.Metadata["sessionId"], s)
				}
			}
			if fmt.Sprint(strings.Join(got, " ")) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestHostSignalsAreNoLogins(t *testing.T) {
	t.Parallel()
	d := describe("x", func(d *adapter.Descriptor) {
		d.HostSignals, d.Keys, d.HostMetadata = []string{"X_API_KEY"}, []string{"X_API_KEY"}, map[string]string{"a": "not a name"}
		d.HostCopies = []string{"not a name"}
	})
	err := NewRegistry(nil, adapter.Host{}).Register(d)
	if err == nil || !strings.Contains(err.Error(), "is a login") || !strings.Contains(err.Error(), "hostMetadata.a") ||
		!strings.Contains(err.Error(), "hostCopies[0]") {
		t.Errorf("got %v", err)
	}
}
