package adaptertest

import (
	"time"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// Scenario is a situation that a subject is asked to bring about.
type Scenario string

// The scenarios. A request for one of them makes the backend behave as its comment says.
const (
	Simple    Scenario = "simple"    // answers Subject.Answer and uses no tool
	Tool      Scenario = "tool"      // calls the tool echo of the request exactly once, then answers
	Clarify   Scenario = "clarify"   // asks a question before it goes on
	Approval  Scenario = "approval"  // asks for permission to use a tool of its own, then answers
	Fail      Scenario = "fail"      // fails with an error of its own
	Crash     Scenario = "crash"     // ends with a nonzero exit and a line on standard error
	Malformed Scenario = "malformed" // sends output that breaks its own format, or none at all
	Missing   Scenario = "missing"   // cannot be started: there is no such program, or no such server
	Hang      Scenario = "hang"      // works for longer than ten seconds without a result
	Stubborn  Scenario = "stubborn"  // the same, and ignores a polite request to stop
	Long      Scenario = "long"      // answers at length, in many pieces where it streams
	Remember  Scenario = "remember"  // resumed with Simple's session: answers Subject.Memory
	Talk      Scenario = "talk"      // answers each message of a conversation
	Steps     Scenario = "steps"     // needs at least three model calls, with tools between them
	Spend     Scenario = "spend"     // uses tokens that cost money, in at least two model calls
	Think     Scenario = "think"     // thinks before it answers
	Structure Scenario = "structure" // answers with JSON; the suite adds the schema
	Attach    Scenario = "attach"    // takes the attachment that its request brings
	Connect   Scenario = "connect"   // calls a tool of the MCP server that its request brings
)

// Subject is an adapter under examination: a fake agent in memory, a process, or an installed agent.
type Subject struct {
	// Backend makes a new instance of the backend; all of them are the same backend.
	Backend func() agent.Backend
	// Request is the request that brings a scenario about. What it leaves empty of the correlation ids, the message id, its time
	// and the system prompt is filled in by the suite. A process that plays scenarios takes its part from Run.Env. The request
	// that was made last is the one that is run: an agent that is pointed at its model by a file knows no other.
	Request func(Scenario) execution.Request
	// Cannot are the scenarios that the subject cannot provoke, each with the reason that the skipped checks show.
	Cannot map[Scenario]string

	// Answer is part of the answer to Simple, Memory of the one to Remember. Empty takes any answer.
	Answer, Memory string
	// Survivors reports processes, or anything else, that the executions so far have left behind. Nil when there can be none.
	Survivors func() error
	// Starts counts how often the backend was started. Nil when that cannot be counted.
	Starts func() int
	// Source is the folder of the adapter's source; empty where there is none, as for an installed program.
	Source string
	// Others are the names of the other backends it must not be mistaken for.
	Others []string
	// Options are used for every run; the suite adds what a check needs.
	Options agent.Options
	// Limit bounds one check; zero is two minutes. Grace is how long the backend may take to stop after its deadline; zero
	// is the request's grace period, or five seconds, and a second more.
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

// request is the request of a scenario with the base request filled in.
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
