package acp

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/execution"
)

// TestConformance runs the suite on the adapter with the test binary as the agent.
func TestConformance(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{
		Command: "fake-agent", Descriptor: Descriptor, ScenarioVar: fakeVar, StateVar: stateVar, Others: []string{"claude", "codex"},
		Cannot: map[adaptertest.Scenario]string{adaptertest.Clarify: "the Agent Client Protocol has no questions but permissions"},
		Ask: func(_ adaptertest.Scenario, req *execution.Request) {
			req.Run.Command = []string{"fake-agent", "--acp", "an argument"}
		},
	}.Subject(t))
}
