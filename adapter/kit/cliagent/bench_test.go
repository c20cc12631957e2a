package cliagent

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// ready is a process whose output is there already, in batches as the transport makes them.
type ready struct {
	*scripted
	batch []process.Line
	left  int
}

func (r *ready) Next(context.Context) ([]process.Line, error) {
	if r.left == 0 {
		return nil, io.EOF
	}
	r.left--
	return r.batch, nil
}

func (r *ready) Wait() process.Exit { return process.Exit{Duration: time.Second} }

// constantParser makes one event of a line and costs nothing else.
type constantParser struct{ body execution.Body }

func (p constantParser) Open(*Sink)                               {}
func (p constantParser) Line(_ process.Stream, _ []byte, s *Sink) { s.Emit(p.body) }
func (p constantParser) Command(execution.Command, *Sink) error   { return nil }
func (p constantParser) Exit(process.Exit, *Sink) execution.Result {
	return execution.Result{Status: "completed"}
}

// BenchmarkExecute is what the kit adds to one line that becomes one event.
func BenchmarkExecute(b *testing.B) {
	const lines, batches = 500, 400
	batch := make([]process.Line, lines)
	for i := range batch {
		batch[i] = process.Line{Stream: process.Stdout, Data: []byte("a line")}
	}
	spec := Spec{Name: "fake", Command: "/bin/sh", Capabilities: func() execution.Capabilities { return execution.Capabilities{} },
		Spawn:     func(*Launch) (Invocation, error) { return Invocation{}, nil },
		NewParser: func(execution.Request) Parser { return constantParser{execution.TextDelta{Delta: "x"}} }}
	a := New(spec, Options{Runner: func(ctx context.Context, s process.Spec) (process.Handle, error) {
		inner := &scripted{}
		_, err := inner.run(ctx, s)
		return &ready{inner, batch, batches}, err
	}})
	b.ReportAllocs()
	events := 0
	for b.Loop() {
		for range a.Execute(b.Context(), request(), closedInbox()) {
			events++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}
