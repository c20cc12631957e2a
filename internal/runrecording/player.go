package runrecording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/execution/deltas"
	"github.com/drawbar/drawbar/internal/base/jsontext"
)

// player replays one execution.
type player struct {
	ctx   context.Context //nolint:containedctx // of one call
	req   execution.Request
	in    adapter.Inbox
	yield func(execution.Event, error) bool
	path  string
	texts deltas.Accumulator

	received []execution.Command // and not needed yet
	noSay    bool                // no more messages come
	closed   bool                // no more commands come
	owed     []sayLine           // messages that were received by then at the recording
	ended    bool                // so was the end of the input
	between  bool                // no turn is running
	ids      map[execution.InputID]execution.InputID
}

// fail ends the execution.
func (p *player) fail(err error) {
	code := execution.CodeValidation
	if p.ctx.Err() != nil {
		code = execution.CodeAborted
	}
	p.yield(execution.Event{Body: execution.Finished{Result: execution.Result{Status: execution.StatusFailed,
		Error: execution.NewResultError(code, fmt.Sprintf("replay of %s: %v", p.path, err))}}}, nil)
}

// play replays a line; over reports the end of the execution.
func (p *player) play(l *recorded) (over bool, err error) {
	switch {
	case l.Event != nil:
		return p.event(l.Event)
	case l.Command != nil && l.Command.Answer != nil:
		return false, p.answer(*l.Command.Answer)
	case l.Command != nil && l.Command.Say != nil:
		p.owed = append(p.owed, *l.Command.Say)
	case l.Command != nil:
		p.ended = true
	case l.Tool != nil:
		return false, p.tool(*l.Tool)
	case l.Hook != nil:
		return false, p.hook(*l.Hook)
	}
	return false, nil
}

func (p *player) event(text json.RawMessage) (over bool, err error) {
	if len(p.ids) > 0 {
		text = jsontext.Rewrite(text, func(s string) string {
			if id, ok := p.ids[execution.InputID(s)]; ok {
				return string(id)
			}
			return s
		})
	}
	var e execution.Event
	if err := json.Unmarshal(text, &e); err != nil {
		return false, err
	}
	if err := p.await(e); err != nil {
		return false, err
	}
	if b, ok := e.Body.(execution.InputTaken); ok && p.ids[b.ID] != "" {
		b.ID = p.ids[b.ID]
		e.Body = b
	}
	switch e.Body.(type) {
	case execution.TurnEnd:
		p.between = e.Parent == "" || p.between
	case execution.TurnStart:
		p.between = false
	}
	e = p.texts.Rebuild(e)
	e.Time = time.Time{}
	return !p.yield(e, nil) || e.Terminal(), nil
}

// await waits for the messages without which an event could not have come. At the recording they may have been received long before: a
// caller that waits for an event before it says something must not be waited for.
func (p *player) await(e execution.Event) error {
	taken, isTaken := e.Body.(execution.InputTaken)
	for len(p.owed) > 0 && !e.Terminal() && (p.between || isTaken && p.has(taken.ID)) {
		say := p.owed[0]
		p.owed = p.owed[1:]
		if err := p.say(say); err != nil {
			return err
		}
	}
	for e.Terminal() && p.ended && !p.noSay && !p.closed {
		if err := p.receive(); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a message is owed.
func (p *player) has(id execution.InputID) bool {
	for _, s := range p.owed {
		if s.ID == id {
			return true
		}
	}
	return false
}

func (p *player) say(recorded sayLine) error {
	cmd, err := p.need(func(c execution.Command) bool { _, ok := c.(execution.Say); return ok }, &p.noSay)
	if err != nil {
		return fmt.Errorf("a message: recorded %.60q: %w", recorded.Text, err)
	}
	said, _ := cmd.(execution.Say)
	p.ids[recorded.ID] = said.ID
	return same("a message", recorded.Text, said.Text)
}

func (p *player) answer(recorded answerLine) error {
	cmd, err := p.need(func(c execution.Command) bool {
		a, ok := c.(execution.Answer)
		return ok && a.ID == recorded.ID
	}, &p.closed)
	if err != nil {
		return fmt.Errorf("the answer to question %s: %w", recorded.ID, err)
	}
	given, _ := cmd.(execution.Answer)
	what := fmt.Sprintf("the answer to question %s", recorded.ID)
	a, b := recorded.Decision, given.Decision
	if err := same(what, fmt.Sprintf("approve %v", a.Approve), fmt.Sprintf("approve %v", b.Approve)); err != nil {
		return err
	}
	if err := same(what, a.Text, b.Text); err != nil {
		return err
	}
	return sameJSON(what, a.Input, b.Input)
}

func (p *player) tool(recorded toolLine) error {
	host, ok := p.in.(adapter.ToolHost)
	if !ok {
		return fmt.Errorf("nobody runs tool %s, which was called", recorded.Call.Name)
	}
	res, err := host.CallTool(p.ctx, recorded.Call)
	what := fmt.Sprintf("the result of tool %s", recorded.Call.Name)
	if (err != nil) != (recorded.Failure != "") {
		return fmt.Errorf("%s: recorded %q, received %v", what, recorded.Failure, err)
	}
	if err := same(what, recorded.Result.Error, res.Error); err != nil {
		return err
	}
	return sameJSON(what, recorded.Result.Output, res.Output)
}

func (p *player) hook(recorded hookLine) error {
	host, ok := p.in.(adapter.HookHost)
	if !ok {
		return fmt.Errorf("no hook decides on tool %s, as one did", recorded.Call.Data.ToolName)
	}
	call := recorded.Call
	call.RunID, call.Time, call.Correlation = p.req.Run.RunID, time.Now().UTC(), p.req.Correlation()
	res := host.DecideTool(p.ctx, call)
	what := fmt.Sprintf("the hook's decision on tool %s", call.Data.ToolName)
	if err := same(what, string(recorded.Result.Decision), string(res.Decision)); err != nil {
		return err
	}
	return sameJSON(what, recorded.Result.ModifiedInput, res.ModifiedInput)
}

func same(what, recorded, received string) error {
	if jsontext.Same(recorded, received) {
		return nil
	}
	return errors.New(jsontext.Difference{What: what, Recorded: recorded, Received: received}.String())
}

func sameJSON(what string, recorded, received json.RawMessage) error {
	if len(recorded) == 0 && len(received) == 0 {
		return nil
	}
	keep := func(text string) string { return text }
	if list := jsontext.Compare(what, recorded, received, keep, keep); len(list) > 0 {
		return fmt.Errorf("%s: %s", what, strings.Join(jsontext.Describe(list), "; "))
	}
	return nil
}

// need returns the first command that is wanted, unless over becomes true.
func (p *player) need(wanted func(execution.Command) bool, over *bool) (execution.Command, error) {
	for {
		for i, c := range p.received {
			if wanted(c) {
				p.received = append(p.received[:i:i], p.received[i+1:]...)
				return c, nil
			}
		}
		if *over {
			return nil, errors.New("it did not come")
		}
		if err := p.receive(); err != nil {
			return nil, err
		}
	}
}

// receive waits for a command. A replay has no use for interrupts and pauses.
func (p *player) receive() error {
	c, err := p.in.Receive(p.ctx)
	switch {
	case p.ctx.Err() != nil:
		return fmt.Errorf("%w: %w", p.ctx.Err(), context.Cause(p.ctx))
	case err != nil:
		p.noSay, p.closed = true, true
		return nil
	}
	switch c.(type) {
	case execution.Say, execution.Answer:
		p.received = append(p.received, c)
	case execution.EndInput:
		p.noSay = true
	}
	return nil
}
