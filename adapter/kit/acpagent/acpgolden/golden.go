// Package acpgolden replays recorded conversations with agents that speak the Agent Client Protocol, for their adapters' tests.
// Simulated agents are in package acptest.
package acpgolden

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
)

// Test replays conversations with real agents, testdata/wire/AGENT-*.jsonl, and compares the events with goldens. At least
// least must be there.
func Test(t *testing.T, agents map[string]acpagent.Spec, least int) {
	t.Helper()
	for _, file := range clitest.Glob(t, "testdata/wire/*.jsonl", least) {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, ok := specOf(agents, name)
			if !ok {
				t.Fatalf("no agent has recorded %s", name)
			}
			transcript := clitest.Read(t, file)
			events, res, log := acptest.Replay(t, spec, requested(t, spec, transcript), transcript)
			clitest.Compare(t, strings.TrimSuffix(file, ".jsonl")+".events", []byte(log))
			if res.UnknownLines != 0 {
				t.Errorf("%d lines are unknown", res.UnknownLines)
			}
			if !strings.HasSuffix(name, "_cancel") && len(events) > 0 { // goose's ends within the cancelled turn
				acptest.CheckOrder(t, events)
			}
		})
	}
}

// specOf returns the spec of the agent whose name, the longest, begins that of a file.
func specOf(agents map[string]acpagent.Spec, file string) (spec acpagent.Spec, ok bool) {
	longest := ""
	for name, s := range agents {
		if strings.HasPrefix(file, name+"-") && len(name) > len(longest) {
			longest, spec, ok = name, s, true
		}
	}
	return spec, ok
}

// requested is what the recorded client asked for: a session, its servers, its model and its mode.
func requested(t *testing.T, spec acpagent.Spec, transcript []byte) execution.Request {
	t.Helper()
	req := execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "drawbar", TurnID: "t",
		Message: execution.Message{Text: "hi"}, Run: execution.RunOptions{Cwd: "/work-dir", Interactive: true}}
	for line := range bytes.Lines(transcript) {
		var m struct {
			Dir string
			Msg struct {
				Method string
				Params struct {
					SessionID, ModelID, ConfigID, Value string
					Servers                             []struct{ Name, Command string } `json:"mcpServers"`
				}
				Result struct {
					Modes struct{ CurrentModeID string }
				}
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		for mode, id := range spec.Modes { // the mode that the agent was started in
			if id == m.Msg.Result.Modes.CurrentModeID {
				req.Run.ApprovalMode = mode
			}
		}
		switch p := m.Msg.Params; m.Msg.Method {
		case "session/load":
			req.Run.SessionID = p.SessionID
		case "session/set_model":
			req.Run.Model = p.ModelID
		case "session/set_config_option":
			if p.ConfigID == "model" {
				req.Run.Model = p.Value
			}
		case "session/new":
			for _, s := range p.Servers {
				req.Run.MCPServers = append(req.Run.MCPServers, execution.MCPServer{Name: s.Name, Transport: execution.MCPStdio, Command: s.Command})
			}
		}
	}
	return req
}
