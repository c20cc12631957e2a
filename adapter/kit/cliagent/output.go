package cliagent

import (
	"encoding/json"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

var _ adapter.OutputReader = (*cliAdapter)(nil)

// Record identifies a line by its members: each must exist, and equal the text unless that is empty.
type Record map[string]string

func (r Record) matches(members map[string]json.RawMessage) bool {
	for name, want := range r {
		raw, ok := members[name]
		var text string
		if !ok || want != "" && (json.Unmarshal(raw, &text) != nil || text != want) {
			return false
		}
	}
	return true
}

// ReadOutput implements adapter.OutputReader for an agent with Spec.Prints.
func (a *cliAdapter) ReadOutput(line []byte) adapter.Output {
	var members map[string]json.RawMessage
	if len(a.spec.Prints) == 0 || json.Unmarshal(line, &members) != nil {
		return nil
	}
	for _, r := range a.spec.Prints {
		if r.matches(members) {
			var p Parser
			if a.spec.Printed != nil {
				p = a.spec.Printed()
			} else {
				p = a.spec.NewParser(execution.Request{})
			}
			o := &output{drive{name: a.spec.Name, parser: p, sink: NewSink(false)}}
			o.open()
			return o
		}
	}
	return nil
}

// output is a parser without a process.
type output struct{ drive }

// Line parses a line of standard output.
func (o *output) Line(line []byte) []execution.Event {
	o.line(process.Line{Stream: process.Stdout, Data: line})
	return o.sink.exchange(nil)
}

// End ends the output.
func (o *output) End(code int, stderr string) ([]execution.Event, execution.Result) {
	res := o.finish(process.Exit{Code: code, StderrTail: stderr}, stopNone)
	if o.silent {
		res.Status, res.Error = "", nil
	}
	return o.sink.exchange(nil), res
}
