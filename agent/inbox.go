package agent

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// inbox delivers commands to one execution. It is unbounded: people and policies send commands, one per
// question or message. It is safe for concurrent use.
type inbox struct {
	run     context.Context // ends with the run, and so do tool calls; see CallTool
	handler ToolHandler
	tools   []execution.Tool
	hook    func(context.Context, execution.HookCall) execution.HookResult // nil without a hook

	mu     sync.Mutex // guards the rest
	queue  []execution.Command
	closed bool
	wake   chan struct{}
}

func newInbox(run context.Context, handler ToolHandler, tools []execution.Tool) *inbox {
	return &inbox{run: run, handler: handler, tools: tools, wake: make(chan struct{}, 1)}
}

// put queues a command; false if the execution has ended.
func (b *inbox) put(c execution.Command) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.queue = append(b.queue, c)
	b.signal()
	return true
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.signal()
}

func (b *inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Receive implements adapter.Inbox. A done ctx wins over waiting commands: an ending run starts nothing new.
func (b *inbox) Receive(ctx context.Context) (execution.Command, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		b.mu.Lock()
		if len(b.queue) > 0 {
			c := b.queue[0]
			b.queue = b.queue[1:]
			if len(b.queue) > 0 || b.closed {
				b.signal()
			}
			b.mu.Unlock()
			return c, nil
		}
		closed := b.closed
		if closed {
			b.signal() // for another waiting goroutine
		}
		b.mu.Unlock()
		if closed {
			return nil, io.EOF
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
		}
	}
}

// forAdapter returns the inbox as the adapter sees it: a tool host only if somebody handles tools, a hook host
// only if somebody decides on tool calls.
func (b *inbox) forAdapter() adapter.Inbox {
	switch {
	case b.handler != nil && b.hook != nil:
		return struct {
			*inbox
			toolPart
			hookPart
		}{b, toolPart{b}, hookPart{b.hook}}
	case b.handler != nil:
		return struct {
			*inbox
			toolPart
		}{b, toolPart{b}}
	case b.hook != nil:
		return struct {
			*inbox
			hookPart
		}{b, hookPart{b.hook}}
	}
	return b
}

// hookPart makes an inbox an adapter.HookHost.
type hookPart struct {
	decide func(context.Context, execution.HookCall) execution.HookResult
}

// DecideTool implements adapter.HookHost.
func (h hookPart) DecideTool(ctx context.Context, call execution.HookCall) execution.HookResult {
	return h.decide(ctx, call)
}

// toolPart makes an inbox an adapter.ToolHost.
type toolPart struct{ in *inbox }

// CallTool implements adapter.ToolHost. A panic of the handler is the tool's failure, not the host's.
func (p toolPart) CallTool(ctx context.Context, call execution.ToolCall) (res execution.ToolResult, err error) {
	t := p.in
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return execution.ToolResult{}, execution.Errorf(execution.CodeRunNotActive, "call tool %s: the run is over", call.Name)
	}
	if !slices.ContainsFunc(t.tools, func(have execution.Tool) bool { return have.Name == call.Name }) {
		return execution.ToolResult{Error: fmt.Sprintf("no tool %q", call.Name)}, nil
	}
	defer func() {
		if p := recover(); p != nil {
			res, err = execution.ToolResult{Error: fmt.Sprintf("the handler of tool %s panicked: %v", call.Name, p)}, nil
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.run, func() { cancel(context.Cause(t.run)) })()
	return t.handler(ctx, call)
}
