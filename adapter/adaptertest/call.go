package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// ErrInterrupted is what the waiting methods of a Call return when an Interrupt arrives.
var ErrInterrupted = errors.New("the turn was interrupted")

// errStopped unwinds a script whose consumer has stopped.
var errStopped = errors.New("the consumer stopped")

// Call is one execution of a Fake, for its script. Its methods are for the script's goroutine only.
type Call struct {
	Ctx     context.Context
	Request execution.Request
	Number  int // 1 for the first execution of the Fake

	fake    *Fake
	tools   adapter.ToolHost
	hooks   adapter.HookHost
	yield   func(execution.Event, error) bool
	stopped bool
	silent  bool
	calls   int // tool calls made

	mu     sync.Mutex // guards queue, eof and frozen
	queue  []execution.Command
	eof    bool
	frozen chan struct{} // closed when the pause is over; nil without a pause
	wake   chan struct{}
}

// listen moves commands from the inbox to the call until there are no more.
func (c *Call) listen(ctx context.Context, in adapter.Inbox) {
	for {
		cmd, err := in.Receive(ctx)
		c.mu.Lock()
		switch cmd := cmd.(type) {
		case nil:
			c.eof = true
			c.thaw()
		case execution.Pause:
			if c.frozen == nil {
				c.frozen = make(chan struct{})
			}
		case execution.Continue:
			c.thaw()
		default:
			c.queue = append(c.queue, cmd)
		}
		c.mu.Unlock()
		select {
		case c.wake <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// thaw ends a pause; mu is held.
func (c *Call) thaw() {
	if c.frozen != nil {
		close(c.frozen)
		c.frozen = nil
	}
}

// Emit yields events of the agent itself. If the consumer has stopped, the script is unwound and does not continue.
func (c *Call) Emit(bodies ...execution.Body) {
	for _, b := range bodies {
		c.EmitEvent(execution.Event{Body: b})
	}
}

// EmitFrom yields an event of the sub-agent that the tool call parent started.
func (c *Call) EmitFrom(parent string, b execution.Body) {
	c.EmitEvent(execution.Event{Parent: parent, Body: b})
}

// EmitEvent yields an event unchanged, even an invalid one.
func (c *Call) EmitEvent(e execution.Event) { c.push(e, nil) }

// EmitError yields an error of the sequence, as a broken adapter would.
func (c *Call) EmitError(err error) { c.push(execution.Event{}, err) }

func (c *Call) push(e execution.Event, err error) {
	if c.stopped {
		panic(errStopped)
	}
	c.mu.Lock()
	frozen := c.frozen
	c.mu.Unlock()
	if frozen != nil {
		select {
		case <-frozen:
		case <-c.Ctx.Done():
		}
	}
	if !c.yield(e, err) {
		c.stopped = true
		panic(errStopped)
	}
}

// Hook asks the caller's hook about the agent's own tool call. If ok, the tool may run with the returned input.
func (c *Call) Hook(id, name string, input json.RawMessage, use execution.ToolUse) (_ json.RawMessage, why string, ok bool) {
	if c.hooks == nil {
		return input, "", true
	}
	res := c.hooks.DecideTool(c.Ctx, execution.HookCall{ToolCallID: id, Use: use, Data: execution.HookData{ToolName: name, ToolInput: input}})
	switch res.Decision {
	case execution.HookAllow:
		return input, "", true
	case execution.HookModify:
		return res.ModifiedInput, "", true
	}
	return nil, res.Message, false
}

// NoResult makes the execution end without a result, whatever the script returns.
func (c *Call) NoResult() { c.silent = true }

// Poll returns the next command if there is one.
func (c *Call) Poll() (execution.Command, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return nil, false
	}
	cmd := c.queue[0]
	c.queue = c.queue[1:]
	return cmd, true
}

// Next waits for the next command. Its error is io.EOF, or that of the execution's context.
func (c *Call) Next() (execution.Command, error) {
	for {
		if cmd, ok := c.Poll(); ok {
			return cmd, nil
		}
		if err := c.Ctx.Err(); err != nil {
			return nil, err
		}
		c.mu.Lock()
		eof := c.eof && len(c.queue) == 0
		c.mu.Unlock()
		if eof {
			return nil, io.EOF
		}
		select {
		case <-c.wake:
		case <-c.Ctx.Done():
		}
	}
}

// Answer waits for the answer to an emitted question. Other commands wait meanwhile, except an interrupt.
func (c *Call) Answer(id execution.QuestionID) (execution.Decision, error) {
	for {
		if d, err, ok := c.find(id); ok {
			return d, err
		}
		if err := c.Ctx.Err(); err != nil {
			return execution.Decision{}, err
		}
		c.mu.Lock()
		eof := c.eof
		c.mu.Unlock()
		if eof {
			return execution.Decision{}, io.EOF
		}
		select {
		case <-c.wake:
		case <-c.Ctx.Done():
		}
	}
}

func (c *Call) find(id execution.QuestionID) (execution.Decision, error, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, cmd := range c.queue {
		switch cmd := cmd.(type) {
		case execution.Answer:
			if cmd.ID == id {
				c.queue = append(c.queue[:i:i], c.queue[i+1:]...)
				return cmd.Decision, nil, true
			}
		case execution.Interrupt:
			c.queue = append(c.queue[:i:i], c.queue[i+1:]...)
			return execution.Decision{}, ErrInterrupted, true
		}
	}
	return execution.Decision{}, nil, false
}

// Ask emits a question, an ApprovalRequired or an InputRequired, and waits for its answer.
func (c *Call) Ask(q execution.Body) (execution.Decision, error) {
	c.Emit(q)
	switch q := q.(type) {
	case execution.ApprovalRequired:
		return c.Answer(q.ID)
	case execution.InputRequired:
		return c.Answer(q.ID)
	}
	return execution.Decision{}, errors.New("adaptertest: not a question")
}

// Sleep waits for d; an interrupt or the end of the execution's context ends it early with an error.
func (c *Call) Sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		c.mu.Lock()
		for i, cmd := range c.queue {
			if cmd == (execution.Interrupt{}) {
				c.queue = append(c.queue[:i:i], c.queue[i+1:]...)
				c.mu.Unlock()
				return ErrInterrupted
			}
		}
		c.mu.Unlock()
		select {
		case <-timer.C:
			return nil
		case <-c.Ctx.Done():
			return c.Ctx.Err()
		case <-c.wake:
		}
	}
}

// Say emits a message with one delta per part.
func (c *Call) Say(parts ...string) {
	whole := ""
	c.Emit(execution.MessageStart{})
	for _, p := range parts {
		whole += p
		c.Emit(execution.TextDelta{Delta: p, Accumulated: whole})
	}
	c.Emit(execution.MessageStop{Text: whole})
}

// Tool calls a tool of the request and emits the call's events.
func (c *Call) Tool(name, input string) (execution.ToolResult, error) {
	c.calls++
	id := "call-" + strconv.Itoa(c.Number) + "-" + strconv.Itoa(c.calls)
	if c.tools == nil {
		return execution.ToolResult{}, errors.New("adaptertest: no handler of tools")
	}
	c.Emit(execution.ToolCallStart{ToolCallID: id, ToolName: name}, execution.ToolInputDelta{ToolCallID: id, Delta: input, InputAccumulated: input},
		execution.ToolCallReady{ToolCallID: id, ToolName: name, Input: json.RawMessage(input)})
	res, err := c.tools.CallTool(c.Ctx, execution.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)})
	switch {
	case err != nil:
		c.Emit(execution.ToolError{ToolCallID: id, ToolName: name, Error: err.Error()})
	case res.Error != "":
		c.Emit(execution.ToolError{ToolCallID: id, ToolName: name, Error: res.Error})
	default:
		c.Emit(execution.ToolResultEvent{ToolCallID: id, ToolName: name, Output: res.Output})
	}
	return res, err
}

// Completed returns the result of a successful script.
func Completed() execution.Result { return execution.Result{Status: execution.StatusCompleted} }

// Failed returns the result of a failed script.
func Failed(code execution.ErrorCode, message string) execution.Result {
	return execution.Result{Status: execution.StatusFailed, Error: execution.NewResultError(code, message)}
}
