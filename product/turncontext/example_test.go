package turncontext_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/product/policy"
	"github.com/drawbar/drawbar/product/turncontext"
)

// A product assembles the request of a turn and asks its policy; what is left is client.Run(ctx, request, drawbar.RunOptions{}).
func Example() {
	ctx := context.Background()
	assembly, err := turncontext.Assembler{}.Assemble(ctx, turncontext.Input{
		AssistantID: "support", TurnID: "turn-7",
		Identity:   turncontext.Identity{Name: "Robin", SystemPrompt: "You answer customers.", Traits: turncontext.Traits{Voice: "concise", Formality: "professional"}},
		Session:    &turncontext.Session{State: "resumed", Summary: "The parcel is late."},
		Memory:     &[]turncontext.Memory{{ID: "m1", Text: "The customer prefers email.", Relevance: 0.9}},
		Enrichment: []turncontext.Enrichment{{ID: "e1", Content: "Internal price list", Audience: turncontext.ForProduct}},
		Guardrails: []turncontext.Guardrail{{ID: "g1", Rule: "Promise no delivery date.", Priority: turncontext.High}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := assembly.Request(execution.Message{ID: "m", Text: "Where is my parcel?"}, turncontext.With{})
	fmt.Println(request.Instructions.SystemPrompt)
	for _, block := range request.Context.Blocks {
		fmt.Printf("%s: %s\n", block.Label, block.Text)
	}
	for _, left := range assembly.Dropped {
		fmt.Println("left out:", left.ID, left.Reason)
	}

	gate, err := policy.New(policy.Options{}, policy.Rule{ID: "refunds", Evaluate: func(_ context.Context, a policy.Action, _ policy.Risk) (*policy.Decision, error) {
		if a.Type == "answer" {
			return &policy.Decision{Verdict: policy.Allow}, nil
		}
		return nil, nil // others need an approval
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(gate.Check(ctx, policy.Action{Type: "answer"}))
	var refused *policy.Refused
	if errors.As(gate.Check(ctx, policy.Action{Type: "refund"}), &refused) {
		fmt.Println(refused)
	}
	// Output:
	// You answer customers.
	// Session: State: resumed
	// Summary: The parcel is late.
	// Memory: The customer prefers email.
	// left out: e1 audience
	// <nil>
	// the policy says require_approval (rule fallback, risk medium): no rule decides about it
}
