package agent_test

import (
	"context"
	"fmt"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// the backend of the examples, in memory
func exampleBackend() agent.Backend {
	return agent.Backend{Name: "fake", Adapter: &adaptertest.Fake{}}
}

func ExampleAgent_Execute() {
	res, err := agent.New(exampleBackend()).Execute(context.Background(), execution.Request{
		AssistantID: "drawbar", TurnID: "t1", Message: execution.Message{Text: "play simple"},
	}, agent.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Status, res.Output.Text)
	// Output: completed hi
}

func ExampleAgent_Start() {
	ctx := context.Background()
	run, err := agent.New(exampleBackend()).Start(ctx, execution.Request{
		AssistantID: "drawbar", TurnID: "t1", Message: execution.Message{Text: "play approval"},
	}, agent.Options{OnApproval: func(_ context.Context, q execution.ApprovalRequired) execution.Decision {
		return execution.Decision{Approve: q.Risk != execution.RiskHigh}
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range run.Events(ctx, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch b := e.Body.(type) {
		case execution.ApprovalRequired:
			fmt.Println("asked:", b.Action)
		case execution.ApprovalGranted:
			fmt.Println("granted:", b.ID)
		case execution.Finished:
			fmt.Println(b.Result.Status)
		}
	}
	// Output:
	// asked: write a.txt
	// granted: ap1
	// completed
}

// A conversation goes on until its input is closed.
func ExampleRun_Send() {
	ctx := context.Background()
	run, err := agent.New(exampleBackend()).Start(ctx, execution.Request{
		AssistantID: "drawbar", TurnID: "t1", Message: execution.Message{Text: "play simple"}, Run: execution.RunOptions{Interactive: true},
	}, agent.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := run.Send("play remember", execution.WhenNextTurn); err != nil {
		fmt.Println(err)
	}
	run.CloseInput()
	res, err := run.Result(ctx)
	fmt.Println(res.TurnCount, res.Output.Text, err)
	// Output: 2 you told me: hi <nil>
}

func ExampleAgent_Negotiate() {
	n := agent.New(agent.Backend{Name: "bare", Adapter: &adaptertest.Fake{Declared: adaptertest.Bare}}).Negotiate(execution.Request{
		AssistantID: "drawbar", TurnID: "t1", Message: execution.Message{Text: "hello"},
		Requirements: &execution.Requirements{ToolUse: execution.ToolUseRequired, TraceDepth: execution.TraceDetailed},
	}, agent.Options{})
	fmt.Println(n.Supported, n.Degraded)
	for _, r := range n.Reasons {
		fmt.Println(r.Severity, r.Code)
	}
	// Output:
	// false true
	// blocking tool_use_unsupported
	// warning trace_depth_reduced
}
