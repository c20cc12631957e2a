package cliagent

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/toolserver"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
	"github.com/drawbar/drawbar/transport/remote"
)

// run is one execution, on three goroutines: the caller's, which reads the process, parses and yields; one that
// passes on commands while the consumer is busy; one that watches timers and the context. They share mu, which is
// never held while waiting or yielding.
type run struct {
	spec  *Spec
	opts  *Options
	req   execution.Request // a copy that names the tool server
	in    adapter.Inbox
	yield func(execution.Event, error) bool

	launch  *Launch
	tools   *toolserver.Server
	hook    *hooked // nil without a hook
	handle  process.Handle
	talking context.Context // ends with the conversation
	linger  chan struct{}   // capacity 1: start of the linger time
	alarms  chan struct{}   // capacity 1: the parser set its alarm

	mu         sync.Mutex
	drive      drive
	why        stopReason
	reading    bool      // the loop waits for output; time spent in the consumer is not the agent's silence
	since      time.Time // when the agent last got or produced something
	paused     bool
	inputEnded bool
	lingering  bool
	closedIn   bool
	deaf       bool // a failed write was reported
	wait       context.Context
	wake       context.CancelFunc // cancels wait
}

func (r *run) execute(ctx context.Context) {
	defer func() {
		if r.tools != nil {
			_ = r.tools.Close()
		}
		r.hook.close()
		if r.launch != nil {
			_ = r.launch.remove()
		}
	}()
	spec, no := r.prepare(ctx)
	if no == nil {
		var err error
		if r.handle, err = r.opts.Runner(ctx, spec); err != nil {
			no = r.startRefusal(ctx, err)
		}
	}
	if no != nil {
		r.refused(no)
		return
	}
	if res, ok := r.converse(ctx); ok {
		if err := r.launch.remove(); err != nil {
			res.Metadata = with(res.Metadata, "privateFiles", "remove them by hand: "+err.Error())
		}
		r.yield(execution.Event{Body: execution.Finished{Result: res}}, nil)
	}
}

// refused ends a run that did not start.
func (r *run) refused(no *refusal) {
	res := execution.Result{SchemaVersion: execution.SchemaVersion, BackendID: r.spec.Name}
	fail(&res, no.err, no.broken)
	switch no.err.Code {
	case execution.CodeAborted:
		res.ExitReason = execution.ExitReasonAbort
	case execution.CodeTimeout:
		res.ExitReason = execution.ExitByTimeout
	}
	if no.spawn != nil {
		res.ExitReason = execution.ExitCrash
		if !r.yield(execution.Event{Body: r.spec.Hooks.spawnError(no.spawn)}, nil) {
			return
		}
	}
	r.yield(execution.Event{Body: execution.Finished{Result: res}}, nil)
}

// converse runs the process from its start to its result. It returns false if the consumer stopped.
func (r *run) converse(ctx context.Context) (execution.Result, bool) {
	r.drive.silence = time.Duration(r.req.Run.InactivityTimeoutMs) * time.Millisecond
	r.linger = make(chan struct{}, 1)
	r.alarms = make(chan struct{}, 1)
	var helpers sync.WaitGroup
	over := make(chan struct{})
	commands, hangUp := context.WithCancel(ctx)
	r.talking = commands
	leave := sync.OnceFunc(func() {
		hangUp()
		close(over)
		helpers.Wait()
		r.hook.wait()
	})
	exited := false
	// This also runs when the consumer panicked, and lets the panic pass.
	defer func() {
		if !exited {
			r.abandon()
		}
		leave()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wake()
	}()

	r.mu.Lock()
	r.since = time.Now()
	r.renew(ctx)
	r.drive.open()
	r.applyRequests()
	r.mu.Unlock()
	helpers.Go(func() { r.watch(ctx, over) })
	helpers.Go(func() { r.command(commands) })

	if !r.read(ctx) {
		return execution.Result{}, false
	}
	exit := r.handle.Wait()
	exited = true
	leave()

	r.mu.Lock()
	if r.why == stopNone && exit.Stopped && ctx.Err() != nil {
		r.why = contextReason(ctx) // the transport noticed before the watch did
	}
	r.drive.sink.outputs = r.launch.collect()
	if r.req.Run.Invocation.Elsewhere() {
		var err *execution.Error
		if err, exit.StderrTail = remote.Failure(exit.StderrTail); err != nil {
			err.Hint = notThere[err.Code]
			r.drive.sink.Fail(err)
		}
	}
	res := r.drive.finish(exit, r.why)
	last := r.drive.sink.exchange(nil)
	r.mu.Unlock()
	return res, r.deliver(last)
}

// read parses and yields until both streams have ended. It returns false if the consumer stopped.
func (r *run) read(ctx context.Context) bool {
	var spare []execution.Event
	for {
		r.mu.Lock()
		events := r.drive.sink.exchange(spare)
		if len(events) == 0 {
			r.renew(ctx)
			r.reading, r.since = true, time.Now()
		}
		wait := r.wait
		r.mu.Unlock()
		if len(events) > 0 {
			if !r.deliver(events) {
				return false
			}
			clear(events)
			spare = events
			continue
		}
		spare = events

		lines, err := r.handle.Next(wait)
		r.mu.Lock()
		r.reading = false
		for _, l := range lines {
			r.drive.line(l)
		}
		ended := err != nil && wait.Err() == nil
		if ended {
			r.streamsEnded(err)
		}
		r.applyRequests()
		r.mu.Unlock()
		if ended {
			return true
		}
	}
}

// streamsEnded starts the linger time: an agent that closed its output can say nothing more, so it must exit as
// quickly as one that is done.
func (r *run) streamsEnded(err error) {
	if !errors.Is(err, io.EOF) {
		r.drive.sink.fail(execution.Errorf(execution.CodeInternal, "read the output of %s: %w", r.spec.Name, err))
		return
	}
	r.beginLinger()
}

func (r *run) deliver(events []execution.Event) bool {
	for _, e := range events {
		if !r.yield(e, nil) {
			return false
		}
	}
	return true
}

// abandon stops a process without a consumer. Its remaining output is read, so that it does not block, and dropped.
func (r *run) abandon() {
	r.handle.Stop(0)
	_ = process.ReadAll(r.handle, nil) // nobody hears of it
	r.handle.Wait()
}

// renew returns a fresh context to wait under after the last one was cancelled. It outlives ctx: output after the end
// of the run must be read.
func (r *run) renew(ctx context.Context) {
	if r.wait == nil || r.wait.Err() != nil {
		r.wait, r.wake = context.WithCancel(context.WithoutCancel(ctx))
	}
}

// applyRequests carries out what the parser requested.
func (r *run) applyRequests() {
	r.unasked()
	if r.hook != nil {
		r.decide(r.talking)
	}
	s := r.drive.sink
	for _, w := range s.TakeWrites() {
		if err := r.handle.Write(w); err != nil && !r.deaf {
			r.deaf = true
			s.Emit(execution.ErrorEvent{Code: execution.CodeStdinNotAvailable, Recoverable: true,
				Message: "cannot write to the agent: " + err.Error()})
		}
	}
	if s.closeIn && !r.closedIn {
		r.closedIn = true
		r.handle.CloseInput()
	}
	if s.rung {
		s.rung = false
		select {
		case r.alarms <- struct{}{}:
		default: // the watch has not run since
		}
	}
	if s.failure != nil {
		r.stop(stopFailure)
	}
	if s.done {
		r.beginLinger()
	}
}

func (r *run) beginLinger() {
	if r.lingering {
		return
	}
	r.lingering = true
	if !r.closedIn {
		r.closedIn = true
		r.handle.CloseInput()
	}
	r.linger <- struct{}{}
}

// stop stops the process. The first reason stays.
func (r *run) stop(why stopReason) {
	if r.why == stopNone {
		r.why = why
	}
	r.handle.Stop(0)
}

// command passes on commands until there are no more.
func (r *run) command(ctx context.Context) {
	for {
		cmd, err := r.receive(ctx)
		if ctx.Err() != nil && err != nil {
			return
		}
		r.mu.Lock()
		if err != nil {
			cmd = execution.EndInput{}
			if !errors.Is(err, io.EOF) {
				r.drive.sink.Emit(execution.Debug{Level: execution.DebugWarn, Message: "no more commands can be received: " + err.Error()})
			}
		}
		r.apply(cmd)
		r.applyRequests()
		r.since = time.Now()
		r.wake()
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// receive recovers the panic of an inbox, because it runs on a goroutine of the kit.
func (r *run) receive(ctx context.Context) (cmd execution.Command, err error) {
	if p := guard("the inbox", func() { cmd, err = r.in.Receive(ctx) }); p != nil {
		return nil, p
	}
	return cmd, err
}

func (r *run) apply(cmd execution.Command) {
	switch cmd.(type) {
	case nil:
	case execution.Pause:
		r.pause(cmd, r.handle.Pause, true)
	case execution.Continue:
		r.pause(cmd, r.handle.Resume, false)
	case execution.EndInput:
		if !r.inputEnded {
			r.inputEnded = true
			_ = r.drive.command(cmd) // the end of the input cannot be refused
		}
	case execution.Interrupt:
		if err := r.drive.command(cmd); execution.CodeOf(err) == execution.CodeStdinNotAvailable {
			r.signalInterrupt()
		} else if err != nil {
			r.drive.refuse(cmd, err)
		}
	default:
		if err := r.drive.command(cmd); err != nil {
			r.drive.refuse(cmd, err)
		}
	}
}

// signalInterrupt interrupts an agent that accepts no input, like Ctrl-C in a terminal. An agent that does not exit
// within Linger is stopped.
func (r *run) signalInterrupt() {
	if r.why == stopNone {
		r.why = stopInterrupt
	}
	if err := r.handle.Interrupt(); err != nil {
		r.handle.Stop(0)
		return
	}
	r.beginLinger()
}

func (r *run) pause(cmd execution.Command, signal func() error, on bool) {
	err := signal()
	switch {
	case errors.Is(err, process.ErrUnsupported):
		r.drive.refuse(cmd, execution.Errorf(execution.CodeCapability, "pause %s: %w", r.spec.Name, err))
	case err != nil:
		r.drive.refuse(cmd, execution.Errorf(execution.CodeInvalidStateTransition, "pause or resume %s: %w", r.spec.Name, err))
	default:
		r.paused = on // the caller emits the event
	}
}
