package claude

import (
	"cmp"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// ignoredSystem are notes that are irrelevant to the conversation.
var ignoredSystem = []string{"status", "thinking_tokens", "session_state_changed", "hook_started",
	"hook_progress", "hook_response", "task_updated", "task_progress", "task_summary",
	"background_tasks_changed", "commands_changed", "turn_starting", "turn_duration",
	"turn_began_before_init", "control_request_progress", "session_title_changed", "session_metadata",
	"local_command", "local_command_output", "stop_hook_summary", "post_turn_summary", "memory_recall", "memory_saved",
	"file_snapshot", "files_persisted", "vcs_state_changed", "shell_cwd", "per_turn_effort_changed",
	"elicitation_complete", "plugin_install", "permission_check_status", "checkpoint_done", "bridge_state"}

// toldSystem are notes that help a person find the reason for something.
var toldSystem = []string{"informational", "notification", "model_fallback", "model_refusal_fallback",
	"model_refusal_no_fallback", "model_consent_fallback", "instruction_size_warning", "session_writes_lost",
	"mirror_error", "api_error", "permission_retry", "file_attachments_missing", "late_allow_not_run"}

// system handles a note of the program.
func (p *parser) system(line []byte, s *cliagent.Sink) bool {
	subtype := p.V.Subtype.Str()
	switch subtype {
	case "init":
		return p.begin(line, s)
	case "api_retry":
		return p.apiRetry(line, s)
	case "permission_denied":
		return p.permissionDenied(line, s)
	case "compact_boundary":
		return p.compacted(line, s)
	case "task_started":
		return p.taskStarted(line)
	case "task_notification":
		return p.taskEnded(line, s)
	}
	if slices.Contains(toldSystem, subtype) {
		v, _ := jsonscan.Parse(line)
		if text := v.Get("content").Str(); text != "" {
			s.Emit(execution.Debug{Level: execution.DebugInfo, Message: text})
		}
		return true
	}
	return slices.Contains(ignoredSystem, subtype) || strings.HasPrefix(subtype, "ui_")
}

var initShape jsonscan.Shape[struct{ SessionID, Model, Cwd, ClaudeCodeVersion, MCPServers, Skills, Plugins jsonscan.Value }]

// begin handles the line before each turn; the first one names the session.
func (p *parser) begin(line []byte, s *cliagent.Sink) bool {
	v, ok := initShape.Read(line)
	if !ok || v.SessionID.Kind() != jsonscan.String {
		return false
	}
	p.model, p.Calls.Cwd, p.version = v.Model.Str(), v.Cwd.Str(), v.ClaudeCodeVersion.Str()
	if id := v.SessionID.Str(); id != p.session {
		p.begun(id, s)
		for _, skill := range v.Skills.Array {
			if name := skill.Str(); name != "" {
				s.Emit(execution.SkillLoaded{SkillName: name})
			}
		}
		for _, plugin := range v.Plugins.Array {
			if name := plugin.Get("name").Str(); name != "" {
				s.Emit(execution.PluginLoaded{PluginID: cmp.Or(plugin.Get("source").Str(), name), PluginName: name})
			}
		}
	}
	for _, server := range v.MCPServers.Array {
		name, status := server.Get("name").Str(), server.Get("status").Str()
		if p.Calls.Servers[name] == status {
			continue
		}
		p.Calls.Servers[name] = status
		if status == "failed" || status == "needs-auth" {
			s.Emit(execution.Debug{Level: execution.DebugWarn, Message: "MCP server " + name + ": " + status})
		}
	}
	p.ensureTurn(s)
	p.first = false
	p.guess()
	return true
}

// begun emits the session. Only the first session of a run continues another.
func (p *parser) begun(id string, s *cliagent.Sink) {
	s.Begin(p.req, execution.SessionStart{SessionID: id, Model: p.model, Cwd: p.Calls.Cwd})
	p.session = id
}

var retryShape jsonscan.Shape[struct{ Attempt, MaxRetries, RetryDelayMs, ErrorStatus, Error jsonscan.Value }]

func (p *parser) apiRetry(line []byte, s *cliagent.Sink) bool {
	v, ok := retryShape.Read(line)
	if !ok {
		return false
	}
	p.ensureTurn(s)
	p.first = false
	p.retries++
	status, word := cliagent.Count(v.ErrorStatus), v.Error.Str()
	code := cmp.Or(codeOf(status, word), execution.CodeProvider)
	s.Emit(execution.Retry{Attempt: int(cliagent.Count(v.Attempt)), MaxAttempts: int(cliagent.Count(v.MaxRetries)),
		Reason:  reason(status, word),
		DelayMs: cliagent.Count(v.RetryDelayMs), Code: code})
	return true
}

var deniedShape jsonscan.Shape[struct{ ToolUseID, ToolName, Message jsonscan.Value }]

// permissionDenied handles a denial that Claude made without asking.
func (p *parser) permissionDenied(line []byte, s *cliagent.Sink) bool {
	v, ok := deniedShape.Read(line)
	if !ok {
		return false
	}
	why, _, _ := strings.Cut(v.Message.Str(), " IMPORTANT:") // the rest is for the model
	p.deny(v.ToolUseID, v.ToolName, why, s)
	return true
}

func (p *parser) deny(id, name jsonscan.Value, why string, s *cliagent.Sink) {
	p.Calls.Deny(p.Calls.Expect(id.Str(), ""), name.Str(), why, s)
}

var compactShape jsonscan.Shape[struct {
	CompactMetadata struct{ PreTokens, PostTokens jsonscan.Value }
}]

func (p *parser) compacted(line []byte, s *cliagent.Sink) bool {
	v, ok := compactShape.Read(line)
	if !ok {
		return false
	}
	e := execution.ContextCompacted{}
	if v.CompactMetadata.PostTokens.Exists() {
		e.TokensSaved = max(0, cliagent.Count(v.CompactMetadata.PreTokens)-cliagent.Count(v.CompactMetadata.PostTokens))
	}
	s.Emit(e)
	return true
}

type taskForm struct{ TaskID, ToolUseID, Status, Summary jsonscan.Value }

var taskShape jsonscan.Shape[taskForm]

// taskStarted maps the id under which a sub-agent asks to the call that started it.
func (p *parser) taskStarted(line []byte) bool {
	var v taskForm
	if !taskShape.Into(line, &v) {
		return false
	}
	if id, call := v.TaskID.Str(), v.ToolUseID.Str(); id != "" && call != "" {
		p.tasks[id] = call
	}
	return true
}

// taskEnded handles the answer of a background sub-agent; other tasks have a tool result.
func (p *parser) taskEnded(line []byte, s *cliagent.Sink) bool {
	var v taskForm
	if !taskShape.Into(line, &v) {
		return false
	}
	c := p.Calls.Open(v.ToolUseID.Str())
	if c == nil || !c.Async {
		return true
	}
	if st := p.Sub(c.ID); st != nil {
		p.endMessage(st, s)
	}
	p.Calls.AgentEnd(c, !v.Status.IsStr("completed"), v.Summary.Str(), s)
	return true
}

var limitShape jsonscan.Shape[struct {
	RateLimitInfo struct {
		_                               jsonscan.Camel
		Status, ResetsAt, RateLimitType jsonscan.Value
	}
}]

// rateLimit handles the state of a subscription's limit. An unrestricted state is not reported.
func (p *parser) rateLimit(line []byte, s *cliagent.Sink) bool {
	v, ok := limitShape.Read(line)
	if !ok || !v.RateLimitInfo.Status.Exists() {
		return false
	}
	if !v.RateLimitInfo.Status.IsStr("allowed") {
		s.Emit(execution.RateLimited{Status: v.RateLimitInfo.Status.Str(), ResetsAt: cliagent.Count(v.RateLimitInfo.ResetsAt) * 1000,
			Limit: v.RateLimitInfo.RateLimitType.Str()})
	}
	return true
}
