package all

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// TestIntegrations holds what every built-in adapter declares beside its runs against the golden in its testdata.
func TestIntegrations(t *testing.T) {
	for _, d := range adapter.Builtins() {
		t.Run(d.Name, func(t *testing.T) {
			testIntegrations(t, d.New(), filepath.Join("..", d.Name, "testdata"))
		})
	}
}

// testIntegrations tests what an adapter declares besides its runs: where its agent reads skills, sub-agents and hooks,
// how hooks are answered, and how plugins are managed. dir is the adapter's testdata: integrations.golden contains
// all of it, rewritten with -update and reviewed; hooks and plugins contain the agent's recorded output. Missing parts
// are omitted.
func testIntegrations(t *testing.T, a adapter.Adapter, dir string) {
	var b bytes.Buffer
	if k, ok := adapter.As[adapter.SkillKeeper](a); ok {
		writeFolders(t, &b, k)
	}
	if n, ok := adapter.As[adapter.NativeHooks](a); ok {
		writeHooks(t, &b, n)
		t.Run("hooks", func(t *testing.T) { testHooks(t, n, filepath.Join(dir, "hooks")) })
	}
	if p, ok := adapter.As[adapter.PluginManager](a); ok {
		recorded := adaptertest.RecordedCommands(t, filepath.Join(dir, "plugins"))
		writePlugins(t, &b, p, "some", recorded)
		writePlugins(t, &b, p, "none", adaptertest.RecordedCommands(t, filepath.Join(dir, "plugins", "none")))
		t.Run("plugins", func(t *testing.T) { adaptertest.Plugins(t, p, recorded) })
	}
	if l, ok := adapter.As[adapter.ModelLister](a); ok {
		recorded := adaptertest.RecordedCommands(t, filepath.Join(dir, "models"))
		list, err := l.ListModels(t.Context(), recorded.Host(new([]string)))
		if err != nil {
			t.Error(err)
		}
		for _, m := range list {
			row(t, &b, "model", m)
		}
		t.Run("models", func(t *testing.T) { adaptertest.Models(t, l, recorded) })
	}
	golden := filepath.Join(dir, "integrations.golden")
	want, err := os.ReadFile(golden)
	switch {
	case b.Len() == 0 && os.IsNotExist(err):
	case *clitest.Update:
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	case err != nil:
		t.Fatalf("%v; write it with -update", err)
	case string(want) != b.String():
		t.Errorf("differs from %s; rewrite it with -update if that is right (-want +got):\n%s", golden, changedLines(string(want), b.String()))
	}
}

// changedLines returns the lines that only one of two texts contains.
func changedLines(want, got string) string {
	var b strings.Builder
	for _, side := range []struct{ mark, text, other string }{{"-", want, got}, {"+", got, want}} {
		has := map[string]bool{}
		for line := range strings.Lines(side.other) {
			has[line] = true
		}
		for line := range strings.Lines(side.text) {
			if !has[line] {
				b.WriteString(side.mark + line)
			}
		}
	}
	return b.String()
}

var scopes = []settings.Scope{settings.Global, settings.Project}

func bare() adapter.Host {
	return adapter.Host{Getenv: func(string) string { return "" }, Home: "/home/ann", Platform: "linux"}
}

// row writes a name and its value as JSON.
func row(t *testing.T, b *bytes.Buffer, name string, v any) {
	t.Helper()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	b.WriteString(name + " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
}

func writeFolders(t *testing.T, b *bytes.Buffer, k adapter.SkillKeeper) {
	for _, scope := range scopes {
		for _, f := range []struct {
			name string
			find func(adapter.Host, settings.Scope, string) (settings.Folder, bool)
		}{{"skills", k.SkillFolder}, {"sub-agents", k.SubagentFolder}} {
			if folder, ok := f.find(bare(), scope, "/work"); ok {
				row(t, b, fmt.Sprintf("%s %s", f.name, scope), folder)
			}
		}
	}
}

// writeHooks writes the place of each event, its answers, and for the event before a tool call every kind of answer
// and place.
func writeHooks(t *testing.T, b *bytes.Buffer, n adapter.NativeHooks) {
	deny := execution.HookResult{Decision: execution.HookDeny, Message: "not today"}
	modify := execution.HookResult{Decision: execution.HookModify, ModifiedInput: json.RawMessage(`{"command":"ls"}`)}
	for _, e := range n.Hooks() {
		row(t, b, "hook", e)
		answer := func(name string, res execution.HookResult) { row(t, b, "  "+name, n.AnswerHook(e.Name, res)) }
		place := func(scope settings.Scope) {
			p := n.PlaceHook(bare(), scope, "/work", e.Name, "it's here hooks handle")
			review := p.Review
			p.Review = nil
			row(t, b, "  place "+string(scope), p)
			if review != nil {
				row(t, b, "  review", []any{review.File, review.Format, review.Path(1), review.Value})
			}
		}
		place(settings.Global)
		answer("deny", deny)
		answer("modify", modify)
		if e.Event != execution.HookPreToolUse {
			continue
		}
		place(settings.Project)
		answer("deny without a reason", execution.HookResult{Decision: execution.HookDeny})
		answer("allow", execution.HookResult{Decision: execution.HookAllow})
		answer("allow with output", execution.HookResult{Decision: execution.HookAllow, Stdout: "note"})
	}
}

func writePlugins(t *testing.T, b *bytes.Buffer, p adapter.PluginManager, name string, recorded adaptertest.Commands) {
	var ran []string
	h := recorded.Host(&ran)
	list, err := p.ListPlugins(t.Context(), h)
	if err != nil || list == nil {
		t.Errorf("plugins, %s: %v, %v", name, list, err)
	}
	row(t, b, "plugins "+name, list)
	_, _ = p.InstallPlugin(t.Context(), h, "ID", settings.PluginOptions{Consent: true}) // only the commands matter
	_, refused := p.InstallPlugin(t.Context(), h, "ID", settings.PluginOptions{})
	_ = p.UninstallPlugin(t.Context(), h, "ID", settings.PluginOptions{})
	project := settings.PluginOptions{Consent: true, Scope: settings.Project, Dir: "/work"}
	_, _ = p.InstallPlugin(t.Context(), h, "PROJECT", project)
	_, _ = p.InstallPlugin(t.Context(), h, "ID", settings.PluginOptions{Consent: true, Version: "1.2"})
	if u, ok := p.(adapter.PluginUpdater); ok {
		_, _ = u.UpdatePlugin(t.Context(), h, "ID", settings.PluginOptions{})
	}
	if s, ok := p.(adapter.PluginSwitcher); ok {
		_, _ = s.SwitchPlugin(t.Context(), h, "ID", true, settings.PluginOptions{})
		_, _ = s.SwitchPlugin(t.Context(), h, "ID", false, settings.PluginOptions{})
	}
	row(t, b, "  commands", ran)
	row(t, b, "  without consent", execution.CodeOf(refused))
	s, ok := p.(adapter.PluginSearcher)
	if !ok || name == "none" {
		return
	}
	for _, query := range []string{"", "WAVE", "no such thing"} {
		found, err := s.SearchPlugins(t.Context(), h, query)
		if err != nil || found == nil {
			t.Errorf("search %q: %v, %v", query, found, err)
		}
		row(t, b, fmt.Sprintf("search %q", query), found)
	}
}

// testHooks reads an agent's inputs to the commands of its hooks, one file EVENT.json each in a folder, and
// compares what the adapter makes of them with EVENT.golden, which -update rewrites.
func testHooks(t *testing.T, a adapter.NativeHooks, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads: %v", err)
	}
	for _, file := range files {
		event := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(event, func(t *testing.T) {
			payload, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := settings.FindHook(a.Hooks(), event); !ok {
				t.Errorf("the event is not listed")
			}
			call, err := a.ReadHook(event, payload)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(call.Raw, payload) {
				t.Error("the payload is not kept unchanged")
			}
			call.Raw = nil
			got, err := json.MarshalIndent(call, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *clitest.Update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(bytes.TrimSpace(want), got) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
