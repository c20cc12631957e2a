package qwen

import (
	"bytes"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
	"github.com/drawbar/drawbar/transport/process"
)

// The members that decide what a line is, and all that a streamed piece needs. One pass finds them.
const (
	keyType = iota
	keySubtype
	keyParent
	keyEventType
	keyIndex
	keyDeltaType
	keyDeltaText
	keyDeltaThinking
	keyDeltaJSON
	keyBlock
	keyMessageID
	lineKeyCount
)

var lineKeys = jsonscan.NewKeySet("type", "subtype", "parent_tool_use_id", "event.type", "event.index", "event.delta.type",
	"event.delta.text", "event.delta.thinking", "event.delta.partial_json", "event.content_block", "event.message.id")

var _ cliagent.Parser = (*parser)(nil)

// parser turns the lines of one one-shot run into events. It belongs to one run.
type parser struct {
	req execution.Request

	names   *jsonscan.Interner
	values  [lineKeyCount]jsonscan.Value
	scratch []byte

	// session
	session string
	model   string
	cwd     string
	version string
	servers map[string]bool // MCP servers by name

	// the turn
	open     bool
	main     stream
	subs     map[string]*stream // sub-agents by the tool call that started them
	tools    map[string]*tool
	tasks    map[string]string // calls that started a sub-agent in the background, by the id of its task
	denied   map[string]bool   // tool calls whose refusal is known
	notice   *notice           // what Qwen said in the model's place, until it is known whether the turn goes on
	lastText string            // the last whole text of the agent itself
	note     string            // what Qwen told its model of something in the background

	// accounting
	counted   execution.Usage // what was reported of the agent's own calls
	total     execution.Usage
	retries   int
	announced bool // a retry was told with its delay; the line that says that it happens is not another one

	last *outcome
}

func newParser(req execution.Request) cliagent.Parser {
	return &parser{req: req, names: jsonscan.NewInterner(256), servers: map[string]bool{}, subs: map[string]*stream{},
		tools: map[string]*tool{}, tasks: map[string]string{}, denied: map[string]bool{}}
}

// Open has nothing to say: the prompt is what standard input consists of.
func (p *parser) Open(*cliagent.Sink) {}

// Command refuses everything: there is nobody to say it to.
func (p *parser) Command(cmd execution.Command, _ *cliagent.Sink) error {
	if _, ok := cmd.(execution.EndInput); ok {
		return nil // the agent ends by itself
	}
	return execution.Errorf(execution.CodeStdinNotAvailable, "qwen runs in one-shot mode and takes no input; make the request interactive")
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
	if jsonscan.Fields(line, p.values[:], lineKeys) != nil || !p.message(line, s) {
		s.Unknown(src, line)
	}
}

// message dispatches a line. False means that it, or a part of it, is not known.
func (p *parser) message(line []byte, s *cliagent.Sink) bool {
	typ, _ := p.values[keyType].Plain()
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

// ensureTurn opens the turn for something that belongs to it.
func (p *parser) ensureTurn(s *cliagent.Sink) {
	if p.open || p.last != nil {
		return
	}
	p.open = true
	s.Emit(execution.TurnStart{})
}

// spoken notes that the model has said something.
func (p *parser) spoken(s *cliagent.Sink) {
	p.ensureTurn(s)
	p.announced = false
	p.flush(s)
}

// stream is the conversation a line belongs to: the agent's own or a sub-agent's.
func (p *parser) stream(parent jsonscan.Value) *stream {
	id := ""
	if parent.Kind() == jsonscan.String {
		id = p.names.Str(parent)
	}
	if id == "" {
		return &p.main
	}
	st := p.subs[id]
	if st == nil {
		st = &stream{parent: id}
		p.subs[id] = st
	}
	return st
}
