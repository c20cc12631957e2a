package adaptertest

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/agentconfig"
	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

const (
	configHome    = "/home/ann"
	configProject = "/work/project"
)

// Config tests an agent's configuration schema with files that the agent itself wrote: dir/home is a home directory,
// dir/project a project; {project} in their texts stands for its path. The values read from them are compared with
// dir/config.golden, which -update or UPDATE_GOLDEN=1 rewrites. Then every field is set, read and removed, and a
// server of every kind is added and removed; everything else must stay unchanged.
func Config(t *testing.T, schema settings.Schema, dir string) {
	t.Helper()
	files := configFiles(t, dir)
	load := func(files fstest.MapFS) *agentconfig.Config {
		t.Helper()
		c, err := agentconfig.Load(adapter.Host{FS: files, Home: configHome, Platform: "linux"}, schema, configProject)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := load(files)
	if v := c.Validate(); !v.Valid {
		t.Errorf("the agent's own files are invalid: %+v", v.Errors)
	}
	content := map[string]any{"files": c.Paths(), "settings": c.Settings()}
	if schema.MCP != nil {
		servers, err := c.MCPServers("")
		if err != nil {
			t.Fatal(err)
		}
		content["mcpServers"] = servers
	}
	golden(t, filepath.Join(dir, "config.golden"), content)

	// apply makes changes to a copy of the files.
	apply := func(changes ...agentconfig.Change) *agentconfig.Config {
		t.Helper()
		next := fstest.MapFS{}
		maps.Copy(next, files)
		for _, ch := range changes {
			name := strings.TrimPrefix(ch.File.Name, "/")
			var data []byte
			if f := next[name]; f != nil {
				data = f.Data
			}
			d, err := configfile.Parse(configfile.Format(ch.File.Format), ch.File.Name, data)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ch.Apply(d); err != nil {
				t.Fatal(err)
			}
			next[name] = &fstest.MapFile{Data: d.Bytes()}
		}
		return load(next)
	}
	for _, field := range schema.Fields {
		if field.Type == settings.TypeMCPServers {
			continue
		}
		for _, scope := range settings.Scopes {
			t.Run(field.Path+" "+string(scope), func(t *testing.T) { configField(t, c, field, scope, apply) })
		}
	}
	for _, m := range []execution.MCPServer{
		{Name: "added", Transport: execution.MCPStdio, Command: "cmd", Args: []string{"-x", `a "b" 'c'`}, Env: map[string]string{"A_B": "c\nd"}},
		{Name: "bare", Transport: execution.MCPStdio, Command: "cmd"},
		{Name: "added-http", Transport: execution.MCPStreamableHTTP, URL: "https://example.com/mcp", Headers: map[string]string{"X-A": "b"}},
		{Name: "added_sse", Transport: execution.MCPSSE, URL: "https://example.com/sse", Headers: map[string]string{"X-A": "b"}},
	} {
		for _, scope := range settings.Scopes {
			if schema.MCP == nil {
				break
			}
			t.Run("MCP "+m.Name+" "+string(scope), func(t *testing.T) { configServer(t, c, m, scope, apply) })
		}
	}
}

func configField(t *testing.T, c *agentconfig.Config, field settings.Field, scope settings.Scope, apply func(...agentconfig.Change) *agentconfig.Config) {
	target, err := c.Resolve(field.Path)
	if err != nil {
		t.Fatal(err)
	}
	value, native := sample(field)
	ch, err := c.Set(target, value, scope)
	if execution.CodeOf(err) == execution.CodeCapability {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	after := apply(ch)
	got, ok, err := after.Get(target, scope)
	if err != nil || !ok {
		t.Fatalf("it does not exist: %v", err)
	}
	if _, merged := value.(map[string]any); !merged && plainJSON(t, got) != plainJSON(t, value) {
		t.Errorf("set %v, got %v", value, got)
	}
	if raw, _, _ := after.Get(agentconfig.Target{Path: target.Path, File: target.File}, scope); native != nil && plainJSON(t, raw) != plainJSON(t, native) {
		t.Errorf("the file has %v, want %v", raw, native)
	}
	if v := after.Validate(); !v.Valid {
		t.Errorf("invalid: %+v", v.Errors)
	}
	others := func(c *agentconfig.Config) string {
		var rest []agentconfig.Setting
		for _, s := range c.Settings() {
			if s.Name != field.Path && !strings.HasPrefix(s.Name, field.Path+".") {
				rest = append(rest, s)
			}
		}
		return plainJSON(t, rest)
	}
	if others(after) != others(c) {
		t.Errorf("other settings changed:\n%s\n%s", others(c), others(after))
	}
	out, err := after.Unset(target, scope)
	if err != nil || len(out) != 1 {
		t.Fatalf("%d changes: %v", len(out), err)
	}
	gone := apply(ch, out[0])
	if _, ok, _ := gone.Get(target, scope); ok || others(gone) != others(c) {
		t.Error("removed, but still present, or more is gone")
	}
}

func configServer(t *testing.T, c *agentconfig.Config, m execution.MCPServer, scope settings.Scope, apply func(...agentconfig.Change) *agentconfig.Config) {
	ch, err := c.AddMCPServer(m, scope)
	if execution.CodeOf(err) == execution.CodeCapability {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	after := apply(ch)
	servers, err := after.MCPServers(scope)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range servers {
		if s.Name != m.Name {
			continue
		}
		found = true
		if len(s.Args) == 0 {
			s.Args = nil
		}
		if plainJSON(t, s.MCPServer) != plainJSON(t, m) || s.Error != "" {
			t.Errorf("added %+v, got %+v", m, s)
		}
	}
	if !found {
		t.Fatal("it does not exist")
	}
	if _, err := after.AddMCPServer(m, scope); execution.CodeOf(err) != execution.CodeConfig {
		t.Errorf("added twice: %v", err)
	}
	out, err := after.RemoveMCPServer(m.Name, scope)
	if err != nil || len(out) != 1 {
		t.Fatalf("%d changes: %v", len(out), err)
	}
	before, _ := c.MCPServers("")
	now, err := apply(ch, out[0]).MCPServers("")
	if err != nil || plainJSON(t, before) != plainJSON(t, now) {
		t.Errorf("after removing it:\n%s\n%s", plainJSON(t, before), plainJSON(t, now))
	}
}

// sample returns a value for a field, and the file's value then.
func sample(f settings.Field) (value, native any) {
	switch f.Type {
	case settings.TypeEnum:
		if len(f.Values) > 0 {
			return f.Values[0].Value, f.Values[0].Native
		}
		return f.Enum[0], f.Enum[0]
	case settings.TypeBoolean:
		return true, true
	case settings.TypeNumber, settings.TypeInteger:
		n := 3.0
		if f.Max != nil && n > *f.Max {
			n = *f.Max
		}
		return n, n
	case settings.TypeStringList:
		return []any{"one", `t"w"o`}, nil
	case settings.TypeObject:
		return map[string]any{"A.B": "c"}, nil
	}
	return `te"xt`, nil
}

func configFiles(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{strings.TrimPrefix(configProject, "/") + "/.git": &fstest.MapFile{Mode: fs.ModeDir}}
	for from, to := range map[string]string{"home": configHome, "project": configProject} {
		root := filepath.Join(dir, from)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			files[strings.TrimPrefix(to, "/")+"/"+filepath.ToSlash(rel)] = &fstest.MapFile{Data: bytes.ReplaceAll(b, []byte("{project}"), []byte(configProject))}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return files
}

func plainJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func golden(t *testing.T, file string, v any) {
	t.Helper()
	got, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" || os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; what was read:\n%s", file, got)
	}
}
