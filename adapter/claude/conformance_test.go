package claude

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/execution"
)

// TestConformance runs the suite on the adapter with the test binary in the place of Claude Code.
func TestConformance(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{
		Command: "claude", Descriptor: Descriptor, ScenarioVar: fakeVar, StateVar: stateVar, Others: []string{"codex", "gemini"},
		Ask: func(sc adaptertest.Scenario, req *execution.Request) {
			if sc == adaptertest.Clarify {
				req.Run.ApprovalMode = execution.ApprovalPrompt
			}
		},
	}.Subject(t))
}
