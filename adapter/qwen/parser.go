package qwen

import (
	"bytes"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

var _ cliagent.Parser = (*parser)(nil)

// parser turns the lines of one one-shot run into events. It belongs to one run.
type parser struct {
	req execution.Request

	cliagent.OneShot
	streamjson.Flow

	// session
	session string
	model   string
	version string

	// the turn
	open   bool
	tasks  map[string]string // calls that started a sub-agent in the background, by the id of its task
	notice *notice           // the notice, until it is known whether the turn continues
	note   string            // what Qwen told its model about background tasks

	// accounting
	retries   int
	announced bool // a retry was announced with its delay; the line about its start is not another retry

	last *cliagent.Outcome
}

func newParser(req execution.Request) cliagent.Parser {
	p := &parser{req: req, OneShot: name, tasks: map[string]string{}}
	p.Flow = streamjson.New(p, tools)
	return p
}

// Line is one line of Qwen's output.
func (p *parser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if src == process.Stderr {
		if !stderrLine(line, s) {
			s.Unknown(src, line)
		}
		return
	}
	if !p.Scan(line) || !p.message(line, s) {
		s.Unknown(src, line)
	}
}

// message dispatches a line. It returns false if the line, or a part of it, is unknown.
func (p *parser) message(line []byte, s *cliagent.Sink) bool {
	typ, _ := p.V.Type.Plain()
	switch string(typ) {
	case "stream_event":
		return p.streamEvent(s)
	case "assistant":
		return p.assistant(line, s)
	case "user":
		return p.user(line, s)
	case "system":
		return p.system(line, s)
	case "result":
		return p.result(line, s)
	}
	return false
}

// ensureTurn opens the turn if necessary.
func (p *parser) ensureTurn(s *cliagent.Sink) {
	if p.open || p.last != nil {
		return
	}
	p.open = true
	s.Emit(execution.TurnStart{})
}

// spoken records that the model has said something.
func (p *parser) spoken(s *cliagent.Sink) {
	p.ensureTurn(s)
	p.announced = false
	p.flush(s)
}
