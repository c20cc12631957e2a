package agentconfig

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

func schema() settings.Schema {
	return settings.NewSchema("echo", "1.0.0", []settings.File{
		{Scope: settings.Global, Path: "~/.echo/settings.json", Moved: "$ECHO_HOME/settings.json", Format: "jsonc"},
		{Scope: settings.Project, Path: ".echo/settings.json", Format: "jsonc"},
		{Scope: settings.Project, Path: ".echo/more.json", Format: "jsonc", AtRoot: true},
		{ID: "mcp", Scope: settings.Global, Path: "~/.echo.json", Format: "json"},
		{ID: "mcp", Scope: settings.Local, Path: "~/.echo.json", Format: "json", Prefix: []string{"projects", "{project}"}, AtRoot: true},
	}, &settings.MCPShape{Kinds: []settings.MCPKind{{Transport: execution.MCPStdio}, {Transport: execution.MCPSSE, Type: "sse", URL: "url"}}},
		[]settings.Field{
			{Path: "model", Type: settings.TypeString, Normalized: true, Native: "model.name"},
			{Path: "approvalMode", Type: settings.TypeEnum, Normalized: true, Native: "mode", Enum: []string{"ask", "all", "plan"},
				Values: []settings.Value{{Value: "prompt", Native: "ask"}, {Value: "yolo", Native: "all"}}},
			{Path: "allowedCommands", Type: settings.TypeStringList, Normalized: true, Native: "rules.allow"},
			{Path: "deniedCommands", Type: settings.TypeStringList, Normalized: true, Native: "rules.deny", Merge: settings.MergeUnion},
			{Path: "env", Type: settings.TypeObject, Normalized: true, Native: "env", Secret: true},
			{Path: "mcpServers", Type: settings.TypeMCPServers, Normalized: true, Native: "mcpServers", File: "mcp"},
			{Path: "limit", Type: settings.TypeInteger, Native: "limit", Min: new(1.0), Max: new(9.0)},
			{Path: "code", Type: settings.TypeString, Native: "code", Pattern: "^[A-Z]+$", Required: true},
			{Path: "old", Type: settings.TypeBoolean, Native: "old", Deprecated: "new", Scope: settings.Global},
		})
}

func world(files map[string]string, env ...string) adapter.Host {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return adapter.Host{FS: m, Home: "/home/ann", Platform: "linux", Getenv: func(name string) string {
		for _, pair := range env {
			if v, ok := strings.CutPrefix(pair, name+"="); ok {
				return v
			}
		}
		return ""
	}}
}

func load(t *testing.T, h adapter.Host) *Config {
	t.Helper()
	c, err := Load(h, schema(), "/work/p/sub")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, c *Config, name string) any {
	t.Helper()
	target, err := c.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := c.Get(target, "")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestJoinedLists: a list that the agent joins has the elements of every scope, and none of them is overridden.
func TestJoinedLists(t *testing.T) {
	t.Parallel()
	c := load(t, world(map[string]string{
		"home/ann/.echo/settings.json":   `{"rules": {"deny": ["a", "b"], "allow": ["x"]}}`,
		"work/p/sub/.echo/settings.json": `{"rules": {"deny": ["b", "c"], "allow": ["y"]}}`,
	}))
	want := []any{"a", "b", "c"}
	if diff := cmp.Diff(any(want), get(t, c, "deniedCommands")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(any([]any{"y"}), get(t, c, "allowedCommands")); diff != "" {
		t.Error(diff)
	}
	for _, s := range c.Settings() {
		if s.Name == "deniedCommands" && (!s.Joined || len(s.Origins) != 2 || cmp.Diff(any(want), s.Value) != "") {
			t.Errorf("%+v", s)
		}
		if s.Name == "allowedCommands" && s.Joined {
			t.Errorf("%+v", s)
		}
	}
	a, err := c.Agent()
	if err != nil || cmp.Diff(any(want), a.Values["deniedCommands"]) != "" || cmp.Diff(any(want), a.Native["rules"].(map[string]any)["deny"]) != "" {
		t.Errorf("%v %+v", err, a)
	}
	if diff := cmp.Diff(any(want), get(t, c, "deniedCommands")); diff != "" {
		t.Errorf("reading changed the files' values: %s", diff)
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	c := load(t, world(map[string]string{
		"home/ann/.echo/settings.json":    `{"model": {"name": "global"}, "env": {"A": "1", "B": "1"}, "rules": {"allow": ["x", "y"]}, "mode": "all", "other": {"deep": true}}`,
		"work/p/sub/.echo/settings.json":  `{"model": {"name": "first"}, "env": {"B": "2"}, "rules": {"allow": "z"}}`,
		"work/p/.echo/more.json":          `{"model": {"name": "second"}, "env": {"C": "3"}}`,
		"work/p/.git/HEAD":                "",
		"home/ann/.echo.json":             `{"state": 1, "mcpServers": {"a": {"command": "x"}, "b": {"type": "odd"}}, "projects": {"/work/p": {"mcpServers": {"a": {"type": "sse", "url": "http://u:pw@h/?api_key=s&x=1"}}}}}`,
		"home/ann/unrelated/settings.txt": "",
	}))
	if diff := cmp.Diff([]string{"/home/ann/.echo/settings.json", "/home/ann/.echo.json", "/work/p/.echo/more.json", "/work/p/sub/.echo/settings.json"}, c.Paths(), cmp.Transformer("sorted", sorted)); diff != "" {
		t.Errorf("files: %s", diff)
	}
	for name, want := range map[string]any{
		"model": "first", "approvalMode": "yolo", "allowedCommands": []any{"z"}, "env": map[string]any{"A": "1", "B": "2", "C": "3"}, "env.C": "3",
		"native.mode": "yolo", "native.other.deep": true, "other.deep": true, "rules.allow": []any{"z"},
	} {
		if diff := cmp.Diff(want, get(t, c, name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	var names []string
	for _, s := range c.Settings() {
		var at []string
		for _, o := range s.Origins {
			at = append(at, string(o.Scope))
		}
		names = append(names, s.Name+" "+strings.Join(at, ","))
	}
	want := []string{"allowedCommands project,global", "approvalMode global", "env.A global", "env.B project,global", "env.C project", "model project,project,global", "native.other.deep global"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("settings: %s", diff)
	}
	servers, err := c.MCPServers("")
	if err != nil || len(servers) != 3 || servers[0].Scope != settings.Local || servers[1].Scope != settings.Global || servers[2].Error == "" {
		t.Errorf("servers: %+v %v", servers, err)
	}
	if got := servers[0].Masked().URL; got != "http://u:***@h/?api_key=***&x=1" {
		t.Errorf("masked: %s", got)
	}
	a, err := c.Agent()
	if err != nil || a.Source != "merged" {
		t.Errorf("%+v %v", a, err)
	}
	b, err := json.Marshal(a.Masked(c.Schema))
	if err != nil || strings.Contains(string(b), `"B":"2"`) || !strings.Contains(string(b), `"model":"first"`) {
		t.Errorf("%s %v", b, err)
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func TestMovedByVariable(t *testing.T) {
	t.Parallel()
	c := load(t, world(map[string]string{"srv/echo/settings.json": `{"model": {"name": "moved"}}`, "home/ann/.echo/settings.json": `{"model": {"name": "home"}}`}, "ECHO_HOME=/srv/echo"))
	if got := get(t, c, "model"); got != "moved" {
		t.Errorf("got %v", got)
	}
	_, err := Load(world(nil, "ECHO_HOME=srv"), schema(), "/work")
	if execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "ECHO_HOME") {
		t.Errorf("a relative directory: %v", err)
	}
	if _, err := Load(world(nil), settings.Schema{Agent: "none"}, "/work"); execution.CodeOf(err) != execution.CodeCapability {
		t.Errorf("no files: %v", err)
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	c := load(t, world(nil))
	for name, want := range map[string]struct {
		code execution.ErrorCode
		text string
	}{
		"modlx":       {execution.CodeValidation, "do you mean model"},
		"something":   {execution.CodeValidation, "native.something"},
		"temperature": {execution.CodeCapability, "echo has no setting for temperature"},
		"model.name2": {execution.CodeValidation, "no setting model.name2"},
		"a..b":        {execution.CodeValidation, "empty key"},
		"native.":     {execution.CodeValidation, "empty key"},
		"env.\"":      {execution.CodeValidation, "unterminated"},
		"a\nb":        {execution.CodeValidation, "quoted"},
	} {
		_, err := c.Resolve(name)
		if execution.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%q: got %v, want %s %q", name, err, want.code, want.text)
		}
	}
}

func TestSetChecks(t *testing.T) {
	t.Parallel()
	c := load(t, world(nil))
	for _, tc := range []struct {
		name  string
		text  string
		scope settings.Scope
		want  string // the error, or the value as JSON
	}{
		{"model", "5", "", `"5"`}, {"model", `"quoted"`, "", `"quoted"`}, {"model", "  ", "", "is empty"},
		{"approvalMode", "prompt", "", `"ask"`}, {"approvalMode", "plan", "", `"plan"`},
		{"approvalMode", "deny", "", "want prompt, yolo, ask, all, plan"},
		{"allowedCommands", "one", "", `["one"]`}, {"allowedCommands", `["a", 1]`, "", "has a number in it"}, {"allowedCommands", `{}`, "", "is an object"},
		{"env", `{"A": "b"}`, "", `{"A":"b"}`}, {"env", "A=b", "", "is not a JSON object"}, {"env.A", "5", "", `"5"`},
		{"limit", "3", "", "3"}, {"limit", "0", "", "want 1 to 9"}, {"limit", "10", "", "want 1 to 9"}, {"limit", "1.5", "", "want integer"}, {"limit", "x", "", "is a text"},
		{"code", "AB", "", `"AB"`}, {"code", "ab", "", "does not match"},
		{"old", "true", "", "true"}, {"old", "yes", "", "true or false"}, {"old", "true", settings.Project, "echo has no old in the scope project; --scope global"},
		{"model", "m", settings.Local, "no model in the scope local; --scope global or project"},
		{"mcpServers", "{}", "", "server by server"}, {"native.x.y", "[1]", "", "[1]"}, {"native.x", "plain", "", `"plain"`},
	} {
		target, err := c.Resolve(tc.name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.Read(target, tc.text)
		if err == nil {
			var ch Change
			if ch, err = c.Set(target, v, tc.scope); err == nil {
				b, _ := json.Marshal(ch.Value)
				if string(b) != tc.want {
					t.Errorf("%s %s: got %s, want %s", tc.name, tc.text, b, tc.want)
				}
				continue
			}
		}
		if !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %s: got %v, want %q", tc.name, tc.text, err, tc.want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	c := load(t, world(map[string]string{
		"home/ann/.echo/settings.json":   `{"mode": "odd", "limit": 99, "code": "ab", "old": true, "modlx": {}, "env": {"SECRET": 1}}`,
		"work/p/sub/.echo/settings.json": `{"rules": {"allow": 7}, "code": null}`,
		"work/p/sub/.echo/more.json":     `{"a": `,
		"home/ann/.echo.json":            `{"mcpServers": {"a b": 1, "ok": {"command": "x"}}}`,
	}))
	v := c.Validate()
	var got []string
	for _, f := range v.Errors {
		got = append(got, f.Field+" "+f.Code)
	}
	want := []string{"mcpServers.a b type_mismatch", "allowedCommands type_mismatch", "code required", " invalid_format", "approvalMode invalid_enum", "limit out_of_range", "code pattern_mismatch"}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" || v.Valid {
		t.Error(diff)
	}
	got = nil
	for _, f := range v.Warnings {
		got = append(got, f.Field+" "+f.Code+" "+f.Suggestion)
	}
	if diff := cmp.Diff([]string{"old deprecated new", "native.modlx non_standard model"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := c.Agent(); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "more.json:1:7") {
		t.Errorf("a file that cannot be parsed: %v", err)
	}
}

func settingsFile(c *Config) File {
	return c.Files[slices.IndexFunc(c.Files, func(f File) bool { return f.ID == settings.MainFile })]
}

// What cannot be read as a file is said and does not stop the others.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	h := world(map[string]string{"home/ann/.echo/settings.json/inner": "", "work/p/sub/.echo/settings.json": `{"code": "AB"}`})
	c := load(t, h)
	if got := settingsFile(c).Err; execution.CodeOf(got) != execution.CodeConfig || !strings.Contains(got.Error(), "not a regular file") {
		t.Errorf("a directory: %v", got)
	}
	target, err := c.Resolve("code")
	if err != nil {
		t.Fatal(err)
	}
	if v, ok, err := c.Get(target, settings.Project); err != nil || !ok || v != "AB" {
		t.Errorf("%v %v %v", v, ok, err)
	}
	big := fstest.MapFS{"home/ann/.echo/settings.json": &fstest.MapFile{Data: make([]byte, maxFile+1)}}
	h.FS = big
	if got := settingsFile(load(t, h)).Err; got == nil || !strings.Contains(got.Error(), "more than a configuration file may have") {
		t.Errorf("a huge file: %v", got)
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	c := load(t, world(map[string]string{"home/ann/.echo.json": `{"mcpServers": {"a": {"command": "x", "args": "no list"}, "../x": {"command": "y", "args": ["--token", "s1", "--api-key=s2", "-v"], "timeout": 5}}}`}))
	servers, err := c.MCPServers("")
	if err != nil || len(servers) != 2 || !strings.Contains(servers[1].Error, "args: is not a list") {
		t.Fatalf("%+v %v", servers, err)
	}
	if got := servers[0].Masked(); strings.Join(got.Args, " ") != "--token *** --api-key=*** -v" || got.Native["timeout"] != int64(5) {
		t.Errorf("%+v", got)
	}
	if changes, err := c.RemoveMCPServer("../x", settings.Global); err != nil || len(changes) != 1 {
		t.Errorf("a name that is there can be removed: %v", err)
	}
	for _, m := range []execution.MCPServer{
		{Name: "../x", Transport: execution.MCPStdio, Command: "c"}, {Name: "a b", Transport: execution.MCPStdio, Command: "c"}, {Name: "a\nb", Transport: execution.MCPStdio, Command: "c"},
		{Name: `a"b`, Transport: execution.MCPStdio, Command: "c"}, {Name: "", Transport: execution.MCPStdio, Command: "c"}, {Name: "n", Transport: execution.MCPStdio},
		{Name: "n", Transport: execution.MCPSSE}, {Name: "n", Transport: "x"},
	} {
		if _, err := c.AddMCPServer(m, settings.Global); execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("%+v: %v", m, err)
		}
	}
	if _, err := c.AddMCPServer(execution.MCPServer{Name: "n", Transport: execution.MCPStreamableHTTP, URL: "http://x"}, settings.Global); execution.CodeOf(err) != execution.CodeCapability {
		t.Errorf("a transport that the agent lacks: %v", err)
	}
	if _, err := c.AddMCPServer(execution.MCPServer{Name: "n", Transport: execution.MCPSSE, URL: "http://x", Headers: map[string]string{"a": "b"}}, settings.Global); execution.CodeOf(err) != execution.CodeCapability {
		t.Errorf("headers that the agent cannot keep: %v", err)
	}
	s := schema()
	s.MCP = nil
	c, _ = Load(world(nil), s, "/work")
	if _, err := c.MCPServers(""); execution.CodeOf(err) != execution.CodeCapability {
		t.Errorf("no servers at all: %v", err)
	}
}

// The file may have got a server of that name since it was looked at.
func TestAddedMeanwhile(t *testing.T) {
	t.Parallel()
	ch, err := load(t, world(nil)).AddMCPServer(execution.MCPServer{Name: "n", Transport: execution.MCPStdio, Command: "c"}, settings.Global)
	if err != nil {
		t.Fatal(err)
	}
	const theirs = `{"mcpServers": {"n": {"command": "theirs"}}}`
	d, err := configfile.Parse(configfile.JSON, "f", []byte(theirs))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Apply(d); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "already") || string(d.Bytes()) != theirs {
		t.Errorf("%v %s", err, d.Bytes())
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	got := mask(map[string]any{
		"env": map[string]any{"PLAIN": "s"}, "headers": map[string]any{"X": "s"}, "http_headers": map[string]any{"X": "s"}, "env_http_headers": map[string]any{"X": "NAME"},
		"apiKey": "s", "client_secret": []any{"s"}, "bearer_token_env_var": "NAME", "maxTokens": int64(5), "args": []any{"--password", "s", "x"},
		"list": []any{map[string]any{"token": "s", "on": true}}, "url": "https://h/?q=1",
	})
	want := map[string]any{
		"env": map[string]any{"PLAIN": Hidden}, "headers": map[string]any{"X": Hidden}, "http_headers": map[string]any{"X": Hidden}, "env_http_headers": map[string]any{"X": "NAME"},
		"apiKey": Hidden, "client_secret": []any{Hidden}, "bearer_token_env_var": "NAME", "maxTokens": int64(5), "args": []any{"--password", Hidden, "x"},
		"list": []any{map[string]any{"token": Hidden, "on": true}}, "url": "https://h/?q=1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
