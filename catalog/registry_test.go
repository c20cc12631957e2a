package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/google/go-cmp/cmp"
)

func wantUnknown(t *testing.T, err error) *execution.Error {
	t.Helper()
	var e *execution.Error
	if !errors.As(err, &e) || e.Code != execution.CodeUnknownAgent || !strings.Contains(e.Hint, "drawbar agents list") {
		t.Fatalf("got %v, want UNKNOWN_AGENT with the command that lists agents", err)
	}
	return e
}

// An agent that nobody uses costs no check; the first who asks for an invalid one gets all its faults.
func TestInvalidBuiltin(t *testing.T) {
	checked := false
	bad := describe("bad", func(d *adapter.Descriptor) {
		d.DisplayName, d.Command = " ", ""
		d.New = func() adapter.Adapter { checked = true; return &mute{validCapabilities()} }
	})
	r := NewRegistry([]adapter.Descriptor{describe("claude"), bad}, adapter.Host{})
	if _, err := r.Get("claude"); err != nil || checked || len(r.List()) != 2 {
		t.Errorf("Get of another agent: %v, checked %v", err, checked)
	}
	_, err := r.Get("bad")
	got := faultsOf(t, err)
	for _, f := range []string{"displayName", "cliCommand"} {
		if got[f] == "" {
			t.Errorf("no fault of %s in %v", f, got)
		}
	}
	for name, call := range map[string]func() error{
		"Capabilities": func() error { _, err := r.Capabilities("bad"); return err },
		"AuthGuidance": func() error { _, err := r.AuthGuidance("bad"); return err },
		"Install":      func() error { _, err := r.Install(t.Context(), "bad", adapter.InstallOptions{}); return err },
	} {
		if err := call(); execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("%s = %v", name, err)
		}
	}
	if info := mustDetect(t, r, "bad"); info.Installed || !strings.Contains(info.Notes, "displayName") {
		t.Errorf("Detect = %+v", info)
	}
	if report, err := r.CheckAuth(t.Context(), "bad"); err != nil || report.Status != adapter.AuthUnknown || !strings.Contains(report.Details, "displayName") {
		t.Errorf("CheckAuth = %+v, %v", report, err)
	}
	defer func() {
		if got := faultsOf(t, recover().(error)); got["aliases[0]"] == "" {
			t.Errorf("no fault of the alias in %v", got)
		}
	}()
	NewRegistry([]adapter.Descriptor{describe("claude"), describe("x", alias("claude"))}, adapter.Host{})
}

func TestNewRegistryLastWins(t *testing.T) {
	t.Parallel()
	r := NewRegistry([]adapter.Descriptor{describe("a"), describe("a", func(d *adapter.Descriptor) { d.DisplayName = "second" })}, adapter.Host{})
	if e, err := r.Get("a"); err != nil || e.Descriptor.DisplayName != "second" || e.Warning != "" || e.Source != SourceBuiltin {
		t.Errorf("Get = %+v, %v", e, err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	if got, err := json.Marshal(NewRegistry(nil, adapter.Host{}).List()); err != nil || string(got) != "[]" {
		t.Errorf("empty list = %s, %v", got, err)
	}
	r := NewRegistry([]adapter.Descriptor{full(), describe("codex")}, adapter.Host{})
	if err := r.Register(describe("aider")); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r.List())
	want := `[{"agent":"aider","displayName":"The aider","cliCommand":"aider","source":"plugin","kind":"own adapter"},` +
		`{"agent":"codex","displayName":"The codex","cliCommand":"codex","source":"built-in","kind":"own adapter"},` +
		`{"agent":"full","displayName":"The full","cliCommand":"full","minVersion":"1.0.0","source":"built-in","kind":"own adapter"}]`
	if err != nil || string(got) != want {
		t.Errorf("list\n got %s, %v\nwant %s", got, err, want)
	}
}

// TestListed: an agent without an adapter of its own is listed and looked for where its program is.
func TestListed(t *testing.T) {
	t.Parallel()
	row := func(d *adapter.Descriptor) { d.Protocol = adapter.ProtocolACP }
	page := func(d *adapter.Descriptor) { d.Documented = "https://example.com" }
	r := NewRegistry([]adapter.Descriptor{describe("own"), describe("here", row), describe("away", row, page)}, adapter.Host{
		LookPath: func(name string) (string, error) {
			if name == "here" {
				return "/bin/here", nil
			}
			return "", fs.ErrNotExist
		}})
	names := func(list []Info) (all []string) {
		for _, i := range list {
			all = append(all, i.Agent+": "+i.Kind)
		}
		return all
	}
	if got, want := strings.Join(names(r.List()), "; "), "away: documented, not exercised; here: over ACP; own: own adapter"; got != want {
		t.Errorf("all: got %s, want %s", got, want)
	}
	if got, want := strings.Join(names(r.Listed()), "; "), "here: over ACP; own: own adapter"; got != want {
		t.Errorf("listed: got %s, want %s", got, want)
	}
	if found := r.Installed(t.Context()); len(found) != 2 {
		t.Errorf("installed: %+v", found)
	}
	if logins := r.CheckAllAuth(t.Context()); len(logins) != 2 {
		t.Errorf("logins: %+v", logins)
	}
	if away, err := r.Get("away"); err != nil || away.Descriptor.Name != "away" {
		t.Errorf("by name: %v, %v", away, err)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	r := NewRegistry([]adapter.Descriptor{describe("claude", alias("claude-code")), describe("codex")}, adapter.Host{})
	first, err := r.Get("claude")
	if err != nil || first.Adapter == nil || first.Source != SourceBuiltin || first.Warning != "" {
		t.Fatalf("Get = %+v, %v", first, err)
	}
	for _, name := range []string{"Claude", "CLAUDE-CODE", "claude-code", " claude\n"} {
		e, err := r.Get(name)
		if err != nil || e.Descriptor.Name != "claude" || e.Adapter != first.Adapter {
			t.Errorf("Get(%q) = %s, %v", name, e.Descriptor.Name, err)
		}
	}
}

func TestGetUnknown(t *testing.T) {
	t.Parallel()
	r := NewRegistry([]adapter.Descriptor{describe("claude", alias("claude-code")), describe("codex"), describe("opencode"), describe("openclaw"), describe("pi"), describe("amp")}, adapter.Host{})
	for asked, want := range map[string]string{
		"claud": "claude", "cluade": "claude", "claudee": "claude", "Claude Code!": "claude", "cladue-cod": "claude", "codx": "codex", "cod": "codex",
		"open": "openclaw or opencode", "opencde": "opencode", "api": "pi", "c": "", "": "", "zzz": "", "gemini": "", "kubernetes": "",
		strings.Repeat("claude", 100000): "",
	} {
		_, err := r.Get(asked)
		e := wantUnknown(t, err)
		if hint := "did you mean " + want + "?"; want != "" && !strings.Contains(e.Hint, hint) || want == "" && strings.Contains(e.Hint, "mean") {
			t.Errorf("Get(%.20q): hint %q, want %q", asked, e.Hint, want)
		}
		if len(err.Error()) > 400 {
			t.Errorf("Get of %d characters makes an error of %d", len(asked), len(err.Error()))
		}
	}
}

func TestUnknownEverywhere(t *testing.T) {
	t.Parallel()
	r := NewRegistry([]adapter.Descriptor{describe("a")}, adapter.Host{})
	for name, call := range map[string]func() error{
		"Get":                 func() error { _, err := r.Get("nope"); return err },
		"Capabilities":        func() error { _, err := r.Capabilities("nope"); return err },
		"InstallInstructions": func() error { _, err := r.InstallInstructions("nope", ""); return err },
		"Models":              func() error { _, err := r.Models("nope"); return err },
		"Unregister":          func() error { return r.Unregister("nope") },
	} {
		t.Run(name, func(t *testing.T) { wantUnknown(t, call()) })
	}
	if info, err := r.Detect(t.Context(), "nope"); info != nil || err != nil {
		t.Errorf("Detect = %v, %v, want nothing", info, err)
	}
	r.Invalidate("nope")
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	later := false
	r := NewRegistry([]adapter.Descriptor{describe("a", alias("b")), describe("p", func(d *adapter.Descriptor) { d.New = func() adapter.Adapter { return panicky{&later} } })}, adapter.Host{})
	if c, err := r.Capabilities("B"); err != nil || c.ToolUse != execution.ToolsNativeIterative {
		t.Errorf("Capabilities = %+v, %v", c, err)
	}
	if _, err := r.Get("p"); err != nil {
		t.Fatal(err)
	}
	later = true
	if _, err := r.Capabilities("p"); execution.CodeOf(err) != execution.CodeInternal {
		t.Errorf("a panic gives %v, want INTERNAL", err)
	}
}

// panicky declares its capabilities until told otherwise.
type panicky struct{ now *bool }

func (p panicky) Capabilities() execution.Capabilities {
	if *p.now {
		panic("boom")
	}
	return validCapabilities()
}
func (p panicky) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) seq {
	return (&mute{}).Execute(ctx, req, in)
}

func TestInstallInstructions(t *testing.T) {
	t.Parallel()
	r := NewRegistry([]adapter.Descriptor{full(), describe("none")}, adapter.Host{Platform: "darwin"})
	for _, c := range []struct{ platform, want string }{
		{"linux", "npm manual"}, {"darwin", "npm brew"}, {"windows", "npm winget"}, {"win32", "npm winget"}, {"Linux", "npm manual"}, {"freebsd", "npm"}, {"", "npm brew"},
	} {
		got, err := r.InstallInstructions("full", c.platform)
		var types []string
		for _, m := range got {
			types = append(types, m.Type)
		}
		if strings.Join(types, " ") != c.want || err != nil {
			t.Errorf("%s: %v, %v, want %s", c.platform, types, err, c.want)
		}
	}
	if got, err := r.InstallInstructions("none", ""); got == nil || len(got) != 0 || err != nil {
		t.Errorf("an agent without methods: %#v, %v", got, err)
	}
	methods, err := NewRegistry([]adapter.Descriptor{describe("h", func(d *adapter.Descriptor) {
		d.Install = []adapter.InstallMethod{{Platform: runtime.GOOS, Type: "manual", Notes: "x"}}
	})}, adapter.Host{}).InstallInstructions("h", "")
	if runtime.GOOS == "linux" && (len(methods) != 1 || err != nil) {
		t.Errorf("the default platform is not that of this process: %v, %v", methods, err)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	r := NewRegistry([]adapter.Descriptor{full(), describe("dynamic")}, adapter.Host{})
	if got, err := r.Models("full-agent"); err != nil || len(got) != 2 || got[0].ID != "m1" {
		t.Errorf("Models = %v, %v", got, err)
	}
	if got, err := r.Models("dynamic"); got == nil || len(got) != 0 || err != nil {
		t.Errorf("Models of an agent without any = %#v, %v", got, err)
	}
	if _, err := r.Capabilities("dynamic"); err != nil {
		t.Errorf("Capabilities of an agent without models: %v", err)
	}
}

func TestCallersOwnTheirCopies(t *testing.T) {
	t.Parallel()
	d := full()
	r := NewRegistry([]adapter.Descriptor{d}, adapter.Host{})
	spoil := func(d adapter.Descriptor) {
		d.Aliases[0], d.TestedVersions[0], d.HostSignals[0], d.Keys[0] = "x", "x", "x", "x"
		d.Models[0].Aliases[0], *d.Models[0].Price.CacheRead, d.Models[0].Price.Input, d.Models[1].ID = "x", 99, 99, "x"
		d.Models[1].ThinkingEfforts[0] = "x"
		d.Config.Fields[0].Path, d.Config.ConfigFiles[0], d.Config.ProjectConfigFiles[0], d.Install[0].Command = "x", "x", "x", "x"
	}
	spoil(d)
	e, _ := r.Get("full")
	spoil(e.Descriptor)
	m, _ := r.Models("full")
	m[0].ID, *m[0].Price.CacheRead = "x", 98
	i, _ := r.InstallInstructions("full", "")
	i[0].Command = "x"
	e, err := r.Get("full")
	e.Descriptor.New = nil
	want := full()
	want.New = nil
	if diff := cmp.Diff(want, e.Descriptor); err != nil || diff != "" {
		t.Errorf("a caller changed the registry: %v\n%s", err, diff)
	}
}

func TestPluginReplacesBuiltinWithWarning(t *testing.T) {
	t.Parallel()
	r := NewRegistry([]adapter.Descriptor{describe("claude", alias("claude-code"))}, adapter.Host{})
	old, _ := r.Get("claude")
	if err := r.Register(describe("claude", alias("cc", "claude-code"))); err != nil {
		t.Fatalf("an agent cannot keep its own alias: %v", err)
	}
	e, err := r.Get("cc")
	if err != nil || e.Source != SourcePlugin || e.Adapter == old.Adapter || !strings.Contains(e.Warning, "claude") || !strings.Contains(e.Warning, "built-in") {
		t.Errorf("Get = %+v, %v", e, err)
	}
	if c := old.Adapter.Capabilities(); c.ToolUse == "" {
		t.Error("the old adapter does not work any more")
	}
	if err := r.Register(describe("claude")); err != nil {
		t.Fatal(err)
	}
	if e, err := r.Get("claude"); err != nil || e.Warning != "" || e.Source != SourcePlugin {
		t.Errorf("a plugin that replaces a plugin is not silent: %+v, %v", e, err)
	}
	for _, name := range []string{"cc", "claude-code"} {
		if _, err := r.Get(name); err == nil {
			t.Errorf("alias %s of the replaced adapter is left", name)
		}
	}
}

func TestUnregister(t *testing.T) {
	t.Parallel()
	r := NewRegistry([]adapter.Descriptor{describe("claude", alias("claude-code"))}, adapter.Host{})
	held, _ := r.Get("claude")
	if err := r.Unregister("Claude-Code"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude", "claude-code"} {
		if _, err := r.Get(name); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	wantUnknown(t, r.Unregister("claude"))
	if c := held.Adapter.Capabilities(); c.ToolUse == "" || len(r.List()) != 0 {
		t.Error("what an active run holds does not work any more")
	}
	if err := r.Register(describe("claude-code")); err != nil {
		t.Errorf("a name that became free cannot be taken: %v", err)
	}
}

func TestRegistrationDoesNoIO(t *testing.T) {
	t.Parallel()
	touched := func() { t.Error("registration looked at the machine") }
	h := adapter.Host{FS: openFS(func() { touched() }), Getenv: func(string) string { touched(); return "" }, LookPath: func(string) (string, error) { touched(); return "", nil },
		Spawn: func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			touched()
			return adapter.SpawnOutcome{}, nil
		}}
	probe := func(context.Context, adapter.Host) (adapter.Installation, error) {
		touched()
		return adapter.Installation{}, nil
	}
	r := NewRegistry([]adapter.Descriptor{describe("a", probing(probe))}, h)
	if err := r.Register(describe("b", probing(probe))); err != nil {
		t.Fatal(err)
	}
	r.List()
	_, _ = r.Get("a")
	_, _ = r.Capabilities("b")
	_ = r.Unregister("a")
}

// TestNewMayAskTheRegistry would hang if New were called under the registry's lock.
func TestNewMayAskTheRegistry(t *testing.T) {
	t.Parallel()
	r := NewRegistry([]adapter.Descriptor{describe("a")}, adapter.Host{})
	err := r.Register(describe("b", func(d *adapter.Descriptor) {
		d.New = func() adapter.Adapter {
			e, _ := r.Get("a")
			return wrapped{e.Adapter}
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
}

func TestReplacedAdaptersAreReleased(t *testing.T) {
	t.Parallel()
	var (
		mu   sync.Mutex // two agents' adapters may be made at the same time
		refs []weak.Pointer[prober]
	)
	tracked := func(name string) adapter.Descriptor {
		return describe(name, func(d *adapter.Descriptor) {
			d.New = func() adapter.Adapter {
				p := &prober{mute: mute{validCapabilities()}, probe: func(context.Context, adapter.Host) (adapter.Installation, error) {
					return adapter.Installation{Installed: true}, nil
				}}
				mu.Lock()
				defer mu.Unlock()
				refs = append(refs, weak.Make(p))
				return p
			}
		})
	}
	r := NewRegistry([]adapter.Descriptor{tracked("a"), tracked("b")}, adapter.Host{})
	r.Installed(t.Context())
	if err := r.Register(describe("a")); err != nil {
		t.Fatal(err)
	}
	if err := r.Unregister("b"); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for _, ref := range refs {
		for ref.Value() != nil {
			if time.Now().After(deadline) {
				t.Fatal("a replaced or removed adapter is still held")
			}
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
	}
	runtime.KeepAlive(r)
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	found := func(context.Context, adapter.Host) (adapter.Installation, error) {
		return adapter.Installation{Installed: true, Version: "1.0.0"}, nil
	}
	r := NewRegistry([]adapter.Descriptor{describe("a", probing(found), alias("a-code")), describe("b", probing(found))}, adapter.Host{})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			own := fmt.Sprintf("own-%d", worker)
			for range 50 {
				if err := r.Register(describe(own, probing(found), alias(own+"-alias"))); err != nil {
					t.Error(err)
				}
				if err := r.Register(describe("b", probing(found))); err != nil {
					t.Error(err)
				}
				if e, err := r.Get(own + "-alias"); err != nil || e.Descriptor.Name != own {
					t.Errorf("Get = %s, %v", e.Descriptor.Name, err)
				}
				if info, err := r.Detect(t.Context(), own); err != nil || info == nil || !info.Installed {
					t.Errorf("Detect = %v, %v", info, err)
				}
				if n := len(r.Installed(t.Context())); n < 2 {
					t.Errorf("%d agents installed", n)
				}
				r.Invalidate("a")
				r.List()
				_, _ = r.Models("a")
				_, _ = r.Capabilities("a-code")
				_, _ = r.InstallInstructions("a", "")
				if err := r.Unregister(own); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := r.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if got := r.List(); len(got) != 2 {
		t.Errorf("%d agents are left, want 2", len(got))
	}
}
