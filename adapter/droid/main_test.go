package droid

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/transport/process"
)

// fakeVar names the scenario that the test binary plays as the agent, stateVar the folder where it keeps its sessions.
const (
	fakeVar  = "FAKE_DROID"
	stateVar = "FAKE_DROID_STATE"
)

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	if scenario := os.Getenv(fakeVar); scenario != "" {
		if len(os.Args) != 4 || os.Args[1] != "exec" || os.Args[3] != "acp" {
			os.Exit(2)
		}
		a := &acptest.Agent{Scenario: adaptertest.Scenario(scenario), State: os.Getenv(stateVar), AskForMCP: true, Answer: untold, Unasking: "auto-high",
			Session: acptest.Fields{"modes": acptest.Fields{"currentModeId": "auto-high", // as the user's settings, or a project's, can say
				"availableModes": []any{acptest.Fields{"id": "normal", "name": "Auto (Off)"}, acptest.Fields{"id": "auto-high", "name": "Auto (High)"}}}},
			Call: func(update acptest.Fields) {
				if title, _ := update["title"].(string); strings.HasPrefix(title, "echo (") {
					update["title"] = strings.TrimSuffix(strings.TrimPrefix(title, "echo ("), " MCP Server)") + "___echo"
				}
			}}
		os.Exit(a.Serve())
	}
	goleak.VerifyTestMain(m)
}

// untold states no tokens.
func untold(int) acptest.Fields { return acptest.Fields{} }
