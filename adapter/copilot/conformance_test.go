package copilot

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
)

// TestConformance runs the suite on the adapter with the test binary in the place of Copilot CLI.
func TestConformance(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{
		Command: "copilot", Descriptor: Descriptor, ScenarioVar: fakeVar, StateVar: stateVar, Others: []string{"claude", "codex"},
		Cannot: map[adaptertest.Scenario]string{adaptertest.Clarify: "the Agent Client Protocol has no questions but permissions"},
	}.Subject(t))
}
