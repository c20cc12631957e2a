package claude

import (
	"cmp"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/streamjson"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// ignoredSystem are notes of Claude that say nothing about the conversation.
var ignoredSystem = map[string]bool{"status": true, "thinking_tokens": true, "session_state_changed": true, "hook_started": true,
	"hook_progress": true, "hook_response": true, "task_updated": true, "task_progress": true, "task_summary": true,
	"background_tasks_changed": true, "commands_changed": true, "turn_starting": true, "turn_duration": true,
	"turn_began_before_init": true, "control_request_progress": true, "session_title_changed": true, "session_metadata": true,
	"local_command": true, "local_command_output": true, "stop_hook_summary": true, "post_turn_summary": true, "memory_recall": true, "memory_saved": true,
	"file_snapshot": true, "files_persisted": true, "vcs_state_changed": true, "shell_cwd": true, "per_turn_effort_changed": true,
	"elicitation_complete": true, "plugin_install": true, "permission_check_status": true, "checkpoint_done": true, "bridge_state": true}

// toldSystem are notes that a person who looks for the reason of something wants to see.
var toldSystem = map[string]bool{"informational": true, "notification": true, "model_fallback": true, "model_refusal_fallback": true,
	"model_refusal_no_fallback": true, "model_consent_fallback": true, "instruction_size_warning": true, "session_writes_lost": true,
	"mirror_error": true, "api_error": true, "permission_retry": true, "file_attachments_missing": true, "late_allow_not_run": true}

// system is a note of the program itself.
func (p *parser) system(line []byte, s *cliagent.Sink) bool {
	subtype := p.V[streamjson.Subtype].Str()
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
	if toldSystem[subtype] {
		v, _ := jsonscan.Parse(line)
		if text := v.Get("content").Str(); text != "" {
			s.Emit(execution.Debug{Level: execution.DebugInfo, Message: text})
		}
		return true
	}
	return ignoredSystem[subtype] || strings.HasPrefix(subtype, "ui_")
}

var initKeys = jsonscan.NewKeySet("session_id", "model", "cwd", "claude_code_version", "mcp_servers")

// begin is the line before each turn; the first one tells the session.
func (p *parser) begin(line []byte, s *cliagent.Sink) bool {
	var v [5]jsonscan.Value
	if jsonscan.Fields(line, v[:], initKeys) != nil || v[0].Kind() != jsonscan.String {
		return false
	}
	p.model, p.Calls.Cwd, p.version = v[1].Str(), v[2].Str(), v[3].Str()
	if id := v[0].Str(); id != p.session {
		p.begun(id, s)
	}
	for _, server := range v[4].Array {
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

// begun reports the session. Only the first one of a run goes on from another.
func (p *parser) begun(id string, s *cliagent.Sink) {
	start := execution.SessionStart{SessionID: id, Model: p.model, Cwd: p.Calls.Cwd}
	if p.session == "" {
		start = cliagent.Continued(p.req, start)
	}
	p.session = id
	s.BeginSession(start)
}

var retryKeys = jsonscan.NewKeySet("attempt", "max_retries", "retry_delay_ms", "error_status", "error")

func (p *parser) apiRetry(line []byte, s *cliagent.Sink) bool {
	var v [5]jsonscan.Value
	if jsonscan.Fields(line, v[:], retryKeys) != nil {
		return false
	}
	p.ensureTurn(s)
	p.first = false
	p.retries++
	status, word := cliagent.Count(v[3]), v[4].Str()
	code := cmp.Or(codeOf(status, word), execution.CodeProvider)
	s.Emit(execution.Retry{Attempt: int(cliagent.Count(v[0])), MaxAttempts: int(cliagent.Count(v[1])), Reason: reason(status, word),
		DelayMs: cliagent.Count(v[2]), Code: code})
	return true
}

var deniedKeys = jsonscan.NewKeySet("tool_use_id", "tool_name", "message")

// permissionDenied is a refusal that Claude made without asking anybody.
func (p *parser) permissionDenied(line []byte, s *cliagent.Sink) bool {
	var v [3]jsonscan.Value
	if jsonscan.Fields(line, v[:], deniedKeys) != nil {
		return false
	}
	why, _, _ := strings.Cut(v[2].Str(), " IMPORTANT:") // what follows is for the model
	p.deny(v[0], v[1], why, s)
	return true
}

func (p *parser) deny(id, name jsonscan.Value, why string, s *cliagent.Sink) {
	p.Calls.Deny(p.Calls.Expect(id.Str(), ""), name.Str(), why, s)
}

var compactKeys = jsonscan.NewKeySet("compact_metadata.pre_tokens", "compact_metadata.post_tokens")

func (p *parser) compacted(line []byte, s *cliagent.Sink) bool {
	var v [2]jsonscan.Value
	if jsonscan.Fields(line, v[:], compactKeys) != nil {
		return false
	}
	e := execution.ContextCompacted{}
	if v[1].Exists() {
		e.TokensSaved = max(0, cliagent.Count(v[0])-cliagent.Count(v[1]))
	}
	s.Emit(e)
	return true
}

var taskKeys = jsonscan.NewKeySet("task_id", "tool_use_id", "status", "summary")

// taskStarted ties the id under which a sub-agent asks to the call that started it.
func (p *parser) taskStarted(line []byte) bool {
	var v [4]jsonscan.Value
	if jsonscan.Fields(line, v[:], taskKeys) != nil {
		return false
	}
	if id, call := v[0].Str(), v[1].Str(); id != "" && call != "" {
		p.tasks[id] = call
	}
	return true
}

// taskEnded is the answer of a sub-agent in the background; any other task has a tool result.
func (p *parser) taskEnded(line []byte, s *cliagent.Sink) bool {
	var v [4]jsonscan.Value
	if jsonscan.Fields(line, v[:], taskKeys) != nil {
		return false
	}
	c := p.Calls.Open(v[1].Str())
	if c == nil || !c.Async {
		return true
	}
	if st := p.Sub(c.ID); st != nil {
		p.endMessage(st, s)
	}
	p.Calls.AgentEnd(c, !v[2].IsStr("completed"), v[3].Str(), s)
	return true
}

var limitKeys = jsonscan.NewKeySet("rate_limit_info.status", "rate_limit_info.resetsAt", "rate_limit_info.rateLimitType")

// rateLimit is the state of a subscription's limit. One that allows everything limits nothing.
func (p *parser) rateLimit(line []byte, s *cliagent.Sink) bool {
	var v [3]jsonscan.Value
	if jsonscan.Fields(line, v[:], limitKeys) != nil || !v[0].Exists() {
		return false
	}
	if !v[0].IsStr("allowed") {
		s.Emit(execution.RateLimited{Status: v[0].Str(), ResetsAt: cliagent.Count(v[1]) * 1000, Limit: v[2].Str()})
	}
	return true
}
