package adaptertest

import (
	"time"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// Scenario is a situation that a subject must be able to provoke.
type Scenario string

// The scenarios. A request for one makes the backend behave as its comment describes.
const (
	Simple    Scenario = "simple"    // answers Subject.Answer and uses no tool
	Tool      Scenario = "tool"      // calls the tool echo of the request exactly once, then answers
	Clarify   Scenario = "clarify"   // asks a question before it continues
	Approval  Scenario = "approval"  // asks for permission to use a tool of its own, then answers
	Fail      Scenario = "fail"      // fails with an error of its own
	Crash     Scenario = "crash"     // ends with a nonzero exit and a line on standard error
	Malformed Scenario = "malformed" // sends output that breaks its own format, or none at all
	Missing   Scenario = "missing"   // cannot be started: no such program or server
	Hang      Scenario = "hang"      // works for longer than ten seconds without a result
	Stubborn  Scenario = "stubborn"  // the same, and ignores a polite request to stop
	Long      Scenario = "long"      // answers at length, streamed in many pieces if it streams
	Remember  Scenario = "remember"  // resumed with Simple's session: answers Subject.Memory
	Talk      Scenario = "talk"      // answers each message of a conversation
	Steps     Scenario = "steps"     // needs at least three model calls, with tools between them
	Spend     Scenario = "spend"     // uses tokens that cost money, in at least two model calls
	Think     Scenario = "think"     // thinks before it answers
	Structure Scenario = "structure" // answers with JSON; the suite adds the schema
	Attach    Scenario = "attach"    // uses the attachment of its request
	Connect   Scenario = "connect"   // calls a tool of the MCP server of its request
)

// Scenarios lists all scenarios.
func Scenarios() []Scenario {
	return []Scenario{Simple, Tool, Clarify, Approval, Fail, Crash, Malformed, Missing, Hang, Stubborn, Long, Remember, Talk, Steps, Spend, Think, Structure,
		Attach, Connect}
}

// Subject is an adapter under test: a fake agent in memory, a process, or an installed agent.
type Subject struct {
	// Backend returns a new instance of the backend; all of them are the same backend.
	Backend func() agent.Backend
	// Request returns the request of a scenario. The suite fills in empty correlation ids, message id, time and
	// system prompt. A process that plays scenarios gets its part from Run.Env. The last request made is the one that
	// is run: an agent whose model is configured in a file knows no other.
	Request func(Scenario) execution.Request
	// Cannot lists the scenarios that the subject cannot provoke, each with the reason shown by skipped checks.
	Cannot map[Scenario]string

	// Answer is part of the answer to Simple, Memory of the one to Remember. Empty accepts any answer.
	Answer, Memory string
	// Survivors reports processes, or anything else, that the executions so far left behind. Nil if nothing can
	// remain.
	Survivors func() error
	// Starts returns how often the backend was started. Nil if that cannot be counted.
	Starts func() int
	// Source is the folder of the adapter's source; empty for none, as for an installed program.
	Source string
	// Others are the names of other backends, which it must not share.
	Others []string
	// Options are used for every run; the suite adds what a check needs.
	Options agent.Options
	// Limit bounds one check; zero is two minutes. Grace is how long the backend may take to stop after its deadline;
	// zero is the request's grace period, or five seconds, plus one second.
	Limit, Grace time.Duration
}

func (s Subject) limit() time.Duration {
	if s.Limit > 0 {
		return s.Limit
	}
	return 2 * time.Minute
}

func (s Subject) grace(req execution.Request) time.Duration {
	switch {
	case s.Grace > 0:
		return s.Grace
	case req.Run.GracePeriodMs != nil:
		return time.Duration(*req.Run.GracePeriodMs)*time.Millisecond + time.Second
	}
	return 6 * time.Second
}

// request returns the request of a scenario, completed from the base request.
func (s Subject) request(sc Scenario) execution.Request {
	req := s.Request(sc).Clone()
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&req.SchemaVersion, execution.SchemaVersion)
	fill(&req.AssistantID, "a1")
	fill(&req.TurnID, "t1")
	fill(&req.SessionID, "s1")
	fill(&req.Message.ID, "m1")
	fill(&req.Instructions.SystemPrompt, "s")
	if req.Message.Text == "" {
		req.Message.Text = "hello"
	}
	if req.Message.ReceivedAt.IsZero() {
		req.Message.ReceivedAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	return req
}
