package adaptertest_test

import (
	"context"
	"fmt"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// The suite runs on any subject; here on the reference adapter.
func ExampleRunAll() {
	s := at.FakeSubject(&at.Fake{})
	failures := at.RunAll(context.Background(), s, func(o at.Outcome) {
		if o.Verdict == at.Failing {
			fmt.Println(o.Check.Name, o.Message)
		}
	})
	fmt.Println(failures, "failures")
	// Output: 0 failures
}

// A script is a backend: it emits what happens and returns the result.
func ExampleFake() {
	fake := &at.Fake{Script: func(c *at.Call) execution.Result {
		c.Emit(execution.SessionStart{SessionID: "s1"}, execution.TurnStart{})
		c.Say("hello, ", "world")
		c.Emit(execution.TurnEnd{})
		return at.Completed()
	}}
	res, err := agent.New(agent.Backend{Name: "mine", Adapter: fake}).Execute(context.Background(), execution.Request{
		AssistantID: "drawbar", TurnID: "t1", Message: execution.Message{Text: "hi"}}, agent.Options{})
	fmt.Println(res.Status, res.Text, err)
	// Output: completed hello, world <nil>
}
