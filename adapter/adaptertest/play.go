package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// playPrefix marks requests for Play.
const playPrefix = "play "

// stubborn is how long the reference adapter ignores a polite request to stop.
const stubborn = 30 * time.Millisecond

// pixel is an image of one pixel: programs refuse what is no image.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// PlayRequest returns the request that makes Play play a scenario.
func PlayRequest(sc Scenario) execution.Request {
	req := execution.Request{Message: execution.Message{Text: execution.Prompt(playPrefix + string(sc))}}
	switch sc {
	case Attach:
		req.Message.Attachments = []execution.Attachment{{Type: "image", Base64: pixel, MimeType: "image/png"}}
	case Connect:
		req.Run.MCPServers = []execution.MCPServer{{Name: "files", Transport: execution.MCPStdio, Command: "mcp-files"}}
	}
	return req
}

// FakeSubject returns the reference adapter as a subject. The instances share f, so its counters include every
// execution.
func FakeSubject(f *Fake) Subject {
	return Subject{
		Backend: func() agent.Backend {
			return agent.Backend{Name: "fake", Adapter: f, DefaultModel: "fake-1", Models: []execution.Model{{ID: "fake-1"}}}
		},
		Request: PlayRequest, Answer: "hi", Memory: "hi", Starts: f.Starts, Others: []string{"claude", "codex"},
		Grace: time.Second,
		Survivors: func() error {
			if n := f.Running(); n > 0 {
				return fmt.Errorf("%d executions have not returned", n)
			}
			return nil
		},
	}
}

// memory is what the reference agent remembers: the messages of each conversation.
type memory struct {
	mu   sync.Mutex
	said map[string][]string
	made int
}

// open starts, resumes or forks a session.
func (s *memory) open(o execution.RunOptions) (start execution.SessionStart, history []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := o.SessionID + o.ForkSessionID
	if from != "" {
		known, ok := s.said[from]
		if !ok {
			return start, nil, fmt.Errorf("no session %s", from)
		}
		history = slices.Clone(known)
	}
	if o.SessionID != "" {
		return execution.SessionStart{SessionID: o.SessionID, Resumed: true, Model: "fake-1"}, history, nil
	}
	s.made++
	return execution.SessionStart{SessionID: fmt.Sprintf("session-%d", s.made), ForkedFrom: o.ForkSessionID, Model: "fake-1"}, history, nil
}

func (s *memory) keep(id string, history []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said == nil {
		s.said = map[string][]string{}
	}
	s.said[id] = slices.Clone(history)
}

// Play is the script of the reference adapter: it plays the scenario of its request (see PlayRequest), and continues
// an interactive run until its input ends. Any other message is answered with "hi".
func Play(c *Call) execution.Result {
	name, _ := strings.CutPrefix(string(c.Request.Message.Text), playPrefix)
	if Scenario(name) == Missing {
		return Failed(execution.CodeSpawn, "no such agent")
	}
	start, history, err := c.fake.memory.open(c.Request.Run)
	if err != nil {
		return Failed(execution.CodeSessionNotFound, err.Error())
	}
	c.Emit(start)
	p := &player{Call: c, history: history}
	p.res = Completed()
	p.res.SessionID = start.SessionID
	p.turn(Scenario(name))
	for c.Request.Run.Interactive && p.takeCommand() {
	}
	if !c.Request.Run.NoSession {
		c.fake.memory.keep(start.SessionID, p.history)
	}
	return p.res
}

// player is one conversation of the reference agent.
type player struct {
	*Call
	history []string
	res     execution.Result
	over    bool
}

// takeCommand carries out the next command; false if the conversation is over.
func (p *player) takeCommand() bool {
	if p.over {
		return false
	}
	cmd, err := p.Next()
	if err != nil {
		if p.Ctx.Err() != nil {
			p.res = Failed(execution.CodeAborted, "stopped")
		}
		return false
	}
	switch cmd := cmd.(type) {
	case execution.Say:
		p.Emit(execution.InputTaken{ID: cmd.ID})
		p.turn(Scenario(strings.TrimPrefix(cmd.Text, playPrefix)))
	case execution.EndInput:
		return false
	}
	return true
}

// turn is one turn from start to end.
func (p *player) turn(sc Scenario) {
	p.Emit(execution.TurnStart{})
	end := execution.TurnEnd{Reason: execution.TurnCompleted}
	err := p.perform(sc, &end)
	var failure *execution.Error
	switch {
	case errors.Is(err, ErrInterrupted):
		end.Reason = execution.TurnInterrupted
	case errors.As(err, &failure):
		p.fail(failure, &end)
	case err != nil:
		p.res, p.over = Failed(execution.CodeAborted, err.Error()), true
		end.Reason = execution.TurnFailed
	}
	p.Emit(end)
}

func (p *player) fail(e *execution.Error, end *execution.TurnEnd) {
	p.over = true
	end.Reason = execution.TurnFailed
	if e.Code == execution.CodeTurnLimit {
		end.Reason = execution.TurnLimitReached
		p.res = execution.Result{Status: execution.StatusDeferred, ExitReason: execution.ExitTurnLimit, SessionID: p.res.SessionID}
		return
	}
	p.res.Status, p.res.Error = execution.StatusFailed, execution.NewResultError(e.Code, e.Message)
	if e.Code == execution.CodeAgentCrash {
		code := 3
		p.res.ExitCode, p.res.ExitReason, p.res.Error.Stderr = &code, execution.ExitCrash, "fake: broken\n"
	}
}

// perform plays a scenario within a turn.
func (p *player) perform(sc Scenario, end *execution.TurnEnd) error {
	switch sc {
	case Tool:
		if _, err := p.Tool("echo", `{"text":"ping"}`); err != nil {
			return execution.Errorf(execution.CodeToolBridge, "%v", err)
		}
	case Clarify:
		d, err := p.Ask(execution.InputRequired{ID: "q1", Question: "which repo?", Source: execution.InputFromAgent})
		if err != nil {
			return err
		}
		p.Say("you said ", d.Text)
		return nil
	case Approval:
		if err := p.permission(); err != nil {
			return err
		}
	case Fail:
		return execution.Errorf(execution.CodeProvider, "the model is gone")
	case Crash:
		return execution.Errorf(execution.CodeAgentCrash, "exit 3")
	case Malformed:
		return execution.Errorf(execution.CodeInvalidOutput, "this is no JSON")
	case Hang:
		return p.hang(0)
	case Stubborn:
		return p.hang(stubborn)
	case Long:
		parts := make([]string, 2000)
		for i := range parts {
			parts[i] = fmt.Sprintf("part %d ", i)
		}
		p.Say(parts...)
		return nil
	case Remember:
		p.Say("you told me: ", strings.Join(p.history, ", "))
		return nil
	case Steps, Spend:
		return p.steps()
	case Think:
		effort := p.Request.Run.ThinkingEffort
		p.Emit(execution.ThinkingStart{Effort: effort}, execution.ThinkingDelta{Delta: "hmm", Accumulated: "hmm"}, execution.ThinkingStop{Thinking: "hmm"})
	case Structure:
		end.Structured = json.RawMessage(`{"answer":"hi"}`)
		p.Say(string(end.Structured))
		p.res.Output = &execution.Output{Text: string(end.Structured), Structured: end.Structured}
		return nil
	case Attach:
		for _, a := range p.Request.Message.Attachments {
			p.Emit(execution.ImageInputAck{MimeType: a.MimeType})
		}
	case Connect:
		for _, m := range p.Request.Run.MCPServers {
			p.Emit(execution.MCPToolCallStart{ToolCallID: "m1", Server: m.Name, ToolName: "list", Input: json.RawMessage(`{}`)},
				execution.MCPToolResult{ToolCallID: "m1", Server: m.Name, ToolName: "list", Output: json.RawMessage(`[]`)})
		}
	}
	p.history = append(p.history, "hi")
	p.Say("h", "i")
	return nil
}

func (p *player) permission() error {
	const id, tool = "write-1", "write"
	input, use := json.RawMessage(`{"path":"a.txt"}`), execution.ToolUse{Kind: execution.ToolEdit, Paths: []string{"a.txt"}}
	p.Emit(execution.ToolCallStart{ToolCallID: id, ToolName: tool}, execution.ToolCallReady{ToolCallID: id, ToolName: tool, Input: input})
	if _, why, ok := p.Hook(id, tool, input, use); !ok {
		p.Emit(execution.ToolError{ToolCallID: id, ToolName: tool, Error: why})
		return nil
	}
	d, err := p.Ask(execution.ApprovalRequired{ID: "ap1", Action: "write a.txt", Detail: "may I write a.txt?", ToolName: tool, ToolCallID: id,
		Input: input, Risk: execution.RiskMedium, Use: use})
	if err != nil {
		return err
	}
	if !d.Approve {
		p.Emit(execution.ToolError{ToolCallID: id, ToolName: tool, Error: "denied: " + d.Reason})
		return nil
	}
	p.Emit(execution.ToolResultEvent{ToolCallID: id, ToolName: tool, Output: json.RawMessage(`"written"`)},
		execution.FileWrite{Path: "a.txt", ByteCount: 2, ToolCallID: id})
	return nil
}

// hang works until it is stopped or interrupted, and accepts messages for the running turn meanwhile.
func (p *player) hang(longer time.Duration) error {
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	p.Emit(execution.MessageStart{}, execution.TextDelta{Delta: "working", Accumulated: "working"}, execution.MessageStop{Text: "working"})
	for {
		cmd, ok := p.Poll()
		switch cmd := cmd.(type) {
		case execution.Interrupt:
			return ErrInterrupted
		case execution.Say:
			p.Emit(execution.InputTaken{ID: cmd.ID, Steered: true})
			p.Say("steered: ", cmd.Text)
		}
		if ok {
			continue
		}
		select {
		case <-p.wake:
		case <-deadline.C:
			return nil
		case <-p.Ctx.Done():
			time.Sleep(longer)
			return p.Ctx.Err()
		}
	}
}

// steered takes the waiting messages for the running turn.
func (p *player) steered() {
	p.mu.Lock()
	var said []execution.Say
	p.queue = slices.DeleteFunc(p.queue, func(cmd execution.Command) bool {
		say, ok := cmd.(execution.Say)
		if ok {
			said = append(said, say)
		}
		return ok
	})
	p.mu.Unlock()
	for _, say := range said {
		p.Emit(execution.InputTaken{ID: say.ID, Steered: true})
	}
}

// steps plays four model calls with a tool between each two. Each costs a cent.
func (p *player) steps() error {
	caps := p.fake.Capabilities().Agent
	cent := 0.01
	spent := 0.0
	for i := range 4 {
		if limit := p.Request.Run.MaxTurns; caps.MaxTurns && limit > 0 && i >= limit {
			return execution.Errorf(execution.CodeTurnLimit, "turn limit")
		}
		if limit := p.Request.Run.MaxBudgetUSD; caps.Budget && limit != nil && spent >= *limit {
			return execution.Errorf(execution.CodeBudgetExceeded, "budget")
		}
		p.Emit(execution.StepStart{StepIndex: i, StepType: "model"})
		if i == 3 {
			p.Say("done")
		} else {
			id := fmt.Sprintf("step-%d", i)
			p.Emit(execution.ToolCallStart{ToolCallID: id, ToolName: "look"}, execution.ToolCallReady{ToolCallID: id, ToolName: "look", Input: json.RawMessage(`{}`)})
		}
		p.Emit(execution.TokenUsage{InputTokens: 100, OutputTokens: 10},
			execution.CostEvent{Cost: execution.CostOf(execution.Usage{Input: 100, Output: 10}, &cent, execution.CostFromAgent)},
			execution.StepEnd{StepIndex: i})
		spent += cent
		if i < 3 {
			id := fmt.Sprintf("step-%d", i)
			if _, why, ok := p.Hook(id, "look", json.RawMessage(`{}`), execution.ToolUse{Kind: execution.ToolRead}); ok {
				p.Emit(execution.ToolResultEvent{ToolCallID: id, ToolName: "look", Output: json.RawMessage(`"nothing"`)})
			} else {
				p.Emit(execution.ToolError{ToolCallID: id, ToolName: "look", Error: why})
			}
		}
		// Like a real model, take long enough for a limit to take effect between two calls: the run is stopped within the wait.
		wait := time.Millisecond
		if limit := p.Request.Run.MaxTurns; limit > 0 && i >= limit {
			wait = 3 * time.Second
		}
		if err := p.Sleep(wait); err != nil {
			return err
		}
		p.steered()
	}
	return nil
}
