package declared

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

type table struct{}

func (table) Table() *Table { return &declares }

var home = Dir{Default: ".x", Variable: "X_HOME"}

var declares = Table{
	Agent: "x", Command: "xx", Home: home, Project: ".px", Model: Setting("X_MODEL", home, "s.json", "model", "name"),
	Skills: Folders{Suffix: ".md", Also: []string{".a"}, AlsoProject: []string{".b"}, Note: "trusted"},
	Hooks: &HookTable{Tool: "Before", File: "h/hooks.json", Format: "json", Note: "trusted", Events: []settings.Hook{{Name: "Before"}, {Name: "After"}},
		Group: func(e settings.Hook, command string) any { return e.Name + " " + command }},
	Plugins: &PluginTable{Format: "f", List: []string{"ls"}, Install: []string{"add"}, Then: []string{"--yes"}, Remove: []string{"rm"}, Consent: true, Unnamed: true,
		Rows: func(said adapter.SpawnOutcome) (list []settings.Plugin, err error) {
			for id := range strings.FieldsSeq(said.Stdout) {
				list = append(list, settings.Plugin{PluginID: id})
			}
			return list, nil
		},
		Search: func(run Run) ([]settings.PluginListing, error) {
			said, err := run("find")
			if err != nil {
				return nil, err
			}
			return []settings.PluginListing{{PluginID: "a" + said.Stdout}, {PluginID: "b", Description: "Waves"}}, err
		}},
	Login: &LoginTable{
		Variables: []Variable{{Name: "X_CLOUD", Method: "cloud", Elsewhere: "through a cloud"}, {Name: "X_KEY", Method: "api_key"}},
		Stored: func(adapter.Host, time.Time) adapter.AuthState {
			return adapter.AuthState{Status: adapter.AuthUnknown, Details: "stored"}
		},
		Guidance: adapter.AuthGuidance{Provider: "X"},
	},
}

var (
	_ adapter.SkillKeeper    = Of[table]{}
	_ adapter.NativeHooks    = Of[table]{}
	_ adapter.PluginManager  = Of[table]{}
	_ adapter.Prober         = Of[table]{}
	_ adapter.AuthGuide      = Of[table]{}
	_ adapter.PluginSearcher = SearchOf[table]{}
)

func host(files map[string]string, vars map[string]string) adapter.Host {
	f := fstest.MapFS{}
	for name, text := range files {
		f[strings.TrimPrefix(name, "/")] = &fstest.MapFile{Data: []byte(text)}
	}
	return adapter.Host{Getenv: func(name string) string { return vars[name] }, Home: "/home/ann", Platform: "linux", FS: f}
}

func TestDir(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dir   Dir
		value string
		want  string
	}{
		{home, "", "/home/ann/.x"},
		{home, "/else", "/else"},
		{home, "~/else", "~/else"},
		{Dir{Default: ".x", Variable: "X_HOME", Below: ".y"}, "/else", "/else/.y"},
		{Dir{Default: ".x", Variable: "X_HOME", Below: ".y"}, "", "/home/ann/.x"},
		{Dir{Default: ".x", Variable: "X_HOME", Tilde: true}, "~", "/home/ann"},
		{Dir{Default: ".x", Variable: "X_HOME", Tilde: true}, "~/else", "/home/ann/else"},
		{Dir{Default: ".x", Variable: "X_HOME", Tilde: true}, "~other", "~other"},
	} {
		if got := filepath.ToSlash(tt.dir.In(host(nil, map[string]string{"X_HOME": tt.value}))); got != tt.want {
			t.Errorf("%+v with %q: %s, want %s", tt.dir, tt.value, got, tt.want)
		}
	}
}

func TestSkills(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		scope  settings.Scope
		skills string
		agents string
	}{
		{settings.Global, `{"Dir":"/home/ann/.x/skills","Within":"","Suffix":"","Also":["/home/ann/.a/skills"],"Note":""}`,
			`{"Dir":"/home/ann/.x/agents","Within":"","Suffix":".md","Also":null,"Note":""}`},
		{settings.Project, `{"Dir":"/w/.px/skills","Within":"/w","Suffix":"","Also":["/w/.a/skills","/w/.b/skills"],"Note":"trusted"}`,
			`{"Dir":"/w/.px/agents","Within":"/w","Suffix":".md","Also":null,"Note":"trusted"}`},
	} {
		skills, _ := Of[table]{}.SkillFolder(host(nil, nil), tt.scope, "/w")
		agents, _ := Of[table]{}.SubagentFolder(host(nil, nil), tt.scope, "/w")
		for want, folder := range map[string]settings.Folder{tt.skills: skills, tt.agents: agents} {
			if got, _ := json.Marshal(folder); string(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
}

// TestAnswerHook: what the agent's form cannot say denies.
func TestAnswerHook(t *testing.T) {
	t.Parallel()
	deny := execution.HookResult{Decision: execution.HookDeny, Message: "no"}
	modify := execution.HookResult{Decision: execution.HookModify, ModifiedInput: json.RawMessage(`{"a":1}`)}
	specific := *declares.Hooks
	worded := declares
	worded.Hooks = &specific
	worded.Hooks.Specific = true
	worded.Hooks.Denial = func(event, why string) map[string]any {
		if event != "Before" {
			return nil
		}
		return map[string]any{"why": why}
	}
	worded.Hooks.Modified = func(input json.RawMessage) map[string]any { return map[string]any{"input": input} }
	top := specific
	top.Specific = false
	broken := worded
	broken.Hooks = &top
	silent := *declares.Hooks
	silent.Quiet = true
	quiet := declares
	quiet.Hooks = &silent
	for _, tt := range []struct {
		name  string
		table *Table
		event string
		res   execution.HookResult
		want  settings.HookAnswer
	}{
		{"deny", &declares, "Before", deny, settings.HookAnswer{Stderr: "no", ExitCode: 2}},
		{"deny without a reason", &declares, "Before", execution.HookResult{Decision: execution.HookDeny}, settings.HookAnswer{Stderr: "denied by a hook", ExitCode: 2}},
		{"modify what cannot be", &declares, "Before", modify, settings.HookAnswer{Stderr: "x cannot modify a tool's input, as a hook requested", ExitCode: 2}},
		{"modify elsewhere", &declares, "After", execution.HookResult{Decision: execution.HookModify, Stdout: "note"}, settings.HookAnswer{Stdout: "note"}},
		{"allow", &declares, "Before", execution.HookResult{Decision: execution.HookAllow, Stdout: "note"}, settings.HookAnswer{Stdout: "note"}},
		{"allow without output", &quiet, "Before", execution.HookResult{Decision: execution.HookAllow, Stdout: "note"}, settings.HookAnswer{}},
		{"deny in words", &worded, "Before", deny, settings.HookAnswer{Stdout: `{"hookSpecificOutput":{"hookEventName":"Before","why":"no"}}`}},
		{"deny without words", &worded, "After", deny, settings.HookAnswer{Stderr: "no", ExitCode: 2}},
		{"modify", &worded, "Before", modify, settings.HookAnswer{Stdout: `{"hookSpecificOutput":{"hookEventName":"Before","input":{"a":1}}}`}},
		{"modify at the top", &broken, "Before", modify, settings.HookAnswer{Stdout: `{"input":{"a":1}}`}},
		{"an input that is no JSON", &broken, "Before", execution.HookResult{Decision: execution.HookModify, ModifiedInput: json.RawMessage("{")}, settings.HookAnswer{Stderr: "denied by a hook", ExitCode: 2}},
	} {
		if got := tt.table.answerHook(tt.event, tt.res); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestToolHook reads and answers the event before a tool call, whatever the kit calls it.
func TestToolHook(t *testing.T) {
	t.Parallel()
	h := ToolHook[table]()
	call, err := h.Read("preTool", []byte(`{"tool_name":"t","tool_use_id":"7"}`))
	if err != nil || call.HookType != "Before" || call.Data.ToolName != "t" || call.ToolCallID != "7" {
		t.Errorf("%+v %v", call, err)
	}
	if _, err := h.Read("preTool", []byte(`{}`)); err == nil {
		t.Error("a call that names no tool is read")
	}
	if a := h.Answer("preTool", execution.HookResult{Decision: execution.HookModify}); a.ExitCode != 2 {
		t.Errorf("another input is answered with %+v", a)
	}
}

func TestPlaceHook(t *testing.T) {
	t.Parallel()
	p := Of[table]{}.PlaceHook(host(nil, nil), settings.Project, "/w", "Before", "run")
	if filepath.ToSlash(p.File) != "/w/.px/h/hooks.json" || p.Within != "/w" || p.Note != "trusted" || p.Group != "Before run" || strings.Join(p.Path, ".") != "hooks.Before" {
		t.Errorf("%+v", p)
	}
	programs := *declares.Hooks
	programs.File, programs.Program = "h/x-*.js", func(e settings.Hook, command string) string { return e.Name + ": " + command }
	if p := (&Table{Hooks: &programs, Project: ".px"}).placeHook(host(nil, nil), settings.Project, "/w", "Before", "run"); filepath.ToSlash(p.File) != "/w/.px/h/x-Before.js" ||
		p.Program != "Before: run" || p.Group != nil || p.Path != nil {
		t.Errorf("%+v", p)
	}
	if p = (Of[table]{}).PlaceHook(host(nil, nil), settings.Global, "/w", "Odd", "run"); filepath.ToSlash(p.File) != "/home/ann/.x/h/hooks.json" || p.Within != "" || p.Note != "" || p.Group != "Odd run" {
		t.Errorf("%+v", p)
	}
}

func TestPlugins(t *testing.T) {
	t.Parallel()
	adaptertest.Plugins(t, struct {
		Of[table]
		SearchOf[table]
	}{}, adaptertest.Commands{"ls": {Stdout: "one"}, "find": {}})
	var ran []string
	h := adaptertest.Commands{"ls": {Stdout: "one"}, "add one --yes": {}, "find": {Stdout: "!"}}.Host(&ran)
	if _, err := (Of[table]{}).InstallPlugin(t.Context(), h, "one", settings.PluginOptions{}); execution.CodeOf(err) != execution.CodeValidation || len(ran) > 0 {
		t.Errorf("without consent: %v, ran %q", err, ran)
	}
	p, err := Of[table]{}.InstallPlugin(t.Context(), h, "one", settings.PluginOptions{Consent: true})
	if err != nil || p.PluginID != "one" || p.Agent != "x" || p.Format != "f" || strings.Join(ran, "; ") != "ls; add one --yes; ls" {
		t.Errorf("%+v %v, ran %q", p, err, ran)
	}
	found, err := SearchOf[table]{}.SearchPlugins(t.Context(), h, "WAVES")
	if err != nil || len(found) != 1 || found[0].PluginID != "b" || found[0].Agents[0] != "x" || found[0].Formats[0] != "f" || found[0].Tags == nil {
		t.Errorf("%+v %v", found, err)
	}
}

// TestUnnamedPlugin: what an address installed is what was not there before.
func TestUnnamedPlugin(t *testing.T) {
	t.Parallel()
	lists := []string{"one", "one two"}
	var ran []string
	commands := adaptertest.Commands{"add https://x --yes": {}}
	h := commands.Host(&ran)
	run := h.Spawn
	h.Spawn = func(ctx context.Context, r adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
		if r.Args[0] == "ls" {
			said := lists[0]
			lists = lists[1:]
			return adapter.SpawnOutcome{Stdout: said}, nil
		}
		return run(ctx, r)
	}
	if p, err := (Of[table]{}).InstallPlugin(t.Context(), h, "https://x", settings.PluginOptions{Consent: true}); err != nil || p.PluginID != "two" {
		t.Errorf("%+v %v", p, err)
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ settings, variable, want string }{
		{`{"model":{"name":"m"}} // mine`, "", "m"},
		{`{"model":{"name":"m"}}`, "v", "v"},
		{`{"model":"m"}`, "", ""},
		{`{"model":{"name":7}}`, "", ""},
		{`{`, "", ""},
		{``, "", ""},
	} {
		h := host(map[string]string{"/home/ann/.x/s.json": tt.settings}, map[string]string{"X_MODEL": tt.variable})
		if got := declares.Model(h); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.settings, tt.variable, got, tt.want)
		}
	}
	if got := declares.Model(host(nil, nil)); got != "" {
		t.Errorf("without settings: %q", got)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		vars map[string]string
		want adapter.AuthState
	}{
		{map[string]string{"X_CLOUD": "1", "X_KEY": "k"}, adapter.AuthState{Status: adapter.AuthUnknown, Method: "cloud", Details: "X_CLOUD is set: through a cloud, whose login is not checked"}},
		{map[string]string{"X_CLOUD": "0", "X_KEY": "k"}, adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: "X_KEY is set"}},
		{map[string]string{"X_CLOUD": "false"}, adapter.AuthState{Status: adapter.AuthUnknown, Details: "stored"}},
		{nil, adapter.AuthState{Status: adapter.AuthUnknown, Details: "stored"}},
	} {
		if got := (Of[table]{}).DetectAuth(t.Context(), host(nil, tt.vars)); got != tt.want {
			t.Errorf("%v: %+v, want %+v", tt.vars, got, tt.want)
		}
	}
	if (Of[table]{}).AuthGuidance().Provider != "X" {
		t.Error("the guidance is lost")
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0).UTC()
	f := File{Agent: "x", Dir: home, Name: "login.json", Hint: "type it", Method: "oauth", Read: func(_ adapter.Host, data []byte) (t Token, err error) {
		var seconds int64
		if err = json.Unmarshal(data, &seconds); err == nil && seconds != 0 {
			t = Token{Method: "m", Identity: "ann", Details: "d", Expires: time.Unix(max(seconds, -seconds), 0).UTC(), Renews: seconds < 0}
		}
		return t, err
	}}
	path := home.Path(host(nil, nil), "login.json")
	for text, want := range map[string]adapter.AuthState{
		"":      {Status: adapter.AuthUnknown, Method: "oauth", Details: path + " cannot be read: it is not JSON of the expected shape"},
		"x":     {Status: adapter.AuthUnknown, Method: "oauth", Details: path + " cannot be read: it is not JSON of the expected shape"},
		"0":     {Status: adapter.Unauthenticated, Details: path + " contains no login; type it"},
		"2000":  {Status: adapter.Authenticated, Method: "m", Identity: "ann", Details: "d", ExpiresAt: time.Unix(2000, 0).UTC()},
		"500":   {Status: adapter.AuthExpired, Method: "m", Identity: "ann", Details: "type it", ExpiresAt: time.Unix(500, 0).UTC()},
		"-500":  {Status: adapter.Authenticated, Method: "m", Identity: "ann", Details: "the access token has expired; x renews it automatically", ExpiresAt: time.Unix(500, 0).UTC()},
		"-2000": {Status: adapter.Authenticated, Method: "m", Identity: "ann", Details: "d", ExpiresAt: time.Unix(2000, 0).UTC()},
	} {
		if got := f.State(host(map[string]string{"/home/ann/.x/login.json": text}, nil), now); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	if got := f.State(host(nil, nil), now); got != (adapter.AuthState{Status: adapter.Unauthenticated, Details: "type it"}) {
		t.Errorf("no file: %+v", got)
	}
	f.Missing = func(adapter.Host) adapter.AuthState {
		return adapter.AuthState{Status: adapter.AuthUnknown, Details: "keychain"}
	}
	if got := f.State(host(nil, nil), now); got.Details != "keychain" {
		t.Errorf("no file: %+v", got)
	}
}

func TestReadClaims(t *testing.T) {
	t.Parallel()
	body := base64.RawURLEncoding.EncodeToString([]byte(`{"exp":7,"email":"ann@x"}`))
	for token, want := range map[string]Claims{"a." + body + ".c": {7, "ann@x"}, body: {}, "a.!.c": {}, "a." + body[:5] + ".c": {}, "": {}} {
		if got := ReadClaims(token); got != want {
			t.Errorf("%s: %+v", token, got)
		}
	}
}

func TestReadEnv(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"KEPT": "1"}
	ReadEnv("# A=0\nexport A = 'b c'\r\nB=\"x=y\"\nno\n =z\nC=", vars)
	got, _ := json.Marshal(vars)
	if want := `{"A":"b c","B":"x=y","C":"","KEPT":"1"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestUnmarshalJSONC: an error quotes nothing.
func TestUnmarshalJSONC(t *testing.T) {
	t.Parallel()
	var v struct{ A int }
	if err := UnmarshalJSONC([]byte("{\"a\":1, // one\n}"), &v); err != nil || v.A != 1 {
		t.Errorf("%+v %v", v, err)
	}
	for _, text := range []string{`{"a":"sk-secret"}`, `sk-secret`} {
		if err := UnmarshalJSONC([]byte(text), &v); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := home.Read(host(nil, nil), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestProbe: a version that is installed has a model and a note, one that is not has neither.
func TestProbe(t *testing.T) {
	var ran []string
	h := adaptertest.Commands{"--version": {Stdout: "xx 1.2.3"}}.Host(&ran)
	h.FS = fstest.MapFS{"home/ann/.x/s.json": {Data: []byte(`{"model":{"name":"m"}}`)}}
	was := declares.Note
	defer func() { declares.Note = was }()
	declares.Note = func(_ context.Context, _ adapter.Host, version string) string { return "odd " + version }
	in, err := Of[table]{}.Probe(t.Context(), h)
	if err != nil || in.Version != "1.2.3" || in.ActiveModel != "m" || in.Notes != "odd 1.2.3" {
		t.Errorf("%+v %v", in, err)
	}
	h.LookPath = func(string) (string, error) { return "", fs.ErrNotExist }
	if in, err = (Of[table]{}).Probe(t.Context(), h); err != nil || in.Installed || in.ActiveModel != "" {
		t.Errorf("%+v %v", in, err)
	}
}
