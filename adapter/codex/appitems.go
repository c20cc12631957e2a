package codex

import (
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// The members of an item of codex app-server.
const (
	aiType = iota
	aiID
	aiText
	aiStatus
	aiCommand
	aiCwd
	aiProcess
	aiOutput
	aiExit
	aiDuration
	aiChanges
	aiServer
	aiTool
	aiArguments
	aiResult
	aiError
	aiQuery
	aiAction
	aiPath
	aiPrompt
	aiReceivers
	aiAgents
	aiSummary
	aiContent
	aiContentItems
	aiSavedPath
	aiRevised
	aiKind
	aiAgentThread
	aiAgentPath
	aiKeyCount
)

var appItemKeys = jsonscan.NewKeySet("type", "id", "text", "status", "command", "cwd", "processId", "aggregatedOutput", "exitCode",
	"durationMs", "changes", "server", "tool", "arguments", "result", "error", "query", "action", "path", "prompt", "receiverThreadIds",
	"agentsStates", "summary", "content", "contentItems", "savedPath", "revisedPrompt", "kind", "agentThreadId", "agentPath")

// item reads the start or the end of an item. False means that it is not known.
func (p *appParser) item(s *cliagent.Sink, completed bool) bool {
	var v [aiKeyCount]jsonscan.Value
	if !p.v[appItem].Fields(v[:], appItemKeys) || v[aiID].Kind() != jsonscan.String {
		return false
	}
	c := p.of(p.v[appThread])
	id, o := p.names.Str(v[aiID]), p.from(c, s)
	if !p.running {
		delete(c.flows, id) // of a turn that is over, or of a sub-agent that outlives it
		return true
	}
	typ, _ := v[aiType].Plain()
	switch string(typ) {
	case "userMessage":
		c.close(o) // a message that steers cuts off what was being said
		return true
	case "hookPrompt", "functionCallOutput", "enteredReviewMode", "exitedReviewMode":
		return true
	case "contextCompaction":
		if completed {
			o.emit(execution.ContextCompacted{})
		}
		return true
	}
	p.ensureStep(c, s)
	switch string(typ) {
	case "agentMessage", "plan":
		p.speech(c, id, flowText, v[aiText].Str(), completed, o)
	case "reasoning":
		p.speech(c, id, flowThinking, thoughts(v[aiSummary], v[aiContent]), completed, o)
	case "commandExecution":
		p.commandItem(c, id, &v, completed, o)
	case "fileChange":
		status := p.names.Str(v[aiStatus])
		if p.starts(c, id, completed, o) {
			o.begin(id, toolPatch, object(member{"changes", v[aiChanges]}))
		}
		if completed {
			o.patch(id, status, v[aiChanges])
		}
	case "mcpToolCall":
		server, tool := p.names.Str(v[aiServer]), p.names.Str(v[aiTool])
		if p.starts(c, id, completed, o) {
			o.emit(execution.MCPToolCallStart{ToolCallID: id, Server: server, ToolName: tool, Input: raw(v[aiArguments])})
		}
		if completed {
			o.mcpEnd(id, server, tool, p.names.Str(v[aiStatus]), v[aiResult], v[aiError])
		}
	case "collabAgentToolCall":
		call := collab{id: id, tool: p.names.Str(v[aiTool]), status: p.names.Str(v[aiStatus]), prompt: v[aiPrompt], receivers: v[aiReceivers], agents: v[aiAgents]}
		if p.starts(c, id, completed, o) {
			call.begin(o)
			if call.spawns() && !completed && len(p.spawns) < maxFlows {
				p.spawns[id] = true
			}
		}
		if completed {
			delete(p.spawns, id)
			p.agents.end(call, o)
		}
	case "subAgentActivity":
		if completed {
			p.activity(id, &v, o)
		}
	case "dynamicToolCall":
		p.simple(c, id, p.names.Str(v[aiTool]), raw(v[aiArguments]), v[aiContentItems], &v, completed, o)
	case "webSearch":
		p.simple(c, id, toolSearch, object(member{"query", v[aiQuery]}, member{"action", v[aiAction]}), v[aiAction], &v, completed, o)
	case "sleep":
		p.simple(c, id, toolSleep, object(member{"durationMs", v[aiDuration]}), jsonscan.Value{}, &v, completed, o)
	case "imageView":
		p.simple(c, id, toolImage, object(member{"path", v[aiPath]}), v[aiPath], &v, completed, o)
		if path := v[aiPath].Str(); completed && path != "" {
			o.emit(execution.FileRead{Path: path, ToolCallID: id})
		}
	case "imageGeneration":
		if v[aiStatus].IsStr("failed") {
			v[aiError] = v[aiStatus]
		} else {
			v[aiStatus] = jsonscan.Value{} // the words of the model API
		}
		p.simple(c, id, toolGenerate, object(member{"prompt", v[aiRevised]}), v[aiSavedPath], &v, completed, o)
		if path := v[aiSavedPath].Str(); completed && path != "" {
			t := cliagent.MediaType(execution.Attachment{FilePath: path})
			if t == "" {
				t = "image/png"
			}
			o.emit(execution.ImageOutput{MimeType: t, FilePath: path})
		}
	default:
		return false
	}
	return true
}

// speech is a text or a thought, which may have been streamed.
func (p *appParser) speech(c *conversation, id string, kind flowKind, whole string, completed bool, o source) {
	f := c.flows[id]
	if f == nil {
		f = c.start(id, kind, o)
	}
	if completed {
		c.finish(id, whole, f, o)
	}
}

// thoughts joins what reasoning consists of.
func thoughts(summary, content jsonscan.Value) string {
	var b strings.Builder
	for _, list := range []jsonscan.Value{summary, content} {
		for _, t := range list.Array {
			b.WriteString(t.Str())
		}
	}
	return b.String()
}

// starts reports whether a tool call starts here, and notes its end.
func (p *appParser) starts(c *conversation, id string, completed bool, o source) bool {
	known := c.flows[id] != nil
	if !known {
		c.start(id, flowTool, o)
	}
	if completed {
		delete(c.flows, id)
	}
	return !known
}

// simple is a tool call without events of its own besides those of a tool call.
func (p *appParser) simple(c *conversation, id, tool string, input []byte, output jsonscan.Value, v *[aiKeyCount]jsonscan.Value, completed bool, o source) {
	if p.starts(c, id, completed, o) {
		o.begin(id, tool, input)
	}
	if completed {
		o.end(id, tool, p.names.Str(v[aiStatus]), v[aiError].Get("message").Str(), raw(output), count(v[aiDuration]))
	}
}

func (p *appParser) commandItem(c *conversation, id string, v *[aiKeyCount]jsonscan.Value, completed bool, o source) {
	f := c.flows[id]
	if f == nil {
		f = c.start(id, flowCommand, o)
		f.command, f.cwd = v[aiCommand].Str(), v[aiCwd].Str()
		o.begin(id, toolShell, object(member{"command", v[aiCommand]}, member{"cwd", v[aiCwd]}))
	}
	status := p.names.Str(v[aiStatus])
	// A command that waits for a permission has no process yet.
	if v[aiProcess].Kind() == jsonscan.String || completed && status != "declined" {
		f.run(id, o)
	}
	if completed {
		delete(c.flows, id)
		rest, whole := f.rest(v[aiOutput])
		if !whole {
			rest = ""
		}
		o.command(id, status, rest, whole, v[aiOutput], v[aiExit], count(v[aiDuration]))
	}
}

// activity is what became of a sub-agent, in versions that report it apart from tool calls.
func (p *appParser) activity(id string, v *[aiKeyCount]jsonscan.Value, o source) {
	thread, path := v[aiAgentThread].Str(), v[aiAgentPath].Str()
	switch {
	case thread == "":
	case v[aiKind].IsStr("started") && p.agents.calls[thread] == "":
		p.agents.spawned(thread, id)
		p.agents.names[thread] = path
		o.emit(execution.SubagentSpawn{SubagentID: id, AgentName: path})
	case v[aiKind].IsStr("completed"):
		p.agents.result(thread, "", o)
	case v[aiKind].IsStr("interrupted"):
		p.agents.failed(thread, "the sub-agent was interrupted", o)
	}
}

// plan is a new state of the agent's plan, which is no item: each makes a tool call that is done at once.
func (p *appParser) plan(s *cliagent.Sink) bool {
	params := p.v[appParams]
	steps := params.Get("plan")
	if steps.Kind() != jsonscan.Array {
		return false
	}
	c := p.of(p.v[appThread])
	if !p.running {
		return true
	}
	p.ensureStep(c, s)
	o := p.from(c, s)
	c.close(o)
	p.plans++
	id := p.names.Str(p.v[appTurnID]) + "/plan/" + strconv.Itoa(p.plans)
	o.begin(id, toolPlan, object(member{"explanation", params.Get("explanation")}, member{"plan", steps}))
	o.end(id, toolPlan, "", "", raw(steps), 0)
	return true
}
