// Command consumer is a program in another module: what compiles here is what Drawbar promises to importers.
package main

import (
	"context"
	"fmt"
	"iter"
	"os"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	_ "github.com/drawbar/drawbar/adapter/all"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// parrot is an adapter of this module's own.
type parrot struct{}

func (parrot) Capabilities() execution.Capabilities {
	return execution.Capabilities{Agent: execution.AgentCapabilities{TextStreaming: true, ApprovalModes: []execution.ApprovalMode{execution.ApprovalPrompt}}}
}

func (parrot) Execute(_ context.Context, req execution.Request, _ adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		text := string(req.Message.Text)
		for _, b := range []execution.Body{execution.TextDelta{Delta: text, Accumulated: text}, execution.MessageStop{Text: text}, execution.TurnEnd{},
			execution.Finished{Result: execution.Result{BackendID: "parrot", Status: execution.StatusCompleted}}} {
			if !yield(execution.Event{Body: b}, nil) {
				return
			}
		}
	}
}

func main() {
	drawbar.Supervise()
	client, err := drawbar.New(drawbar.Options{NoRecord: true})
	if err == nil {
		err = client.Adapters().Register(adapter.Descriptor{Name: "parrot", Command: "parrot",
			New: func() adapter.Adapter { return parrot{} }})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx := context.Background()
	run, err := client.Run(ctx, execution.Request{Message: execution.Message{Text: "hello"}, Run: execution.RunOptions{Agent: "parrot"}},
		drawbar.RunOptions{Options: agent.Options{Handlers: []agent.Handler{agent.On(func(_ execution.Event, d execution.TextDelta) { fmt.Println(d.Delta) })}}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	res, err := run.Result(ctx)
	if err != nil || res.Status != execution.StatusCompleted {
		fmt.Fprintln(os.Stderr, res.Status, err)
		os.Exit(1)
	}
	for _, m := range client.Adapters().List() {
		if _, err := client.Models().List(m.Agent); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
