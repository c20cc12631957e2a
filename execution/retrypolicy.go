package execution

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// RetryPolicy says when and how often a failed attempt is repeated (agent-mux specification, RetryPolicy).
// MaxAttempts includes the first attempt; maxRetries in JSON is read as attempts minus one.
type RetryPolicy struct {
	MaxAttempts  int         `json:"maxAttempts"`
	BaseDelayMs  int64       `json:"baseDelayMs"`
	MaxDelayMs   int64       `json:"maxDelayMs"`
	JitterFactor float64     `json:"jitterFactor"`
	RetryOn      []ErrorCode `json:"retryOn"`
}

// DefaultRetryPolicy is the policy of a run that asks for retries without stating a policy.
func DefaultRetryPolicy() RetryPolicy {
	return RetryPolicy{MaxAttempts: 3, BaseDelayMs: 1000, MaxDelayMs: 30000, JitterFactor: 0.1,
		RetryOn: []ErrorCode{CodeRateLimited, CodeAgentCrash, CodeTimeout}}
}

// UnmarshalJSON takes omitted fields from the default policy and accepts maxRetries and max_retries.
func (p *RetryPolicy) UnmarshalJSON(b []byte) error {
	type plain RetryPolicy
	in := struct {
		plain
		MaxRetries  *int `json:"maxRetries"`
		MaxRetries2 *int `json:"max_retries"`
	}{plain: plain(DefaultRetryPolicy())}
	in.MaxAttempts = 0
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if in.MaxRetries == nil {
		in.MaxRetries = in.MaxRetries2
	}
	if in.MaxRetries != nil {
		if in.MaxAttempts != 0 && in.MaxAttempts != *in.MaxRetries+1 {
			return errors.New("retryPolicy: maxAttempts and maxRetries contradict each other")
		}
		in.MaxAttempts = *in.MaxRetries + 1
	}
	if in.MaxAttempts == 0 {
		in.MaxAttempts = DefaultRetryPolicy().MaxAttempts
	}
	*p = RetryPolicy(in.plain)
	return nil
}

// Delay returns how long to wait after attempt has failed: min(base*2^(attempt-1), max) times 1 to 1+jitter.
// random is in [0,1).
func (p RetryPolicy) Delay(attempt int, random float64) time.Duration {
	d := float64(p.BaseDelayMs)
	for range attempt - 1 {
		d *= 2
		if d >= float64(p.MaxDelayMs) {
			break
		}
	}
	d = min(d, float64(p.MaxDelayMs)) * (1 + random*p.JitterFactor)
	return time.Duration(d * float64(time.Millisecond))
}

func (p RetryPolicy) validate(f *faults) {
	if p.MaxAttempts < 1 || p.MaxAttempts > MaxAttempts {
		f.addf("run.retryPolicy.maxAttempts", strconv.Itoa(p.MaxAttempts), fmt.Sprintf("1 to %d", MaxAttempts), "is out of range")
	}
	duration("run.retryPolicy.baseDelayMs", p.BaseDelayMs, MaxRetryDelay, f)
	duration("run.retryPolicy.maxDelayMs", p.MaxDelayMs, MaxRetryDelay, f)
	if p.MaxDelayMs < p.BaseDelayMs {
		f.addf("run.retryPolicy.maxDelayMs", strconv.FormatInt(p.MaxDelayMs, 10), ">= baseDelayMs", "is out of range")
	}
	if !(p.JitterFactor >= 0 && p.JitterFactor <= 1) {
		f.addf("run.retryPolicy.jitterFactor", strconv.FormatFloat(p.JitterFactor, 'g', -1, 64), "0 to 1", "is out of range")
	}
	for _, c := range p.RetryOn {
		f.add(oneOf("run.retryPolicy.retryOn", c, errorCodes))
	}
}
