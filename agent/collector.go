package agent

import (
	"math"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// maxTraceEvents limits the trace of a result; the summary counts all events.
const maxTraceEvents = 10000

// collector derives the result from the events. It runs under emit's exclusion, like the sequencer.
type collector struct {
	name       string // of the running backend
	caps       execution.Capabilities
	price      func(string) *execution.Price
	model      string // stated by the backend
	asked      string // requested model: negotiation knew its price
	sessionID  string
	negotiated execution.Negotiation
	started    time.Time

	text       strings.Builder // of the attempt
	message    string          // the last complete message
	usage      execution.Usage // of the run: failed attempts cost money too
	stated     float64         // price stated by the backend
	hasPrice   bool
	tabled     float64 // price from the table
	hasTable   bool
	unpriced   execution.Usage   // not yet priced
	calls      []execution.Usage // of unpriced, those of single model calls
	turnUSD    float64
	turnUsage  execution.Usage
	turnPriced bool
	inTurn     bool
	turnSeen   bool            // the model was active in this turn
	unstated   bool            // the tokens of a turn with model activity were not stated
	tokenless  bool            // the price of a turn was stated, and not its tokens
	lost       bool            // an interrupted turn stated nothing, and session files do not say what it used either
	outside    execution.Usage // used before the session began: not part of this run's usage
	fromFile   bool            // tokens come from the session file

	steps     int // model calls begun
	stepsDone int // model calls ended
	stepTools int // tool calls since the last step began
	inStep    bool
	modelSeen bool // evidence of a model call; without steps their number is unknown
	toolCalls int
	retries   int
	after     time.Duration
	failure   execution.ErrorCode // of the last error event; empty after the agent continued
	turnsDone int                 // completed turns of the attempt
	lastTurn  execution.TurnEnd
	trace     []execution.TraceEvent
	inMessage bool
	denied    int             // calls denied because nobody could be asked
	unasked   bool            // nobody will answer the next permission question
	retrying  execution.Retry // the last retry since the backend made progress; no reason if none
	refusals  int             // consecutive model calls refused for their credentials
	collected []execution.Event
}

func newCollector(r *Run) *collector {
	return &collector{name: r.backend.Name, started: time.Now()}
}

// use switches to another backend. The cost of the previous one remains.
func (c *collector) use(b Backend, caps execution.Capabilities, n execution.Negotiation, model string, price func(string) *execution.Price) {
	c.name, c.caps, c.negotiated, c.price = b.Name, caps, n, price
	c.model, c.asked, c.sessionID = model, model, ""
}

// beginAttempt discards a failed attempt's output and keeps its cost.
func (c *collector) beginAttempt() {
	c.text.Reset()
	c.message = ""
	c.lastTurn = execution.TurnEnd{}
	c.failure, c.after, c.turnsDone, c.inMessage, c.inStep = "", 0, 0, false, false
	c.retrying, c.refusals = execution.Retry{}, 0
}

// startSession records the backend's session.
func (c *collector) startSession(b execution.SessionStart) {
	if c.sessionID != b.SessionID {
		c.sessionID, c.outside = b.SessionID, c.usage
	}
	if b.Model != "" {
		c.model = b.Model
	}
}

// wentOn records that the backend made progress: earlier failures did not end it.
func (c *collector) wentOn() { c.failure, c.retrying, c.refusals = "", execution.Retry{}, 0 }

func (c *collector) traceAdd(e execution.Event, t execution.TraceEventType, data map[string]any) {
	if len(c.trace) < maxTraceEvents {
		c.trace = append(c.trace, execution.TraceEvent{Type: t, At: e.Time, Data: data})
	}
}

// observe records a stamped event.
func (c *collector) observe(e execution.Event) {
	own := e.Parent == ""
	switch b := e.Body.(type) {
	case execution.TextDelta:
		c.wentOn()
		c.modelSeen, c.turnSeen = true, true
		if own {
			c.text.WriteString(b.Delta)
			if !c.inMessage && !c.inStep {
				c.inMessage = true
				c.traceAdd(e, execution.TraceModelStarted, nil)
			}
		}
	case execution.MessageStop:
		if own {
			c.message = b.Text
			if c.inMessage {
				c.inMessage = false
				c.traceAdd(e, execution.TraceModelCompleted, nil)
			}
		}
	case execution.SessionStart:
		if own {
			c.startSession(b)
		}
	case execution.TurnStart:
		c.failure = ""
		if own {
			c.inTurn, c.turnSeen = true, false
		}
	case execution.ThinkingDelta:
		c.wentOn()
		c.modelSeen = true
	case execution.StepStart:
		c.failure = ""
		if own {
			c.steps++
			c.stepTools = 0
			c.inStep = true
			c.traceAdd(e, execution.TraceModelStarted, map[string]any{"stepIndex": b.StepIndex})
		}
	case execution.StepEnd:
		if own {
			c.stepsDone++
			if c.inStep {
				c.inStep = false
				c.traceAdd(e, execution.TraceModelCompleted, map[string]any{"stepIndex": b.StepIndex})
			}
		}
	case execution.Retry:
		c.retrying = b
	case execution.ToolCallReady:
		c.tool(e, b.ToolCallID, b.ToolName)
	case execution.MCPToolCallStart:
		c.tool(e, b.ToolCallID, b.Server+"/"+b.ToolName)
	case execution.ToolResultEvent:
		c.traceAdd(e, execution.TraceToolCompleted, map[string]any{"toolCallId": b.ToolCallID, "toolName": b.ToolName})
	case execution.ToolError:
		c.traceAdd(e, execution.TraceToolCompleted, map[string]any{"toolCallId": b.ToolCallID, "toolName": b.ToolName, "error": b.Error})
	case execution.MCPToolResult:
		c.traceAdd(e, execution.TraceToolCompleted, map[string]any{"toolCallId": b.ToolCallID, "toolName": b.ToolName})
	case execution.MCPToolError:
		c.traceAdd(e, execution.TraceToolCompleted, map[string]any{"toolCallId": b.ToolCallID, "toolName": b.ToolName, "error": b.Error})
	case execution.ApprovalRequired:
		if c.unasked {
			break
		}
		c.traceAdd(e, execution.TraceApprovalWait, map[string]any{"interactionId": b.ID, "action": b.Action})
	case execution.TokenUsage:
		u := b.Usage().WithTotal()
		c.modelSeen = c.modelSeen || !u.IsZero()
		c.fromFile = c.fromFile || b.FromSession
		c.usage, c.turnUsage = c.usage.Add(u), c.turnUsage.Add(u)
		if !b.FromSession || !c.tokenless {
			if c.unpriced = c.unpriced.Add(u); b.ModelCall {
				c.calls = append(c.calls, u)
			}
		}
		if !c.inTurn || b.FromSession {
			c.unstated, c.tokenless = false, false // some backends state the usage of all turns at the end
		}
	case execution.CostEvent:
		if b.Cost.TotalUSD == nil {
			c.lost = c.lost || b.Cost.Unpriced // a model call of which nothing is known
			break
		}
		c.unpriced, c.calls = execution.Usage{}, nil
		c.turnUSD, c.turnPriced = c.turnUSD+*b.Cost.TotalUSD, true
		if b.Cost.Source == execution.CostFromTable || b.Cost.Source == execution.CostFromSession {
			c.tabled, c.hasTable = c.tabled+*b.Cost.TotalUSD, true
		} else {
			c.stated, c.hasPrice = c.stated+*b.Cost.TotalUSD, true
		}
	case execution.TurnEnd:
		if !own {
			break
		}
		c.lastTurn, c.inMessage, c.inStep = b, false, false
		if b.Reason == execution.TurnCompleted {
			c.turnsDone++
			if c.turnPriced {
				c.unpriced, c.calls = execution.Usage{}, nil // some backends state a turn's price before its tokens
			}
		}
		c.unstated = c.unstated || c.turnUnstated()
		c.lost = c.lost || c.caps.Agent.TokensUnstated && b.Reason != execution.TurnCompleted && c.turnUnstated()
		c.tokenless = c.tokenless || c.turnPriced && c.turnUsage.IsZero()
		c.inTurn = false
		c.turnUSD, c.turnUsage, c.turnPriced = 0, execution.Usage{}, false
	case execution.RateLimitError:
		c.after = max(c.after, time.Duration(b.RetryAfterMs)*time.Millisecond)
		c.failure = execution.CodeRateLimited
	case execution.RateLimited:
		c.after = max(c.after, time.Duration(b.RetryAfterMs)*time.Millisecond)
	case execution.AuthError:
		c.failure = execution.CodeAuth
	case execution.ContextExceeded:
		c.failure = execution.CodeContextExceeded
	case execution.Crash:
		c.failure = execution.CodeAgentCrash
		c.traceAdd(e, execution.TraceFailure, map[string]any{"code": execution.CodeAgentCrash})
	case execution.ErrorEvent:
		c.failure = b.Code
		if !b.Recoverable {
			c.traceAdd(e, execution.TraceFailure, map[string]any{"code": b.Code, "message": b.Message})
		}
	}
}

func (c *collector) tool(e execution.Event, id, name string) {
	c.toolCalls++
	c.wentOn()
	c.modelSeen, c.turnSeen = true, true
	if e.Parent == "" {
		c.stepTools++
	}
	c.traceAdd(e, execution.TraceToolRequested, map[string]any{"toolCallId": id, "toolName": name})
}

// retryCause returns why the backend was retrying at its deadline, to append to that message.
func (c *collector) retryCause() string {
	if c.retrying.Reason == "" {
		return ""
	}
	return "; the agent was retrying: " + c.retrying.Reason
}

// stepCount returns the number of model calls, nil if some were made that the backend does not show.
func (c *collector) stepCount() *int {
	n := max(c.steps, c.stepsDone)
	if n == 0 && c.modelSeen {
		return nil
	}
	return &n
}

// errorShown reports whether the stream already ends with an event for the result's failure.
func (c *collector) errorShown(res execution.Result) bool {
	switch res.Error.ErrorCode() {
	case execution.CodeAborted, execution.CodeInterrupted:
		return true // aborted and interrupted are such events
	case execution.CodeTimeout, execution.CodeInactivityTimeout:
		// The control event says so; an adapter's own deadline has none.
		return res.ExitReason == execution.ExitByTimeout || c.failure != ""
	}
	return c.failure == res.Error.ErrorCode()
}

// overTurns reports whether the event shows a model call beyond the limit: one that begins after it, or one at
// the limit that calls tools, because another must follow.
func (c *collector) overTurns(e execution.Event, limit int) bool {
	switch e.Body.(type) {
	case execution.StepStart:
		return c.steps > limit
	case execution.StepEnd:
		return c.stepsDone >= limit && c.stepTools > 0
	}
	return false
}

// spent returns the money spent so far; known is false if no price is known.
func (c *collector) spent() (usd float64, known bool) {
	usd, known = c.stated+c.tabled, c.hasPrice || c.hasTable
	if c.caps.Agent.CostReported {
		return usd, known
	}
	p := c.modelPrice()
	if p == nil {
		return usd, known
	}
	rest := p.OfCalls(c.unpriced, c.calls)
	if rest == nil {
		// A limit is compared with the highest possible cost: cached tokens are charged as fresh ones, every prompt as a long one.
		dear := p.At(math.MaxInt64)
		most := execution.Price{Input: dear.Input, Output: dear.Output, CacheRead: &dear.Input, CacheWrite: &dear.Input}
		rest = most.Of(c.unpriced)
	}
	return usd + *rest, true
}

// modelPrice returns the price of the running model. An unknown name is assumed to be the requested model,
// because agents state dated names.
func (c *collector) modelPrice() (price *execution.Price) {
	defer func() {
		if recover() != nil {
			price = nil // the caller's own price function: unknown
		}
	}()
	for _, model := range []string{c.model, c.asked} {
		if c.price == nil || model == "" {
			continue
		}
		if p := c.price(model); p != nil {
			return p
		}
	}
	return nil
}

// unstatedCost returns the table's price of the usage since the last cost event. A backend that states its cost
// may still do so until the run ends; one that was stopped, killed or timed out will not.
func (c *collector) unstatedCost(over bool) *execution.Cost {
	if c.caps.Agent.CostReported && !over || c.unpriced.IsZero() {
		return nil
	}
	p := c.modelPrice()
	if p == nil {
		return nil
	}
	usd := p.OfCalls(c.unpriced, c.calls)
	if usd == nil {
		return nil
	}
	source := execution.CostFromTable
	if c.fromFile {
		source = execution.CostFromSession
	}
	cost := execution.CostOf(c.unpriced, usd, source)
	return &cost
}

func (c *collector) turnCost() *execution.Cost {
	if c.turnUsage.IsZero() && !c.turnPriced {
		return nil
	}
	var usd *float64
	if c.turnPriced {
		v := c.turnUSD
		usd = &v
	}
	cost := execution.CostOf(c.turnUsage, usd, c.source())
	return &cost
}

func (c *collector) source() execution.CostSource {
	if c.hasPrice {
		return execution.CostFromAgent
	}
	return execution.CostFromTable
}

// lacksTokens reports whether a turn used, or may have used, tokens that were not stated.
func (c *collector) lacksTokens() bool {
	return c.tokenless || !c.hasPrice && (c.unstated || c.inTurn && c.turnUsage.IsZero() && !c.turnPriced)
}

// turnUnstated reports whether the model was active in the current turn and its tokens are not stated.
func (c *collector) turnUnstated() bool {
	return c.inTurn && c.turnSeen && c.turnUsage.IsZero() && !c.turnPriced
}

// cost returns the cost of the run, nil if nothing was used.
func (c *collector) cost() *execution.Cost {
	if c.usage.IsZero() && !c.hasPrice && !c.hasTable {
		return nil
	}
	var usd *float64
	if c.hasPrice || c.hasTable {
		v := c.stated + c.tabled
		usd = &v
	}
	cost := execution.CostOf(c.usage, usd, c.source())
	// Part of it may be priced, and an interrupted turn may have used tokens that were never stated.
	cost.Unpriced = c.lost || !c.unpriced.IsZero() || !c.hasPrice && (c.unstated || c.turnUnstated())
	if c.fromFile && !c.hasPrice {
		cost.Source = execution.CostFromSession
	}
	return &cost
}
