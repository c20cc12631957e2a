package turnruntime

import (
	"time"

	"github.com/drawbar/drawbar/adapter/kit/vendormodel"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/chatapi"
)

// apiTrace is retry-trace.json: the requests of one turn.
type apiTrace struct {
	Provider       string        `json:"provider"`
	Model          string        `json:"model"`
	RunID          string        `json:"run_id"`
	TurnID         string        `json:"turn_id"`
	RuntimeID      string        `json:"runtime_id"`
	MaxAttempts    int           `json:"max_attempts"`
	AttemptsMade   int           `json:"attempts_made"`
	FinalOutcome   string        `json:"final_outcome"` // success, failure or aborted
	AggregateUsage protocol.Cost `json:"aggregate_usage"`
	Attempts       []apiAttempt  `json:"attempts"`
}

// apiAttempt is one request. The delays are those before it.
type apiAttempt struct {
	Attempt           int           `json:"attempt"`
	StartedAt         protocol.Time `json:"started_at"`
	CompletedAt       protocol.Time `json:"completed_at"`
	Outcome           string        `json:"outcome"` // success, or the error class
	Retryable         bool          `json:"retryable"`
	HTTPStatus        *int          `json:"http_status"`
	ProviderErrorType string        `json:"provider_error_type,omitempty"`
	RequestID         string        `json:"request_id,omitempty"`
	ScheduledDelayMS  int64         `json:"scheduled_delay_ms"`
	ActualDelayMS     int64         `json:"actual_delay_ms"`
	Usage             protocol.Cost `json:"usage"`
}

func (t *apiAttempt) end(now time.Time, a chatapi.Answer, f *chatapi.Fault) {
	t.CompletedAt, t.Outcome, t.RequestID = protocol.At(now), "success", a.RequestID
	t.Usage = protocol.Cost{InputTokens: a.Input, OutputTokens: a.Output}
	if f != nil {
		t.Outcome, t.Retryable, t.HTTPStatus, t.ProviderErrorType = string(f.Class), f.Retryable, f.HTTPStatus, f.ProviderType
	}
}

// price is the price of tokens: by budget.cost_rates, or as the model's provider publishes it, nothing without a key; nil if it is unknown.
func (d Dispatch) price(model string, keyless bool, input, output int64) *float64 {
	if rate, ok := d.Rates.Get(model); ok {
		return new(rate.USD(input, output))
	}
	if keyless {
		return new(0.0)
	}
	if list := vendormodel.Price(model); list != nil {
		p := list.At(input)
		return new(protocol.CostRate{InputPer1M: p.Input, OutputPer1M: p.Output}.USD(input, output))
	}
	return nil
}

func (c *conversation) trace(o Outcome) apiTrace {
	t := apiTrace{Provider: c.d.Runtime.Provider, Model: c.d.Runtime.Model, RunID: c.d.Run, TurnID: c.d.Turn.TurnID, RuntimeID: c.d.RuntimeID,
		MaxAttempts: c.plan.schedule.Most(), AttemptsMade: len(c.attempts), FinalOutcome: "failure", AggregateUsage: c.usage, Attempts: c.attempts}
	switch {
	case o.Staged:
		t.FinalOutcome = "success"
	case o.Cancelled:
		t.FinalOutcome = "aborted"
	}
	return t
}
