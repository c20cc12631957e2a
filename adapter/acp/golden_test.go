package acp

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

// TestGoldens replays conversations with real agents, each as its row reads them.
func TestGoldens(t *testing.T) {
	t.Parallel()
	rows := map[string]acpagent.Agent{}
	for _, row := range named() {
		rows[row().About.Name] = row()
	}
	for _, file := range clitest.Glob(t, "testdata/wire/*.jsonl", 20) {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent, _, _ := strings.Cut(name, "-")
			row, ok := rows[agent]
			if !ok {
				t.Fatalf("no row for %s", agent)
			}
			transcript := clitest.Read(t, file)
			events, res, log := acptest.Replay(t, row.Spec(), requested(t, row.Spec(), transcript), transcript)
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
