package adapter

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// TestBlankKey: a key of white space logs nobody in, on any agent.
func TestBlankKey(t *testing.T) {
	t.Parallel()
	keyed := describe("keyed", probing(
		func(context.Context, Host) (Installation, error) { return Installation{Installed: true}, nil },
		func(_ context.Context, h Host) AuthState {
			if h.Getenv("KEY") != "" {
				return AuthState{Status: Authenticated}
			}
			return AuthState{Status: Unauthenticated}
		}))
	for value, want := range map[string]AuthStatus{"": Unauthenticated, " \t": Unauthenticated, "k": Authenticated} {
		r := NewRegistry([]Descriptor{keyed}, Host{Getenv: func(string) string { return value }})
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
		nothing := func(context.Context, Host) (Installation, error) { return Installation{}, nil }
		says := func(name string, auth func(context.Context, Host) AuthState) Descriptor {
			return describe(name, probing(nothing, auth))
		}
		r := NewRegistry([]Descriptor{
			says("in", func(context.Context, Host) AuthState {
				return AuthState{Status: Authenticated, Method: "oauth", Identity: "ann", ExpiresAt: time.Unix(1, 0)}
			}),
			says("panics", func(context.Context, Host) AuthState { panic("boom") }),
			says("odd", func(context.Context, Host) AuthState { return AuthState{Status: "perhaps"} }),
			says("hangs", func(context.Context, Host) AuthState { time.Sleep(time.Hour); return AuthState{Status: Authenticated} }),
			describe("blind"),
		}, Host{})
		start := time.Now()
		got := map[string]AuthReport{}
		for _, a := range r.CheckAllAuth(t.Context()) {
			got[a.Agent] = a
		}
		if took := time.Since(start); took != authLimit {
			t.Errorf("it took %v, want the limit of %v", took, authLimit)
		}
		if a := got["in"]; a.Status != Authenticated || a.Identity != "ann" || !a.ExpiresAt.Equal(time.Unix(1, 0)) || a.CheckedAt.IsZero() {
			t.Errorf("in: %+v", a)
		}
		for name, why := range map[string]string{"panics": "boom", "odd": "", "hangs": "no answer", "blind": "cannot look"} {
			if a := got[name]; a.Status != AuthUnknown || !strings.Contains(a.Details, why) {
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
