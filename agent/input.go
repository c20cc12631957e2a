package agent

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// queuedInput is a caller's message that the agent has not received yet.
type queuedInput struct {
	id   execution.InputID
	text string
	when execution.When
}

// conversation is the part of a run that talks to the agent: messages, turns and open questions. Run.mu guards it.
type conversation struct {
	inbox        *inbox                  // of the current execution, nil between executions
	stopBackend  context.CancelCauseFunc // ends the current execution, not the run
	inputOpen    bool                    // the caller may still send messages
	endSent      bool
	queue        []queuedInput
	handed       []execution.InputID // given to the agent, which has not taken them yet
	inputs       int
	turnOpen     bool
	opener       execution.InputID // the message that opens the next turn, until that begins
	interrupting bool              // the open turn was interrupted and has not ended
	ended        int               // turns that have ended
	insist       *time.Timer       // stops a backend that ignores an interrupt
	pending      []*pendingQuestion
	callbacks    bool // a callback was started
}

// Send sends a message into the conversation, not before the given moment; empty means now. It returns when the
// message is queued: input_taken or input_cancelled reports the outcome. The run must be interactive and its
// input open.
func (r *Run) Send(text string, when execution.When) (execution.InputID, error) {
	verb := execution.VerbSend
	switch when {
	case "":
		when = execution.WhenNow
	case execution.WhenNextTurn:
		verb = execution.VerbQueue
	case execution.WhenAfterTool, execution.WhenAfterResponse:
		verb = execution.VerbSteer
	}
	return r.say(text, when, verb)
}

// Queue sends a message for a later turn; empty means next-turn.
func (r *Run) Queue(text string, when execution.When) (execution.InputID, error) {
	if when == "" {
		when = execution.WhenNextTurn
	}
	return r.say(text, when, execution.VerbQueue)
}

// Steer sends a message to the current turn; empty means after-response.
func (r *Run) Steer(text string, when execution.When) (execution.InputID, error) {
	if when == "" {
		when = execution.WhenAfterResponse
	}
	return r.say(text, when, execution.VerbSteer)
}

// Continue asks for another turn of the conversation.
func (r *Run) Continue(text string) (execution.InputID, error) {
	return r.say(text, execution.WhenNextTurn, execution.VerbContinue)
}

func (r *Run) say(text string, when execution.When, verb execution.Verb) (execution.InputID, error) {
	if strings.TrimSpace(text) == "" {
		return "", r.errorf(execution.CodeValidation, "cannot %s an empty message", verb)
	}
	switch when {
	case execution.WhenNow, execution.WhenAfterTool, execution.WhenAfterResponse, execution.WhenNextTurn:
	default:
		return "", r.errorf(execution.CodeValidation, "%q is not a delivery moment: want now, after-tool, after-response or next-turn", when)
	}
	text, denied := r.hooks.prompt(r.ctx, text)
	if denied != nil {
		return "", denied
	}
	r.mu.Lock()
	if err := r.activeLocked(verb); err != nil {
		r.mu.Unlock()
		return "", err
	}
	if !r.inputOpen {
		r.mu.Unlock()
		return "", r.errorf(execution.CodeStdinNotAvailable, "cannot %s: the run accepts no more messages", verb)
	}
	r.inputs++
	in := queuedInput{id: execution.InputID(string(r.ID()) + "-" + strconv.Itoa(r.inputs)), text: text, when: when}
	r.queue = append(r.queue, in)
	r.push(execution.InputQueued{ID: in.id, Text: text, When: when}) // before any event of the agent about it
	r.deliverLocked("")
	r.mu.Unlock()
	r.pump(false)
	return in.id, nil
}

// deliver sends the queued messages that are due. boundary is the moment that just passed.
func (r *Run) deliver(boundary execution.When) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliverLocked(boundary)
}

func (r *Run) deliverLocked(boundary execution.When) {
	keep := r.queue[:0:0]
	for _, in := range r.queue {
		if r.dueLocked(in, boundary) && r.handLocked(in) {
			continue
		}
		keep = append(keep, in)
	}
	r.queue = keep
	r.endInputLocked()
}

func (r *Run) dueLocked(in queuedInput, boundary execution.When) bool {
	switch {
	case in.when == execution.WhenNow || !r.turnOpen:
		return true
	case boundary == execution.WhenAfterResponse:
		// The turn may end without another tool call.
		return in.when == execution.WhenAfterResponse || in.when == execution.WhenAfterTool
	}
	return boundary != "" && in.when == boundary
}

// handLocked sends a message to the agent. If no turn is running, the message makes one, and the next message
// waits for it.
func (r *Run) handLocked(in queuedInput) bool {
	if r.inbox == nil || !r.inbox.put(execution.Say{ID: in.id, Text: in.text, When: in.when}) {
		return false
	}
	r.handed = append(r.handed, in.id)
	if !r.turnOpen {
		r.turnOpen, r.opener = true, in.id
	}
	return true
}

// deliverNextLocked sends the next queued message after a turn, and closes the input after the last one.
func (r *Run) deliverNextLocked() {
	if len(r.queue) > 0 && r.handLocked(r.queue[0]) {
		r.queue = r.queue[1:]
	}
	r.endInputLocked()
}

// arrived records the agent's report about a message.
func (r *Run) arrived(id execution.InputID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handed = slices.DeleteFunc(r.handed, func(h execution.InputID) bool { return h == id })
}

// refused continues after the agent refused a message: no turn will come from it.
func (r *Run) refused(id execution.InputID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opener == id && id != "" {
		r.turnOpen, r.opener = false, ""
		r.deliverNextLocked()
	}
}

// CloseInput announces that no more messages follow: the run ends after the running and queued turns. Questions
// can still be answered. It may be called more than once.
func (r *Run) CloseInput() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inputOpen = false
	r.endInputLocked()
}

// endInputLocked sends EndInput to the backend once no more messages can follow.
func (r *Run) endInputLocked() {
	if r.inputOpen || r.endSent || len(r.queue) > 0 || r.inbox == nil {
		return
	}
	r.endSent = r.inbox.put(execution.EndInput{})
}

// newInbox returns the inbox of an attempt. A run without further messages starts with EndInput.
func (r *Run) newInbox() *inbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inbox = newInbox(r.ctx, r.opts.Tools, r.req.Tools)
	if r.hooks.PreToolUse != nil {
		r.inbox.hook = r.hooks.decideTool
	}
	r.turnOpen, r.opener, r.endSent = true, "", false // the request's own message makes a turn
	r.endInputLocked()
	return r.inbox
}

// dropInbox ends the conversation with one execution: undelivered messages and unanswered questions are
// cancelled.
func (r *Run) dropInbox() {
	r.mu.Lock()
	if r.inbox != nil {
		r.inbox.close()
		r.inbox = nil
	}
	r.turnOpen, r.opener = false, ""
	r.settleInterruptLocked()
	for _, id := range r.handed {
		r.push(execution.InputCancelled{ID: id, Reason: "the agent ended before it received the message"})
	}
	r.handed = nil
	for _, p := range r.pending {
		p.cancel()
		r.push(execution.QuestionWithdrawn{ID: p.q.ID, Reason: "the agent that asked has ended"})
	}
	r.pending = nil
	r.mu.Unlock()
	r.pump(true)
}
