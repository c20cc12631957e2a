package cliagent

import (
	"bytes"
	"strings"

	"github.com/drawbar/drawbar/transport/pty"
)

// Noisy is a parser that recognises lines of standard error that are unrelated to a failure.
type Noisy interface {
	Noise(line string) bool
}

// PlainLine returns a line of output without control sequences, which would colour or move a terminal.
func PlainLine(line []byte) []byte {
	if bytes.IndexByte(line, 0x1b) < 0 {
		return line
	}
	var strip pty.Stripper
	// The end of the line also ends a truncated sequence.
	return bytes.TrimSuffix(strip.Strip(nil, append(bytes.Clone(line), '\n')), []byte{'\n'})
}

// complaint returns the part of standard error that may explain a failure: without control sequences, stack traces,
// the parser's noise and repeated lines.
func complaint(tail string, p Parser) string {
	noisy, _ := p.(Noisy)
	var kept []string
	for line := range strings.Lines(tail) {
		line = strings.TrimRight(string(PlainLine([]byte(strings.TrimRight(line, "\r\n")))), " \t\r")
		trimmed := strings.TrimSpace(line)
		switch {
		case isFrame(line, trimmed), noisy != nil && noisy.Noise(trimmed), len(kept) > 0 && kept[len(kept)-1] == line:
		default:
			kept = append(kept, line)
		}
	}
	text := strings.TrimSpace(strings.Join(kept, "\n"))
	if text == "" {
		return ""
	}
	return validUTF8(text) + "\n"
}

// isFrame reports whether a line belongs to a stack trace of Node.js.
func isFrame(line, trimmed string) bool {
	return line != trimmed && strings.HasPrefix(trimmed, "at ") || strings.HasPrefix(trimmed, "node:internal/")
}

// shortest is the minimum length of a message that a line of standard error may extend.
const shortest = 8

// beyond returns what standard error contains besides the failure's message.
func beyond(stderr, message string) string {
	said := strings.Join(strings.Fields(message), " ")
	var rest []string
	for line := range strings.Lines(stderr) {
		text := strings.Join(strings.Fields(line), " ")
		if text == "" || strings.HasPrefix(text, "Node.js v") || strings.Contains(said, strings.TrimPrefix(strings.TrimPrefix(text, "Error: "), "error: ")) {
			continue
		}
		if len(said) >= shortest && strings.HasPrefix(text, "Error") && strings.Contains(text, said) {
			continue
		}
		rest = append(rest, strings.TrimRight(line, "\n"))
	}
	if len(rest) == 0 {
		return ""
	}
	return strings.Join(rest, "\n") + "\n"
}
