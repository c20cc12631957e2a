package acpagent_test

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

func newRequest(text string) execution.Request {
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "drawbar", TurnID: "t",
		Message: execution.Message{Text: execution.Prompt(text)}, Run: execution.RunOptions{Cwd: "/work-dir", Interactive: true}}
}

// TestGoldens replays conversations with real agents.
func TestGoldens(t *testing.T) {
	for _, file := range clitest.Glob(t, "testdata/wire/*.jsonl", 20) {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			transcript := clitest.Read(t, file)
			req := newRequest("hi")
			asked(t, &req, transcript)
			events, res, log := acptest.Replay(t, acpagent.Spec{Name: "acp"}, req, transcript)
			clitest.Compare(t, strings.TrimSuffix(file, ".jsonl")+".events", []byte(log))
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

// TestDamaged replays the conversations with one line of the agent lost or twice, and cut off.
func TestDamaged(t *testing.T) {
	conversations.TestDamaged(t, clitest.Damage{Success: clitest.Has(`"stopReason":"end_turn"`), Usage: clitest.Has(`"usage"`), Text: clitest.Has(`"text"`)})
}

// TestDifferentialConversations holds what is made of mutated conversations.
func TestDifferentialConversations(t *testing.T) { conversations.TestDifferential(t) }

// log is what a conversation became, with what the parser wrote.
func log(t *testing.T, r clitest.Recording) []byte {
	req := newRequest("hi")
	asked(t, &req, clitest.Read(t, r.Base+".jsonl"))
	_, _, log := acptest.Replay(t, acpagent.Spec{Name: "acp"}, req, r.Stdout)
	return []byte(log)
}

var conversations = clitest.Goldens{
	Pattern: "testdata/wire/*.jsonl", Least: 20, Span: acptest.Said, Log: log,
	Replay: func(t *testing.T, r clitest.Recording) ([]execution.Event, execution.Result) {
		req := newRequest("hi")
		asked(t, &req, clitest.Read(t, r.Base+".jsonl"))
		events, res, _ := acptest.Replay(t, acpagent.Spec{Name: "acp"}, req, r.Stdout)
		for _, e := range events { // the price is package agent's to add up
			if c, ok := e.Body.(execution.CostEvent); ok {
				usd := *c.Cost.TotalUSD
				if res.Cost != nil {
					usd += *res.Cost.TotalUSD
				}
				res.Cost = &execution.Cost{TotalUSD: &usd}
			}
		}
		return events, res
	},
}

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
