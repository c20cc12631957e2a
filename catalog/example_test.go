package catalog_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
)

// echo is an adapter that answers with the prompt.
type echo struct{}

func (echo) Capabilities() execution.Capabilities { return execution.Capabilities{} }

func (echo) Execute(_ context.Context, req execution.Request, _ adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		text := string(req.Message.Text)
		for _, body := range []execution.Body{
			execution.TextDelta{Delta: text, Accumulated: text},
			execution.TurnEnd{Reason: execution.TurnCompleted, Text: text},
			execution.Finished{Result: execution.Result{Status: execution.StatusCompleted, Text: text}},
		} {
			if !yield(execution.Event{Body: body}, nil) {
				return
			}
		}
	}
}

func ExampleRegistry() {
	r := catalog.Builtins(oshost.New(nil))
	err := r.Register(adapter.Descriptor{
		Name: "echo", Aliases: []string{"parrot"}, Command: "echo",
		New: func() adapter.Adapter { return echo{} },
	})
	fmt.Println(err)

	e, _ := r.Get("Parrot")
	fmt.Println(e.Descriptor.DisplayName, e.Source)

	_, err = r.Get("ehco")
	fmt.Println(err)
	// Output:
	// <nil>
	// echo plugin
	// unknown agent "ehco"; did you mean echo? list the agents with: drawbar agents list --all
}
