package omp

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acpgolden"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
)

// TestConformance runs the suite on the adapter with the test binary as the agent.
func TestConformance(t *testing.T) {
	adaptertest.Test(t, adaptertest.StandIn{
		Command: "omp", Descriptor: Descriptor, ScenarioVar: fakeVar, StateVar: stateVar, Others: []string{"claude", "pi"},
		Cannot: map[adaptertest.Scenario]string{adaptertest.Clarify: "the Agent Client Protocol has no questions but permissions"},
	}.Subject(t))
}

// TestGoldens replays recorded conversations.
func TestGoldens(t *testing.T) {
	t.Parallel()
	acpgolden.Test(t, map[string]acpagent.Spec{"omp": described().Spec()}, 6)
}

// The files in testdata/config were written by the agent's own commands.
func TestConfig(t *testing.T) {
	t.Parallel()
	adaptertest.Config(t, configSchema(), "testdata/config")
}

func FuzzPlugins(f *testing.F) { adaptertest.FuzzPlugins(f, Adapter{}) }

func FuzzModels(f *testing.F) { adaptertest.FuzzModels(f, Adapter{}) }

func sessionSubject() adaptertest.SessionSubject {
	return adaptertest.SessionSubject{Store: sessions, Home: "testdata/session", Variable: "PI_CODING_AGENT_DIR", Below: ".omp/agent"}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	adaptertest.Sessions(t, sessionSubject())
}

func FuzzSessions(f *testing.F) {
	adaptertest.FuzzSessions(f, sessionSubject(), ".omp/agent/sessions/-w/t_x.jsonl", "x")
}

func TestUsageGolden(t *testing.T) {
	usagetest.Golden(t, Adapter{}, "testdata/usage", "testdata/usage.golden", *clitest.Update)
}

func FuzzUsageLog(f *testing.F) { usagetest.Fuzz(f, Adapter{}, "testdata/usage") }
