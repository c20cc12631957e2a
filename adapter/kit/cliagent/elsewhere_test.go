//go:build unix

package cliagent

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// TestElsewhereIsRefused: what cannot run elsewhere is refused before anything starts. What runs there is tested in transport/remote and in e2e.
func TestElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*execution.Request, *Spec)
		code   execution.ErrorCode
		want   string
	}{
		"a program without the proxy": {func(*execution.Request, *Spec) {}, execution.CodeCapability, "drawbar.Supervise"},
		"a place that is none":        {func(r *execution.Request, _ *Spec) { r.Run.Invocation = "vm:x" }, execution.CodeValidation, "run.invocation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, req := fakeSpec(t, "simple"), request()
			req.Run.Invocation = "ssh:build1:/srv"
			tt.change(&req, &spec)
			res := execute(t, t.Context(), New(spec, Options{}), req, closedInbox(), nil).result
			if res.Error == nil || res.Error.ErrorCode() != tt.code || !strings.Contains(res.Error.Message, tt.want) {
				t.Errorf("%+v", res.Error)
			}
		})
	}
}
