package cliagent

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// noisyParser knows one line that says nothing.
type noisyParser struct{ lineParser }

func (noisyParser) Line(src process.Stream, line []byte, s *Sink) { s.Unknown(src, line) }

func (noisyParser) Noise(line string) bool { return strings.HasPrefix(line, "256-color") }

func TestComplaint(t *testing.T) {
	t.Parallel()
	const tail = "256-color support not detected\n\x1b[31mError: no key\x1b[0m\n    at main (file.js:1:2)\nError: no key\nset a key\nset a key\n"
	if got := complaint(tail, &noisyParser{}); got != "Error: no key\nset a key\n" {
		t.Errorf("%q", got)
	}
	if got := beyond(complaint(tail, &noisyParser{}), "no key"); got != "set a key\n" {
		t.Errorf("%q", got)
	}
	if got := beyond("Error when talking to the API: {\"message\":\"no such field\"}\nset a key\n", "no such field"); got != "set a key\n" {
		t.Errorf("%q", got)
	}
	if got := beyond("", "x"); got != "" {
		t.Errorf("%q", got)
	}
}

// TestComplaintsAreUnderstood: a failure shows what standard error says, so its lines are not "not understood"; those of the
// other stream are, and colours reach no message.
func TestComplaintsAreUnderstood(t *testing.T) {
	t.Parallel()
	_, res := Replay(&noisyParser{}, []byte("no idea\n"), []byte("\x1b[31mno key\x1b[0m\n"), process.Exit{Code: 1, StderrTail: "\x1b[31mno key\x1b[0m\n"}, false)
	if res.UnknownLines != 1 || res.Error.Stderr != "no key\n" {
		t.Errorf("%d unknown, %q", res.UnknownLines, res.Error.Stderr)
	}
	p := &noisyParser{lineParser{res: execution.Result{Error: execution.NewResultError(execution.CodeAuth, "no key")}}}
	if _, res = Replay(p, nil, []byte("Error: no key\n"), process.Exit{Code: 1, StderrTail: "Error: no key\n"}, false); res.Error.Stderr != "" {
		t.Errorf("the message is repeated: %q", res.Error.Stderr)
	}
}

// TestSilentCrash: a program that ends without a word leaves at least a hint.
func TestSilentCrash(t *testing.T) {
	t.Parallel()
	_, res := Replay(&lineParser{}, nil, nil, process.Exit{Code: 1}, false)
	if hint, _ := res.Error.Metadata["hint"].(string); !strings.Contains(hint, "drawbar doctor") {
		t.Errorf("%+v", res.Error)
	}
}
