package cliagent

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/hookrelay"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// ToolHook is how an agent asks before a tool call, for one run and without changing the user's files. Spawn gets
// Launch.Hook and passes its lines to the agent; the functions translate.
type ToolHook struct {
	// Approvals means that the agent asks for permission before every tool call of a hooked run, which is two-way.
	// The kit then asks the hook before anyone sees the question, and needs nothing else. This cannot change an
	// input, so such an agent does not declare ModifyToolInput.
	Approvals bool
	// Read parses what the agent passes to the hook of an event.
	Read func(event string, payload []byte) (execution.HookCall, error)
	// Answer formats a result for the agent.
	Answer func(event string, res execution.HookResult) settings.HookAnswer
}

// HookLines are the commands of a run's hooks, as shell lines.
type HookLines struct {
	PreTool string // asked before each tool call; its failure is a denial
	// Start is called when the session starts. An agent that runs a tool without having called either hook has its
	// hooks disabled, and is stopped.
	Start string
	// Timeout is how long the agent must wait: longer than the hook may take.
	Timeout time.Duration
}

// originHook is the origin of events that result from a hook's answer.
const originHook = "hook"

const (
	hookFile     = "hook.json"
	eventStart   = "start"
	eventPreTool = "preTool"

	// hookPatience is how long the hook's command waits for the run, which itself limits the caller's hook.
	hookPatience = 24 * time.Hour
)

// hooked is the hook of one run.
type hooked struct {
	host   adapter.HookHost
	server *hookrelay.Server // nil if permission questions serve as hooks
	seen   atomic.Bool       // the agent has called a hook
	work   sync.WaitGroup    // questions being decided
}

// serveHooks opens the server between the agent's hooks and the caller.
func (r *run) serveHooks() *execution.Error {
	host, ok := r.in.(adapter.HookHost)
	if !ok {
		return nil
	}
	const capability = "runtimeHooks.preToolUse"
	if r.spec.ToolHook == nil {
		return &execution.Error{Code: execution.CodeCapability, Agent: r.spec.Name, Capability: capability,
			Message: r.spec.Name + " cannot ask before a tool call"}
	}
	if r.spec.ToolHook.Approvals {
		r.hook = &hooked{host: host}
		r.req.Run.Interactive = true // the end of the commands, which the inbox reports
		return nil
	}
	if !hookrelay.Available() {
		return &execution.Error{Code: execution.CodeCapability, Agent: r.spec.Name, Capability: capability,
			Message: "this program cannot serve as the command of a hook", Hint: "call drawbar.Supervise first thing in main"}
	}
	h := &hooked{host: host}
	server, err := hookrelay.Open(func(ctx context.Context, event string, payload []byte) hookrelay.Answer {
		defer r.touch()
		h.seen.Store(true)
		a := r.answerHook(ctx, event, payload)
		return hookrelay.Answer{Stdout: a.Stdout, Stderr: a.Stderr, ExitCode: a.ExitCode}
	}, hookPatience)
	if err != nil {
		return execution.Errorf(execution.CodeSpawn, "start %s: %w", r.spec.Name, err)
	}
	h.server = server
	r.hook = h
	return nil
}

// answerHook asks the caller. Unreadable input is denied.
func (r *run) answerHook(ctx context.Context, event string, payload []byte) settings.HookAnswer {
	if event != eventPreTool {
		return settings.HookAnswer{}
	}
	call, err := r.spec.ToolHook.Read(event, payload)
	if err != nil {
		return r.spec.ToolHook.Answer(event, execution.HookResult{Decision: execution.HookDeny,
			Message: fmt.Sprintf("the hook failed: the input from %s cannot be read: %v", r.spec.Name, err)})
	}
	if r.spec.ToolUse != nil {
		call.Use = r.spec.ToolUse(call.Data.ToolName, call.Data.ToolInput)
	}
	return r.spec.ToolHook.Answer(event, r.hook.host.DecideTool(ctx, call))
}

// lines returns the commands that Spawn passes to the agent.
func (h *hooked) lines(l *Launch) (*HookLines, error) {
	if h.server == nil {
		return &HookLines{}, nil
	}
	file := l.File(hookFile, h.server.File())
	pre, err := hookrelay.Line(file, eventPreTool, true)
	if err != nil {
		return nil, err
	}
	start, err := hookrelay.Line(file, eventStart, false)
	if err != nil {
		return nil, err
	}
	return &HookLines{PreTool: pre, Start: start, Timeout: hookPatience}, nil
}

// close closes the hooks of the run.
func (h *hooked) close() {
	if h != nil && h.server != nil {
		_ = h.server.Close()
	}
}

// wait waits until all questions are decided.
func (h *hooked) wait() {
	if h != nil {
		h.work.Wait()
	}
}

// decide asks the hook about waiting questions.
func (r *run) decide(ctx context.Context) {
	for _, e := range r.drive.sink.takeHeld() {
		q := e.Body.(execution.ApprovalRequired)
		r.hook.work.Go(func() { r.decideOne(ctx, e, q) })
	}
}

// decideOne sends a denial to the agent, or releases a question that the hook permits. A harmless one, which the
// agent asks only because of the hook, is then answered.
func (r *run) decideOne(ctx context.Context, e execution.Event, q execution.ApprovalRequired) {
	r.mu.Lock()
	call := execution.HookCall{ToolCallID: q.ToolCallID, SessionID: r.drive.sink.SessionID(), Use: q.Use,
		Data: execution.HookData{ToolName: q.ToolName, ToolInput: q.Input, Message: q.Detail}}
	r.mu.Unlock()
	var res execution.HookResult
	if err := guard("the hook", func() { res = r.hook.host.DecideTool(ctx, call) }); err != nil {
		res = execution.HookResult{Decision: execution.HookDeny, Message: err.Error()}
	}
	if ctx.Err() != nil {
		return // the run is over, and so is the agent
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case res.Decision != execution.HookAllow:
		first := len(r.drive.sink.events)
		r.apply(execution.Answer{ID: q.ID, Decision: execution.Decision{Reason: res.Message}})
		for i := min(first, len(r.drive.sink.events)); i < len(r.drive.sink.events); i++ {
			r.drive.sink.events[i].Origin = originHook
		}
	case q.Risk == execution.RiskLow:
		r.apply(execution.Answer{ID: q.ID, Decision: execution.Decision{Approve: true}})
	default:
		r.drive.sink.release(e)
	}
	r.applyRequests()
	r.since = time.Now()
	r.wake()
}

// unasked stops a run whose agent uses tools without having called a hook or asked for permission: its settings
// disable that.
func (r *run) unasked() {
	if r.hook == nil || r.drive.sink.called == 0 || r.hook.seen.Load() || r.drive.sink.asked > 0 {
		return
	}
	err := execution.Errorf(execution.CodeCapability, "%s started a tool call without calling the hook: it was stopped", r.spec.Name).
		WithHint("its settings disable hooks; enable them, or run without a preToolUse hook")
	err.Agent, err.Capability = r.spec.Name, "runtimeHooks.preToolUse"
	r.drive.sink.Fail(err)
}

// RuntimeHooks returns the hooks of an agent with a ToolHook; modifies reports whether it accepts a changed input.
// Hooks of prompts run before the agent gets the prompt, and hooks after the fact follow from events, so every agent
// has these.
func RuntimeHooks(modifies bool) execution.RuntimeHooks {
	return execution.RuntimeHooks{PreToolUse: execution.HookBlocking, ModifyToolInput: modifies, UserPromptSubmit: execution.HookBlocking, PostToolUse: execution.HookNonblocking,
		SessionStart: execution.HookNonblocking, SessionEnd: execution.HookNonblocking, Stop: execution.HookNonblocking}
}
