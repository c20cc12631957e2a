package adapter

import "github.com/drawbar/drawbar/execution"

// OutputReader is implemented by adapters that understand what their agent prints when somebody else has started it.
type OutputReader interface {
	// ReadOutput begins to read the output of a program whose first record is line; nil when another program printed it.
	ReadOutput(line []byte) Output
}

// Output makes events of what a program prints. One goroutine uses it at a time.
type Output interface {
	// Line is the next line of standard output. The line is valid during the call only.
	Line(line []byte) []execution.Event
	// End is called once, with how the program ended: its exit code, which is negative for one that a signal ended, and the end of its
	// standard error. The result is what the program stated; one without a status says that it stated none.
	End(code int, stderr string) ([]execution.Event, execution.Result)
}
