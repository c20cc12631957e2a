package claude

import (
	"bytes"
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// ignoredTypes are lines that are irrelevant to the conversation.
var ignoredTypes = []string{"keep_alive", "tool_use_summary", "prompt_suggestion", "auth_status",
	"active_goal", "autocompact_state", "attachment", "transcript_mirror", "queued_notification",
	"session_notice"}

var _ cliagent.Parser = (*parser)(nil)

// parser converts the lines of one run to events. It belongs to one run.
type parser struct {
	req    execution.Request
	duplex bool // standard input stays open after the prompt

	streamjson.Flow

	// session
	session string
	model   string
	priced  string // a model whose usage was stated
	version string

	// turns
	open    bool // a turn is open
	stopped bool // Claude reported that the turn was interrupted
	fresh   bool // the turn started and the model has said nothing yet
	first   bool // the request's own message has not reached the conversation

	tasks map[string]string // calls that started a sub-agent, by the id of Claude's task

	// commands
	pending      []input // sent and not yet acknowledged
	questions    cliagent.Questions[*question]
	sent         int  // control requests made
	ended        bool // no more input
	done         bool
	acknowledges bool // this version reports the state of messages

	// accounting
	stated   execution.Usage // process totals in the last result
	spent    float64         // its cost in US dollars
	totalUSD *float64
	retries  int

	synthetic *notice // the notice, until it is known whether the turn continues
	last      *outcome
}

func newParser(req execution.Request) cliagent.Parser {
	p := &parser{req: req, duplex: twoWay(req), first: true, tasks: map[string]string{}}
	p.Flow = streamjson.New(p, tools)
	return p
}

// Open writes nothing: the handshake and the first message are the initial input.
func (p *parser) Open(*cliagent.Sink) {}

// Line is one line of Claude's output.
func (p *parser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if src == process.Stderr {
		if !bytes.HasPrefix(line, []byte("[claude-code:")) { // notes for Claude's own telemetry
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
	case "control_request":
		return p.controlRequest(line, s)
	case "control_response":
		return p.controlResponse(line, s)
	case "control_cancel_request":
		return p.controlCancel(line, s)
	case "command_lifecycle":
		return p.lifecycle(line, s)
	case "rate_limit_event":
		return p.rateLimit(line, s)
	case "tool_progress":
		return p.toolProgress(line, s)
	}
	return slices.Contains(ignoredTypes, string(typ))
}

// ensureTurn opens a turn if necessary.
func (p *parser) ensureTurn(s *cliagent.Sink) {
	if p.open {
		return
	}
	p.open, p.fresh = true, true
	p.Main.Step = 0
	s.Emit(execution.TurnStart{TurnIndex: p.Turn})
}

// spoken records that the model works on the turn.
func (p *parser) spoken(s *cliagent.Sink) {
	p.ensureTurn(s)
	p.fresh, p.first = false, false
	if p.synthetic != nil {
		// The turn continued, so the notice was not its end.
		p.synthetic.recovered(s)
		p.synthetic = nil
	}
}
