package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// ErrInterrupted is the cause that ends a turn's context.
var ErrInterrupted = errors.New("the turn was interrupted")

// Inbox receives the run's commands on a goroutine of its own, so that an interrupt reaches a turn that waits for the service.
// It is safe for concurrent use.
type Inbox struct {
	mu        sync.Mutex    // guards the rest
	changed   chan struct{} // closed and replaced by every change
	messages  []execution.Say
	answers   map[execution.QuestionID]execution.Decision
	ended     bool
	interrupt context.CancelCauseFunc // of the running turn; nil between turns

	silence time.Duration // that ends a turn; 0 is none
	timer   *time.Timer   // of the running turn; nil without silence
}

// NewInbox returns an empty inbox. A turn in which nothing is heard for as long as silence is ended; zero is no limit.
func NewInbox(silence time.Duration) *Inbox {
	return &Inbox{changed: make(chan struct{}), answers: map[execution.QuestionID]execution.Decision{}, silence: silence}
}

// Listen receives commands until there are no more.
func (b *Inbox) Listen(ctx context.Context, in adapter.Inbox) {
	for {
		cmd, err := in.Receive(ctx)
		b.mu.Lock()
		switch cmd := cmd.(type) {
		case execution.Say:
			b.messages = append(b.messages, cmd)
		case execution.Answer:
			b.answers[cmd.ID] = cmd.Decision
		case execution.Interrupt:
			if b.interrupt != nil {
				b.interrupt(ErrInterrupted)
			}
		case execution.EndInput:
			b.ended = true
		}
		b.ended = b.ended || err != nil
		close(b.changed)
		b.changed = make(chan struct{})
		b.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Begin makes interrupt the way to end the running turn; nil ends the turn.
func (b *Inbox) Begin(interrupt context.CancelCauseFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.interrupt = interrupt
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	if interrupt != nil && b.silence > 0 {
		b.timer = time.AfterFunc(b.silence, func() { interrupt(silentError{b.silence}) })
	}
}

// Quiet stops the clock of silence, while somebody else is waited for; Heard starts it anew.
func (b *Inbox) Quiet() {
	if b.silence == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Stop()
	}
}

// Heard says that something came.
func (b *Inbox) Heard() {
	if b.silence == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer != nil {
		b.timer.Reset(b.silence)
	}
}

// Next waits for the next message; false if none will come.
func (b *Inbox) Next(ctx context.Context) (execution.Say, bool) {
	for {
		b.mu.Lock()
		if len(b.messages) > 0 {
			say := b.messages[0]
			b.messages = b.messages[1:]
			b.mu.Unlock()
			return say, true
		}
		ended, changed := b.ended, b.changed
		b.mu.Unlock()
		if ended || !wait(ctx, changed) {
			return execution.Say{}, false
		}
	}
}

// Take returns the messages that wait.
func (b *Inbox) Take() []execution.Say {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.messages
	b.messages = nil
	return list
}

// Answer waits for the answer to a question; false if the turn ends before it.
func (b *Inbox) Answer(ctx context.Context, id execution.QuestionID) (execution.Decision, bool) {
	b.Quiet()
	defer b.Heard()
	for {
		b.mu.Lock()
		d, ok := b.answers[id]
		delete(b.answers, id)
		changed := b.changed
		b.mu.Unlock()
		if ok || !wait(ctx, changed) {
			return d, ok
		}
	}
}

// wait waits for a change; false if ctx ended first.
func wait(ctx context.Context, changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}
