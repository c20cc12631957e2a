package agent

import (
	"fmt"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// emission is an event to process, or a function to run under the same exclusion.
type emission struct {
	event execution.Event
	agent bool // yielded by the adapter
	do    func()
}

// emitter is the part of a run that brings events into order and hands them out.
type emitter struct {
	emitMu   sync.Mutex // guards the next four
	emitQ    []emission
	emitting bool
	idle     *sync.Cond
	handlers []*Handler
	// The rest belongs to the goroutine that processes the queue.
	seq   sequencer
	col   *collector
	hold  *hold
	held  *time.Timer // runs while events are held
	alive bool        // the agent has shown activity
}

// One goroutine at a time processes the queue of emissions, in order. Emitting from a handler or another
// goroutine only queues, so handlers may call the run's methods. Where the order of an event and of what it
// reports matters, both happen under mu: push, act, then pump after releasing mu. Lock order: mu, then emitMu.

// emit adds an event of the host to the stream.
func (r *Run) emit(b execution.Body) {
	r.push(b)
	r.pump(false)
}

// emitEvent is emit for an event with an origin.
func (r *Run) emitEvent(e execution.Event) {
	r.emitMu.Lock()
	r.emitQ = append(r.emitQ, emission{event: e})
	r.emitMu.Unlock()
	r.pump(false)
}

// push queues an event of the host. The caller must then pump, without mu.
func (r *Run) push(b execution.Body) {
	r.emitMu.Lock()
	r.emitQ = append(r.emitQ, emission{event: execution.Event{Body: b}})
	r.emitMu.Unlock()
}

// exclusive runs fn between two events and returns when it has run. Only the driving goroutine calls it.
func (r *Run) exclusive(fn func()) {
	r.queueDo(fn)
	r.pump(true)
}

func (r *Run) queueDo(fn func()) {
	r.emitMu.Lock()
	r.emitQ = append(r.emitQ, emission{do: fn})
	r.emitMu.Unlock()
}

// pump processes the queue unless another goroutine does. The driver waits for its turn instead of adding to
// another goroutine's work, so that an agent that never stops producing output cannot keep a caller busy.
func (r *Run) pump(driver bool) {
	r.emitMu.Lock()
	defer r.emitMu.Unlock()
	if r.emitting && !driver {
		return
	}
	r.awaitTurnLocked()
	r.drainLocked()
}

func (r *Run) awaitTurnLocked() {
	for r.emitting {
		r.idle.Wait()
	}
}

func (r *Run) drainLocked() {
	r.emitting = true
	for len(r.emitQ) > 0 {
		next := r.emitQ[0]
		r.emitQ = r.emitQ[1:]
		r.emitMu.Unlock()
		if next.do != nil {
			next.do()
		} else {
			r.process(next)
		}
		r.emitMu.Lock()
	}
	if len(r.emitQ) == 0 {
		r.emitQ = nil
	}
	r.emitting = false
	r.idle.Broadcast()
}

// emitWait processes an event of the agent. It waits while a holding reader requires it.
func (r *Run) emitWait(e execution.Event) {
	if room := r.log.full(); room != nil {
		select {
		case <-room:
		case <-r.ctx.Done():
		}
	}
	r.emitMu.Lock()
	r.awaitTurnLocked()
	if len(r.emitQ) > 0 {
		r.emitQ = append(r.emitQ, emission{event: e, agent: true})
	} else {
		r.emitting = true
		r.emitMu.Unlock()
		r.process(emission{event: e, agent: true})
		r.emitMu.Lock()
	}
	r.drainLocked()
	r.emitMu.Unlock()
}

func (r *Run) warn(format string, args ...any) {
	r.emit(execution.Debug{Level: execution.DebugWarn, Message: fmt.Sprintf(format, args...)})
}

// process orders one event by the contract, publishes it, and reacts to it.
func (r *Run) process(em emission) {
	if r.seq.ended {
		return // nothing follows finished
	}
	if em.agent {
		r.calls.see(em.event.Body)
		switch em.event.Body.(type) {
		case execution.ApprovalRequired, execution.InputRequired:
			em.event = r.hold.clean(em.event) // a question may be asked without its event
		}
		r.anticipate(em.event)
	}
	r.seq.order(em.event, r.publish)
	if em.agent {
		r.react(em.event)
	}
}

// publish stamps one event and passes it to the collector and, with secrets removed, to handlers and readers.
func (r *Run) publish(e execution.Event) {
	now := time.Now()
	if now.Before(r.seq.last) {
		now = r.seq.last
	}
	r.seq.last = now
	r.seq.n++
	e.Seq, e.Time, e.RunID, e.Caller = r.seq.n, now, r.ID(), &r.caller
	e.Turn = max(r.seq.turn, 0)
	e.Agent = r.col.name
	if !e.Terminal() {
		e = r.hold.clean(e)
	}
	r.col.observe(e)
	if _, ok := e.Body.(execution.TurnStart); ok && e.Parent == "" {
		r.turnStarted()
	}
	r.hold.push(e, now, r.show)
	r.showHeld(now)
}

// show passes an event to handlers and readers.
func (r *Run) show(e execution.Event) {
	if r.req.Run.CollectEvents && !e.Terminal() {
		r.col.collected = append(r.col.collected, e)
	}
	r.call(e)
	r.log.append(e, e.Terminal())
}

// showHeld shows events that are no longer held, and reschedules itself for the rest.
func (r *Run) showHeld(now time.Time) {
	if wait := r.hold.ready(now, r.show); wait > 0 && r.held == nil {
		r.held = time.AfterFunc(wait, func() {
			r.queueDo(func() {
				r.held = nil
				r.showHeld(time.Now())
			})
			r.pump(false)
		})
	}
}

// call runs the handlers. The list is read under the lock because On may extend it meanwhile.
func (r *Run) call(e execution.Event) {
	r.emitMu.Lock()
	handlers := r.handlers
	r.emitMu.Unlock()
	for _, h := range handlers {
		if h.dead {
			continue
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					h.dead = true
					r.warn("an event handler panicked and is not called again: %v", p)
				}
			}()
			if !h.fn(e) {
				h.dead = true
			}
		}()
	}
}

// anticipate updates the state that a reader of the event may rely on, before the event is visible: a question
// can be answered as soon as it is seen, and no longer once its withdrawal is.
func (r *Run) anticipate(e execution.Event) {
	switch b := e.Body.(type) {
	case execution.ApprovalRequired:
		r.expect(execution.Question{ID: b.ID, Body: b})
	case execution.InputRequired:
		r.expect(execution.Question{ID: b.ID, Body: b})
	case execution.QuestionWithdrawn:
		r.withdraw(b.ID)
	case execution.ApprovalGranted:
		r.withdraw(b.ID)
	case execution.ApprovalDenied:
		r.withdraw(b.ID)
	case execution.InputTaken:
		r.arrived(b.ID)
	case execution.InputCancelled:
		r.arrived(b.ID)
	case execution.Retry:
		r.col.retries++
		if b.Code == execution.CodeAuth {
			r.col.refusals++
		}
	}
}

// react handles the consequences of an agent's event.
func (r *Run) react(e execution.Event) {
	r.running()
	own := e.Parent == ""
	switch b := e.Body.(type) {
	case execution.ApprovalRequired:
		r.ask(execution.Question{ID: b.ID, Body: b})
	case execution.InputRequired:
		r.ask(execution.Question{ID: b.ID, Body: b})
	case execution.ToolResultEvent, execution.ToolError, execution.MCPToolResult, execution.MCPToolError:
		if own {
			r.deliver(execution.WhenAfterTool)
		}
	case execution.MessageStop:
		if own {
			r.deliver(execution.WhenAfterResponse)
		}
	case execution.TurnEnd:
		if own {
			r.turnEnded()
		}
	case execution.InputCancelled:
		r.refused(b.ID)
	case execution.Retry:
		r.giveUpOnLogin()
	case execution.TurnStart, execution.StepStart, execution.StepEnd, execution.TokenUsage, execution.CostEvent:
		r.enforce(e)
	}
}

// running records the first activity.
func (r *Run) running() {
	if r.alive {
		return
	}
	r.alive = true
	r.mu.Lock()
	if r.state == execution.StateSpawned {
		r.setLocked(execution.StateRunning)
	}
	r.mu.Unlock()
}

// turnStarted records that the agent works, whoever asked for it.
func (r *Run) turnStarted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turnOpen, r.opener = true, ""
	r.settleInterruptLocked()
}

// turnEnded delivers the next queued message. Each message makes one turn: the others wait for its end.
func (r *Run) turnEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turnOpen, r.opener = false, ""
	r.ended++
	r.settleInterruptLocked()
	r.deliverNextLocked()
}

func (r *Run) settleInterruptLocked() {
	r.interrupting = false
	if r.state == execution.StateInterrupted {
		r.setLocked(execution.StateRunning)
	}
}

// giveUpOnLogin ends an execution whose credentials the model API refuses, because the agent would retry for
// minutes. After the first refusal an agent may still renew an expired login; a second consecutive one is
// final.
func (r *Run) giveUpOnLogin() {
	if r.col.refusals < 2 || r.req.Run.KeepRetrying {
		return
	}
	r.mu.Lock()
	stop := r.stopBackend
	r.mu.Unlock()
	if stop != nil {
		stop(errAuth)
	}
}

// enforce stops the run at a limit that the backend does not enforce itself.
func (r *Run) enforce(e execution.Event) {
	if limit := r.req.Run.MaxTurns; limit > 0 && !r.col.caps.Agent.MaxTurns && (r.seq.turns > limit || r.col.overTurns(e, limit)) {
		r.stop(ending{kind: endTurnLimit, cause: errTurnLimit}, execution.TurnLimit{MaxTurns: limit})
	}
	if budget := r.req.Run.MaxBudgetUSD; budget != nil && !r.col.caps.Agent.Budget {
		if spent, known := r.col.spent(); known && spent >= *budget {
			r.stop(ending{kind: endBudget, cause: errBudget}, nil)
		}
	}
}
