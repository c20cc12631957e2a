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
)

// ToolHook is how an agent asks before a tool call, where it can be made to for one run without touching the user's files.
// Spawn then sees Launch.Hook and hands its lines to the agent; the functions translate.
type ToolHook struct {
	// Approvals says that the agent asks a permission question before every tool call of a hooked run, which is two-way: then the kit
	// asks the hook before anybody gets to see the question, and nothing else is needed. An input cannot be changed that way, so
	// that such an agent does not declare ModifyToolInput.
	Approvals bool
	// Read reads what the agent says to the hook of an event.
	Read func(event string, payload []byte) (execution.HookCall, error)
	// Answer words a result in the agent's own form.
	Answer func(event string, res execution.HookResult) adapter.HookAnswer
}

// HookLines are the commands of a run's hooks, as lines for a shell.
type HookLines struct {
	PreTool string // asked before each tool call; its failure is a denial
	// Start is told that the session begins. An agent that runs a tool without having said anything to either hook has its hooks
	// switched off, and is stopped.
	Start string
	// Timeout is how long the agent must be willing to wait: longer than the hook can take.
	Timeout time.Duration
}

// originHook is the origin of events that come of a hook's answer.
const originHook = "hook"

const (
	hookFile     = "hook.json"
	eventStart   = "start"
	eventPreTool = "preTool"

	// hookPatience is how long the hook's command waits for the run, which itself bounds the caller's hook.
	hookPatience = 24 * time.Hour
)

// hooked is the hook of one run.
type hooked struct {
	host   adapter.HookHost
	server *hookrelay.Server // nil where questions are the hooks
	seen   atomic.Bool       // the agent has called a hook
	work   sync.WaitGroup    // questions that are being decided
}

// serveHooks opens the way from the agent's hooks to the caller.
func (r *run) serveHooks() *execution.Error {
	host, ok := r.in.(adapter.HookHost)
	if !ok {
		return nil
	}
	const capability = "runtimeHooks.preToolUse"
	if r.spec.ToolHook == nil {
		return &execution.Error{Code: execution.CodeCapability, Agent: r.spec.Name, Capability: capability,
			Message: r.spec.Name + " cannot be made to ask before a tool call"}
	}
	if r.spec.ToolHook.Approvals {
		r.hook = &hooked{host: host}
		r.req.Run.Interactive = true // the caller may say nothing more, which the inbox tells
		return nil
	}
	if !hookrelay.Available() {
		return &execution.Error{Code: execution.CodeCapability, Agent: r.spec.Name, Capability: capability,
			Message: "this program cannot be the command of a hook", Hint: "call drawbar.Supervise first thing in main"}
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

// answerHook asks the caller. What the agent says that cannot be read is denied.
func (r *run) answerHook(ctx context.Context, event string, payload []byte) adapter.HookAnswer {
	if event != eventPreTool {
		return adapter.HookAnswer{}
	}
	call, err := r.spec.ToolHook.Read(event, payload)
	if err != nil {
		return r.spec.ToolHook.Answer(event, execution.HookResult{Decision: execution.HookDeny,
			Message: fmt.Sprintf("the hook failed: what %s says cannot be read: %v", r.spec.Name, err)})
	}
	return r.spec.ToolHook.Answer(event, r.hook.host.DecideTool(ctx, call))
}

// lines are the commands that Spawn hands to the agent.
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

// close ends the hooks of the run.
func (h *hooked) close() {
	if h != nil && h.server != nil {
		_ = h.server.Close()
	}
}

// wait waits until no question is being decided.
func (h *hooked) wait() {
	if h != nil {
		h.work.Wait()
	}
}

// decide asks the hook about the questions that wait for it.
func (r *run) decide(ctx context.Context) {
	for _, e := range r.drive.sink.takeHeld() {
		q := e.Body.(execution.ApprovalRequired)
		r.hook.work.Go(func() { r.decideOne(ctx, e, q) })
	}
}

// decideOne carries a denial to the agent and lets a question that the hook permits go its way. One about something harmless, which the agent
// would not have asked of its own accord, is then answered.
func (r *run) decideOne(ctx context.Context, e execution.Event, q execution.ApprovalRequired) {
	r.mu.Lock()
	call := execution.HookCall{ToolCallID: q.ToolCallID, SessionID: r.drive.sink.SessionID(),
		Data: execution.HookData{ToolName: q.ToolName, ToolInput: q.Input, Message: q.Detail}}
	r.mu.Unlock()
	var res execution.HookResult
	if err := guard("the hook", func() { res = r.hook.host.DecideTool(ctx, call) }); err != nil {
		res = execution.HookResult{Decision: execution.HookDeny, Message: err.Error()}
	}
	if ctx.Err() != nil {
		return // the run is over, and the agent with it
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
	r.settle()
	r.since = time.Now()
	r.wake()
}

// unasked stops a run whose agent uses tools without having called a hook, or without having asked where questions are the hooks:
// somebody switched that off.
func (r *run) unasked() {
	if r.hook == nil || r.drive.sink.called == 0 || r.hook.seen.Load() || r.drive.sink.asked > 0 {
		return
	}
	err := execution.Errorf(execution.CodeCapability, "%s began a tool call and asked no hook: it was stopped", r.spec.Name).
		WithHint("hooks are switched off in its settings; switch them on, or run without a preToolUse hook")
	err.Agent, err.Capability = r.spec.Name, "runtimeHooks.preToolUse"
	r.drive.sink.Fail(err)
}

// RuntimeHooks are those of an agent with a ToolHook; modifies says that it takes another input for a tool. The prompt is asked
// about before it reaches the agent, and what has happened is told from events, so that these hold for every agent.
func RuntimeHooks(modifies bool) execution.RuntimeHooks {
	return execution.RuntimeHooks{PreToolUse: execution.HookBlocking, ModifyToolInput: modifies, UserPromptSubmit: execution.HookBlocking, PostToolUse: execution.HookNonblocking,
		SessionStart: execution.HookNonblocking, SessionEnd: execution.HookNonblocking, Stop: execution.HookNonblocking}
}
