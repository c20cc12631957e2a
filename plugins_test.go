package drawbar_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	_ "github.com/drawbar/drawbar/adapter/all"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// TestPlugins manages the recorded plugins of a machine: what a query selects, and which agents are refused by name.
func TestPlugins(t *testing.T) {
	ctx := context.Background()
	var ran []string
	host := adaptertest.RecordedCommands(t, "adapter/claude/testdata/plugins").Host(&ran)
	c, err := drawbar.New(drawbar.Options{Host: &host, NoRecord: true})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Plugins()
	all, err := p.Search(ctx, "claude", drawbar.PluginQuery{})
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for name, q := range map[string]drawbar.PluginQuery{"format": {Format: "extension"}, "registry": {Registry: "elsewhere"}, "text": {Text: "no such plugin"}} {
		if found, err := p.Search(ctx, "claude", q); err != nil || len(found) != 0 {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	if found, err := p.Search(ctx, "claude", drawbar.PluginQuery{Limit: 1, Format: all[0].Formats[0], Registry: all[0].Registry}); err != nil || len(found) != 1 {
		t.Errorf("limit 1: %v, %v", found, err)
	}
	if _, err := p.Search(ctx, "claude", drawbar.PluginQuery{Limit: 201}); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("limit 201: %v", err)
	}
	installed, err := p.List(ctx, "claude")
	if err != nil || len(installed) != 1 {
		t.Fatal(installed, err)
	}
	if i, err := p.Info(ctx, "claude", installed[0].Name); err != nil || len(i.Installed) != 1 || i.Available == nil {
		t.Errorf("info: %+v, %v", i, err)
	}
	if i, err := p.Info(ctx, "claude", all[0].PluginID); err != nil || len(i.Available) != 1 {
		t.Errorf("info: %+v, %v", i, err)
	}
	if _, err := p.Info(ctx, "claude", "nosuch"); execution.CodeOf(err) != execution.CodePlugin {
		t.Errorf("info of an unknown plugin: %v", err)
	}
	ran = nil
	if _, err := p.Disable(ctx, "claude", installed[0].PluginID, settings.PluginOptions{}); execution.CodeOf(err) != execution.CodePlugin { // the recording has no such command
		t.Errorf("disable: %v", err)
	}
	if !slices.Contains(ran, "plugin disable --scope=user "+installed[0].PluginID) {
		t.Errorf("disable ran %q", ran)
	}
	for what, do := range map[string]func() error{
		"goose has no plugins":              func() error { _, err := p.List(ctx, "goose"); return err },
		"gemini has no search":              func() error { _, err := p.Search(ctx, "gemini", drawbar.PluginQuery{}); return err },
		"codex has no command that updates": func() error { _, err := p.Update(ctx, "codex", "x@y", settings.PluginOptions{}); return err },
		"pi has no command that enables":    func() error { _, err := p.Enable(ctx, "pi", "x", settings.PluginOptions{}); return err },
	} {
		if err := do(); execution.CodeOf(err) != execution.CodeCapability || !strings.HasPrefix(err.Error(), what) || !strings.Contains(err.Error(), "claude") {
			t.Errorf("%v, want: %s", err, what)
		}
	}
}
