package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Hooks are the caller's functions that decide on something before it happens, or are notified of it
// afterwards. They are called concurrently, also with each other. Nil ones are not called.
//
// The two that decide fail closed: an error, a panic, an invalid answer, and no answer within Timeout are
// denials. UserPromptSubmit is called before a message reaches the agent, PreToolUse before the agent runs a
// tool of its own or of an MCP server. A denied tool becomes tool_error with the origin "hook"; a denied first
// message fails the run with HOOK_DENIED, a later one is an error of Send.
//
// The four that are notified are called in the order of the run's events, one at a time. Their answers are
// ignored.
type Hooks struct {
	PreToolUse       func(ctx context.Context, call execution.HookCall) (execution.HookResult, error)
	UserPromptSubmit func(ctx context.Context, call execution.HookCall) (execution.HookResult, error)
	PostToolUse      func(ctx context.Context, call execution.HookCall)
	SessionStart     func(ctx context.Context, call execution.HookCall)
	SessionEnd       func(ctx context.Context, call execution.HookCall)
	Stop             func(ctx context.Context, call execution.HookCall)
	// Timeout is the time limit for one call; 0 is DefaultHookTimeout.
	Timeout time.Duration
}

// DefaultHookTimeout is the default time limit for a hook.
const DefaultHookTimeout = 30 * time.Second

// hooking calls the hooks of one run. It is safe for concurrent use.
type hooking struct {
	Hooks
	run *Run

	mu      sync.Mutex            // guards the rest
	calls   map[string]hookedCall // as the agent states them
	shown   map[string]hookedCall // as notified hooks receive them
	denied  []denial
	told    map[string]bool // calls whose denial was shown, by id
	count   int             // of denied calls without an id
	notices []notice
	telling bool
	working sync.WaitGroup
}

// hookedCall is a tool call without a result.
type hookedCall struct {
	name  string
	input json.RawMessage
}

// denial is a tool call that a hook denied and that the agent has not mentioned since.
type denial struct {
	call execution.HookCall
	why  string
	told bool // approval_denied was shown
}

type notice struct {
	tell func(context.Context, execution.HookCall)
	call execution.HookCall
}

func newHooking(h Hooks, r *Run) *hooking {
	g := &hooking{Hooks: h, run: r, calls: map[string]hookedCall{}, shown: map[string]hookedCall{}, told: map[string]bool{}}
	if h.PostToolUse != nil || h.SessionStart != nil || h.SessionEnd != nil || h.Stop != nil {
		handler := OnAny(g.observe)
		r.handlers = append(r.handlers, &handler)
	}
	return g
}

func (g *hooking) timeout() time.Duration { return cmp.Or(g.Timeout, DefaultHookTimeout) }

// call returns a hook call about this run.
func (g *hooking) call(event execution.HookEvent) execution.HookCall {
	return execution.HookCall{Agent: g.run.Agent(), HookType: string(event), Event: event, RunID: g.run.ID(), Correlation: g.run.caller,
		Time: time.Now(), Data: execution.HookData{Cwd: g.run.req.Run.Cwd}}
}

// ask calls a hook that decides. A hook that does not return in time is abandoned and its answer dropped.
func (g *hooking) ask(ctx context.Context, fn func(context.Context, execution.HookCall) (execution.HookResult, error), call execution.HookCall) execution.HookResult {
	ctx, cancel := context.WithTimeoutCause(ctx, g.timeout(), fmt.Errorf("no answer within %v", g.timeout()))
	defer cancel()
	answered := make(chan execution.HookResult, 1)
	go func() {
		answered <- safely(func() (execution.HookResult, error) { return fn(ctx, call) })
	}()
	select {
	case res := <-answered:
		return res
	case <-ctx.Done():
		return execution.HookResult{Decision: execution.HookDeny, Message: fmt.Sprintf("the %s hook failed: %v", call.Event, context.Cause(ctx))}
	}
}

// safely turns everything that is not a valid answer into a denial.
func safely(fn func() (execution.HookResult, error)) (res execution.HookResult) {
	deny := func(format string, args ...any) execution.HookResult {
		return execution.HookResult{Decision: execution.HookDeny, Message: fmt.Sprintf("the hook failed: "+format, args...)}
	}
	defer func() {
		if p := recover(); p != nil {
			res = deny("it panicked: %v", p)
		}
	}()
	res, err := fn()
	if err != nil {
		return deny("%v", err)
	}
	if err := res.Validate(); err != nil {
		return deny("%v", err)
	}
	if res.Decision == execution.HookDeny {
		res.Message = cmp.Or(res.Message, "denied by a hook")
	}
	return res
}

// decideTool asks the hook about a tool call and remembers a denial until the agent shows it.
func (g *hooking) decideTool(ctx context.Context, call execution.HookCall) execution.HookResult {
	own := g.call(execution.HookPreToolUse)
	call.Agent, call.RunID, call.Correlation, call.Event, call.Time = own.Agent, own.RunID, own.Correlation, own.Event, own.Time
	call.HookType, call.Data.Cwd = cmp.Or(call.HookType, own.HookType), cmp.Or(call.Data.Cwd, own.Data.Cwd)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(g.run.ctx, func() { cancel(context.Cause(g.run.ctx)) })()
	res := g.ask(ctx, g.PreToolUse, call)
	if res.Decision == execution.HookModify && !g.run.modifiesInput() {
		res = execution.HookResult{Decision: execution.HookDeny, Message: g.run.Agent() + " cannot modify a tool's input, as a hook requested"}
	}
	if res.Decision == execution.HookDeny {
		g.mu.Lock()
		d := denial{call: call, why: res.Message}
		now := g.tellDenial(&d, g.open(call))
		g.denied = append(g.denied, d)
		g.mu.Unlock()
		for _, e := range now {
			g.run.emitEvent(e)
		}
	}
	return res
}

// tellDenial returns the event of a denial of the call with this id, unless it was shown. Without an id the
// denial waits until the agent shows the call or continues.
func (g *hooking) tellDenial(d *denial, id string) []execution.Event {
	if d.told || id == "" {
		return nil
	}
	d.told, g.told[id] = true, true
	return []execution.Event{{Origin: originHook, Body: execution.ApprovalDenied{ID: execution.QuestionID(id), Reason: d.why,
		ToolName: cmp.Or(g.calls[id].name, d.call.Data.ToolName)}}}
}

// shows returns the denials of a call that the agent has just shown.
func (g *hooking) shows(id string) (list []execution.Event) {
	for i := range g.denied {
		if d := &g.denied[i]; !d.told && g.open(d.call) == id {
			list = append(list, g.tellDenial(d, id)...)
		}
	}
	return list
}

// states merges the agent's own report of a denied call: it is shown once, with the reason.
func (g *hooking) states(e execution.Event, b execution.ApprovalDenied) []execution.Event {
	if g.told[string(b.ID)] {
		return nil
	}
	for i := range g.denied {
		if d := &g.denied[i]; !d.told && (d.call.ToolCallID == string(b.ID) || g.open(d.call) == string(b.ID)) {
			d.told, g.told[string(b.ID)] = true, true
			b.Reason, e.Origin = cmp.Or(b.Reason, d.why), originHook
			e.Body = b
		}
	}
	return []execution.Event{e}
}

// modifiesInput reports whether the running backend accepts a modified tool input.
func (r *Run) modifiesInput() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.caps.Agent.RuntimeHooks.ModifyToolInput
}

// prompt asks the hook about a message and returns the message to send.
func (g *hooking) prompt(ctx context.Context, text string) (string, *execution.Error) {
	if g.UserPromptSubmit == nil {
		return text, nil
	}
	call := g.call(execution.HookUserPromptSubmit)
	call.Data.Prompt = text
	res := g.ask(ctx, g.UserPromptSubmit, call)
	switch res.Decision {
	case execution.HookAllow:
		return text, nil
	case execution.HookModify:
		var input struct {
			Prompt *string `json:"prompt"`
		}
		if err := json.Unmarshal(res.ModifiedInput, &input); err == nil && input.Prompt != nil && *input.Prompt != "" {
			return *input.Prompt, nil
		}
		res.Message = `the hook failed: its modifiedInput has no text at "prompt"`
	}
	return "", g.run.errorf(execution.CodeHookDenied, "a userPromptSubmit hook denied the message: %s", res.Message)
}

// about applies tool hooks to an agent's event: the failure of a denied call originates from the hook, and a
// denied call that the agent does not mention is reported when its turn ends.
func (g *hooking) about(e execution.Event) []execution.Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch b := e.Body.(type) {
	case execution.ToolCallReady:
		g.calls[b.ToolCallID] = hookedCall{b.ToolName, canonical(b.Input)}
		return append([]execution.Event{e}, g.shows(b.ToolCallID)...)
	case execution.MCPToolCallStart:
		g.calls[b.ToolCallID] = hookedCall{b.ToolName, canonical(b.Input)}
		return append([]execution.Event{e}, g.shows(b.ToolCallID)...)
	case execution.ApprovalDenied:
		return g.states(e, b)
	case execution.ToolResultEvent:
		delete(g.calls, b.ToolCallID)
	case execution.MCPToolResult:
		delete(g.calls, b.ToolCallID)
	case execution.ToolError:
		return g.failed(e, b.ToolCallID, b.ToolName)
	case execution.MCPToolError:
		return g.failed(e, b.ToolCallID, b.ToolName)
	case execution.StepStart, execution.MessageStart, execution.ThinkingStart:
		if e.Parent == "" { // the model continues, so it knows of the denial
			return append(g.unmentioned(false), e)
		}
	case execution.TurnEnd:
		if e.Parent == "" {
			list := append(g.unmentioned(true), e)
			clear(g.calls)
			return list
		}
	}
	return []execution.Event{e}
}

// originHook is the origin of events from a hook.
const originHook = "hook"

// failed returns the failure of a tool call, preceded by the denial that caused it unless that was shown.
func (g *hooking) failed(e execution.Event, id, name string) (list []execution.Event) {
	call, known := g.calls[id]
	match := func(same func(denial) bool) bool {
		i := slices.IndexFunc(g.denied, same)
		if i >= 0 {
			list = g.tellDenial(&g.denied[i], id)
			g.denied = slices.Delete(g.denied, i, i+1)
		}
		return i >= 0
	}
	switch {
	case match(func(d denial) bool { return d.call.ToolCallID == id }),
		known && match(func(d denial) bool {
			return d.call.ToolCallID == "" && bytes.Equal(canonical(d.call.Data.ToolInput), call.input)
		}),
		match(func(d denial) bool { return d.call.ToolCallID == "" && d.call.Data.ToolName == name }):
		e.Origin = originHook
	}
	delete(g.calls, id)
	return append(list, e)
}

// unmentioned returns the events of denied calls that the agent does not mention. For a call that it names, the agent
// may still report the call or its outcome until the end of the turn: the hook may be asked before the event of the
// call arrives here.
func (g *hooking) unmentioned(end bool) []execution.Event {
	var list []execution.Event
	var wait []denial
	for _, d := range g.denied {
		id := g.open(d.call)
		if !end && (id != "" || d.call.ToolCallID != "") {
			wait = append(wait, d)
			continue
		}
		if id != "" {
			list = append(list, g.tellDenial(&d, id)...)
			list = append(list, execution.Event{Body: execution.ToolError{ToolCallID: id, ToolName: g.calls[id].name, Error: d.why}, Origin: originHook})
			delete(g.calls, id)
			continue
		}
		g.count++
		id = cmp.Or(d.call.ToolCallID, fmt.Sprintf("%s-denied-%d", g.run.ID(), g.count))
		input := d.call.Data.ToolInput
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		denied := g.tellDenial(&d, id)
		for _, b := range []execution.Body{execution.ToolCallStart{ToolCallID: id, ToolName: d.call.Data.ToolName},
			execution.ToolCallReady{ToolCallID: id, ToolName: d.call.Data.ToolName, Input: input}} {
			list = append(list, execution.Event{Body: b, Origin: originHook})
		}
		list = append(list, denied...)
		list = append(list, execution.Event{Origin: originHook, Body: execution.ToolError{ToolCallID: id, ToolName: d.call.Data.ToolName, Error: d.why}})
	}
	g.denied = wait
	return list
}

// open returns the id of a call that the agent shows and a hook denied, empty if none.
func (g *hooking) open(denied execution.HookCall) string {
	if _, ok := g.calls[denied.ToolCallID]; ok {
		return denied.ToolCallID
	}
	for id, c := range g.calls {
		if denied.ToolCallID == "" && bytes.Equal(canonical(denied.Data.ToolInput), c.input) {
			return id
		}
	}
	return ""
}

// canonical returns the same JSON for equal values.
func canonical(b json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(b, &v) != nil {
		return b
	}
	c, err := json.Marshal(v)
	if err != nil {
		return b
	}
	return c
}

// observe notifies hooks of an event.
func (g *hooking) observe(e execution.Event) {
	if e.Parent != "" {
		return
	}
	switch b := e.Body.(type) {
	case execution.ToolCallReady:
		g.remember(b.ToolCallID, b.ToolName, b.Input)
	case execution.MCPToolCallStart:
		g.remember(b.ToolCallID, b.Server+"/"+b.ToolName, b.Input)
	case execution.ToolResultEvent:
		g.toolEnded(e, b.ToolCallID, b.ToolName, b.Output, "")
	case execution.MCPToolResult:
		g.toolEnded(e, b.ToolCallID, b.ToolName, b.Output, "")
	case execution.ToolError:
		g.toolEnded(e, b.ToolCallID, b.ToolName, nil, b.Error)
	case execution.MCPToolError:
		g.toolEnded(e, b.ToolCallID, b.ToolName, nil, b.Error)
	case execution.SessionStart:
		call := g.call(execution.HookSessionStart)
		call.SessionID, call.Time = b.SessionID, e.Time
		g.tell(g.SessionStart, call)
	case execution.SessionEnd:
		call := g.call(execution.HookSessionEnd)
		call.SessionID, call.Time = b.SessionID, e.Time
		g.tell(g.SessionEnd, call)
	case execution.TurnEnd:
		call := g.call(execution.HookStop)
		call.Time = e.Time
		g.tell(g.Stop, call)
	}
}

// remember keeps a call's input for the hook that is notified of its end.
func (g *hooking) remember(id, name string, input json.RawMessage) {
	if g.PostToolUse == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shown[id] = hookedCall{name, input}
}

func (g *hooking) toolEnded(e execution.Event, id, name string, output json.RawMessage, failure string) {
	if g.PostToolUse == nil {
		return
	}
	call := g.call(execution.HookPostToolUse)
	call.ToolCallID, call.Time = id, e.Time
	g.mu.Lock()
	known, ok := g.shown[id]
	delete(g.shown, id)
	g.mu.Unlock()
	if ok {
		name = known.name
	}
	call.Data.ToolName, call.Data.ToolInput, call.Data.ToolOutput, call.Data.Message = name, known.input, output, failure
	g.tell(g.PostToolUse, call)
}

// tell queues a call of a notified hook. One goroutine at a time makes the calls while there are any.
func (g *hooking) tell(fn func(context.Context, execution.HookCall), call execution.HookCall) {
	if fn == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.notices = append(g.notices, notice{fn, call})
	if !g.telling {
		g.telling = true
		g.working.Go(g.work)
	}
}

func (g *hooking) work() {
	for {
		g.mu.Lock()
		if len(g.notices) == 0 {
			g.telling = false
			g.mu.Unlock()
			return
		}
		next := g.notices[0]
		g.notices = g.notices[1:]
		g.mu.Unlock()
		g.toldOne(next)
	}
}

// toldOne makes one call. Its context outlives the run, because hooks are notified of the run's end too.
func (g *hooking) toldOne(n notice) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.run.ctx), g.timeout())
	defer cancel()
	back := make(chan any, 1)
	go func() {
		defer func() { back <- recover() }()
		n.tell(ctx, n.call)
	}()
	select {
	case p := <-back:
		if p != nil {
			g.run.warn("the %s hook panicked: %v", n.call.Event, p)
		}
	case <-ctx.Done():
		g.run.warn("the %s hook did not return within %v and was abandoned", n.call.Event, g.timeout())
	}
}

// wait waits until all queued notifications were delivered.
func (g *hooking) wait() { g.working.Wait() }
