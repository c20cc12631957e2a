package claude

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

// silent are the lines that are known and make no event, by a member that only they have.
func silent(line []byte) bool {
	for _, mark := range [][]byte{[]byte(`"type"`), []byte(`\u`)} {
		if bytes.Contains(line, mark) {
			return true
		}
	}
	return len(bytes.TrimSpace(line)) == 0
}

// FuzzParser: no input panics, none makes more events than its size allows, and a line that makes no event is either
// counted as unknown or one that the parser knows.
func FuzzParser(f *testing.F) {
	for _, pattern := range []string{"testdata/golden/*.jsonl", "testdata/wire/*.jsonl"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Add([]byte(`{"type":"stream_event","event":{"type":"content_block_delta","index":4095,"delta":{"type":"text_delta","text":"\ud800"}}}`))
	f.Add([]byte(`{"type":"result","subtype":"success","modelUsage":{"m":{"inputTokens":1e99}}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		req := request()
		req.Run.Interactive = true
		p := newParser(req).(*parser)
		s := cliagent.NewSink(true)
		var asked []execution.QuestionID
		for line := range bytes.Lines(input) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			before := bytes.Clone(line)
			p.Line(process.Stdout, line, s)
			if !bytes.Equal(before, line) {
				t.Fatal("the parser changed its line")
			}
			events := s.Take()
			// A line ends what was open and reports each of its parts in a few events.
			if most := 64 + len(line) + 4*streamjson.MaxBlocks; len(events) > most {
				t.Fatalf("%d bytes made %d events", len(line), len(events))
			}
			if len(events) == 0 && !silent(line) {
				t.Fatalf("the line %q left no trace", line)
			}
			for _, e := range events {
				switch b := e.Body.(type) {
				case execution.ApprovalRequired:
					asked = append(asked, b.ID)
				case execution.InputRequired:
					asked = append(asked, b.ID)
				}
			}
		}
		for _, id := range asked {
			_ = p.Command(execution.Answer{ID: id, Decision: execution.Decision{Approve: true, Text: "x"}}, s)
		}
		_ = p.Command(execution.Say{ID: "1", Text: "x"}, s)
		_ = p.Command(execution.Interrupt{}, s)
		_ = p.Command(execution.EndInput{}, s)
		for _, w := range s.TakeWrites() {
			if bytes.Count(w, []byte("\n")) != 1 {
				t.Fatalf("wrote %q, want one line", w)
			}
		}
		p.Exit(process.Exit{}, s)
	})
}

func FuzzHooks(f *testing.F) { adaptertest.FuzzHooks(f, Adapter{}) }

func FuzzPlugins(f *testing.F) { adaptertest.FuzzPlugins(f, Adapter{}) }

func FuzzModels(f *testing.F) { adaptertest.FuzzModels(f, Adapter{}) }
