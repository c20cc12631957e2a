package agent_test

import (
	"context"
	"sync"
	"testing"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// BenchmarkEvents is what one event costs from the adapter to its readers.
func BenchmarkEvents(b *testing.B) {
	for _, readers := range []int{0, 1, 8} {
		name := map[int]string{0: "none", 1: "one", 8: "eight"}[readers]
		b.Run("readers="+name, func(b *testing.B) {
			b.ReportAllocs()
			n := b.N
			a := sequence(func(_ context.Context, yield func(execution.Event, error) bool) {
				body := execution.Body(execution.TextDelta{Delta: "word ", Accumulated: "word "})
				for range n {
					if !yield(execution.Event{Body: body}, nil) {
						return
					}
				}
				yield(execution.Event{Body: execution.Finished{Result: execution.Result{Status: execution.StatusCompleted}}}, nil)
			})
			r, err := agent.New(agent.Backend{Name: "bench", Adapter: a}).Start(b.Context(), request("x"), agent.Options{})
			if err != nil {
				b.Fatal(err)
			}
			var all sync.WaitGroup
			for range readers {
				all.Go(func() {
					for range r.Events(b.Context(), 0) {
					}
				})
			}
			if _, err := r.Result(b.Context()); err != nil {
				b.Fatal(err)
			}
			all.Wait()
		})
	}
}
