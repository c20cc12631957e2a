package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// Commands are the outcomes of an agent's plugin commands by their arguments, joined with spaces; the zero outcome
// has no output.
type Commands map[string]adapter.SpawnOutcome

// RecordedCommands reads the recorded commands of a folder: a file per command, named by its arguments joined with _,
// ending in .txt for standard output and .stderr for standard error.
func RecordedCommands(t testing.TB, dir string) Commands {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := Commands{}
	for _, e := range entries {
		ending := filepath.Ext(e.Name())
		if e.IsDir() || ending != ".txt" && ending != ".stderr" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		line := strings.ReplaceAll(strings.TrimSuffix(e.Name(), ending), "_", " ")
		out := c[line]
		if ending == ".txt" {
			out.Stdout = string(data)
		} else {
			out.Stderr = string(data)
		}
		c[line] = out
	}
	return c
}

// Host returns a machine with these commands. Every command that runs is recorded in ran; a missing one fails.
func (c Commands) Host(ran *[]string) adapter.Host {
	return adapter.Host{Getenv: func(string) string { return "" }, Home: "/home/ann", Platform: "linux",
		LookPath: func(name string) (string, error) { return "/bin/" + name, nil },
		Spawn: func(_ context.Context, r adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			line := strings.Join(r.Args, " ")
			*ran = append(*ran, line)
			out, ok := c[line]
			if !ok {
				return adapter.SpawnOutcome{Code: 1, Stderr: "unknown command " + line}, nil
			}
			return out, nil
		}}
}

// Plugins tests an adapter's management of plugins. recorded are the agent's commands that list plugins, with some
// installed.
func Plugins(t *testing.T, a adapter.PluginManager, recorded Commands) {
	ctx := t.Context()
	agree := settings.PluginOptions{Consent: true}
	each := func(t *testing.T, h adapter.Host, check func(t *testing.T, what string, err error)) {
		_, err := a.ListPlugins(ctx, h)
		check(t, "list", err)
		_, err = a.InstallPlugin(ctx, h, "some", agree)
		check(t, "install", err)
		check(t, "uninstall", a.UninstallPlugin(ctx, h, "some", settings.PluginOptions{}))
		if s, ok := a.(adapter.PluginSearcher); ok {
			_, err := s.SearchPlugins(ctx, h, "")
			check(t, "search", err)
		}
	}
	t.Run("no program", func(t *testing.T) {
		var ran []string
		h := Commands{}.Host(&ran)
		h.LookPath = func(name string) (string, error) { return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist) }
		each(t, h, func(t *testing.T, what string, err error) {
			var e *execution.Error
			if !errors.As(err, &e) || e.Code != execution.CodeAgentNotInstalled || e.Hint == "" {
				t.Errorf("%s: %v", what, err)
			}
		})
		if len(ran) > 0 {
			t.Errorf("ran %q", ran)
		}
	})
	t.Run("a failing command", func(t *testing.T) {
		var ran []string
		each(t, Commands{}.Host(&ran), func(t *testing.T, what string, err error) {
			if execution.CodeOf(err) != execution.CodePlugin || !strings.Contains(err.Error(), "unknown command") {
				t.Errorf("%s: %v", what, err)
			}
		})
	})
	t.Run("a hanging command", func(t *testing.T) {
		var ran []string
		h := Commands{}.Host(&ran)
		h.Spawn = func(ctx context.Context, _ adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			<-ctx.Done()
			return adapter.SpawnOutcome{}, context.Cause(ctx)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := a.ListPlugins(gone, h); !errors.Is(err, context.Canceled) {
			t.Errorf("list: %v", err)
		}
		if err := a.UninstallPlugin(gone, h, "some", settings.PluginOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("uninstall: %v", err)
		}
	})
	t.Run("ids", func(t *testing.T) {
		for _, id := range []string{"", " ", "-y", "--scope=project", "a\nb", "a\x00b", "\x1b[2J", strings.Repeat("x", 5000)} {
			var ran []string
			h := Commands{}.Host(&ran)
			if _, err := a.InstallPlugin(ctx, h, id, agree); execution.CodeOf(err) != execution.CodeValidation {
				t.Errorf("install %.20q: %v", id, err)
			}
			if err := a.UninstallPlugin(ctx, h, id, settings.PluginOptions{}); execution.CodeOf(err) != execution.CodeValidation {
				t.Errorf("uninstall %.20q: %v", id, err)
			}
			if len(ran) > 0 {
				t.Errorf("%.20q: ran %q", id, ran)
			}
		}
		const odd = "a; touch b $(c) `d` 'e' && f"
		var ran []string
		_ = a.UninstallPlugin(ctx, Commands{}.Host(&ran), odd, settings.PluginOptions{})
		if !slices.ContainsFunc(ran, func(line string) bool { return strings.HasSuffix(line, " "+odd) }) {
			t.Errorf("%q does not reach the program as it is: %q", odd, ran)
		}
	})
	t.Run("unsupported", func(t *testing.T) {
		for name, o := range map[string]settings.PluginOptions{"project": {Consent: true, Scope: settings.Project, Dir: "/work"}, "version": {Consent: true, Version: "1.2"}} {
			var ran []string
			_, err := a.InstallPlugin(ctx, recorded.Host(&ran), "some", o)
			switch {
			case execution.CodeOf(err) == execution.CodeCapability && len(ran) > 0:
				t.Errorf("%s: refused after %q", name, ran)
			case execution.CodeOf(err) != execution.CodeCapability && !slices.ContainsFunc(ran, func(line string) bool {
				return strings.Contains(line, "project") || strings.Contains(line, "1.2")
			}):
				t.Errorf("%s: ignored: %q, %v", name, ran, err)
			}
		}
	})
	t.Run("switched without effect", func(t *testing.T) {
		s, ok := a.(adapter.PluginSwitcher)
		if !ok {
			t.Skip("it cannot be switched")
		}
		h := recorded.Host(new([]string))
		list, err := a.ListPlugins(ctx, h)
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		p := list[0]
		if same, err := s.SwitchPlugin(ctx, h, p.PluginID, p.Enabled, settings.PluginOptions{Scope: p.Scope}); err != nil || same != p {
			t.Errorf("as it is already: %+v, %v", same, err)
		}
		run := h.Spawn
		h.Spawn = func(ctx context.Context, r adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			if _, ok := recorded[strings.Join(r.Args, " ")]; ok {
				return run(ctx, r)
			}
			return adapter.SpawnOutcome{Stdout: "done, surely"}, nil
		}
		if _, err := s.SwitchPlugin(ctx, h, p.PluginID, !p.Enabled, settings.PluginOptions{Scope: p.Scope}); execution.CodeOf(err) != execution.CodePlugin || !strings.Contains(err.Error(), "surely") {
			t.Errorf("no effect: %v", err)
		}
	})
	t.Run("reported as installed, but missing", func(t *testing.T) {
		var ran []string
		h := recorded.Host(&ran)
		run := h.Spawn
		h.Spawn = func(ctx context.Context, r adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			if _, ok := recorded[strings.Join(r.Args, " ")]; ok {
				return run(ctx, r)
			}
			return adapter.SpawnOutcome{Stdout: "installed, surely"}, nil
		}
		if _, err := a.InstallPlugin(ctx, h, "phantom", agree); execution.CodeOf(err) != execution.CodePlugin || !strings.Contains(err.Error(), "surely") {
			t.Errorf("an installation without effect: %v", err)
		}
	})
}

// FuzzPlugins feeds arbitrary output to the parsers of an agent's plugin commands, starting with the recordings in
// testdata/plugins.
func FuzzPlugins(f *testing.F, a adapter.PluginManager) {
	for _, dir := range []string{"", "none"} {
		for _, said := range RecordedCommands(f, filepath.Join("testdata", "plugins", dir)) {
			f.Add(said.Stdout + said.Stderr)
		}
	}
	for _, s := range []string{"", "null", "[]", "{}", "[null]", `[{"id":7}]`, `{"installed":[{}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := Commands{}.Host(new([]string))
		h.Spawn = func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			return adapter.SpawnOutcome{Stdout: text, Stderr: text}, nil
		}
		list, err := a.ListPlugins(t.Context(), h)
		if err == nil && list == nil {
			t.Fatal("neither a list nor an error")
		}
		if s, ok := a.(adapter.PluginSearcher); ok {
			if found, err := s.SearchPlugins(t.Context(), h, "x"); err == nil && found == nil {
				t.Fatal("neither search results nor an error")
			}
		}
	})
}
