package coordination_test

import (
	"context"
	"fmt"

	"github.com/drawbar/drawbar/product/coordination"
)

func Example() {
	say := func(name, text string) coordination.Specialist {
		return coordination.Specialist{Name: name, Do: func(context.Context, coordination.Task) (coordination.Result, error) {
			return coordination.Result{Output: text, Status: coordination.Complete}, nil
		}}
	}
	c := coordination.Coordinator{Specialists: []coordination.Specialist{say("lawyer", "It is allowed."), say("cook", "Add salt.")}}
	turn, err := c.Run(context.Background(), coordination.Plan{Intent: "may I cook", Steps: []coordination.Step{
		{Specialist: "lawyer", Instruction: "is it allowed"}, {Specialist: "cook", Instruction: "how", With: true}}})
	fmt.Println(turn.Text, turn.Degraded, err)
	// Output:
	// It is allowed.
	//
	// Add salt. false <nil>
}
