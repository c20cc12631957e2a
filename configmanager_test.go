package drawbar_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// configClient is a client of one agent whose home is a temporary directory.
func configClient(t *testing.T, change ...func(*drawbar.Options)) (drawbar.ConfigManager, string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := echoDescriptor()
	d.DefaultModel = "declared"
	d.Config = settings.NewSchema("echo", "1", []settings.File{
		{Scope: settings.Global, Path: "~/.echo/settings.json", Format: "jsonc"},
		{Scope: settings.Project, Path: ".echo/settings.json", Format: "jsonc"},
		{ID: "mcp", Scope: settings.Global, Path: "~/.echo/mcp.toml", Format: "toml"},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{{Transport: execution.MCPStdio}}}, []settings.Field{
		{Path: "model", Type: settings.TypeString, Normalized: true, Native: "model"},
		{Path: "provider", Type: settings.TypeString, Normalized: true, Native: "provider"},
		{Path: "deniedCommands", Type: settings.TypeStringList, Normalized: true, Native: "permissions.deny"},
		{Path: "mcpServers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcp_servers", File: "mcp"},
	})
	host := oshost.New(nil)
	host.Home, host.Getenv = home, func(string) string { return "" }
	o := drawbar.Options{NoRecord: true, Agents: []adapter.Descriptor{d}, Host: &host}
	for _, c := range change {
		c(&o)
	}
	c, err := drawbar.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c.Config(), home
}

func TestConfigManager(t *testing.T) {
	t.Parallel()
	m, home := configClient(t)
	project := t.TempDir()
	global, local := drawbar.ConfigPlace{Project: project}, drawbar.ConfigPlace{Project: project, Scope: settings.Project}
	file := filepath.Join(home, ".echo", "settings.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{\n  // mine\n  \"permissions\": {\"allow\": [\"Read\"]},\n  \"unknown\": {\"key\": 1},\n}\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	// Two fields of one file are one replacement; what nobody named stays.
	changed, err := m.Set(t.Context(), "echo", map[string]any{"model": "one", "deniedCommands": []string{"Bash"}}, global)
	if err != nil || !cmp.Equal(changed, []string{file}) {
		t.Fatalf("%v %v", changed, err)
	}
	want := "{\n  // mine\n  \"permissions\": {\"allow\": [\"Read\"], \"deny\": [\"Bash\"]},\n  \"unknown\": {\"key\": 1},\n  \"model\": \"one\",\n}\n"
	if b, err := os.ReadFile(file); err != nil || string(b) != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, string(b)))
	}
	if changed, err := m.SetField(t.Context(), "echo", "model", "one", global); err != nil || len(changed) != 0 {
		t.Errorf("set again: %v %v", changed, err)
	}
	// One wrong value, and none is written.
	if _, err := m.Set(t.Context(), "echo", map[string]any{"model": "two", "deniedCommands": 7}, global); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("a wrong value: %v", err)
	}
	s, err := m.ModelSelection("echo", global)
	if err != nil || s != (drawbar.ModelSelection{ConfiguredModel: "one", DefaultModel: "declared", EffectiveModel: "one"}) {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := m.SetModelSelection(t.Context(), "echo", "three", "p", local); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(project, ".echo", "settings.json")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the project's file: %v %v", info, err)
	}
	if s, _ := m.ModelSelection("echo", global); s.EffectiveModel != "three" || s.ConfiguredProvider != "p" {
		t.Errorf("%+v", s)
	}
	all, err := m.Get("echo", global)
	if err != nil || all.Source != "merged" || all.Values["model"] != "three" {
		t.Errorf("%+v %v", all, err)
	}
	if v, ok, err := m.GetField("echo", "model", drawbar.ConfigPlace{Project: project, Scope: settings.Global}); err != nil || !ok || v != "one" {
		t.Errorf("%v %v %v", v, ok, err)
	}
	if changed, err := m.Unset(t.Context(), "echo", "model", local); err != nil || len(changed) != 1 {
		t.Errorf("%v %v", changed, err)
	}
	if changed, err := m.Unset(t.Context(), "echo", "model", local); err != nil || len(changed) != 0 {
		t.Errorf("unset again: %v %v", changed, err)
	}
	if v, err := m.Validate("echo", global); err != nil || !v.Valid {
		t.Errorf("%+v %v", v, err)
	}
	if _, err := m.Schema("nobody"); execution.CodeOf(err) != execution.CodeAgentNotFound && execution.CodeOf(err) != execution.CodeUnknownAgent {
		t.Errorf("an unknown agent: %v", err)
	}
}

func TestConfigManagerServers(t *testing.T) {
	t.Parallel()
	m, home := configClient(t)
	at := drawbar.ConfigPlace{Project: home}
	server := execution.MCPServer{Name: "files", Transport: execution.MCPStdio, Command: "cmd", Args: []string{"a b"}, Env: map[string]string{"A": "b"}}
	if _, err := m.AddMCPServer(t.Context(), "echo", server, at); err != nil {
		t.Fatal(err)
	}
	_, err := m.AddMCPServer(t.Context(), "echo", server, at)
	if execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "already") {
		t.Errorf("added twice: %v", err)
	}
	list, err := m.MCPServers("echo", at)
	if err != nil || len(list) != 1 || !cmp.Equal(list[0].MCPServer, server) {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := m.RemoveMCPServer(t.Context(), "echo", "files", at); err != nil {
		t.Error(err)
	}
	if _, err := m.RemoveMCPServer(t.Context(), "echo", "files", at); execution.CodeOf(err) != execution.CodeConfig {
		t.Errorf("removed twice: %v", err)
	}
}

func TestConfigManagerRefuses(t *testing.T) {
	t.Parallel()
	m, home := configClient(t)
	for name, at := range map[string]drawbar.ConfigPlace{"scope": {Project: home, Scope: "user"}, "project": {Project: filepath.Join(home, "missing")}} {
		if _, err := m.Get("echo", at); execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A client that looks at another machine does not write to this one.
	other, _ := configClient(t, func(o *drawbar.Options) {
		o.Host = &adapter.Host{FS: fstest.MapFS{"home/ann/.echo/settings.json": &fstest.MapFile{Data: []byte(`{"model": "there"}`)}}, Home: "/home/ann", Platform: "linux"}
	})
	if v, _, err := other.GetField("echo", "model", drawbar.ConfigPlace{Project: home}); err != nil || v != "there" {
		t.Errorf("%v %v", v, err)
	}
	if _, err := other.SetField(t.Context(), "echo", "model", "x", drawbar.ConfigPlace{Project: home}); execution.CodeOf(err) != execution.CodeConfig {
		t.Errorf("written elsewhere: %v", err)
	}
	_, err := m.SetField(t.Context(), "echo", "temperature", 1, drawbar.ConfigPlace{Project: home})
	if e, ok := errors.AsType[*execution.Error](err); !ok || e.Code != execution.CodeCapability || e.Agent != "echo" || e.Capability != "temperature" {
		t.Errorf("a setting that the agent lacks: %v", err)
	}
}
