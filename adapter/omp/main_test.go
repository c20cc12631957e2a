package omp

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/transport/process"
)

// fakeVar names the scenario that the test binary plays as the agent, stateVar the folder where it keeps its sessions.
const (
	fakeVar  = "FAKE_OMP"
	stateVar = "FAKE_OMP_STATE"
)

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	if scenario := os.Getenv(fakeVar); scenario != "" {
		if len(os.Args) < 4 || os.Args[1] != "acp" || os.Args[2] != "--approval-mode" {
			os.Exit(2)
		}
		a := &acptest.Agent{Scenario: adaptertest.Scenario(scenario), State: os.Getenv(stateVar), AskForMCP: os.Args[3] != "yolo",
			Initialize: acptest.Fields{"agentCapabilities": acptest.Fields{"loadSession": true, "sessionCapabilities": acptest.Fields{"fork": acptest.Fields{}},
				"promptCapabilities": acptest.Fields{"image": true, "embeddedContext": true}, "mcpCapabilities": acptest.Fields{"http": true, "sse": true}}},
			Session: acptest.Fields{"configOptions": []any{acptest.Fields{"id": "thinking", "name": "Thinking", "category": "thought_level", "type": "select",
				"currentValue": "high", "options": []any{acptest.Fields{"value": "low", "name": "Low"}, acptest.Fields{"value": "medium", "name": "Medium"},
					acptest.Fields{"value": "high", "name": "High"}}}}},
			Answer: func(calls int) acptest.Fields { // states the same on both ways, as the program with the extension does
				for range calls {
					fmt.Fprintln(os.Stderr, `drawbar:{"ended":true,"usage":{"input":100,"output":20,"cost":{"total":0.01}}}`)
				}
				return acptest.Fields{"usage": acptest.Fields{"inputTokens": 100 * calls, "outputTokens": 20 * calls, "totalTokens": 120 * calls}}
			},
			Cut: func(calls int) bool {
				cut := calls == turnLimit()
				if cut {
					fmt.Fprintln(os.Stderr, `drawbar:{"limit":true}`)
				}
				return cut
			},
			Call: func(update acptest.Fields) {
				if title, _ := update["title"].(string); strings.HasPrefix(title, "echo (") {
					update["title"] = "mcp__" + strings.TrimSuffix(strings.TrimPrefix(title, "echo ("), " MCP Server)") + "_echo"
				}
			}}
		os.Exit(a.Serve())
	}
	goleak.VerifyTestMain(m)
}

// turnLimit returns the limit of model calls in the extension that the fake agent is started with.
func turnLimit() int {
	i := slices.Index(os.Args, "--extension")
	if i < 0 || i+1 == len(os.Args) {
		return 0
	}
	text, err := os.ReadFile(os.Args[i+1])
	found := regexp.MustCompile(`(?m)^const limit = (\d+);`).FindSubmatch(text)
	if err != nil || found == nil {
		os.Exit(2)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		os.Exit(2)
	}
	return n
}
