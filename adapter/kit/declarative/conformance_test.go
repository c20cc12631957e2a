package declarative

import (
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
)

const textEntry = `{"command": ["fake-agent", "text"]}`

const linesEntry = `{
	"command": ["fake-agent", "lines", "{options}", "--prompt", "{prompt}"], "prompt": "argument",
	"output": {"format": "json-lines", "events": [
		{"event": "session", "when": {"kind": "begin"}, "session": "session.id", "model": "session.model"},
		{"event": "step", "when": {"kind": "model"}},
		{"event": "usage", "when": {"kind": "tokens"}, "usage": "usage"},
		{"event": "text", "when": {"kind": "piece"}, "text": "text"},
		{"event": "thinking", "when": {"kind": "thought"}, "text": "text"},
		{"event": "tool-start", "when": {"kind": "call"}, "id": "tool.id", "name": "tool.name", "input": "tool.input"},
		{"event": "tool-end", "when": {"kind": "done"}, "id": "tool.id", "output": "tool.output"},
		{"event": "error", "when": {"kind": "problem"}, "error": "text"},
		{"event": "result", "when": {"kind": "end"}, "text": "text"},
	]},
	"options": {
		"model": ["--model", "{model}"], "effort": ["--effort", "{effort}"], "efforts": {"low": "little", "high": "much"},
		"approval": {"yolo": ["--yes"]}, "mcp": ["--mcp", "{mcp_file}"], "mcpTransports": ["stdio", "streamable-http"],
		"resume": ["--resume", "{session}"], "fork": ["--fork", "{session}"], "ephemeral": ["--ephemeral"],
	},
	"capabilities": {"cost": true},
	"errors": [{"code": "SESSION_NOT_FOUND", "phrases": ["unknown session"]}],
}`

const streamEntry = `{
	"command": ["fake-agent", "stream"], "output": {"format": "stream-json"},
	"options": {"approval": {"yolo": ["--yolo"], "deny": []}, "mcp": ["--mcp-config={mcp_file}"], "mcpTransports": ["stdio", "streamable-http"]},
}`

const acpEntry = `{"command": ["fake-agent", "acp", "{options}"], "output": {"format": "acp"}}`

// described returns the descriptor of an entry.
func describe(t testing.TB, name, entry string) adapter.Descriptor {
	t.Helper()
	e, faults := Read([]byte(entry))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return Describe(name, e)
}

// TestConformance runs the suite with an agent in each output format.
func TestConformance(t *testing.T) {
	silent := map[adaptertest.Scenario]string{
		adaptertest.Clarify: "it asks nobody", adaptertest.Approval: "it asks nobody", adaptertest.Tool: "it calls no tools",
		adaptertest.Malformed: "text has no format", adaptertest.Spend: "it states no tokens",
	}
	mute := map[adaptertest.Scenario]string{adaptertest.Clarify: "it asks nobody", adaptertest.Approval: "it asks nobody"}
	for name, c := range map[string]struct {
		entry  string
		cannot map[adaptertest.Scenario]string
	}{
		"text": {textEntry, silent}, "json-lines": {linesEntry, mute}, "stream-json": {streamEntry, mute},
		"acp": {acpEntry, map[adaptertest.Scenario]string{adaptertest.Clarify: "the protocol has no questions but permissions"}},
	} {
		t.Run(name, func(t *testing.T) {
			adaptertest.Test(t, adaptertest.StandIn{
				Command: "fake-agent", Descriptor: func() adapter.Descriptor { return describe(t, "mine", c.entry) },
				ScenarioVar: fakeVar, StateVar: stateVar, Others: []string{"claude", "codex"}, Cannot: c.cannot,
			}.Subject(t))
		})
	}
}
