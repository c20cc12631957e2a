package catalog

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
	"github.com/google/go-cmp/cmp"
)

// full is a valid descriptor that uses every field.
func full() adapter.Descriptor {
	return describe("full", func(d *adapter.Descriptor) {
		d.Aliases = []string{"full-agent"}
		d.MinVersion = "1.0.0"
		d.TestedVersions = []string{"1.2.0", "1.0.0"}
		d.DefaultModel = "m2"
		price := 0.5
		d.Models = []execution.Model{{ID: "m1", Aliases: []string{"one"}, Price: &execution.Price{Input: 1, Output: 2, CacheRead: &price}}, {ID: "m2", ThinkingEfforts: []execution.ThinkingEffort{execution.EffortLow}}}
		d.Config = settings.Schema{Agent: "full", Fields: []settings.Field{{Path: "model", Type: "string"}}, ConfigFiles: []string{"~/.full.json", "/etc/full"}, ProjectConfigFiles: []string{".full/settings.json"}, Format: "json"}
		d.Install = []adapter.InstallMethod{{Platform: "all", Type: "npm", Command: "npm i -g full"}, {Platform: "darwin", Type: "brew", Command: "brew install full"},
			{Platform: "windows", Type: "winget", Command: "winget install full"}, {Platform: "linux", Type: "manual", Notes: "see the site"}}
		d.HostSignals = []string{"FULL_SESSION"}
		d.Keys = []string{"FULL_API_KEY"}
		d.Docs = "https://example.com"
	})
}

func faultsOf(t *testing.T, err error) map[string]string {
	t.Helper()
	var e *execution.Error
	if !errors.As(err, &e) || e.Code != execution.CodeValidation {
		t.Fatalf("got %v, want a VALIDATION_ERROR", err)
	}
	got := map[string]string{}
	for _, f := range e.Fields {
		got[f.Field] = f.Message
		if !strings.Contains(err.Error(), f.Error()) {
			t.Errorf("the message %q does not list %v", err, f)
		}
	}
	return got
}

func TestRegisterValid(t *testing.T) {
	t.Parallel()
	for _, d := range []adapter.Descriptor{full(), describe("a"), describe("a" + strings.Repeat("-", 63)), describe("x", func(d *adapter.Descriptor) { d.DefaultModel = "unlisted" }),
		describe("y", func(d *adapter.Descriptor) { d.Command = "/opt/my tools/y" }), describe("z", func(d *adapter.Descriptor) {
			caps := validCapabilities()
			caps.Agent.TakesCommand = true
			d.Command, d.New = "", func() adapter.Adapter { return &mute{caps} }
		})} {
		if err := NewRegistry(nil, adapter.Host{}).Register(d); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}

func TestRegisterInvalid(t *testing.T) {
	t.Parallel()
	nan, negative := math.NaN(), -1.0
	for _, c := range []struct {
		name   string
		change func(*adapter.Descriptor)
		want   []string
	}{
		{"no name", func(d *adapter.Descriptor) { d.Name, d.Config.Agent = "", "" }, []string{"agent", "configSchema.agent"}},
		{"upper case", func(d *adapter.Descriptor) { d.Name, d.Config.Agent = "Full", "Full" }, []string{"agent"}},
		{"too long", func(d *adapter.Descriptor) { d.Name = "a" + strings.Repeat("b", 64); d.Config.Agent = d.Name }, []string{"agent"}},
		{"name ends in a line feed", func(d *adapter.Descriptor) { d.Name, d.Config.Agent = "full\n", "full\n" }, []string{"agent"}},
		{"begins with a digit", func(d *adapter.Descriptor) { d.Name, d.Config.Agent = "1full", "1full" }, []string{"agent"}},
		{"no display name", func(d *adapter.Descriptor) { d.DisplayName = " " }, []string{"displayName"}},
		{"no command", func(d *adapter.Descriptor) { d.Command = " " }, []string{"cliCommand"}},
		{"no command at all", func(d *adapter.Descriptor) { d.Command = "" }, []string{"cliCommand"}},
		{"command line", func(d *adapter.Descriptor) { d.Command = "gh copilot" }, []string{"cliCommand"}},
		{"command with NUL", func(d *adapter.Descriptor) { d.Command = "a\x00" }, []string{"cliCommand"}},
		{"minimum version", func(d *adapter.Descriptor) { d.MinVersion = "latest" }, []string{"minVersion"}},
		{"tested version", func(d *adapter.Descriptor) { d.TestedVersions = []string{"1.0.0", ""} }, []string{"testedVersions[1]"}},
		{"aliases", func(d *adapter.Descriptor) { d.Aliases = []string{"X", "full", "y", "y"} }, []string{"aliases[0]", "aliases[1]", "aliases[3]"}},
		{"empty model", func(d *adapter.Descriptor) { d.Models = []execution.Model{{}, {ID: "m2"}} }, []string{"models[0].modelId"}},
		{"model twice", func(d *adapter.Descriptor) { d.Models = []execution.Model{{ID: "m2"}, {ID: "m2"}} }, []string{"models[1].modelId"}},
		{"model numbers", func(d *adapter.Descriptor) {
			d.Models = []execution.Model{{ID: "m2", ContextWindow: -1, MaxOutputTokens: -1, Price: &execution.Price{Input: nan, Output: math.Inf(1), CacheRead: &negative, CacheWrite: &nan}}}
		}, []string{"models[0].contextWindow", "models[0].maxOutputTokens", "models[0].price.input", "models[0].price.output", "models[0].price.cacheRead", "models[0].price.cacheWrite"}},
		{"default model", func(d *adapter.Descriptor) { d.DefaultModel = "one" }, []string{"defaultModelId"}},
		{"config agent", func(d *adapter.Descriptor) { d.Config.Agent = "other" }, []string{"configSchema.agent"}},
		{"config format", func(d *adapter.Descriptor) { d.Config.Format = "" }, []string{"configSchema.configFormat"}},
		{"config format without files", func(d *adapter.Descriptor) { d.Config = settings.Schema{Agent: "full", Format: "ini"} }, []string{"configSchema.configFormat"}},
		{"config fields", func(d *adapter.Descriptor) {
			d.Config.Fields = []settings.Field{{}, {Path: "a", Type: "string"}, {Path: "a", Type: "enum"}, {Path: "b", Type: "text", Pattern: "("}}
		},
			[]string{"configSchema.fields[0].path", "configSchema.fields[0].type", "configSchema.fields[2].path", "configSchema.fields[2].enumValues",
				"configSchema.fields[3].type", "configSchema.fields[3].pattern"}},
		{"config file by file", func(d *adapter.Descriptor) {
			d.Config.Files = []settings.File{{ID: "settings", Scope: "global", Path: "x", Format: "ini"}, {ID: "m", Scope: "here", Path: "../x", Format: "json", Moved: "HOME/x"},
				{ID: "n", Scope: "local", Path: "~/x", Format: "json", Moved: "$HOME/../x"}}
			d.Config.Fields = []settings.Field{{Path: "a", Type: "string", Scope: "local", File: "other"}, {Path: "b", Type: "string", Native: "b", Scope: settings.Both, File: "n"}}
			d.Config.MCP = &settings.MCPShape{Kinds: []settings.MCPKind{{Transport: execution.MCPStdio, URL: "url"}, {Transport: execution.MCPSSE}, {Transport: execution.MCPSSE, URL: "url"}}}
		}, []string{"configSchema.fields[0].scope", "configSchema.fields[0].nativeKeyPath", "configSchema.fields[0].file", "configSchema.files[0].path", "configSchema.files[0].format",
			"configSchema.files[1].scope", "configSchema.files[1].path", "configSchema.files[1].movedTo", "configSchema.files[2].movedTo",
			"configSchema.mcp.kinds[0].url", "configSchema.mcp.kinds[1].url"}},
		{"config files", func(d *adapter.Descriptor) {
			d.Config.ConfigFiles = []string{"x", ""}
			d.Config.ProjectConfigFiles = []string{"/x", "../x", "a/../../x", "~/x", "", ".."}
		}, []string{"configSchema.configFilePaths[0]", "configSchema.configFilePaths[1]", "configSchema.projectConfigFilePaths[0]", "configSchema.projectConfigFilePaths[1]",
			"configSchema.projectConfigFilePaths[2]", "configSchema.projectConfigFilePaths[3]", "configSchema.projectConfigFilePaths[4]", "configSchema.projectConfigFilePaths[5]"}},
		{"install", func(d *adapter.Descriptor) {
			d.Install = []adapter.InstallMethod{{}, {Platform: "win32", Type: "npm", Command: "x"}, {Platform: "all", Type: "manual"}, {Platform: "all", Type: "curl", Command: "a\nb"}, {Platform: "all", Type: "NPM", Command: "x"}}
		}, []string{"installMethods[0].platform", "installMethods[0].type", "installMethods[0].command", "installMethods[1].platform", "installMethods[2].command",
			"installMethods[3].command", "installMethods[4].type"}},
		{"documents", func(d *adapter.Descriptor) { d.Documented, d.Protocol = "the manual", "SOAP" }, []string{"documented", "protocol"}},
		{"variables", func(d *adapter.Descriptor) { d.HostSignals, d.Keys = []string{"A=B"}, []string{"OK", ""} }, []string{"hostEnvSignals[0]", "keys[1]"}},
		{"traces", func(d *adapter.Descriptor) { d.HostTraces, d.Keys = []string{"A B", "OK"}, []string{"OK"} }, []string{"hostTraces[0]", "hostTraces[1]"}},
		{"docs", func(d *adapter.Descriptor) { d.Docs = "example.com" }, []string{"docs"}},
		{"no New", func(d *adapter.Descriptor) { d.New = nil }, []string{"new"}},
		{"New gives nil", func(d *adapter.Descriptor) { d.New = func() adapter.Adapter { return nil } }, []string{"new"}},
		{"New panics", func(d *adapter.Descriptor) { d.New = func() adapter.Adapter { panic("boom") } }, []string{"new"}},
		{"typed nil", func(d *adapter.Descriptor) { d.New = func() adapter.Adapter { return (*mute)(nil) } }, []string{"capabilities"}},
		{"capabilities", func(d *adapter.Descriptor) {
			c := validCapabilities()
			c.ToolUse, c.Agent.RuntimeHooks.Stop = "much", "sometimes"
			d.New = func() adapter.Adapter { return &mute{c} }
		}, []string{"capabilities.toolUse", "capabilities.agent.runtimeHooks.stop"}},
		{"several at once", func(d *adapter.Descriptor) {
			d.DisplayName, d.Command, d.MinVersion, d.New = " ", "", "x", nil
		}, []string{"displayName", "cliCommand", "minVersion", "new"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := full()
			c.change(&d)
			r := NewRegistry(nil, adapter.Host{})
			got := map[string]bool{}
			for field := range faultsOf(t, r.Register(d)) {
				got[field] = true
			}
			want := map[string]bool{}
			for _, f := range c.want {
				want[f] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if list := r.List(); len(list) != 0 {
				t.Errorf("an invalid agent is registered: %v", list)
			}
		})
	}
}

func TestZeroDescriptorListsAllFaults(t *testing.T) {
	t.Parallel()
	got := faultsOf(t, NewRegistry(nil, adapter.Host{}).Register(adapter.Descriptor{}))
	for _, field := range []string{"agent", "displayName", "cliCommand", "configSchema.agent", "new"} {
		if got[field] == "" {
			t.Errorf("no fault of %s in %v", field, got)
		}
	}
}

func TestCollisions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		d    adapter.Descriptor
		want []string
	}{
		{"name is another's alias", describe("claude-code"), []string{"agent"}},
		{"alias is another's name", describe("x", alias("codex", "claude")), []string{"aliases[0]", "aliases[1]"}},
		{"alias is another's alias", describe("x", alias("claude-code")), []string{"aliases[0]"}},
		{"with other faults", describe("x", alias("codex"), func(d *adapter.Descriptor) { d.Command = "" }), []string{"aliases[0]", "cliCommand"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := NewRegistry([]adapter.Descriptor{describe("claude", alias("claude-code")), describe("codex")}, adapter.Host{})
			before := r.List()
			got := faultsOf(t, r.Register(c.d))
			if len(got) != len(c.want) {
				t.Errorf("faults %v, want %v", got, c.want)
			}
			for _, f := range c.want {
				if got[f] == "" {
					t.Errorf("no fault of %s in %v", f, got)
				}
			}
			if diff := cmp.Diff(before, r.List()); diff != "" {
				t.Errorf("a refused registration changed the registry:\n%s", diff)
			}
			for asked, want := range map[string]string{"claude-code": "claude", "codex": "codex"} {
				if e, err := r.Get(asked); err != nil || e.Descriptor.Name != want {
					t.Errorf("Get(%s) = %s, %v, want %s", asked, e.Descriptor.Name, err, want)
				}
			}
		})
	}
}

func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	d := describe(strings.Repeat("Ä", 100000), func(d *adapter.Descriptor) { d.New = func() adapter.Adapter { panic(strings.Repeat("x", 100000)) } })
	if err := NewRegistry(nil, adapter.Host{}).Register(d); err == nil || len(err.Error()) > 3000 {
		t.Errorf("the error has %d characters", len(err.Error()))
	}
}
