package copilot

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// FuzzParser: no input panics, none makes more events than its size allows, a line that is not a JSON object is counted, and
// whatever comes, the run never succeeds unless its last line says so.
func FuzzParser(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"type":"assistant.message_delta","agentId":"\ud800","data":{"deltaContent":"x","messageId":7}}`))
	f.Add([]byte(`{"type":"tool.execution_complete","data":{"toolCallId":"a","success":true,"shellExecution":{"exitCode":1e99}}}`))
	f.Add([]byte(`{"type":"result","exitCode":0,"sessionId":{}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		p := newParser(request()).(*parser)
		s := cliagent.NewSink(true)
		said := false
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
			if len(events) == 0 && !json.Valid(line) && len(bytes.TrimSpace(line)) > 0 && line[0] != '{' {
				t.Fatalf("the line %q left no trace", line)
			}
			said = said || bytes.Contains(line, []byte("exitCode"))
		}
		_ = p.Command(execution.Say{ID: "1", Text: "x"}, s)
		_ = p.Command(execution.Interrupt{}, s)
		if res := p.Exit(process.Exit{}, s); res.Status == execution.StatusCompleted && !said {
			t.Fatalf("completed without a last line: %q", input)
		}
	})
}

// FuzzUsage: no usage file panics or counts below nothing.
func FuzzUsage(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*.usage.json")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"modelMetrics":{"m":{"usage":{"inputTokens":1,"cacheReadTokens":5}}}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		u := readUsage(input).total
		for _, n := range []int64{u.Input, u.Output, u.Cached, u.CacheWrite, u.Thinking, u.Total} {
			if n < 0 {
				t.Fatalf("%q counts %+v", input, u)
			}
		}
	})
}

// FuzzAuth: no login file panics, and none that is no JSON is taken for a login.
func FuzzAuth(f *testing.F) {
	f.Add([]byte("// comment\n{\"loggedInUsers\":[{\"host\":\"https://github.com\",\"login\":\"ann\"}]}"))
	f.Add([]byte(`{"copilotTokens":{"a":"gho_secret"}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		state := Adapter{}.DetectAuth(t.Context(), hostWith(nil, map[string]string{"config.json": string(input)}))
		if declared.UnmarshalJSONC(input, new(any)) != nil && (state.Status != "unknown" || state.Identity != "") {
			t.Fatalf("%q is %+v", input, state)
		}
	})
}

func FuzzHooks(f *testing.F) { adaptertest.FuzzHooks(f, Adapter{}) }

func FuzzPlugins(f *testing.F) { adaptertest.FuzzPlugins(f, Adapter{}) }
