package qwen

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
)

// replayWire replays a recorded conversation.
func replayWire(t *testing.T, name string) ([]execution.Event, execution.Result, string) {
	t.Helper()
	return replayTranscript(t, name, clitest.Read(t, filepath.Join("testdata/wire", name+".jsonl")))
}

func replayTranscript(t *testing.T, name string, transcript []byte) ([]execution.Event, execution.Result, string) {
	t.Helper()
	req := request()
	req.Run.Interactive, req.Run.Cwd = true, "/work"
	if name == "mcp" {
		req.Run.MCPServers = []execution.MCPServer{{Name: "a", Transport: execution.MCPStdio, Command: "other"}, {Name: "a__b", Transport: execution.MCPStdio, Command: "echo-server"}}
	}
	return acptest.Replay(t, protocol(), req, transcript)
}

// TestDifferentialConversations holds what is made of mutated conversations.
func TestDifferentialConversations(t *testing.T) {
	clitest.Goldens{
		Pattern: "testdata/wire/*.jsonl", Least: 9, Span: acptest.Said,
		Log: func(t *testing.T, r clitest.Recording) []byte {
			_, _, log := replayTranscript(t, r.Name, r.Stdout)
			return []byte(log)
		},
	}.TestDifferential(t)
}

// TestConversations replays conversations with Qwen Code 0.24.4 over the Agent Client Protocol.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.jsonl")
	if err != nil || len(files) < 9 {
		t.Fatalf("found %d transcripts (%v)", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, res, log := replayWire(t, name)
			clitest.Compare(t, strings.TrimSuffix(file, ".jsonl")+".events", []byte(log))
			if res.UnknownLines != 0 {
				t.Errorf("%d lines are unknown", res.UnknownLines)
			}
			acptest.CheckOrder(t, events)
		})
	}
}
