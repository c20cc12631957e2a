package agent

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/drawbar/drawbar/execution"
)

// Members of the state of a continuation. stateCall is a hash of the call that waits for an approval: inputs may hold secrets, which are removed
// from everything else.
const (
	stateRun    = "runId"
	stateAction = "action"
	stateDetail = "detail"
	stateCall   = "callHash"
)

// decided reports whether a request decides about a call of an earlier turn that only the agent's session remembers. An agent with structured
// continuations makes the call itself; any other asks its model to make it again, and the decision answers the question about it.
func decided(req execution.Request, caps execution.Capabilities) bool {
	c := req.Continuation
	return c != nil && c.Decision != nil && c.Kind == execution.ContinuationApproval && caps.ContinuationSupport == execution.ContinuationsOpaqueResume
}

// askedCalls knows the calls that an agent asks permission for by what they would do: the same call has another id in another turn. It runs under
// emit's exclusion.
type askedCalls struct {
	wanted bool
	salt   string                               // of the decided question
	hash   string                               // of the decided call, empty for none
	answer *execution.ContinuationDecision      // about it
	by     execution.QuestionID                 // the question that an approval has answered
	inputs map[string]json.RawMessage           // of the calls that have not ended
	asked  map[execution.QuestionID]calledInput // before secrets were removed from them
}

type calledInput struct {
	action, tool string
	input        json.RawMessage
}

func newAskedCalls(req execution.Request, caps execution.Capabilities) askedCalls {
	a := askedCalls{wanted: wantsInterrupt(req)}
	if decided(req, caps) {
		a.wanted, a.answer = true, req.Continuation.Decision
		a.salt = a.answer.ApprovalID
		a.hash, _ = req.Continuation.State[stateCall].(string)
	}
	if a.wanted {
		a.inputs, a.asked = map[string]json.RawMessage{}, map[execution.QuestionID]calledInput{}
	}
	return a
}

// see takes note of an event of the agent.
func (a *askedCalls) see(b execution.Body) {
	if !a.wanted {
		return
	}
	switch b := b.(type) {
	case execution.ToolCallReady:
		a.inputs[b.ToolCallID] = b.Input
	case execution.MCPToolCallStart:
		a.inputs[b.ToolCallID] = b.Input
	case execution.ToolResultEvent:
		delete(a.inputs, b.ToolCallID)
	case execution.ToolError:
		delete(a.inputs, b.ToolCallID)
	case execution.MCPToolResult:
		delete(a.inputs, b.ToolCallID)
	case execution.MCPToolError:
		delete(a.inputs, b.ToolCallID)
	case execution.ApprovalRequired:
		input := b.Input
		if called := a.inputs[b.ToolCallID]; len(called) > 0 && b.ToolCallID != "" {
			input = called
		}
		if b.Use.Kind == execution.ToolShell {
			input = undescribed(input)
		}
		a.asked[b.ID] = calledInput{b.Action, b.ToolName, input}
	}
}

// undescribed is the input of a command without the words about it, which a model chooses anew.
func undescribed(input json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil {
		return input
	}
	delete(members, "description")
	delete(members, "reason")
	without, err := json.Marshal(members)
	if err != nil {
		return input
	}
	return without
}

// hashOf identifies a call by its tool and input. Equal calls have equal hashes under one salt.
func hashOf(salt string, c calledInput) string {
	input := []byte(c.input)
	var v any
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	if d.Decode(&v) == nil {
		if sorted, err := json.Marshal(v); err == nil {
			input = sorted
		}
	}
	text, _ := json.Marshal([]string{salt, c.action, c.tool, string(input)}) // strings always can be
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// waiting is the state of a continuation that waits for the answer to a question.
func (a *askedCalls) waiting(q execution.ApprovalRequired) map[string]any {
	state := map[string]any{execution.StateApproval: string(q.ID), stateAction: q.Action, stateDetail: q.Detail}
	if c, ok := a.asked[q.ID]; ok {
		state[stateCall] = hashOf(string(q.ID), c)
	}
	return state
}

// decision is the answer of the continuation to a question: an approval answers one question about the call, a denial every one.
func (a *askedCalls) decision(id execution.QuestionID) (execution.Decision, bool) {
	c, ok := a.asked[id]
	if a.answer == nil || !ok || a.hash == "" || a.by != "" && a.by != id || hashOf(a.salt, c) != a.hash {
		return execution.Decision{}, false
	}
	if a.answer.Approved {
		a.by = id
	}
	return execution.Decision{Approve: a.answer.Approved, Reason: a.answer.Says()}, true
}

// told is the message of a turn that continues one with a decision: the agent's session remembers the call, not the answer.
func told(req execution.Request) execution.Prompt {
	c := req.Continuation
	action, _ := c.State[stateAction].(string)
	detail, _ := c.State[stateDetail].(string)
	what := cmp.Or(action, "the call that you asked permission for")
	if detail != "" && detail != action {
		what += ": " + detail
	}
	if !c.Decision.Approved {
		return execution.Prompt(fmt.Sprintf("The permission that you asked for is refused (%s), %s. Do not try it again, also not in another way.\n\n%s", what, c.Decision.Says(), req.Message.Text))
	}
	return execution.Prompt(fmt.Sprintf("The permission that you asked for is given (%s), %s. Make exactly this call again, once, and go on.\n\n%s", what, c.Decision.Says(), req.Message.Text))
}
