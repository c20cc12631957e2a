package catalog

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// TestBlankKey: a key of white space logs nobody in, on any agent.
func TestBlankKey(t *testing.T) {
	t.Parallel()
	keyed := describe("keyed", probing(
		func(context.Context, adapter.Host) (adapter.Installation, error) {
			return adapter.Installation{Installed: true}, nil
		},
		func(_ context.Context, h adapter.Host) adapter.AuthState {
			if h.Getenv("KEY") != "" {
				return adapter.AuthState{Status: adapter.Authenticated}
			}
			return adapter.AuthState{Status: adapter.Unauthenticated}
		}))
	for value, want := range map[string]adapter.AuthStatus{"": adapter.Unauthenticated, " \t": adapter.Unauthenticated, "k": adapter.Authenticated} {
		r := NewRegistry([]adapter.Descriptor{keyed}, adapter.Host{Getenv: func(string) string { return value }})
		if a, err := r.CheckAuth(t.Context(), "keyed"); err != nil || a.Status != want {
			t.Errorf("%q: %s, %v", value, a.Status, err)
		}
		if i, err := r.Detect(t.Context(), "keyed"); err != nil || i.AuthState != want {
			t.Errorf("%q: detected %s, %v", value, i.AuthState, err)
		}
	}
}

func TestCheckAuth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nothing := func(context.Context, adapter.Host) (adapter.Installation, error) { return adapter.Installation{}, nil }
		says := func(name string, auth func(context.Context, adapter.Host) adapter.AuthState) adapter.Descriptor {
			return describe(name, probing(nothing, auth))
		}
		r := NewRegistry([]adapter.Descriptor{
			says("in", func(context.Context, adapter.Host) adapter.AuthState {
				return adapter.AuthState{Status: adapter.Authenticated, Method: "oauth", Identity: "ann", ExpiresAt: time.Unix(1, 0)}
			}),
			says("panics", func(context.Context, adapter.Host) adapter.AuthState { panic("boom") }),
			says("odd", func(context.Context, adapter.Host) adapter.AuthState { return adapter.AuthState{Status: "perhaps"} }),
			says("hangs", func(context.Context, adapter.Host) adapter.AuthState {
				time.Sleep(time.Hour)
				return adapter.AuthState{Status: adapter.Authenticated}
			}),
			describe("blind"),
		}, adapter.Host{})
		start := time.Now()
		got := map[string]AuthReport{}
		for _, a := range r.CheckAllAuth(t.Context()) {
			got[a.Agent] = a
		}
		if took := time.Since(start); took != authLimit {
			t.Errorf("it took %v, want the limit of %v", took, authLimit)
		}
		if a := got["in"]; a.Status != adapter.Authenticated || a.Identity != "ann" || !a.ExpiresAt.Equal(time.Unix(1, 0)) || a.CheckedAt.IsZero() {
			t.Errorf("in: %+v", a)
		}
		for name, why := range map[string]string{"panics": "boom", "odd": "", "hangs": "no answer", "blind": "cannot check"} {
			if a := got[name]; a.Status != adapter.AuthUnknown || !strings.Contains(a.Details, why) {
				t.Errorf("%s: %+v, want unknown because of %q", name, a, why)
			}
		}
		time.Sleep(2 * time.Hour) // for the one that hangs
		if _, err := r.CheckAuth(t.Context(), "nobody"); execution.CodeOf(err) != execution.CodeUnknownAgent {
			t.Errorf("got %v", err)
		}
		if _, err := r.AuthGuidance("blind"); execution.CodeOf(err) != execution.CodeCapability {
			t.Errorf("got %v", err)
		}
	})
}
