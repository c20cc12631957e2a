package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// trial is one run of a scenario.
type trial struct {
	req  execution.Request
	opts agent.Options
	// watch gets every event before any reader and may call the run's methods.
	watch func(*agent.Run, execution.Event)
	// started gets the run's Abort when the run has started.
	started func(abort func(error))
}

// seen is a run as its reader saw it.
type seen struct {
	run     *agent.Run
	events  []execution.Event
	result  execution.Result
	elapsed time.Duration
}

// trial prepares a scenario. The caller may change the request and the options.
func (s Subject) trial(sc Scenario) *trial {
	return &trial{req: s.request(sc), opts: s.Options}
}

// play runs a scenario unchanged.
func (s Subject) play(ctx context.Context, sc Scenario) (seen, error) {
	return s.trial(sc).run(ctx, s)
}

// run runs a trial to its end and checks what holds for every run: the order of its events, its one result, and that
// the request is unchanged. A failed result is not an error.
func (t *trial) run(ctx context.Context, s Subject) (seen, error) {
	return t.runUnder(ctx, ctx, s)
}

// ends is run for a trial that must end with a status, and with one of the codes if there are any.
func (t *trial) ends(ctx context.Context, s Subject, status execution.Status, codes ...execution.FailureCode) (seen, error) {
	o, err := t.run(ctx, s)
	if err == nil {
		err = o.expect(status, codes...)
	}
	return o, err
}

// plays is ends for a scenario.
func (s Subject) plays(ctx context.Context, sc Scenario, status execution.Status, codes ...execution.FailureCode) (seen, error) {
	return s.trial(sc).ends(ctx, s, status, codes...)
}

// lacks checks that a trial is refused if its capability is missing, and otherwise that the subject can provoke the scenarios. If out
// is set the check is over.
func (s Subject) lacks(ctx context.Context, t *trial, missing bool, capability string, scenarios ...Scenario) (out bool, err error) {
	if missing {
		return true, s.refuses(ctx, t, capability)
	}
	err = s.need(scenarios...)
	return err != nil, err
}

// runUnder is run with a separate context for the run, which may end before that of its reader.
func (t *trial) runUnder(ctx, inner context.Context, s Subject) (seen, error) {
	before := t.req.Clone()
	opts := t.opts
	started := make(chan *agent.Run, 1)
	if t.watch != nil {
		var run *agent.Run
		opts.Handlers = append(slices.Clip(opts.Handlers), agent.OnAny(func(e execution.Event) {
			if run == nil {
				run = <-started
			}
			t.watch(run, e)
		}))
	}
	begun := time.Now()
	r, err := agent.New(s.Backend()).Start(inner, t.req, opts)
	if err != nil {
		return seen{}, fmt.Errorf("start: %w", err)
	}
	started <- r
	if t.started != nil {
		t.started(r.Abort)
	}
	out := seen{run: r}
	for e, err := range r.Events(ctx, 0) {
		if err != nil {
			r.Abort(err)
			last, _ := r.Result(context.WithoutCancel(ctx))
			return out, fmt.Errorf("the run did not end in time and was aborted after %d events: %w (it ended %s)", len(out.events), err, last.Status)
		}
		out.events = append(out.events, e)
	}
	if out.result, err = r.Result(ctx); err != nil {
		return out, err
	}
	out.elapsed = time.Since(begun)
	var changed error
	if !reflect.DeepEqual(before, t.req) {
		changed = errors.New("the execution changed its request")
	}
	return out, errors.Join(CheckOrder(out.events, out.result), out.result.Validate(), changed)
}

// expect checks the status and, if given, the failure code.
func (o seen) expect(status execution.Status, codes ...execution.FailureCode) error {
	var got execution.FailureCode
	message := ""
	if o.result.Error != nil {
		got, message = o.result.Error.Code, o.result.Error.Message
	}
	if o.result.Status != status || len(codes) > 0 && !slices.Contains(codes, got) {
		return fmt.Errorf("the result is %s %s (%s), want %s %v", o.result.Status, got, message, status, codes)
	}
	return nil
}

// has reports whether an event of the agent itself has a body of type T that match accepts; nil accepts all.
func has[T execution.Body](o seen, match func(T) bool) bool { return count(o, match) > 0 }

func count[T execution.Body](o seen, match func(T) bool) (n int) {
	for _, e := range o.events {
		if b, ok := e.Body.(T); ok && e.Parent == "" && (match == nil || match(b)) {
			n++
		}
	}
	return n
}

// need skips a check whose scenario the subject cannot provoke.
func (s Subject) need(scenarios ...Scenario) error {
	for _, sc := range scenarios {
		if reason, cannot := s.Cannot[sc]; cannot {
			if strings.TrimSpace(reason) == "" {
				return fmt.Errorf("the subject cannot provoke %s and gives no reason", sc)
			}
			return Skip("cannot provoke %s: %s", sc, reason)
		}
	}
	return nil
}

// starts returns how often the backend was started, 0 if that is not counted.
func (s Subject) starts() int {
	if s.Starts == nil {
		return 0
	}
	return s.Starts()
}

// refuses checks that a request is refused for the named capability before anything starts.
func (s Subject) refuses(ctx context.Context, t *trial, capability string) error {
	n := agent.New(s.Backend()).Negotiate(t.req, t.opts)
	blocked := slices.ContainsFunc(n.Reasons, func(r execution.Reason) bool {
		return r.Severity == execution.SeverityBlocking && (capability == "" || r.Capability == capability)
	})
	if n.Supported || !blocked {
		return fmt.Errorf("%s is not declared, but negotiation does not refuse it: supported %v, reasons %v", capability, n.Supported, n.Reasons)
	}
	before := s.starts()
	o, err := t.run(ctx, s)
	if err != nil {
		return err
	}
	if err := o.expect(execution.StatusUnsupported, execution.FailureUnsupportedCapability); err != nil {
		return fmt.Errorf("%s is not declared: %w", capability, err)
	}
	if len(o.result.Degradation) == 0 {
		return fmt.Errorf("the refusal of %s gives no reasons", capability)
	}
	if n := s.starts() - before; n != 0 {
		return fmt.Errorf("the backend was started %d times for a request that it does not support", n)
	}
	return nil
}

// commands is an inbox for an adapter without package agent: it delivers commands, approves every question, and ends
// when it is closed.
type commands struct {
	opts agent.Options

	mu     sync.Mutex // guards the rest
	queue  []execution.Command
	closed bool
	wake   chan struct{}
}

func newCommands(opts agent.Options, first ...execution.Command) *commands {
	return &commands{opts: opts, queue: first, wake: make(chan struct{}, 1)}
}

func (c *commands) put(cmd execution.Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, cmd)
	c.signal()
}

func (c *commands) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.signal()
}

func (c *commands) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Receive implements adapter.Inbox.
func (c *commands) Receive(ctx context.Context) (execution.Command, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.mu.Lock()
		if len(c.queue) > 0 {
			cmd := c.queue[0]
			c.queue = c.queue[1:]
			c.mu.Unlock()
			return cmd, nil
		}
		closed := c.closed
		c.mu.Unlock()
		if closed {
			return nil, io.EOF
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
		}
	}
}

// CallTool implements adapter.ToolHost.
func (c *commands) CallTool(ctx context.Context, call execution.ToolCall) (execution.ToolResult, error) {
	if c.opts.Tools == nil {
		return execution.ToolResult{Error: "no handler of tools"}, nil
	}
	return c.opts.Tools(ctx, call)
}

// raw iterates the adapter itself, without the guarantees of package agent, and approves its questions. stop may end
// the iteration early.
func (s Subject) raw(ctx context.Context, sc Scenario, stop func(execution.Event) bool) (events []execution.Event, err error) {
	req := s.request(sc)
	req.Run.RunID = agent.NewRunID()
	in := newCommands(s.Options, execution.EndInput{})
	defer in.close()
	for e, broken := range s.Backend().Adapter.Execute(ctx, req, in) {
		if broken != nil {
			return events, fmt.Errorf("the sequence yields an error, which is reserved for broken callers: %w", broken)
		}
		events = append(events, e)
		switch b := e.Body.(type) {
		case execution.ApprovalRequired:
			in.put(execution.Answer{ID: b.ID, Decision: execution.Decision{Approve: true}})
		case execution.InputRequired:
			in.put(execution.Answer{ID: b.ID, Decision: execution.Decision{Approve: true, Text: "yes"}})
		}
		if stop != nil && stop(e) {
			break
		}
	}
	return events, nil
}
