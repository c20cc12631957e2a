package qwen

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/execution"
)

// TestConformance runs the suite on the adapter with the test binary in the place of Qwen Code: a launcher that dies by a signal
// and the program behind it, which must not be left over.
func TestConformance(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{
		Command: "qwen", Descriptor: Descriptor, ScenarioVar: fakeVar, StateVar: stateVar, Others: []string{"claude", "codex"},
		Cannot: map[adaptertest.Scenario]string{adaptertest.Clarify: "Qwen Code asks a person for text in its own terminal only"},
		Ask: func(sc adaptertest.Scenario, req *execution.Request) {
			if sc == adaptertest.Spend {
				req.Run.Model = "qwen-max" // its price is known
			}
		},
	}.Subject(t))
}
