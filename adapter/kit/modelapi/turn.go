package modelapi

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/execution"
)

// tally counts what a turn has done.
type tally struct {
	models, tools int
	invalid       int // consecutive answers that could not be used
	same          int // consecutive calls with the same input and result
	lastCall      [sha256.Size]byte
}

// turn is one turn, from the user's message to the model's answer.
func (r *run) turn(ctx context.Context, m Message) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.box.Begin(cancel)
	defer r.box.Begin(nil)
	if limit := r.agent.Limits.Elapsed; limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, errElapsed)
		defer stop()
	}
	r.emit(execution.TurnStart{TurnIndex: r.turns})
	if r.turns == 0 {
		for _, p := range m.Parts {
			if p.Kind == Image {
				r.emit(execution.ImageInputAck{MimeType: p.MediaType})
			}
		}
	}
	r.tally, r.waits, r.subs = tally{}, nil, map[string]Conversation{}
	o := r.resume(ctx, m)
	r.save("")
	if o == nil {
		o = r.answer(ctx)
	}
	if ctx.Err() != nil && o.Reason != execution.TurnCompleted {
		o = r.stopped(ctx)
	}
	if o.Failure != nil && ctx.Err() == nil {
		r.emit(o.Failure.Event())
	}
	for _, b := range service.Notices(o.Failure) {
		r.emit(b)
	}
	r.save(o.Reason)
	r.emit(o.End(r.turns))
	r.turns++
	r.last = o
}

// resume adds the message to the conversation. Calls that wait for a person are made first: the message answers a question, and
// the decision about a permission came with the continuation or is asked for again.
func (r *run) resume(ctx context.Context, m Message) *outcome {
	open := r.call.Messages.Open()
	if len(open) == 0 {
		r.call.Messages.Say(false, m.Parts...)
		return nil
	}
	if r.turns > 0 { // an earlier turn of this run ended before them, and its events say so
		for _, c := range open {
			r.call.Messages.Say(false, Part{Kind: Result, ID: c.ID, Name: c.Name, Text: "not called: the turn is over", Failed: true})
		}
		r.call.Messages.Say(false, m.Parts...)
		return nil
	}
	past := r.agent.Past
	for _, c := range open {
		r.begin(c.ID, c.Name)
		r.called(c)
	}
	if past != nil && past.Kind == execution.ContinuationClarification && past.Call != "" {
		if i := slices.IndexFunc(open, func(c Part) bool { return c.ID == past.Call }); i >= 0 {
			answer := Part{Kind: Result, ID: open[i].ID, Name: open[i].Name}
			var rest []Part
			for _, p := range m.Parts {
				if p.Kind == Text {
					answer.Text += p.Text
				} else {
					rest = append(rest, p)
				}
			}
			r.ended(&answer, Answer{Text: answer.Text})
			r.call.Messages.Say(false, answer)
			open, m.Parts = slices.Delete(open, i, i+1), rest
		}
	}
	o := r.use(ctx, open)
	if o == nil || ctx.Err() == nil {
		r.call.Messages.Say(false, m.Parts...)
	}
	return o
}

// answer calls the model, and the tools that it wants, until it has answered or a limit ends the turn.
func (r *run) answer(ctx context.Context) *outcome {
	for step := 0; ; step++ {
		if most := r.agent.Limits.ModelCalls; most > 0 && r.tally.models >= most {
			return r.limit(EndModelCalls, most)
		}
		if most := r.req.Run.MaxTurns; r.agent.Name != "" && r.parent == "" && most > 0 && r.models >= most {
			return r.limit(EndModelCalls, most)
		}
		if r.step(execution.StepStart{TurnIndex: r.turns, StepIndex: step, StepType: "model"}); ctx.Err() != nil {
			return r.stopped(ctx) // a limit of the caller's ended the run at this event
		}
		r.tally.models++
		r.models++
		r.makeRoom(ctx)
		reply, f := r.callModel(ctx, false)
		if !r.fits(ctx, reply, f) || r.unseen(f) {
			r.step(execution.StepEnd{TurnIndex: r.turns, StepIndex: step})
			continue
		}
		if f != nil {
			r.step(execution.StepEnd{TurnIndex: r.turns, StepIndex: step})
			return &outcome{Outcome: cliagent.Outcome{Reason: execution.TurnFailed, Failure: &f.Failure}, word: EndError}
		}
		r.call.Messages.Say(true, reply.parts...)
		calls := reply.toolCalls()
		if len(calls) > 0 {
			r.save("") // what was paid for, whatever a tool does to this process
		}
		o := r.refuse(calls)
		if o == nil && len(calls) > 0 {
			o = r.use(ctx, calls)
		}
		r.step(execution.StepEnd{TurnIndex: r.turns, StepIndex: step})
		r.save("")
		if o == nil && len(calls) == 0 {
			o = r.judge(reply)
		}
		switch {
		case o == nil:
		case (o.word == EndInvalid || o.word == EndTool) && r.mayRepeat(o):
		default:
			return o
		}
		if ctx.Err() != nil {
			return r.stopped(ctx)
		}
		r.steer()
	}
}

// steer adds the messages that arrived during a turn of an agent. A model without tools answers before it can read them, so there
// they make turns of their own.
func (r *run) steer() {
	if r.agent.Name == "" || r.parent != "" {
		return
	}
	for _, say := range r.box.Take() {
		r.emit(execution.InputTaken{ID: say.ID, Steered: true})
		r.call.Messages.Say(false, Part{Kind: Text, Text: say.Text})
	}
}

// step emits a step of the agent's own turns.
func (r *run) step(b execution.Body) {
	if r.parent == "" {
		r.emit(b)
	}
}

// limit is the outcome of a turn that reached a limit.
func (r *run) limit(word string, most int) *outcome {
	if word == EndModelCalls && r.parent == "" {
		r.emit(execution.TurnLimit{MaxTurns: most})
	}
	return &outcome{Outcome: cliagent.Outcome{Reason: execution.TurnLimitReached}, word: word}
}

// mayRepeat tells the model what was wrong with its answer; false if it was wrong too often.
func (r *run) mayRepeat(o *outcome) bool {
	r.tally.invalid++
	if r.tally.invalid >= r.agent.Limits.Invalid {
		return false
	}
	if o.word == EndInvalid {
		r.call.Messages.Say(false, Part{Kind: Text, Text: "Your last answer cannot be used: " + o.Failure.Message + ". Answer again."})
	}
	return true
}

// refuse ends the calls of an answer that names a tool which does not exist, if the agent limits such answers: none of them is made.
func (r *run) refuse(calls []Part) *outcome {
	if r.agent.Limits.Invalid <= 0 {
		return nil // the call's result says so
	}
	i := slices.IndexFunc(calls, func(c Part) bool { return r.tool(c.Name) == nil })
	if i < 0 {
		return nil
	}
	missing := "there is no tool " + calls[i].Name
	results := make([]Part, len(calls))
	for i, c := range calls {
		results[i] = Part{Kind: Result, ID: c.ID, Name: c.Name}
		r.ended(&results[i], Answer{Error: "not called: " + missing})
	}
	r.call.Messages.Say(false, results...)
	return failed(EndTool, execution.CodeToolBridge, "%s: %s", r.call.Model, missing)
}

// use calls tools within the limits and adds their results to the conversation.
func (r *run) use(ctx context.Context, calls []Part) *outcome {
	limits := r.agent.Limits
	over := limits.ToolCalls > 0 && r.tally.tools+len(calls) > limits.ToolCalls
	looped := false
	results := r.useTools(ctx, calls, func(done []Part) string {
		if n := len(done); n > 0 && limits.Same > 0 && !looped {
			looped = r.repeats(calls[n-1], done[n-1]) >= limits.Same
		}
		switch {
		case over:
			return "the limit of tool calls is reached"
		case looped:
			return "the same call was made again and again"
		}
		return ""
	})
	if !over {
		r.tally.tools += len(calls)
	}
	if n := len(results); n > 0 && limits.Same > 0 && !looped && !over {
		looped = r.repeats(calls[n-1], results[n-1]) >= limits.Same
	}
	keep := results[:0:0]
	for _, p := range results {
		if !p.open || context.Cause(ctx) == service.ErrInterrupted { //nolint:errorlint // the cause is set as it is
			keep = append(keep, p)
		}
	}
	r.call.Messages.Say(false, keep...)
	r.call.Messages.show(keep)
	switch {
	case ctx.Err() != nil:
		return r.stopped(ctx)
	case looped:
		return failed(EndLoop, execution.CodeTurnLimit, "%s made the same call %d times with the same result: %s", r.call.Model, limits.Same, calls[0].Name)
	case over || limits.ToolCalls > 0 && r.tally.tools >= limits.ToolCalls:
		return r.limit(EndToolCalls, limits.ToolCalls)
	}
	r.tally.invalid = 0
	return nil
}

// repeats counts how often in a row a call had the same input and result. A failure, and a result without content, start anew.
func (r *run) repeats(c, result Part) int {
	if content := strings.TrimSpace(result.Text); result.Failed || content == "" || content == "{}" {
		r.tally.same = 0
		return 0
	}
	sum := sha256.Sum256([]byte(c.Name + "\x00" + string(c.Input) + "\x00" + result.Text))
	if sum != r.tally.lastCall {
		r.tally.same = 0
	}
	r.tally.same, r.tally.lastCall = r.tally.same+1, sum
	return r.tally.same
}
