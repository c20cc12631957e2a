package adapter

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/execution"
)

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
