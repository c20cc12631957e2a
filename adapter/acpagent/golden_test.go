package acpagent_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/acpagent"
	"github.com/drawbar/drawbar/adapter/acpagent/acptest"
	"github.com/drawbar/drawbar/execution"
)

var updateGoldens = flag.Bool("update", false, "rewrite the goldens")

func newRequest(text string) execution.Request {
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "drawbar", TurnID: "t",
		Message: execution.Message{Text: execution.Prompt(text)}, Run: execution.RunOptions{Cwd: "/work-dir", Interactive: true}}
}

// TestGoldens replays conversations with real agents.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.jsonl")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d transcripts (%v)", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transcript, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			req := newRequest("hi")
			asked(t, &req, transcript)
			events, res, log := acptest.Replay(t, acpagent.Spec{Name: "acp"}, req, transcript)
			compareGolden(t, strings.TrimSuffix(file, ".jsonl")+".events", log)
			if res.UnknownLines != 0 {
				t.Errorf("%d lines are unknown", res.UnknownLines)
			}
			if !unfinished[name] {
				acptest.CheckOrder(t, events)
			}
		})
	}
}

// unfinished are conversations whose recording ends within a turn.
var unfinished = map[string]bool{"claude-agent-acp-0.100.0_e401": true}

// asked sets what the recorded client asked for: the session it loads, and its MCP servers.
func asked(t *testing.T, req *execution.Request, transcript []byte) {
	t.Helper()
	for line := range bytes.Lines(transcript) {
		var m struct {
			Dir string
			Msg struct {
				Method string
				Params struct {
					SessionID  string
					MCPServers []struct {
						Name, Command string
						Args          []string
					} `json:"mcpServers"`
				}
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		if m.Dir != "c2a" || m.Msg.Method != "session/load" && m.Msg.Method != "session/new" {
			continue
		}
		req.Run.SessionID = m.Msg.Params.SessionID
		for _, s := range m.Msg.Params.MCPServers {
			req.Run.MCPServers = append(req.Run.MCPServers, execution.MCPServer{Name: s.Name, Transport: execution.MCPStdio, Command: s.Command, Args: s.Args})
		}
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *updateGoldens {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test -update makes it", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
