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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/google/go-cmp/cmp"
)

// counted is a probe that takes a while, heeds ctx, and counts how often it is called and how often it was stopped.
type counted struct {
	takes          time.Duration
	calls, stopped atomic.Int32
}

func (c *counted) probe(ctx context.Context, _ adapter.Host) (adapter.Installation, error) {
	n := c.calls.Add(1)
	select {
	case <-time.After(c.takes):
		return adapter.Installation{Installed: true, Path: "/bin/x", Version: fmt.Sprintf("1.0.%d", n)}, nil
	case <-ctx.Done():
		c.stopped.Add(1)
		return adapter.Installation{}, ctx.Err()
	}
}

// deaf is a probe that does not heed ctx.
func deaf(takes time.Duration) func(context.Context, adapter.Host) (adapter.Installation, error) {
	return func(context.Context, adapter.Host) (adapter.Installation, error) {
		time.Sleep(takes)
		return adapter.Installation{Installed: true, Version: "9.9.9"}, nil
	}
}

func mustDetect(t *testing.T, r *Registry, name string) InstalledInfo {
	t.Helper()
	info, err := r.Detect(t.Context(), name)
	if err != nil || info == nil {
		t.Fatalf("Detect(%s) = %v, %v", name, info, err)
	}
	return *info
}

func wantCalls(t *testing.T, c *counted, want int32) {
	t.Helper()
	if got := c.calls.Load(); got != want {
		t.Errorf("%d probes, want %d", got, want)
	}
}

func TestDetectionIsCachedFor30Seconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a, b counted
		a.takes = 2 * time.Second
		r := NewRegistry([]adapter.Descriptor{describe("a", alias("a-code"), probing(a.probe)), describe("b", probing(b.probe))}, adapter.Host{})
		first := mustDetect(t, r, "a") // the answer is there after 2 s, and counts from then
		time.Sleep(30*time.Second - time.Nanosecond)
		if again := mustDetect(t, r, "A-Code"); again != first {
			t.Errorf("within 30 s: %v, want %v", again, first)
		}
		wantCalls(t, &a, 1)
		wantCalls(t, &b, 0) // each agent has its own cache
		r.Installed(t.Context())
		wantCalls(t, &a, 1)
		wantCalls(t, &b, 1)
		time.Sleep(time.Nanosecond)
		if again := mustDetect(t, r, "a"); again.Version != "1.0.2" {
			t.Errorf("after 30 s the version is %s, want that of a second probe", again.Version)
		}
		wantCalls(t, &a, 2)
		wantCalls(t, &b, 1)
	})
}

func TestConcurrentCallersShareOneProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := counted{takes: 5 * time.Second}
		r := NewRegistry([]adapter.Descriptor{describe("a", probing(c.probe))}, adapter.Host{})
		reason := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { // the one who starts the probe gives up
			info, err := r.Detect(ctx, "a")
			if info != nil || !errors.Is(err, context.Canceled) || !errors.Is(err, reason) || time.Since(start) != time.Second {
				t.Errorf("the cancelled caller got %v, %v after %v", info, err, time.Since(start))
			}
		})
		synctest.Wait()
		for i := range 20 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				if i%2 == 0 {
					if got := r.Installed(t.Context()); len(got) != 1 || got[0].Version != "1.0.1" {
						t.Errorf("Installed = %v", got)
					}
				} else if got := mustDetect(t, r, "a"); got.Version != "1.0.1" {
					t.Errorf("Detect = %v", got)
				}
				if time.Since(start) != 5*time.Second {
					t.Errorf("the answer came after %v", time.Since(start))
				}
			})
		}
		time.Sleep(time.Second)
		cancel(reason)
		wg.Wait()
		wantCalls(t, &c, 1)
		if c.stopped.Load() != 0 {
			t.Error("the probe was stopped")
		}
	})
}

func TestProbeEndsWhenNobodyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := counted{takes: 5 * time.Second}
		r := NewRegistry([]adapter.Descriptor{describe("a", probing(c.probe))}, adapter.Host{})
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
				defer cancel()
				if _, err := r.Detect(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Detect: %v", err)
				}
			})
		}
		time.Sleep(2500 * time.Millisecond)
		if c.stopped.Load() != 0 {
			t.Error("the probe was stopped while somebody waited")
		}
		wg.Wait()
		synctest.Wait()
		if c.stopped.Load() != 1 {
			t.Error("the probe goes on for nobody")
		}
		if got := mustDetect(t, r, "a"); got.Version != "1.0.2" {
			t.Errorf("the answer of a stopped probe was kept: %v", got)
		}
	})
}

func TestOneSlowAgentDelaysNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		quick, slow := counted{takes: time.Second}, counted{takes: 5 * time.Second}
		r := NewRegistry([]adapter.Descriptor{
			describe("a-deaf", probing(deaf(60*time.Second))),
			describe("b-heeding", probing((&counted{takes: time.Hour}).probe)),
			describe("c-slow", probing(slow.probe)),
			describe("d-quick", probing(quick.probe)),
		}, adapter.Host{})
		start := time.Now()
		var order []string
		r.DetectEach(t.Context(), func(i InstalledInfo) {
			order = append(order, fmt.Sprintf("%s %v %v", i.Agent, i.Installed, time.Since(start)))
		})
		want := []string{"d-quick true 1s", "c-slow true 5s", "b-heeding false 29.5s", "a-deaf false 30s"}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		for _, i := range r.Installed(t.Context()) {
			if late := i.Agent < "c"; late != strings.Contains(i.Notes, "no answer within 30s") {
				t.Errorf("%s: notes %q", i.Agent, i.Notes)
			}
		}
		if time.Since(start) != 30*time.Second {
			t.Errorf("Installed took until %v", time.Since(start))
		}
		if err := r.Drain(t.Context()); err != nil || time.Since(start) != 60*time.Second {
			t.Errorf("Drain = %v after %v", err, time.Since(start))
		}
	})
}

func TestInstalledIsSortedAndTakes30SecondsAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ds []adapter.Descriptor
		for i := range 20 {
			ds = append(ds, describe(fmt.Sprintf("agent-%c", 'a'+19-i), probing(deaf(time.Duration(2*i)*time.Second))))
		}
		start := time.Now()
		got := NewRegistry(ds, adapter.Host{}).Installed(t.Context())
		if len(got) != 20 || time.Since(start) != 30*time.Second {
			t.Fatalf("%d answers after %v", len(got), time.Since(start))
		}
		for i, info := range got {
			if want := fmt.Sprintf("agent-%c", 'a'+i); info.Agent != want {
				t.Errorf("answer %d is of %s, want %s", i, info.Agent, want)
			}
			// agent-t takes 0 s, agent-a 38 s; exactly 30 s is a tie.
			if takes := 2 * (19 - i); takes != 30 && info.Installed != (takes < 30) {
				t.Errorf("%s takes %d s and is installed: %v", info.Agent, takes, info.Installed)
			}
		}
		time.Sleep(time.Minute) // the deaf ones end
	})
}

func TestHangingProberIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		r := NewRegistry([]adapter.Descriptor{describe("a", probing(func(context.Context, adapter.Host) (adapter.Installation, error) {
			calls.Add(1)
			time.Sleep(5 * time.Minute)
			return adapter.Installation{Installed: true, Version: "9.9.9"}, nil
		}))}, adapter.Host{})
		for range 5 {
			if mustDetect(t, r, "a").Installed {
				t.Error("a late answer counts")
			}
			time.Sleep(50 * time.Second)
		}
		if calls.Load() != 1 {
			t.Errorf("%d probes of a hanging prober, want 1", calls.Load())
		}
		time.Sleep(time.Minute)
		if mustDetect(t, r, "a").Installed || calls.Load() != 2 {
			t.Errorf("%d probes after the first one returned, want 2", calls.Load())
		}
		if err := r.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSlowLoginCheckLosesNoInstallation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		found := func(context.Context, adapter.Host) (adapter.Installation, error) {
			return adapter.Installation{Installed: true, Version: "1.0.0"}, nil
		}
		r := NewRegistry([]adapter.Descriptor{
			describe("auth-hangs", probing(found, func(context.Context, adapter.Host) adapter.AuthState {
				time.Sleep(time.Minute)
				return adapter.AuthState{}
			})),
			describe("probe-hangs", probing(deaf(time.Minute), func(context.Context, adapter.Host) adapter.AuthState {
				return adapter.AuthState{Status: adapter.AuthExpired}
			})),
		}, adapter.Host{})
		got := r.Installed(t.Context())
		if !got[0].Installed || got[0].AuthState != adapter.AuthUnknown || !strings.Contains(got[0].AuthDetails, "30s") {
			t.Errorf("hanging login check: %+v", got[0])
		}
		if got[1].Installed || got[1].AuthState != adapter.AuthExpired {
			t.Errorf("hanging probe: %+v", got[1])
		}
		time.Sleep(time.Minute)
	})
}

func TestDetectionFailures(t *testing.T) {
	t.Parallel()
	found := func(context.Context, adapter.Host) (adapter.Installation, error) {
		return adapter.Installation{Installed: true, Path: "/x", Version: "1.0.0"}, nil
	}
	auth := func(fn func() adapter.AuthState) func(context.Context, adapter.Host) adapter.AuthState {
		return func(context.Context, adapter.Host) adapter.AuthState { return fn() }
	}
	for _, c := range []struct {
		name  string
		probe func(context.Context, adapter.Host) (adapter.Installation, error)
		auth  func(context.Context, adapter.Host) adapter.AuthState
		want  InstalledInfo
	}{
		{"error", func(context.Context, adapter.Host) (adapter.Installation, error) {
			return adapter.Installation{Installed: true, Path: "/x", Version: "1.0.0", Notes: "half way"}, errors.New("no such file")
		}, nil, InstalledInfo{CLIPath: "/x", AuthState: adapter.Authenticated, AuthMethod: "api_key", Notes: "half way; no such file"}},
		{"panic", func(context.Context, adapter.Host) (adapter.Installation, error) { panic("boom") }, nil,
			InstalledInfo{AuthState: adapter.Authenticated, AuthMethod: "api_key", Notes: "the probe panicked: boom"}},
		{"nil dereference", func(context.Context, adapter.Host) (adapter.Installation, error) {
			var p *adapter.Installation
			return *p, nil
		}, nil,
			InstalledInfo{AuthState: adapter.Authenticated, AuthMethod: "api_key", Notes: "the probe panicked: runtime error: invalid memory address or nil pointer dereference"}},
		{"goexit", func(context.Context, adapter.Host) (adapter.Installation, error) {
			runtime.Goexit()
			return adapter.Installation{}, nil
		}, nil,
			InstalledInfo{AuthState: adapter.Authenticated, AuthMethod: "api_key", Notes: "the probe ended without an answer"}},
		{"not installed", func(context.Context, adapter.Host) (adapter.Installation, error) {
			return adapter.Installation{Version: "1.0.0", ActiveModel: "m"}, nil
		}, nil,
			InstalledInfo{AuthState: adapter.Authenticated, AuthMethod: "api_key", ActiveModel: "m"}},
		{"auth panic", found, auth(func() adapter.AuthState { panic("boom") }),
			InstalledInfo{Installed: true, CLIPath: "/x", Version: "1.0.0", MeetsMinVersion: true, AuthState: adapter.AuthUnknown, AuthDetails: "the login check panicked: boom"}},
		{"auth goexit", found, auth(func() adapter.AuthState { runtime.Goexit(); return adapter.AuthState{} }),
			InstalledInfo{Installed: true, CLIPath: "/x", Version: "1.0.0", MeetsMinVersion: true, AuthState: adapter.AuthUnknown, AuthDetails: "the login check ended without an answer"}},
		{"auth zero", found, auth(func() adapter.AuthState { return adapter.AuthState{Details: "d"} }),
			InstalledInfo{Installed: true, CLIPath: "/x", Version: "1.0.0", MeetsMinVersion: true, AuthState: adapter.AuthUnknown, AuthDetails: "d"}},
		{"auth nonsense", found, auth(func() adapter.AuthState { return adapter.AuthState{Status: "maybe"} }),
			InstalledInfo{Installed: true, CLIPath: "/x", Version: "1.0.0", MeetsMinVersion: true, AuthState: adapter.AuthUnknown}},
		{"auth in full", found, auth(func() adapter.AuthState {
			return adapter.AuthState{Status: adapter.AuthExpired, Method: "oauth", Identity: "ann", Details: "since May"}
		}), InstalledInfo{Installed: true, CLIPath: "/x", Version: "1.0.0", MeetsMinVersion: true, AuthState: adapter.AuthExpired, AuthMethod: "oauth", AuthIdentity: "ann", AuthDetails: "since May"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := &prober{mute: mute{validCapabilities()}, probe: c.probe, auth: c.auth}
			d := describe("a", func(d *adapter.Descriptor) { d.New = func() adapter.Adapter { return wrapped{p} } })
			r := NewRegistry([]adapter.Descriptor{d, describe("ok", probing(found))}, adapter.Host{})
			c.want.Agent = "a"
			if diff := cmp.Diff(c.want, mustDetect(t, r, "a")); diff != "" {
				t.Errorf("Detect (-want +got):\n%s", diff)
			}
			if got := r.Installed(t.Context()); len(got) != 2 || !got[1].Installed {
				t.Errorf("Installed = %v", got)
			}
			if err := r.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestVersionsOfInstalled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		printed, version string
		meets, tested    bool
	}{
		{"2.1.329 (Claude Code)", "2.1.329", true, true},
		{"2.0.0", "2.0.0", true, false},
		{"codex-cli 1.9.9", "1.9.9", false, false},
		{"3.0.0", "3.0.0", true, false},
		{"nightly", "nightly", false, false},
		{"", "", false, false},
	} {
		r := NewRegistry([]adapter.Descriptor{describe("a", func(d *adapter.Descriptor) { d.MinVersion, d.TestedVersions = "2.0.0", []string{"2.1.0", "2.1.329"} },
			probing(func(context.Context, adapter.Host) (adapter.Installation, error) {
				return adapter.Installation{Installed: true, Version: c.printed}, nil
			}))}, adapter.Host{})
		got := mustDetect(t, r, "a")
		if got.Version != c.version || got.MeetsMinVersion != c.meets || got.WithinTested != c.tested || got.MinVersion != "2.0.0" || !got.Installed {
			t.Errorf("%q: %+v", c.printed, got)
		}
	}
}

func TestAdapterWithoutProber(t *testing.T) {
	t.Parallel()
	h := adapter.Host{LookPath: func(name string) (string, error) {
		if name == "here" {
			return "/bin/here", nil
		}
		return "", fmt.Errorf("look up %s: %w", name, fs.ErrNotExist)
	}}
	r := NewRegistry([]adapter.Descriptor{describe("here"), describe("gone")}, h)
	got := r.Installed(t.Context())
	if got[0].Installed || got[0].Notes == "" || got[0].AuthState != adapter.AuthUnknown {
		t.Errorf("gone: %+v", got[0])
	}
	if !got[1].Installed || got[1].CLIPath != "/bin/here" || got[1].Version != "" || got[1].MeetsMinVersion || got[1].AuthState != adapter.AuthUnknown {
		t.Errorf("here: %+v", got[1])
	}
}

func TestProberGetsTheHost(t *testing.T) {
	t.Parallel()
	var home, variable string
	r := NewRegistry([]adapter.Descriptor{describe("a", probing(func(_ context.Context, h adapter.Host) (adapter.Installation, error) {
		home, variable = h.Home, h.Getenv("X")
		return adapter.Installation{}, nil
	}))}, adapter.Host{Home: "/h", Getenv: func(n string) string { return "value of " + n }})
	mustDetect(t, r, "a")
	if home != "/h" || variable != "value of X" {
		t.Errorf("the prober saw %q and %q", home, variable)
	}
}

func TestInstalledInfoJSON(t *testing.T) {
	t.Parallel()
	none := InstalledInfo{Agent: "a", AuthState: adapter.AuthUnknown}
	all := InstalledInfo{Agent: "a", Installed: true, CLIPath: "/x", Version: "1.0.0", MeetsMinVersion: true, MinVersion: "0.1.0", WithinTested: true,
		AuthState: adapter.Authenticated, AuthMethod: "oauth", AuthIdentity: "ann", AuthDetails: "d", ActiveModel: "m", Notes: "n"}
	for _, c := range []struct {
		info InstalledInfo
		want string
	}{
		{none, `{"agent":"a","installed":false,"cliPath":null,"version":null,"meetsMinVersion":false,"minVersion":"","withinTested":false,"authState":"unknown","activeModel":null}`},
		{all, `{"agent":"a","installed":true,"cliPath":"/x","version":"1.0.0","meetsMinVersion":true,"minVersion":"0.1.0","withinTested":true,"authState":"authenticated",` +
			`"authMethod":"oauth","authIdentity":"ann","authDetails":"d","activeModel":"m","notes":"n"}`},
	} {
		b, err := json.Marshal(c.info)
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		if err := errors.Join(json.Unmarshal(b, &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("JSON (-want +got):\n%s", diff)
		}
		var back InstalledInfo
		if err := json.Unmarshal(b, &back); err != nil || back != c.info {
			t.Errorf("round trip: %+v, %v", back, err)
		}
	}
}

func TestInvalidate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := counted{takes: 5 * time.Second}
		r := NewRegistry([]adapter.Descriptor{describe("a", alias("a-code"), probing(c.probe))}, adapter.Host{})
		mustDetect(t, r, "a")
		r.Invalidate("A-Code")
		if got := mustDetect(t, r, "a"); got.Version != "1.0.2" {
			t.Errorf("after Invalidate the version is %s", got.Version)
		}
		r.Invalidate("a")
		var wg sync.WaitGroup
		wg.Go(func() { // began before the change: keeps its answer
			if got := mustDetect(t, r, "a"); got.Version != "1.0.3" {
				t.Errorf("the caller from before got %s", got.Version)
			}
		})
		time.Sleep(time.Second)
		r.Invalidate("a")
		if got := mustDetect(t, r, "a"); got.Version != "1.0.4" {
			t.Errorf("the caller from after the change got %s", got.Version)
		}
		wg.Wait()
		if got := mustDetect(t, r, "a"); got.Version != "1.0.4" {
			t.Errorf("what was probed before the change is kept: %s", got.Version)
		}
	})
}

func TestRegistrationForgetsDetection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		old, now := counted{takes: time.Second}, counted{takes: time.Second}
		r := NewRegistry([]adapter.Descriptor{describe("a", probing(old.probe))}, adapter.Host{})
		mustDetect(t, r, "a")
		if err := r.Register(describe("a", probing(now.probe))); err != nil {
			t.Fatal(err)
		}
		mustDetect(t, r, "a")
		wantCalls(t, &old, 1)
		wantCalls(t, &now, 1)
		if err := r.Unregister("a"); err != nil {
			t.Fatal(err)
		}
		if info, err := r.Detect(t.Context(), "a"); info != nil || err != nil {
			t.Errorf("Detect of a removed agent = %v, %v", info, err)
		}
		if err := r.Register(describe("a", probing(now.probe))); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { // runs while its agent is removed, and ends as it began
			if got := mustDetect(t, r, "a"); got.Version != "1.0.2" {
				t.Errorf("Detect = %+v", got)
			}
		})
		synctest.Wait()
		if err := r.Unregister("a"); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		wantCalls(t, &now, 2)
	})
}

func TestDetectWithoutTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		known, unknown := counted{}, counted{takes: time.Second}
		r := NewRegistry([]adapter.Descriptor{describe("known", probing(known.probe)), describe("unknown", probing(unknown.probe))}, adapter.Host{})
		mustDetect(t, r, "known")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 { // a select between two ready channels is decided by chance
			if info, err := r.Detect(ctx, "known"); err != nil || !info.Installed {
				t.Fatalf("what is known needs no time: %v, %v", info, err)
			}
		}
		if info, err := r.Detect(ctx, "unknown"); info != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("Detect = %v, %v", info, err)
		}
		got := r.Installed(ctx)
		if len(got) != 2 || got[1].Installed || !strings.Contains(got[1].Notes, "canceled") || got[1].AuthState != adapter.AuthUnknown {
			t.Errorf("Installed = %+v", got)
		}
		synctest.Wait()
		wantCalls(t, &unknown, 0)

		late, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer stop()
		start := time.Now()
		if got := r.Installed(late); len(got) != 2 || !got[0].Installed || got[1].Installed || time.Since(start) != 500*time.Millisecond {
			t.Errorf("Installed = %+v after %v", got, time.Since(start))
		}
		if got := mustDetect(t, r, "unknown"); !got.Installed {
			t.Errorf("a caller's lack of time is cached: %+v", got)
		}
	})
}

func TestDetectEachAndAPanickingCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		quick, slow := counted{takes: time.Second}, counted{takes: 10 * time.Second}
		r := NewRegistry([]adapter.Descriptor{describe("quick", probing(quick.probe)), describe("slow", probing(slow.probe))}, adapter.Host{})
		start := time.Now()
		func() {
			defer func() {
				if p := recover(); p != "mine" {
					t.Errorf("recovered %v, want the caller's own panic", p)
				}
			}()
			r.DetectEach(t.Context(), func(InstalledInfo) { panic("mine") })
		}()
		synctest.Wait()
		if time.Since(start) != time.Second || slow.stopped.Load() != 1 {
			t.Errorf("after %v, %d probes stopped", time.Since(start), slow.stopped.Load())
		}
	})
	NewRegistry(nil, adapter.Host{}).DetectEach(t.Context(), func(InstalledInfo) { t.Error("an answer of nobody") })
	if got := NewRegistry(nil, adapter.Host{}).Installed(t.Context()); got == nil || len(got) != 0 {
		t.Errorf("Installed of nothing = %#v", got)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry([]adapter.Descriptor{describe("a", probing(deaf(20*time.Second)))}, adapter.Host{})
		if err := r.Drain(t.Context()); err != nil {
			t.Errorf("Drain of nothing: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _ = r.Detect(ctx, "a")
		if err := r.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain without time: %v", err)
		}
		start := time.Now()
		if err := r.Drain(t.Context()); err != nil || time.Since(start) != 19*time.Second {
			t.Errorf("Drain = %v after %v", err, time.Since(start))
		}
	})
}
