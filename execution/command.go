package execution

import "encoding/json"

// Command is an instruction to a running backend. The set is sealed: Say, Answer, Interrupt, EndInput, Pause,
// Continue.
type Command interface{ command() }

// Say sends a message into the conversation.
type Say struct {
	ID   InputID
	Text string
	When When
}

// When is the earliest moment at which a message may be delivered.
type When string

// The delivery moments. Now reaches a running turn (steering) if the backend supports it.
const (
	WhenNow           When = "now"
	WhenAfterTool     When = "after-tool"
	WhenAfterResponse When = "after-response"
	WhenNextTurn      When = "next-turn"
)

var whens = []When{WhenNow, WhenAfterTool, WhenAfterResponse, WhenNextTurn}

// Answer answers a question the backend asked.
type Answer struct {
	ID       QuestionID
	Decision Decision
}

// Decision is the answer to a question: approval, refusal with a reason, or text for an input question.
type Decision struct {
	Approve bool            `json:"approve"`
	Reason  string          `json:"reason,omitempty"`       // of a refusal, passed to the agent; of an approval, recorded
	Text    string          `json:"text,omitempty"`         // the answer to an input question
	Input   json.RawMessage `json:"updatedInput,omitempty"` // run the tool with this input instead
	Always  string          `json:"always,omitempty"`       // rule of tool calls that are allowed from now on in this run, with an approval
}

// Interrupt ends the running turn, not the conversation.
type Interrupt struct{}

// EndInput says that no more messages follow: the backend ends after the running and queued turns.
type EndInput struct{}

// Pause suspends the backend, Continue resumes it. The inactivity limit does not run meanwhile.
type (
	Pause    struct{}
	Continue struct{}
)

func (Pause) command()     {}
func (Continue) command()  {}
func (Say) command()       {}
func (Answer) command()    {}
func (Interrupt) command() {}
func (EndInput) command()  {}
