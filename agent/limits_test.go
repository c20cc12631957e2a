package agent_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// steps are model calls with a tool after each but the last. usage and cost are what each takes.
func steps(n int, cost func(*at.Call)) script {
	return func(c *at.Call) execution.Result {
		c.Emit(execution.SessionStart{SessionID: "s-1"})
		for i := range n {
			c.Emit(execution.StepStart{StepIndex: i, StepType: "model"})
			if i < n-1 {
				c.Emit(execution.ToolCallReady{ToolCallID: strconv.Itoa(i), ToolName: "look", Input: json.RawMessage(`{}`)})
			} else {
				c.Say("done")
			}
			if cost != nil {
				cost(c)
			}
			c.Emit(execution.StepEnd{StepIndex: i})
			if c.Ctx.Err() != nil {
				return at.Failed(execution.CodeAborted, "stopped")
			}
			if i < n-1 {
				c.Emit(execution.ToolResultEvent{ToolCallID: strconv.Itoa(i), ToolName: "look"})
			}
		}
		ended(c)
		return at.Completed()
	}
}

func TestMaxTurns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script script
		limit  int
		native bool
		steps  int // begun
		want   execution.Status
	}{
		{"below", steps(3, nil), 4, false, 3, "completed"},
		{"exactly", steps(3, nil), 3, false, 3, "completed"},
		{"over", steps(5, nil), 3, false, 3, "deferred"},
		{"one call, no tool", steps(1, nil), 1, false, 1, "completed"},
		{"one call with a tool", steps(2, nil), 1, false, 1, "deferred"},
		{"native limit is the backend's", steps(5, nil), 3, true, 5, "completed"},
		{"ends of steps are not shown", func(c *at.Call) execution.Result {
			opened(c)
			for i := range 5 {
				c.Emit(execution.StepStart{StepIndex: i})
				if c.Ctx.Err() != nil {
					break
				}
			}
			return at.Completed()
		}, 2, false, 3, "deferred"},
		{"steps of sub-agents do not count", func(c *at.Call) execution.Result {
			opened(c)
			c.Emit(execution.StepStart{})
			for i := range 5 {
				c.EmitFrom("t", execution.StepStart{StepIndex: i})
				c.EmitFrom("t", execution.StepEnd{StepIndex: i})
			}
			c.Say("hi")
			c.Emit(execution.StepEnd{})
			ended(c)
			return at.Completed()
		}, 1, false, 6, "completed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request("x")
			req.Run.MaxTurns = tt.limit
			b := declaring(tt.script, func(c *execution.Capabilities) { c.Agent.MaxTurns = tt.native })
			res, events := run(t, b, req, agent.Options{})
			want(t, res, tt.want, "")
			if n := len(bodies[execution.StepStart](events)); n != tt.steps {
				t.Errorf("%d steps began, want %d", n, tt.steps)
			}
			if tt.want != execution.StatusDeferred {
				return
			}
			if l := bodies[execution.TurnLimit](events); len(l) != 1 || l[0].MaxTurns != tt.limit || res.ExitReason != execution.ExitTurnLimit {
				t.Errorf("got %+v %s", l, res.ExitReason)
			}
			if res.Continuation == nil || res.Continuation.State["stopReason"] != "turn_limit" || res.Continuation.State["sessionId"] != "s-1" {
				t.Errorf("got %+v", res.Continuation)
			}
		})
	}
	t.Run("turns of a conversation", func(t *testing.T) {
		t.Parallel()
		req := conversation()
		req.Run.MaxTurns = 2
		r := start(t, backend(chat), req, agent.Options{})
		for range 4 {
			_, _ = r.Queue("x", "")
		}
		r.CloseInput()
		res, _ := finish(t, r)
		want(t, res, execution.StatusDeferred, "")
	})
}

func cents(n float64) func(*at.Call) {
	return func(c *at.Call) {
		usd := n / 100
		u := execution.Usage{Input: 1000, Output: 100}
		c.Emit(execution.TokenUsage{InputTokens: 1000, OutputTokens: 100}, execution.CostEvent{Cost: execution.CostOf(u, &usd, execution.CostFromAgent)})
	}
}

func tokens(c *at.Call) { c.Emit(execution.TokenUsage{InputTokens: 1000, OutputTokens: 100}) }

func cached(c *at.Call) { c.Emit(execution.TokenUsage{InputTokens: 1000, CachedTokens: 9000}) }

func calls(c *at.Call) { c.Emit(execution.Usage{Input: 1000, Output: 100}.CallEvent()) }

// tiered is twice as high for prompts that no single call here has, but two together.
func tiered(string) *execution.Price {
	return &execution.Price{Input: 10, Output: 100, Long: &execution.LongPrice{Above: 1500, Input: 20, Output: 200}}
}

// panicsAfter is a price function that knows the price n times.
func panicsAfter(n int) func(string) *execution.Price {
	return func(string) *execution.Price {
		if n--; n < 0 {
			panic("no idea")
		}
		return &execution.Price{Input: 1, Output: 1}
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	priced := func(model string) *execution.Price {
		if model != "fake-1" {
			return nil
		}
		return &execution.Price{Input: 10, Output: 100} // 1000 in and 100 out are 2 cents
	}
	tests := []struct {
		name   string
		cost   func(*at.Call)
		budget float64
		change func(*execution.Capabilities)
		price  func(string) *execution.Price
		calls  int // tool calls made
		want   execution.Status
	}{
		{"enough, stated", cents(1), 1, nil, nil, 4, "completed"},
		{"too little, stated", cents(1), 0.025, nil, nil, 3, "failed"},
		{"nothing", cents(1), 0, nil, nil, 1, "failed"},
		{"enough, from the table", tokens, 1, func(c *execution.Capabilities) { c.Agent.CostReported = false }, priced, 4, "completed"},
		{"too little, from the table", tokens, 0.05, func(c *execution.Capabilities) { c.Agent.CostReported = false }, priced, 3, "failed"},
		{"cached tokens without a price are charged as fresh ones", cached, 0.15, func(c *execution.Capabilities) { c.Agent.CostReported = false }, priced, 2, "failed"},
		{"a sum that may have long prompts is charged as such", tokens, 0.05, func(c *execution.Capabilities) { c.Agent.CostReported = false }, tiered, 2, "failed"},
		{"calls one by one are not", calls, 0.05, func(c *execution.Capabilities) { c.Agent.CostReported = false }, tiered, 3, "failed"},
		{"native", cents(1), 0.025, func(c *execution.Capabilities) { c.Agent.Budget = true }, nil, 4, "completed"},
		{"refused: no price", tokens, 1, func(c *execution.Capabilities) { c.Agent.CostReported = false }, nil, 0, "unsupported"},
		{"if known: no price", tokens, 1, func(c *execution.Capabilities) { c.Agent.CostReported = false }, nil, 4, "completed"},
		{"if known: too little, stated", cents(1), 0.025, func(c *execution.Capabilities) { c.Agent.CostReported = false }, nil, 3, "failed"},
		{"the price function panics later", tokens, 1, func(c *execution.Capabilities) { c.Agent.CostReported = false }, panicsAfter(1), 4, "completed"},
		{"refused: the price function panics", tokens, 1, func(c *execution.Capabilities) { c.Agent.CostReported = false }, func(string) *execution.Price { panic("x") }, 0, "unsupported"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request("x")
			req.Run.MaxBudgetUSD = &tt.budget
			// The agent states a dated name of the model that was asked for.
			dated := func(c *at.Call) execution.Result {
				opened(c)
				c.Emit(execution.SessionStart{SessionID: "s-2", Model: "fake-1-20260101"})
				return steps(5, tt.cost)(c)
			}
			b := declaring(dated, func(c *execution.Capabilities) {
				if tt.change != nil {
					tt.change(c)
				}
			})
			res, events := run(t, b, req, agent.Options{Price: tt.price, BudgetIfKnown: strings.HasPrefix(tt.name, "if known")})
			if res.Status != tt.want {
				t.Errorf("got %s %+v, want %s", res.Status, res.Error, tt.want)
			}
			if res.Status == execution.StatusFailed && res.Error.Code != execution.FailureBudgetExceeded {
				t.Errorf("got %+v", res.Error)
			}
			if n := len(bodies[execution.ToolCallReady](events)); n != tt.calls {
				t.Errorf("%d tool calls, want %d", n, tt.calls)
			}
		})
	}
}

func TestCostIsCountedOnce(t *testing.T) {
	t.Parallel()
	near := func(c *execution.Cost, usd float64) bool {
		return c != nil && c.TotalUSD != nil && math.Abs(*c.TotalUSD-usd) < 1e-9
	}
	t.Run("stated", func(t *testing.T) {
		t.Parallel()
		res, events := run(t, backend(func(c *at.Call) execution.Result {
			r := steps(3, cents(1))(c)
			usd := 0.03
			cost := execution.CostOf(execution.Usage{Input: 3000, Output: 300}, &usd, execution.CostFromAgent)
			r.Usage, r.Cost = &execution.Usage{Input: 3000, Output: 300, Total: 3300}, &cost // the same once more
			return r
		}), request("x"), agent.Options{})
		if res.Usage.Input != 3000 || res.Usage.Total != 3300 || !near(res.Cost, 0.03) || res.Cost.Source != execution.CostFromAgent {
			t.Errorf("got %+v %+v", res.Usage, res.Cost)
		}
		if end := bodies[execution.TurnEnd](events)[0]; !near(end.Cost, 0.03) || end.Cost.InputTokens != 3000 {
			t.Errorf("turn: %+v", end.Cost)
		}
	})
	t.Run("only in the result", func(t *testing.T) {
		t.Parallel()
		res, _ := run(t, backend(func(c *at.Call) execution.Result {
			r := answer(c)
			usd := 0.03
			cost := execution.CostOf(execution.Usage{Input: 3000}, &usd, execution.CostFromAgent)
			r.Usage, r.Cost = &execution.Usage{Input: 3000, Total: 3000}, &cost
			return r
		}), request("x"), agent.Options{})
		if res.Usage == nil || res.Usage.Input != 3000 || !near(res.Cost, 0.03) {
			t.Errorf("got %+v %+v", res.Usage, res.Cost)
		}
	})
	unstated := func(s script) agent.Backend {
		b := declaring(s, func(c *execution.Capabilities) { c.Agent.CostReported = false })
		b.Models = []execution.Model{{ID: "fake-1", Price: &execution.Price{Input: 10, Output: 100}}}
		return b
	}
	t.Run("from the table", func(t *testing.T) {
		t.Parallel()
		late := func(c *at.Call) execution.Result {
			r := steps(2, tokens)(c)
			tokens(c) // after the turn
			return r
		}
		res, events := run(t, unstated(late), request("x"), agent.Options{})
		if res.Usage.Input != 3000 || !near(res.Cost, 0.06) || res.Cost.Source != execution.CostFromTable {
			t.Errorf("got %+v %+v", res.Usage, res.Cost)
		}
		if n := bodies[execution.CostEvent](events); len(n) != 2 || !near(&n[0].Cost, 0.04) {
			t.Errorf("cost events: %+v", n)
		}
	})
	t.Run("a turn without tokens", func(t *testing.T) {
		t.Parallel()
		turn := func(c *at.Call, i int, used bool) {
			c.Emit(execution.TurnStart{TurnIndex: i})
			c.Say("hi")
			if used {
				tokens(c)
			}
			c.Emit(execution.TurnEnd{TurnIndex: i, Reason: execution.TurnInterrupted})
		}
		for _, at1 := range []bool{true, false} {
			res, _ := run(t, unstated(func(c *at.Call) execution.Result {
				c.Emit(execution.SessionStart{SessionID: "s-1"})
				turn(c, 0, true)
				turn(c, 1, at1)
				return at.Completed()
			}), request("x"), agent.Options{})
			if res.Cost == nil || res.Cost.TotalUSD == nil || res.Cost.Unpriced == at1 {
				t.Errorf("second turn with tokens %v: got %+v", at1, res.Cost)
			}
		}
	})
	t.Run("from the session file", func(t *testing.T) {
		t.Parallel()
		file := func(agent, session string) execution.Usage {
			if agent != "fake" || session != "s-1" {
				t.Errorf("asked about %s %s", agent, session)
			}
			return execution.Usage{Input: 3000, Output: 300, Total: 3300}
		}
		for _, tt := range []struct {
			name   string
			turns  []bool // whether each states its tokens
			broken bool   // the last one has no end
			file   func(string, string) execution.Usage
			input  int64
			source execution.CostSource
		}{
			{"killed", []bool{false}, true, file, 3000, execution.CostFromSession},
			{"killed in the second turn", []bool{true, false}, true, file, 3000, execution.CostFromSession},
			{"interrupted in the first turn", []bool{false, true}, false, file, 3000, execution.CostFromSession},
			{"all stated", []bool{true, true}, false, file, 2000, execution.CostFromTable},
			{"the file has less", []bool{true, false}, true, func(string, string) execution.Usage { return execution.Usage{Input: 10, Total: 10} }, 1000, execution.CostFromTable},
			{"the file is not known", []bool{true, false}, true, nil, 1000, execution.CostFromTable},
		} {
			res, events := run(t, unstated(func(c *at.Call) execution.Result {
				c.Emit(execution.SessionStart{SessionID: "s-1"})
				for i, stated := range tt.turns {
					c.Emit(execution.TurnStart{TurnIndex: i})
					c.Say("hi")
					if stated {
						tokens(c)
					}
					if !tt.broken || i+1 < len(tt.turns) {
						c.Emit(execution.TurnEnd{TurnIndex: i})
					}
				}
				return at.Failed(execution.CodeAgentCrash, "killed")
			}), request("x"), agent.Options{SessionUsage: tt.file})
			if res.Usage.Input != tt.input || res.Cost.InputTokens != tt.input || res.Cost.Source != tt.source || res.Cost.TotalUSD == nil {
				t.Errorf("%s: got %+v %+v", tt.name, res.Usage, res.Cost)
			}
			if found := tt.source == execution.CostFromSession; found == res.Cost.Unpriced && tt.turns[len(tt.turns)-1] == false || found && !near(res.Cost, 0.06) {
				t.Errorf("%s: got %+v", tt.name, res.Cost)
			}
			sum := execution.Usage{}
			for _, u := range bodies[execution.TokenUsage](events) {
				sum.Input += u.InputTokens
			}
			if sum.Input != tt.input {
				t.Errorf("%s: the events have %d", tt.name, sum.Input)
			}
		}
	})
	t.Run("no price", func(t *testing.T) {
		t.Parallel()
		b := unstated(steps(2, tokens))
		b.Models = nil
		res, _ := run(t, b, request("x"), agent.Options{})
		if res.Cost == nil || res.Cost.TotalUSD != nil || !res.Cost.Unpriced || res.Cost.InputTokens != 2000 {
			t.Errorf("got %+v", res.Cost)
		}
	})
	t.Run("a call of which nothing is known", func(t *testing.T) {
		t.Parallel()
		res, _ := run(t, backend(func(c *at.Call) execution.Result {
			r := steps(2, cents(1))(c)
			c.Emit(execution.CostEvent{Cost: execution.Cost{Unpriced: true, Source: execution.CostFromAgent}})
			return r
		}), request("x"), agent.Options{})
		if !near(res.Cost, 0.02) || !res.Cost.Unpriced {
			t.Errorf("got %+v", res.Cost)
		}
	})
	t.Run("the agent states prices and no tokens", func(t *testing.T) {
		t.Parallel()
		usd := 0.5
		states := func(last execution.TurnEndReason) execution.Result {
			b := declaring(func(c *at.Call) execution.Result {
				c.Emit(execution.SessionStart{SessionID: "s-1"})
				for i := range 2 {
					c.Emit(execution.TurnStart{TurnIndex: i})
					c.Say("hi")
					reason := execution.TurnCompleted
					if i == 1 {
						reason = last
					}
					if reason == execution.TurnCompleted {
						c.Emit(execution.CostEvent{Cost: execution.CostOf(execution.Usage{}, &usd, execution.CostFromAgent)})
					}
					c.Emit(execution.TurnEnd{TurnIndex: i, Reason: reason})
				}
				return execution.Result{Status: execution.StatusCompleted}
			}, func(c *execution.Capabilities) { c.Agent.TokensUnstated = true })
			res, _ := run(t, b, request("x"), agent.Options{SessionUsage: func(string, string) execution.Usage { return execution.Usage{Input: 3000, Output: 300, Total: 3300} }})
			return res
		}
		if res := states(execution.TurnInterrupted); !near(res.Cost, 0.5) || !res.Cost.Unpriced {
			t.Errorf("with an interrupted turn: %+v", res.Cost)
		}
		res := states(execution.TurnCompleted)
		if res.Usage == nil || res.Usage.Input != 3000 || !near(res.Cost, 1) || res.Cost.Unpriced || res.Cost.Source != execution.CostFromAgent {
			t.Errorf("got %+v %+v", res.Usage, res.Cost)
		}
	})
	t.Run("the agent states the price before the tokens", func(t *testing.T) {
		t.Parallel()
		usd := 0.5
		for reason, unpriced := range map[execution.TurnEndReason]bool{execution.TurnCompleted: false, execution.TurnInterrupted: true} {
			b := unstated(func(c *at.Call) execution.Result {
				c.Emit(execution.SessionStart{SessionID: "s-1"})
				c.Emit(execution.TurnStart{})
				c.Emit(execution.CostEvent{Cost: execution.CostOf(execution.Usage{}, &usd, execution.CostFromAgent)})
				c.Emit(execution.TokenUsage{InputTokens: 1000})
				c.Emit(execution.TurnEnd{Reason: reason})
				return execution.Result{Status: execution.StatusCompleted}
			})
			b.Models = nil
			res, _ := run(t, b, request("x"), agent.Options{})
			if res.Cost == nil || res.Cost.Unpriced != unpriced || res.Cost.TotalUSD == nil || *res.Cost.TotalUSD != usd {
				t.Errorf("%s: got %+v", reason, res.Cost)
			}
		}
	})
	t.Run("the caller's price wins", func(t *testing.T) {
		t.Parallel()
		res, _ := run(t, unstated(steps(1, tokens)), request("x"), agent.Options{Price: func(string) *execution.Price { return &execution.Price{Input: 1000} }})
		if !near(res.Cost, 1) {
			t.Errorf("got %+v", res.Cost)
		}
	})
	t.Run("nothing used", func(t *testing.T) {
		t.Parallel()
		res, _ := run(t, backend(answer), request("x"), agent.Options{})
		if res.Cost != nil || res.Usage != nil {
			t.Errorf("got %+v %+v", res.Cost, res.Usage)
		}
	})
}

// TestTraceOnEveryStatus drives a run to each status.
func TestTraceOnEveryStatus(t *testing.T) {
	t.Parallel()
	limit := request("x")
	limit.Run.MaxTurns = 1
	wants := request("x")
	wants.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportRequired}
	refused := request("x")
	refused.Run.Profile = "p"
	tests := map[execution.Status]struct {
		script script
		req    execution.Request
		tools  int
		event  execution.TraceEventType
	}{
		execution.StatusCompleted:          {steps(2, nil), request("x"), 1, execution.TraceToolCompleted},
		execution.StatusFailed:             {failingWith(execution.CodeModelNotFound), request("x"), 0, execution.TraceFailure},
		execution.StatusUnsupported:        {answer, refused, 0, execution.TraceFailure},
		execution.StatusDeferred:           {steps(2, nil), limit, 1, execution.TraceDeferred},
		execution.StatusAwaitingApproval:   {asker(approvalOf("q")), wants, 0, execution.TraceApprovalWait},
		execution.StatusNeedsClarification: {asker(inputOf("q")), request("x"), 0, ""},
	}
	for status, tt := range tests {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			before := time.Now()
			res, _ := run(t, backend(tt.script), tt.req, agent.Options{})
			if res.Status != status {
				t.Fatalf("got %s", res.Status)
			}
			s := res.Trace.Summary
			if s.StartedAt.Before(before) || s.CompletedAt.Before(s.StartedAt) || s.ToolCallCount != tt.tools {
				t.Errorf("got %+v", s)
			}
			n := 0
			for _, e := range res.Trace.Events {
				if e.Type == tt.event {
					n++
				}
			}
			if tt.event != "" && n != 1 {
				t.Errorf("%d %s events in %+v", n, tt.event, res.Trace.Events)
			}
			if res.AssistantID != "a1" || res.TurnID != "t1" || res.RunID == "" || res.SchemaVersion != execution.SchemaVersion || res.BackendID != "fake" {
				t.Errorf("ids: %+v", res)
			}
		})
	}
	t.Run("minimal", func(t *testing.T) {
		t.Parallel()
		req := request("x")
		req.Requirements = &execution.Requirements{TraceDepth: execution.TraceMinimal}
		res, _ := run(t, backend(steps(2, nil)), req, agent.Options{})
		if len(res.Trace.Events) != 0 || res.Trace.Summary.StepCount == nil || *res.Trace.Summary.StepCount != 2 || res.Trace.Summary.ToolCallCount != 1 {
			t.Errorf("got %+v", res.Trace)
		}
	})
}
