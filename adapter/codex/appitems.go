package codex

import (
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// appItemForm is an item of codex app-server.
type appItemForm struct {
	_                                                               jsonscan.Camel
	Type, ID, Text, Status, Summary, Content                        jsonscan.Value
	Command, Cwd, ProcessID, AggregatedOutput, ExitCode, DurationMs jsonscan.Value
	Changes, Server, Tool, Arguments, Result, Error, ContentItems   jsonscan.Value
	Query, Action, Path, SavedPath, RevisedPrompt                   jsonscan.Value
	Prompt, ReceiverThreadIds, AgentsStates                         jsonscan.Value
	Kind, AgentThreadID, AgentPath                                  jsonscan.Value
}

var appItemShape jsonscan.Shape[appItemForm]

// item handles the start or the end of an item. It returns false for an unknown one.
func (p *appParser) item(s *cliagent.Sink, completed bool) bool {
	var v appItemForm
	if !appItemShape.From(p.v.Params.Item, &v) || v.ID.Kind() != jsonscan.String {
		return false
	}
	c := p.of(p.names.Str(p.v.Params.ThreadID))
	id, o := p.names.Str(v.ID), p.from(c, s)
	if !p.running {
		delete(c.flows, id) // of a finished turn, or of a sub-agent that outlives it
		return true
	}
	typ, _ := v.Type.Plain()
	switch string(typ) {
	case "userMessage":
		c.close(o) // a steering message interrupts the text
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
		p.speech(c, id, flowText, v.Text.Str(), completed, o)
	case "reasoning":
		p.speech(c, id, flowThinking, thoughts(v.Summary, v.Content), completed, o)
	case "commandExecution":
		p.commandItem(c, id, &v, completed, o)
	case "fileChange":
		status := p.names.Str(v.Status)
		if p.starts(c, id, completed, o) {
			o.begin(id, toolPatch, object(member{"changes", v.Changes}))
			p.patches[id] = nil
			for _, change := range v.Changes.Array {
				p.patches[id] = append(p.patches[id], change.Get("path").Str())
			}
		}
		if completed {
			delete(p.patches, id)
			o.patch(id, status, v.Changes)
		}
	case "mcpToolCall":
		server, tool := p.names.Str(v.Server), p.names.Str(v.Tool)
		if p.starts(c, id, completed, o) {
			o.emit(execution.MCPToolCallStart{ToolCallID: id, Server: server, ToolName: tool, Input: raw(v.Arguments)})
		}
		if completed {
			o.mcpEnd(id, server, tool, p.names.Str(v.Status), v.Result, v.Error)
		}
	case "collabAgentToolCall":
		call := collab{id: id, tool: p.names.Str(v.Tool), status: p.names.Str(v.Status), prompt: v.Prompt, receivers: v.ReceiverThreadIds, agents: v.AgentsStates}
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
		p.simple(c, id, p.names.Str(v.Tool), raw(v.Arguments), v.ContentItems, &v, completed, o)
	case "webSearch":
		p.simple(c, id, toolSearch, object(member{"query", v.Query}, member{"action", v.Action}), v.Action, &v, completed, o)
	case "sleep":
		p.simple(c, id, toolSleep, object(member{"durationMs", v.DurationMs}), jsonscan.Value{}, &v, completed, o)
	case "imageView":
		p.simple(c, id, toolImage, object(member{"path", v.Path}), v.Path, &v, completed, o)
		if path := v.Path.Str(); completed && path != "" {
			o.emit(execution.FileRead{Path: path, ToolCallID: id})
		}
	case "imageGeneration":
		if v.Status.IsStr("failed") {
			v.Error = v.Status
		} else {
			v.Status = jsonscan.Value{} // the model API's error
		}
		p.simple(c, id, toolGenerate, object(member{"prompt", v.RevisedPrompt}), v.SavedPath, &v, completed, o)
		if path := v.SavedPath.Str(); completed && path != "" {
			t := execution.Attachment{FilePath: path}.MediaType()
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

// speech handles a text or thinking, streamed or not.
func (p *appParser) speech(c *conversation, id string, kind flowKind, whole string, completed bool, o source) {
	f := c.flows[id]
	if f == nil {
		f = c.start(id, kind, o)
	}
	if completed {
		c.finish(id, whole, f, o)
	}
}

// thoughts joins the parts of reasoning.
func thoughts(summary, content jsonscan.Value) string {
	var b strings.Builder
	for _, list := range []jsonscan.Value{summary, content} {
		for _, t := range list.Array {
			b.WriteString(t.Str())
		}
	}
	return b.String()
}

// starts reports whether a tool call starts here, and records its end.
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

// simple handles a tool call that has only the events of a tool call.
func (p *appParser) simple(c *conversation, id, tool string, input []byte, output jsonscan.Value, v *appItemForm, completed bool, o source) {
	if p.starts(c, id, completed, o) {
		o.begin(id, tool, input)
	}
	if completed {
		o.end(id, tool, p.names.Str(v.Status), v.Error.Get("message").Str(), raw(output), v.DurationMs.Count())
	}
}

func (p *appParser) commandItem(c *conversation, id string, v *appItemForm, completed bool, o source) {
	f := c.flows[id]
	if f == nil {
		f = c.start(id, flowCommand, o)
		f.command, f.cwd = v.Command.Str(), v.Cwd.Str()
		o.begin(id, toolShell, object(member{"command", v.Command}, member{"cwd", v.Cwd}))
	}
	status := p.names.Str(v.Status)
	// A command that waits for permission has no process yet.
	if v.ProcessID.Kind() == jsonscan.String || completed && status != "declined" {
		f.run(id, o)
	}
	if completed {
		delete(c.flows, id)
		rest, whole := f.rest(v.AggregatedOutput)
		if !whole {
			rest = ""
		}
		o.command(id, status, f.said.String(), rest, whole, v.AggregatedOutput, v.ExitCode, v.DurationMs.Count())
	}
}

// activity handles the state of a sub-agent, in versions that report it apart from tool calls.
func (p *appParser) activity(id string, v *appItemForm, o source) {
	thread, path := v.AgentThreadID.Str(), v.AgentPath.Str()
	switch {
	case thread == "":
	case v.Kind.IsStr("started") && p.agents.calls[thread] == "":
		p.agents.spawned(thread, id)
		p.agents.names[thread] = path
		o.emit(execution.SubagentSpawn{SubagentID: id, AgentName: path})
	case v.Kind.IsStr("completed"):
		p.agents.result(thread, "", o)
	case v.Kind.IsStr("interrupted"):
		p.agents.failed(thread, "the sub-agent was interrupted", o)
	}
}

// plan handles a state of the agent's plan, which is not an item: each state becomes a tool call that ends at once.
func (p *appParser) plan(s *cliagent.Sink) bool {
	params := p.v.Params.Whole
	steps := params.Get("plan")
	if steps.Kind() != jsonscan.Array {
		return false
	}
	c := p.of(p.names.Str(p.v.Params.ThreadID))
	if !p.running {
		return true
	}
	p.ensureStep(c, s)
	o := p.from(c, s)
	c.close(o)
	p.plans++
	id := p.names.Str(p.v.Params.TurnID) + "/plan/" + strconv.Itoa(p.plans)
	o.begin(id, toolPlan, object(member{"explanation", params.Get("explanation")}, member{"plan", steps}))
	o.end(id, toolPlan, "", "", raw(steps), 0)
	return true
}
