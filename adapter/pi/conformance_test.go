package pi

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
)

// TestConformance runs the suite on the adapter with the test binary in the place of Pi.
func TestConformance(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{Command: "pi", Descriptor: Descriptor, ScenarioVar: fakeVar, StateVar: stateVar,
		Others: []string{"claude", "codex"}}.Subject(t))
}
