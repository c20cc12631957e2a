package adapter

import "github.com/drawbar/drawbar/execution"

// OutputReader is implemented by adapters that parse their agent's output when somebody else started the agent.
type OutputReader interface {
	// ReadOutput returns a parser of a program's output whose first record is line; nil if another program
	// wrote it.
	ReadOutput(line []byte) Output
}

// Output converts a program's output to events. It must be used by one goroutine at a time.
type Output interface {
	// Line parses the next line of standard output. The line is valid only during the call.
	Line(line []byte) []execution.Event
	// End is called once, with the program's exit code (negative after a signal) and the end of its standard
	// error. The result is what the program stated; without a status it stated none.
	End(code int, stderr string) ([]execution.Event, execution.Result)
}
