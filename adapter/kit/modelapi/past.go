package modelapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// The members of a continuation's state.
const (
	stateAgent    = "agent"
	stateModel    = "model"
	stateMessages = "messages"
	stateCall     = "toolCallId"
	stateSubs     = "subagents" // the conversations of the sub-agents that wait, by the calls that started them
)

// maxState bounds the conversation in a continuation; beyond it a result has none.
const maxState = 16 << 20

// summarized is the number of steps in a continuation's summary.
const summarized = 6

// Past is a conversation that a run continues.
type Past struct {
	Kind     string // of the continuation
	Model    string // with the agent's prefix
	Messages Conversation
	Call     string                  // the tool call that waits for a person, of the agent or a sub-agent; empty for none
	Decision *execution.Decision     // about Call; nil if nobody decided
	Subs     map[string]Conversation // of sub-agents that wait, by the calls that started them
}

// ReadPast reads the continuation of an earlier result. Its state may have been through JSON.
func ReadPast(c *execution.Continuation) (*Past, error) {
	text, err := json.Marshal(c.State)
	if err != nil {
		return nil, fmt.Errorf("the continuation is not JSON: %v", err)
	}
	var s struct {
		Model      string
		Messages   Conversation
		ToolCallID string
		Subagents  map[string]Conversation
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("the continuation cannot be read: %v", err)
	}
	if err := s.Messages.Check(); err != nil {
		return nil, fmt.Errorf("the conversation of the continuation cannot be continued: %v", err)
	}
	for id, said := range s.Subagents {
		if err := said.Check(); err != nil {
			return nil, fmt.Errorf("the conversation of the sub-agent of the tool call %.100q cannot be continued: %v", id, err)
		}
	}
	p := &Past{Kind: c.Kind, Model: s.Model, Messages: s.Messages, Call: s.ToolCallID, Subs: s.Subagents}
	if d := c.Decision; d != nil {
		if p.Call == "" || c.Kind != execution.ContinuationApproval {
			return nil, errors.New("the continuation has a decision, but nothing waits for one")
		}
		p.Decision = &execution.Decision{Approve: d.Approved, Reason: d.Says()}
	}
	return p, nil
}

// waiting is a question that nobody answered before the turn ended.
type waiting struct {
	kind string // of the continuation
	id   execution.QuestionID
	call string // that asked, of the agent or a sub-agent
	text string
}

// continuation returns what a later run needs to go on after an outcome; nil if the conversation came to its end, or if nobody may
// continue it.
func (r *run) continuation(o *outcome) *execution.Continuation {
	if r.agent.Name == "" || r.req.Run.NoSession || len(r.call.Messages) == 0 {
		return nil
	}
	if q := r.req.Requirements; q != nil && q.ContinuationSupport == execution.SupportNone {
		return nil
	}
	kind, state := execution.ContinuationDeferred, map[string]any{}
	switch {
	case o.word == EndApproval || o.word == EndClarification:
		kind = r.waits.kind
		state[stateCall] = r.waits.call
		if kind == execution.ContinuationApproval {
			state[execution.StateApproval], state["action"] = string(r.waits.id), r.waits.text
		} else {
			state["question"] = r.waits.text
		}
	case o.Reason != execution.TurnLimitReached && o.word != EndElapsed:
		return nil
	}
	said := map[string]any{stateMessages: r.call.Messages}
	if len(r.subs) > 0 {
		said[stateSubs] = r.subs
	}
	text, err := json.Marshal(said)
	if err != nil || len(text) > maxState {
		r.emit(execution.Debug{Level: execution.DebugWarn, Message: "the conversation is too large for a continuation"})
		return nil
	}
	if json.Unmarshal(text, &state) != nil { // plain values, which callers can copy, redact and store
		return nil
	}
	if r.log != nil {
		state["sessionId"] = r.session
	}
	state[stateAgent], state[stateModel] = r.name, r.agent.Prefix+r.call.Model
	state["stopReason"], state["resumeToken"], state["createdAt"] = o.word, cliagent.NewUUID(), time.Now().UTC().Format(time.RFC3339)
	state["iteration"], state["toolCallCount"], state["summary"] = r.tally.models, r.tally.tools, r.summary()
	return &execution.Continuation{Kind: kind, State: state}
}

// summary describes the last steps for a person.
func (r *run) summary() []any {
	var steps []any
	for _, m := range r.call.Messages {
		for _, p := range m.Parts {
			switch {
			case p.Kind == Text && m.Model:
				steps = append(steps, map[string]any{"type": "assistant", "text": cut(p.Text, 200)})
			case p.Kind == Result:
				status := "success"
				if p.Failed {
					status = "error"
				}
				steps = append(steps, map[string]any{"type": "tool", "name": p.Name, "status": status})
			}
		}
	}
	return steps[max(0, len(steps)-summarized):]
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 { // not within a character
		most--
	}
	return text[:most] + "..."
}
