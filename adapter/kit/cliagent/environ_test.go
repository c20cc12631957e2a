package cliagent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// parrot is an agent whose markers the kit learns from the registry.
type parrot struct{ adapter.Adapter }

func (parrot) Capabilities() execution.Capabilities { return execution.Capabilities{} }

func init() {
	adapter.Register(func() adapter.Descriptor {
		return adapter.Descriptor{Name: "parrot", Command: "parrot", HostSignals: []string{"CLAUDECODE", "CODEX_THREAD_ID"}, HostTraces: []string{"PARROT_TRACE"}, New: func() adapter.Adapter { return parrot{} }}
	})
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	inherited := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_STATE_HOME=/s", "SSL_CERT_FILE=/c", "https_proxy=p", "EDITOR=vi",
		"CLAUDECODE=1", "CLAUDE_CODE_OAUTH_TOKEN=login", "CLAUDE_CONFIG_DIR=/cc", "CODEX_HOME=/cx", "CODEX_API_KEY=k", "CODEX_THREAD_ID=t",
		"AI_AGENT=x", "PARROT_TRACE=1", "OTHER_MARK=1", "KEY=secret", "GEMINI_CLI_HOME=/g", "COPILOT_GITHUB_TOKEN=g", "=C:=weird", "noequals", "EMPTY="}
	spec := Spec{HostSignals: []string{"OTHER_MARK"}, Keys: []string{"KEY", "CODEX_THREAD_ID"}}
	tests := []struct {
		name string
		mode execution.EnvironmentMode
		inv  map[string]string
		run  map[string]string
		goos string
		want []string
	}{
		{name: "inherit", want: []string{"CLAUDE_CODE_OAUTH_TOKEN=login", "CLAUDE_CONFIG_DIR=/cc", "CODEX_API_KEY=k", "CODEX_HOME=/cx",
			"CODEX_THREAD_ID=t", "COPILOT_GITHUB_TOKEN=g", "EDITOR=vi", "EMPTY=", "GEMINI_CLI_HOME=/g", "HOME=/h", "KEY=secret",
			"LC_ALL=C", "PATH=/bin", "SSL_CERT_FILE=/c", "XDG_STATE_HOME=/s", "https_proxy=p"}},
		{name: "minimal", mode: execution.EnvironmentMinimal, want: []string{"CODEX_THREAD_ID=t", "HOME=/h", "KEY=secret", "LC_ALL=C",
			"PATH=/bin", "SSL_CERT_FILE=/c", "XDG_STATE_HOME=/s", "https_proxy=p"}},
		{name: "adapter and request", mode: execution.EnvironmentMinimal,
			inv: map[string]string{"HOME": "", "A": "adapter", "B": "adapter", "LC_ALL": "D"},
			run: map[string]string{"B": "request", "CLAUDECODE": "wanted", "EMPTY": ""},
			want: []string{"A=adapter", "B=request", "CLAUDECODE=wanted", "CODEX_THREAD_ID=t", "EMPTY=", "KEY=secret", "LC_ALL=D",
				"PATH=/bin", "SSL_CERT_FILE=/c", "XDG_STATE_HOME=/s", "https_proxy=p"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := spec.environment(inherited, Invocation{Env: tt.inv}, execution.RunOptions{Environment: tt.mode, Env: tt.run}, "linux")
			if diff := cmp.Diff(tt.want, e.list()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEnvironmentLists: what a person put into a list stays in front, wherever it was put.
func TestEnvironmentLists(t *testing.T) {
	t.Parallel()
	spec := Spec{}
	inv := Invocation{EnvLists: map[string]string{"A": "ours", "B": "ours", "C": "ours"}}
	e := spec.environment([]string{"A=theirs", "B=theirs"}, inv, execution.RunOptions{Env: map[string]string{"B": "asked"}}, "linux")
	if diff := cmp.Diff([]string{"A=theirs,ours", "B=asked,ours", "C=ours"}, e.list()); diff != "" {
		t.Error(diff)
	}
}

// TestEnvironmentOver: a value that contains the request's replaces it.
func TestEnvironmentOver(t *testing.T) {
	t.Parallel()
	inv := Invocation{Env: map[string]string{"A": "ours", "B": "ours"}, EnvOver: map[string]string{"B": "asked and ours"}}
	e := (&Spec{}).environment(nil, inv, execution.RunOptions{Env: map[string]string{"A": "asked", "B": "asked"}}, "linux")
	if diff := cmp.Diff([]string{"A=asked", "B=asked and ours"}, e.list()); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironmentOnWindows(t *testing.T) {
	t.Parallel()
	spec := Spec{Keys: []string{"key"}, HostSignals: []string{"other_mark"}}
	inherited := []string{"Path=C:\\bin", "SystemRoot=C:\\Windows", "Key=k", "Stray=1", "ClaudeCode=1", "Other_Mark=1"}
	e := spec.environment(inherited, Invocation{Env: map[string]string{"PATH": `C:\new`}},
		execution.RunOptions{Environment: execution.EnvironmentMinimal}, "windows")
	if diff := cmp.Diff([]string{"Key=k", `PATH=C:\new`, `SystemRoot=C:\Windows`}, e.list()); diff != "" {
		t.Error(diff)
	}
	e = spec.environment(inherited, Invocation{}, execution.RunOptions{}, "windows")
	if diff := cmp.Diff([]string{"Key=k", `Path=C:\bin`, "Stray=1", `SystemRoot=C:\Windows`}, e.list()); diff != "" {
		t.Error(diff)
	}
}

func TestBypassProxy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  []string
		want []string
	}{
		{"no proxy", []string{"A=1"}, []string{"A=1"}},
		{"proxy", []string{"http_proxy=p"}, []string{"NO_PROXY=127.0.0.1", "http_proxy=p", "no_proxy=127.0.0.1"}},
		{"one list", []string{"ALL_PROXY=p", "NO_PROXY=a, b"}, []string{"ALL_PROXY=p", "NO_PROXY=a, b,127.0.0.1", "no_proxy=a, b,127.0.0.1"}},
		{"already there", []string{"HTTP_PROXY=p", "no_proxy=x, 127.0.0.1"}, []string{"HTTP_PROXY=p", "NO_PROXY=x, 127.0.0.1", "no_proxy=x, 127.0.0.1"}},
		{"everything", []string{"HTTP_PROXY=p", "no_proxy=*"}, []string{"HTTP_PROXY=p", "NO_PROXY=*", "no_proxy=*"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := new(Spec).environment(tt.env, Invocation{}, execution.RunOptions{}, "linux")
			e.bypassProxy("127.0.0.1")
			if diff := cmp.Diff(tt.want, e.list()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
