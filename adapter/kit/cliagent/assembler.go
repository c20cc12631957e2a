package cliagent

import "strings"

// StreamAssembler joins fragmented output (agent-mux specification, section 6). In line mode every line is complete;
// in block mode lines are collected until the terminator accepts one. The zero value is in line mode. It is not safe
// for concurrent use: each run has its own.
type StreamAssembler struct {
	terminator func(line, accumulated string) bool
	buf        strings.Builder
	lines      int
}

// Feed takes a line. In line mode it returns the line; in block mode ok is false until the block is complete, and
// then all its lines are returned, joined with newlines.
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

// StartBlock enters block mode. An open block continues with the new terminator.
func (a *StreamAssembler) StartBlock(terminator func(line, accumulated string) bool) {
	a.terminator = terminator
}

// EndBlock leaves block mode and returns the collected text; ok is false in line mode.
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

// Reset returns to line mode and drops the collected lines.
func (a *StreamAssembler) Reset() {
	a.terminator, a.lines = nil, 0
	a.buf.Reset()
}

// BufferedLineCount returns the number of collected lines, 0 in line mode.
func (a *StreamAssembler) BufferedLineCount() int { return a.lines }

// Peek returns the text collected so far.
func (a *StreamAssembler) Peek() string { return a.buf.String() }
