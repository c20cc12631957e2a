package qwen

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// FuzzParser: no input panics, lines are left alone, events are bounded by the input and their order holds: a turn ends once and a
// call ends after it began. A program that falls silent leaves its turn open.
func FuzzParser(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds (%v)", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"type":"stream_event","event":{"type":"content_block_delta","index":4096,"delta":{"type":"text_delta","text":"\ud800"}}}`))
	f.Add([]byte(`{"type":"stream_event","event":{"type":"content_block_start","index":-1,"content_block":{"type":"text"}}}`))
	f.Add([]byte(`{"type":"result","subtype":"success","usage":{"input_tokens":1e99},"stats":{"models":{"m":{"tokens":{"prompt":-1}}}}}`))
	f.Add([]byte(`{"type":"user","message":{"content":[{"type":"tool_result"}]}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		p, s := newParser(request()), cliagent.NewSink(true)
		turns, calls := 0, map[string]int{}
		check := func(events []execution.Event) {
			for _, e := range events {
				switch b := e.Body.(type) {
				case execution.TurnStart:
					turns++
				case execution.TurnEnd:
					if turns--; turns < 0 {
						t.Fatal("a turn ends that never began")
					}
				case execution.ToolResultEvent: // that of a call whose beginning was lost counts, too
					if calls[b.ToolCallID]++; b.ToolCallID != "" && calls[b.ToolCallID] > 1 {
						t.Fatal("a call ends twice")
					}
				case execution.TokenUsage:
					if b.InputTokens < 0 || b.OutputTokens < 0 {
						t.Fatalf("negative usage %+v", b)
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
			if most := 64 + len(line) + 4*streamjson.MaxBlocks; len(events) > most {
				t.Fatalf("%d bytes made %d events", len(line), len(events))
			}
			check(events)
		}
		p.Exit(process.Exit{}, s)
		check(s.Take())
	})
}

func FuzzHooks(f *testing.F) { adaptertest.FuzzHooks(f, Adapter{}) }

func FuzzPlugins(f *testing.F) { adaptertest.FuzzPlugins(f, Adapter{}) }
