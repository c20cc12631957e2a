package gemini

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

func seeds(f *testing.F, pattern string) {
	f.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds %s (%v)", pattern, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// FuzzOneShot: no input panics, lines are left alone, events are bounded by the input and their order holds: nothing lies outside the
// turn, and a call begins and ends once.
func FuzzOneShot(f *testing.F) {
	seeds(f, "testdata/oneshot/*.jsonl")
	f.Add([]byte(lineDone + "\n" + lineInit + "\n" + lineInit + "\n" + lineDone + "\n" + lineText))
	f.Add([]byte(lineInit + "\n" + lineShell + "\n" + lineShell + "\n" + `{"type":"result","status":"error","stats":{"models":{"a":{"total_tokens":1e99}}}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		p, s := newOneShot(newRequest()), cliagent.NewSink(true)
		open, calls := false, map[string]int{}
		check := func(events []execution.Event) {
			for _, e := range events {
				switch b := e.Body.(type) {
				case execution.TurnStart:
					open = true
				case execution.TurnEnd:
					if !open {
						t.Fatal("a turn ends that never began")
					}
					open = false
				case execution.ToolCallReady:
					if calls[b.ToolCallID]++; !open {
						t.Fatal("a call outside the turn")
					}
				case execution.ToolResultEvent:
					if calls[b.ToolCallID]--; calls[b.ToolCallID] < 0 {
						t.Fatal("a call ends that is not open")
					}
				case execution.TextDelta:
					if !open {
						t.Fatal("text outside the turn")
					}
				case execution.TokenUsage:
					if b.InputTokens < 0 || b.OutputTokens < 0 || b.CachedTokens < 0 || b.ThinkingTokens < 0 {
						t.Fatalf("tokens decrease: %+v", b)
					}
				}
			}
		}
		for line := range bytes.Lines(input) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			before := bytes.Clone(line)
			p.Line(process.Stdout, line, s)
			if !bytes.Equal(before, line) {
				t.Fatal("the parser changed its line")
			}
			events := s.Take()
			if most := 64 + len(line); len(events) > most {
				t.Fatalf("%d bytes made %d events", len(line), len(events))
			}
			check(events)
		}
		p.Line(process.Stderr, input, s)
		p.Exit(process.Exit{Code: 1}, s)
		if len(s.TakeWrites()) != 0 {
			t.Fatal("nobody reads what is written")
		}
	})
}

// FuzzStderr: no input panics, and what is kept of it is bounded.
func FuzzStderr(f *testing.F) {
	seeds(f, "testdata/oneshot/*.stderr")
	f.Add([]byte("Attempt 1 failed: x\ny\nz. Retrying after 99999999999999999999ms...\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, begun := range []bool{false, true} {
			var e stderr
			s := cliagent.NewSink(false)
			if begun {
				e.begun(s)
			}
			for line := range bytes.Lines(input) {
				e.line(bytes.TrimSuffix(line, []byte("\n")), s)
			}
			e.begun(s)
			for _, ev := range s.Take() {
				if r, ok := ev.Body.(execution.Retry); ok && (r.Attempt < 0 || r.DelayMs < 0 || r.Code == "") {
					t.Fatalf("%+v", r)
				}
			}
			if e.said.Len() > 2*maxSaid {
				t.Fatalf("%d bytes are kept", e.said.Len())
			}
			for _, code := range []int{0, 1, 41, 42, 53, 55, 144} {
				if failed := e.failure(code); failed != nil && (failed.Code == "" || failed.Message == "") {
					t.Fatalf("%+v", failed)
				}
			}
		}
	})
}

func FuzzHooks(f *testing.F) { adaptertest.FuzzHooks(f, Adapter{}) }

func FuzzPlugins(f *testing.F) { adaptertest.FuzzPlugins(f, Adapter{}) }
