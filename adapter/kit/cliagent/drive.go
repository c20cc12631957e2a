package cliagent

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
	"github.com/drawbar/drawbar/transport/pty"
)

// drive calls one run's parser and hooks and recovers their panics. It is not safe for concurrent use.
type drive struct {
	name   string // the agent, for errors and results
	parser Parser
	sink   *Sink
	hooks  Hooks
	silent bool // the agent did not state how the run ended

	silence  time.Duration // longest silence of the agent; 0: unlimited
	terminal bool          // the lines come from a terminal
	strip    pty.Stripper  // removes control sequences, including those that span lines
	plain    []byte        // the rest of a line
}

// guard converts a panic of call to an error with its name.
func guard(what string, call func()) (err *execution.Error) {
	defer func() {
		if r := recover(); r != nil {
			err = execution.Errorf(execution.CodeInternal, "%s panicked: %v", what, r)
		}
	}()
	call()
	return nil
}

func (d *drive) open() {
	if err := guard("the parser's Open", func() { d.parser.Open(d.sink) }); err != nil {
		d.sink.fail(err)
	}
}

// ring calls the parser's Alarm.
func (d *drive) ring() {
	d.sink.alarm = time.Time{}
	a, ok := d.parser.(Alarmed)
	if !ok {
		return
	}
	if err := guard("the parser's Alarm", func() { a.Alarm(d.sink) }); err != nil {
		d.sink.fail(err)
	}
}

// line parses a line. A panic loses only the rest of this line.
func (d *drive) line(l process.Line) {
	if l.Truncated {
		d.sink.Emit(execution.ErrorEvent{Code: execution.CodeParse, Recoverable: true, Message: fmt.Sprintf(
			"a line of %s is too long: %d bytes were kept, %d skipped", l.Stream, len(l.Data), l.Skipped)})
	}
	first, original := len(d.sink.events), l.Data
	if !d.terminal && l.Stream == process.Stderr {
		l.Data = PlainLine(l.Data)
	}
	if d.terminal {
		d.plain = d.strip.Strip(d.plain[:0], l.Data)
		d.plain = bytes.TrimSuffix(d.strip.Strip(d.plain, []byte{'\n'}), []byte{'\n'})
		l.Data = d.plain
	}
	d.parse(l)
	if d.sink.debug {
		d.attach(original, first)
	}
}

func (d *drive) parse(l process.Line) {
	defer func() {
		if r := recover(); r != nil {
			d.sink.Emit(execution.ErrorEvent{Code: execution.CodeParse, Recoverable: true,
				Message: fmt.Sprintf("parse a line of %s: the parser panicked: %v", l.Stream, r)})
		}
	}()
	d.parser.Line(l.Stream, l.Data, d.sink)
}

// attach sets the line that the events from first on came from.
func (d *drive) attach(line []byte, first int) {
	var raw []byte
	events := d.sink.events
	for i := min(first, len(events)); i < len(events); i++ {
		if _, log := events[i].Body.(execution.Log); log || events[i].Raw != nil {
			continue
		}
		if raw == nil {
			raw = bytes.Clone(line)
		}
		events[i].Raw = raw
	}
}

// command passes on a command and returns the parser's refusal.
func (d *drive) command(cmd execution.Command) error {
	var refusal error
	if err := guard("the parser's Command", func() { refusal = d.parser.Command(cmd, d.sink) }); err != nil {
		d.sink.fail(err)
		refusal = err
	}
	if refusal == nil {
		switch c := cmd.(type) {
		case execution.Say:
			d.sink.idle = false
		case execution.Answer:
			d.sink.answered(c.ID)
		}
	}
	return refusal
}

func (d *drive) refuse(cmd execution.Command, err error) {
	switch c := cmd.(type) {
	case execution.Say:
		d.sink.Emit(execution.InputCancelled{ID: c.ID, Reason: err.Error()})
	default:
		d.sink.Emit(execution.ErrorEvent{Code: execution.CodeOf(err), Message: err.Error(), Recoverable: true})
	}
}

// finish ends the run after the last line: the events of the exit, what the assembler still holds, and the result.
func (d *drive) finish(exit process.Exit, why stopReason) execution.Result {
	if exit.Cut {
		d.sink.Emit(execution.Debug{Level: execution.DebugWarn,
			Message: "a process that the agent left behind kept its output open; later output is missing"})
	}
	exit.StderrTail = complaint(exit.StderrTail, d.parser)
	at := len(d.sink.events)
	hooked, fromHook := d.hooks.processExit(exit)
	for _, b := range hooked {
		d.sink.Emit(b)
	}
	if rest, ok := d.sink.asm.EndBlock(); ok && rest != "" {
		d.line(process.Line{Stream: process.Stdout, Data: []byte(rest)})
	}
	d.sink.asm.Reset()

	var res execution.Result
	if err := guard("the parser's Exit", func() { res = d.parser.Exit(exit, d.sink) }); err != nil {
		res = execution.Result{}
		d.sink.fail(err)
	}
	// A crash is an exit without a result, which is known only here; the event keeps its place.
	if !fromHook && !stated(res) && d.sink.failure == nil && why != stopInterrupt {
		if b := crashEvent(exit, d.sink.crashed); b != nil {
			d.sink.Emit(b)
			last := len(d.sink.events) - 1
			d.sink.events = slices.Insert(d.sink.events[:last], at, d.sink.events[last])
		}
	}
	return d.outcome(res, exit, why)
}
