package gemini

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
)

// TestConformance runs the suite on the adapter with the test binary in the place of Gemini.
func TestConformance(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{
		Command: "gemini", Descriptor: Descriptor, ScenarioVar: fakeVar, StateVar: stateVar, Others: []string{"claude", "codex"},
		Cannot: map[adaptertest.Scenario]string{adaptertest.Clarify: "Gemini asks a person for text in its own terminal only"},
	}.Subject(t))
}
