package harness_test

import (
	"fmt"
	"time"

	"github.com/drawbar/drawbar/adapter/harness"
	_ "github.com/drawbar/drawbar/adapter/ollama" // a provider
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// An agent with limits of its own, over the providers that the program imports.
func ExampleNew() {
	a := agent.New(agent.Backend{Name: "harness", Adapter: harness.New(harness.Options{Limits: harness.Limits{MaxIterations: 20, MaxElapsed: time.Minute}})})
	req := execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "me", TurnID: "1",
		Message: execution.Message{ID: "1", Text: "fix the failing test", ReceivedAt: time.Now()}}
	for _, model := range []string{"qwen3", "ollama/qwen3"} {
		req.Run.Model = model
		n := a.Negotiate(req, agent.Options{})
		fmt.Println(n.Supported, n.EffectiveCapabilities.ToolUse)
		for _, r := range n.Reasons {
			fmt.Println(r.Message)
		}
	}
	// Output:
	// false native-iterative
	// "qwen3" is not PROVIDER/MODEL, with PROVIDER one of ollama
	// true native-iterative
}
