package cliagent

import (
	"bytes"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// Replay runs a parser over recorded output without a process: Open, every line of stdout, every line of stderr, the
// end of the run. It returns the events, without Finished, and the result of such a run; BackendID is empty, hooks
// are the defaults, and what the parser writes is dropped. The inputs are not changed and may be reused.
//
// For transcripts whose order between the streams matters use ReplayLines.
func Replay(p Parser, stdout, stderr []byte, exit process.Exit, debug bool) ([]execution.Event, execution.Result) {
	return ReplayOutputs(p, nil, stdout, stderr, exit, debug)
}

// ReplayOutputs is Replay for an agent that also wrote files: outputs holds their content by name.
func ReplayOutputs(p Parser, outputs map[string][]byte, stdout, stderr []byte, exit process.Exit, debug bool) ([]execution.Event, execution.Result) {
	d := drive{name: "the agent", parser: p, sink: NewSink(debug)}
	d.sink.outputs = outputs
	d.open()
	replayLines(&d, process.Stdout, stdout)
	replayLines(&d, process.Stderr, stderr)
	return d.replayed(exit)
}

// ReplayLines is Replay for lines of both streams in order.
func ReplayLines(p Parser, lines []process.Line, exit process.Exit, debug bool) ([]execution.Event, execution.Result) {
	d := drive{name: "the agent", parser: p, sink: NewSink(debug)}
	d.open()
	for _, l := range lines {
		d.line(l)
	}
	return d.replayed(exit)
}

func (d *drive) replayed(exit process.Exit) ([]execution.Event, execution.Result) {
	res := d.finish(exit, stopNone)
	res.BackendID = ""
	return d.sink.exchange(nil), res
}

// replayLines splits as the transport does: at a newline, with an optional carriage return before it.
func replayLines(d *drive, src process.Stream, text []byte) {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		d.line(process.Line{Stream: src, Data: bytes.TrimSuffix(line, []byte{'\r'})})
	}
}
