package acpagent_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// FuzzConversation feeds an agent's lines to a parser: whatever they are, the lines stay as they are, what is written is JSON, events
// stay within their turns, and no more of them are made than the lines allow.
func FuzzConversation(f *testing.F) {
	for _, file := range transcripts(f) {
		transcript, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var lines [][]byte
		for line := range bytes.Lines(transcript) {
			var m struct {
				Dir string
				Msg json.RawMessage
			}
			if err := json.Unmarshal(line, &m); err != nil {
				f.Fatal(err)
			}
			if m.Dir == "a2c" {
				lines = append(lines, m.Msg)
			}
		}
		f.Add(bytes.Join(lines, []byte("\n")))
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}` + "\n" + `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}` + "\n" + `{"jsonrpc":"2.0","id":3,"result":{}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 1<<16 {
			return
		}
		req := newRequest("hi")
		req.Run.MCPServers = []execution.MCPServer{{Name: "echo", Transport: execution.MCPStdio, Command: "x"}}
		s := cliagent.NewSink(false)
		p := acpagent.Spec{Name: "agent"}.NewParser(req)
		p.Open(s)
		open := false
		check := func(most int) {
			events := s.Take()
			if len(events) > most {
				t.Fatalf("%d events, at most %d are possible", len(events), most)
			}
			for _, e := range events {
				switch b := e.Body.(type) {
				case execution.TurnStart:
					if open {
						t.Fatal("a turn begins within a turn")
					}
					open = true
				case execution.TurnEnd:
					if !open {
						t.Fatal("a turn ends that never began")
					}
					open = false
				case execution.ApprovalRequired:
					if err := p.Command(execution.Answer{ID: b.ID, Decision: execution.Decision{Approve: len(b.Detail)%2 == 0}}, s); err != nil {
						t.Fatalf("answer: %v", err)
					}
				}
				if _, err := json.Marshal(e.Body); err != nil {
					t.Fatalf("%T is no JSON: %v", e.Body, err)
				}
			}
			for _, w := range s.TakeWrites() {
				if !json.Valid(w) || bytes.Count(w, []byte("\n")) != 1 {
					t.Fatalf("%q was written", w)
				}
			}
		}
		check(8)
		for line := range bytes.Lines(input) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			before := bytes.Clone(line)
			p.Line(process.Stdout, line, s)
			if !bytes.Equal(line, before) {
				t.Fatal("the parser changed its line")
			}
			check(4096 + len(line))
		}
		_ = p.Command(execution.Interrupt{}, s) // there may be nothing to interrupt
		check(4096)
		p.(cliagent.Alarmed).Alarm(s)
		check(8192)
		_ = p.Command(execution.EndInput{}, s)
		res := p.Exit(process.Exit{}, s)
		check(4096)
		if _, err := json.Marshal(res); err != nil {
			t.Fatalf("the result is no JSON: %v", err)
		}
	})
}
