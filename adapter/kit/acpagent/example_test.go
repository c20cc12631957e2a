package acpagent_test

import (
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
)

// tern is an agent that speaks the Agent Client Protocol. An init function of its package would register it:
// adapter.Register(tern).
func tern() adapter.Descriptor {
	return acpagent.Agent{
		About: adapter.Descriptor{Name: "tern", Command: "tern", Docs: "https://example.org/tern"},
		Args:  []string{"--acp"},
	}.Descriptor()
}

// TestExample certifies it with the suite; acptest.Agent plays the agent, see TestMain.
func TestExample(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{
		Command: "tern", Descriptor: tern, ScenarioVar: exampleVar, StateVar: exampleState,
		Cannot: map[adaptertest.Scenario]string{adaptertest.Clarify: "the Agent Client Protocol has no questions but permissions"},
	}.Subject(t))
}
