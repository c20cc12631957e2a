package cliagent

import "strings"

// StreamAssembler puts fragmented output together (agent-mux specification, section 6). In line mode every line is a
// unit of its own; in block mode lines are gathered until the terminator accepts one. The zero value is in line mode. It is not
// safe for concurrent use: a run has its own.
type StreamAssembler struct {
	terminator func(line, accumulated string) bool
	buf        strings.Builder
	lines      int
}

// Feed takes one line. In line mode it returns the line; in block mode ok is false until the block is complete, and then
// the lines come joined with newlines.
func (a *StreamAssembler) Feed(line string) (unit string, ok bool) {
	if a.terminator == nil {
		return line, true
	}
	if a.lines > 0 {
		a.buf.WriteByte('\n')
	}
	a.buf.WriteString(line)
	a.lines++
	if !a.terminator(line, a.buf.String()) {
		return "", false
	}
	return a.EndBlock()
}

// StartBlock begins block mode. A block that is still open goes on with the new terminator.
func (a *StreamAssembler) StartBlock(terminator func(line, accumulated string) bool) {
	a.terminator = terminator
}

// EndBlock ends block mode and returns what was gathered; ok is false in line mode.
func (a *StreamAssembler) EndBlock() (unit string, ok bool) {
	if a.terminator == nil {
		return "", false
	}
	unit = a.buf.String()
	a.Reset()
	return unit, true
}

// InBlock reports whether block mode is on.
func (a *StreamAssembler) InBlock() bool { return a.terminator != nil }

// Reset goes back to line mode and drops what was gathered.
func (a *StreamAssembler) Reset() {
	a.terminator, a.lines = nil, 0
	a.buf.Reset()
}

// BufferedLineCount is the number of lines gathered, 0 in line mode.
func (a *StreamAssembler) BufferedLineCount() int { return a.lines }

// Peek is what was gathered so far.
func (a *StreamAssembler) Peek() string { return a.buf.String() }
