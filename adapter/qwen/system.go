package qwen

import (
	"cmp"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// toldSystem are notes that help a person find the reason for something.
var toldSystem = []string{"worktree_started", "worktree_restored", "vision_routing", "vision_bridge",
	"vision_bridge_failed", "session_recording_degraded"}

// system handles a note of the program.
func (p *parser) system(line []byte, s *cliagent.Sink) bool {
	subtype := p.V.Subtype.Str()
	switch subtype {
	case "init":
		return p.start(line, s)
	case "retry":
		return p.retry(line, s)
	case "model_fallback":
		return p.fallback(line, s)
	case "task_started":
		return p.taskStarted(line)
	case "task_notification":
		return p.taskEnded(line, s)
	case "session_start", "session_end":
		return true
	}
	if !slices.Contains(toldSystem, subtype) {
		return false
	}
	v, _ := jsonscan.Parse(line)
	data := v.Get("data")
	text := cmp.Or(data.Get("notice").Str(), data.Get("message").Str(), subtype+" "+string(data.Raw()))
	s.Emit(execution.Debug{Level: execution.DebugInfo, Message: "qwen: " + strings.TrimSpace(text)})
	return true
}

var initShape jsonscan.Shape[struct{ SessionID, Model, Cwd, QwenCodeVersion, MCPServers jsonscan.Value }]

// start emits the session and opens the turn.
func (p *parser) start(line []byte, s *cliagent.Sink) bool {
	v, ok := initShape.Read(line)
	if !ok || v.SessionID.Kind() != jsonscan.String {
		return false
	}
	p.model, p.Calls.Cwd, p.version = v.Model.Str(), v.Cwd.Str(), v.QwenCodeVersion.Str()
	for _, server := range v.MCPServers.Array {
		name, status := server.Get("name").Str(), server.Get("status").Str()
		p.Calls.Servers[name] = status
		if status == "disconnected" {
			s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "MCP server " + name + ": " + status})
		}
	}
	if id := v.SessionID.Str(); id != p.session {
		p.begun(id, s)
	}
	p.ensureTurn(s)
	return true
}

// begun emits the session.
func (p *parser) begun(id string, s *cliagent.Sink) {
	s.Begin(p.req, execution.SessionStart{SessionID: id, Model: p.model, Cwd: p.Calls.Cwd})
	p.session = id
}

// tellsExitCodes reports whether this version reports how a command ended. Older versions only show its output.
func (p *parser) tellsExitCodes() bool { return !strings.HasPrefix(p.version, "0.15.") }

var retryShape jsonscan.Shape[struct {
	Data struct {
		_                                                  jsonscan.Camel
		Attempt, MaxRetries, DelayMs, PreserveText, Reason jsonscan.Value
	}
}]

// retry handles a retried model call. Its earlier output stands and is continued (preserveText), or is already closed
// and does not count. A delayed retry is reported twice: with its delay, and when it starts.
func (p *parser) retry(line []byte, s *cliagent.Sink) bool {
	v, ok := retryShape.Read(line)
	if !ok || !v.Data.PreserveText.Exists() {
		return false
	}
	if v.Data.Reason.IsStr("model_fallback") {
		return true // has a line of its own
	}
	p.ensureTurn(s)
	if p.announced && !v.Data.Attempt.Exists() {
		p.announced = false
		return true
	}
	p.announced = v.Data.Attempt.Exists()
	p.retries++
	r := execution.Retry{Attempt: int(cliagent.Count(v.Data.Attempt)), MaxAttempts: int(cliagent.Count(v.Data.MaxRetries)),
		DelayMs: cliagent.Count(v.Data.DelayMs)}
	if p.announced {
		r.Reason, r.Code = "the model API limits the rate of requests", execution.CodeRateLimited
	} else {
		r.Attempt, r.Reason, r.Code = p.retries, "the answer of the model broke off", execution.CodeProvider
	}
	s.Emit(r)
	if keep, _ := v.Data.PreserveText.Bool(); !keep {
		p.endStep(&p.Main, s)
	}
	return true
}

var fallbackShape jsonscan.Shape[struct {
	Data struct {
		_                              jsonscan.Camel
		FromModel, ToModel, StatusCode jsonscan.Value
	}
}]

// fallback handles the switch to another model.
func (p *parser) fallback(line []byte, s *cliagent.Sink) bool {
	v, ok := fallbackShape.Read(line)
	if !ok || !v.Data.ToModel.Exists() {
		return false
	}
	p.ensureTurn(s)
	p.retries++
	p.model = v.Data.ToModel.Str()
	s.Emit(execution.Retry{Attempt: p.retries, Code: cliagent.CodeOfStatus(cliagent.Count(v.Data.StatusCode)),
		Reason: "model " + v.Data.FromModel.Str() + " has no capacity; " + p.model + " takes over"})
	return true
}

type taskForm struct {
	Data struct{ TaskID, ToolUseID, Status jsonscan.Value }
}

var taskShape jsonscan.Shape[taskForm]

// taskStarted handles a background sub-agent, which continues after the call that started it.
func (p *parser) taskStarted(line []byte) bool {
	var v taskForm
	if !taskShape.Into(line, &v) || !v.Data.TaskID.Exists() {
		return false
	}
	if c := p.Calls.Open(v.Data.ToolUseID.Str()); c != nil && c.Kind == toolcall.Agent {
		c.Async = true
		p.tasks[v.Data.TaskID.Str()] = c.ID
	}
	return true
}

// taskEnded handles the end of a background sub-agent; other tasks have a tool result.
func (p *parser) taskEnded(line []byte, s *cliagent.Sink) bool {
	var v taskForm
	if !taskShape.Into(line, &v) || !v.Data.TaskID.Exists() {
		return false
	}
	id := v.Data.TaskID.Str()
	c := p.Calls.Open(p.tasks[id])
	if c == nil || v.Data.Status.IsStr("running") {
		return true
	}
	delete(p.tasks, id)
	if st := p.Sub(c.ID); st != nil {
		p.endStep(st, s)
	}
	p.Calls.AgentEnd(c, !v.Data.Status.IsStr("completed"), p.note, s)
	return true
}
