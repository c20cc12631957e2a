package codex

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/execution"
)

// TestConformance runs the suite on the adapter with the test binary in the place of Codex.
func TestConformance(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{
		Command: "codex", Descriptor: Descriptor, ScenarioVar: fakeVar, StateVar: stateVar, Others: []string{"claude", "gemini"},
		Ask: func(sc adaptertest.Scenario, req *execution.Request) {
			switch sc {
			case adaptertest.Clarify, adaptertest.Think:
				req.Run.Stream = execution.StreamOn
			case adaptertest.Spend:
				req.Run.Model = "gpt-5.4" // its price is known
			}
			req.Run.Env["CODEX_API_KEY"] = ""
		},
	}.Subject(t))
}
