package declarative

import (
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// maxText bounds the answer of a run. A program that prints more is not cut off, but the rest is not part of the answer.
const maxText = 16 << 20

// message is what the agent says: an answer, or thinking.
type message struct {
	said cliagent.Speech
	full bool   // the limit was reached
	last string // the last whole answer
}

// add streams a piece of what is said, or begins with it.
func (m *message) add(kind cliagent.SpeechKind, piece string, s *cliagent.Sink) {
	if m.said.Kind != kind {
		m.close(s)
	}
	if m.full || piece == "" {
		return
	}
	if room := maxText - len(m.said.Said()); len(piece) > room {
		m.full = true
		piece = strings.ToValidUTF8(piece[:room], "")
		if kind == cliagent.SpeechText {
			s.Emit(execution.ErrorEvent{Code: execution.CodeParse, Recoverable: true,
				Message: "the answer is larger than 16 MiB; the rest of it is left out"})
		}
	}
	if m.said.Kind == cliagent.SpeechNone {
		m.said.Begin(kind, "", s)
	}
	m.said.Add(piece, s)
}

// close ends what is said.
func (m *message) close(s *cliagent.Sink) {
	if kind, text := m.said.End(s); kind == cliagent.SpeechText {
		m.last = text
	}
	m.full = false
}

// textParser reads an answer without a format: standard output, line by line.
type textParser struct {
	cliagent.OneShot
	session
	failures
	message
	blank int // empty lines that are part of the answer only if another line follows
}

// NewText returns the parser of a program whose standard output is the answer and whose exit code is the outcome.
func NewText(name string) cliagent.Parser { return &textParser{OneShot: cliagent.OneShot(name)} }

// Open announces a session whose id is already known.
func (p *textParser) Open(s *cliagent.Sink) { p.announce(s) }

// Line adds a line of standard output to the answer.
func (p *textParser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	if src == process.Stderr {
		s.Unknown(src, line)
		return
	}
	text := strings.ToValidUTF8(string(cliagent.PlainLine(line)), "\uFFFD")
	if text == "" {
		p.blank++
		return
	}
	if p.said.Kind != cliagent.SpeechNone {
		text = strings.Repeat("\n", p.blank+1) + text
	}
	p.blank = 0
	p.work(s)
	p.add(cliagent.SpeechText, text, s)
}

// Exit returns the outcome that the exit code states.
func (p *textParser) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	res := execution.Result{SessionID: p.id}
	done := exit.Code == 0 && exit.Signal == "" && !exit.Stopped
	failed := p.judge(exit, p.said.Said())
	if !done && failed == nil {
		return res
	}
	p.close(s)
	p.end(&res, p.last, failed, s)
	return res
}
