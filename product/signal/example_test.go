package signal_test

import (
	"fmt"

	"github.com/drawbar/drawbar/product/signal"
)

func Example() {
	l := signal.New(signal.Options{})
	defer l.On(func(s signal.Signal) { fmt.Println(s.Source, s.Class, s.State) })()
	sure := 0.3
	s, _ := l.Emit(signal.Signal{ThreadID: "t", Source: "lawyer", Audience: signal.Coordinator, Class: signal.ConfidenceClass(sure), Confidence: &sure, Summary: "the law is new"})
	_, _ = l.Resolve(s.ID)
	// Output:
	// lawyer confidence.low emitted
	// lawyer confidence.low resolved
}
