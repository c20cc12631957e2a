package chatapi

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Schedule decides whether a failed request is repeated, and after which delay.
type Schedule interface {
	// Next decides after a fault. failed are the earlier faults of the same turn, oldest first. The delay is what the
	// schedule itself asks for; a provider may ask for a longer one.
	Next(f *Fault, failed []*Fault) (delay time.Duration, again bool)
	// Most is the largest number of requests.
	Most() int
}

// NewPolicy returns the schedule of a retry_policy (specification 001, "Retry policy"); a nil one, or one that is not
// enabled, repeats nothing.
func NewPolicy(p *protocol.RetryPolicy) Schedule {
	if p == nil || !p.Enabled {
		return policy{attempts: 1}
	}
	or := func(v *float64, def float64) float64 {
		if v == nil {
			return def
		}
		return *v
	}
	out := policy{attempts: 3, base: or(p.BaseDelayMS, 1000), most: or(p.MaxDelayMS, 8000), factor: or(p.BackoffMultiplier, 2), full: p.Jitter != "none", on: p.RetryOn}
	if p.MaxAttempts != nil {
		out.attempts = max(1, *p.MaxAttempts)
	}
	return out
}

// policy has delays in milliseconds.
type policy struct {
	attempts           int
	base, most, factor float64
	full               bool     // jitter
	on                 []string // classes; nil is all
}

func (p policy) Most() int { return p.attempts }

func (p policy) Next(f *Fault, failed []*Fault) (time.Duration, bool) {
	n := len(failed) + 1
	if !f.Retryable || n >= p.attempts || p.on != nil && !slices.Contains(p.on, string(f.Class)) {
		return 0, false
	}
	ms := min(p.most, p.base*math.Pow(p.factor, float64(n-1)))
	delay := time.Duration(max(0, ms) * float64(time.Millisecond))
	if p.full {
		delay = rand.N(delay + 1) //nolint:gosec // jitter needs no secrecy
	}
	return delay, true
}

// NewFirstEdition returns the schedule of specification 000, "Retry logic", which depends on the failure. maxRetries
// bounds all retries together; nil is no bound.
func NewFirstEdition(maxRetries *int) Schedule { return firstEdition{maxRetries} }

type firstEdition struct{ most *int }

// delays of the first edition, by kind of failure.
var delays = map[string][]time.Duration{
	"rate":    {1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second},
	"server":  {2 * time.Second, 4 * time.Second, 8 * time.Second},
	"network": {5 * time.Second},
	"parse":   {0},
}

func kind(f *Fault) string {
	switch {
	case !f.Retryable:
		return ""
	case f.Class == execution.ClassRateLimited:
		return "rate"
	case f.Category == execution.CategoryParse:
		return "parse"
	case f.Class == execution.ClassTimeout, f.Class == execution.ClassNetworkFailure:
		return "network"
	case f.HTTPStatus != nil && *f.HTTPStatus >= 500:
		return "server"
	}
	return ""
}

func (e firstEdition) Most() int {
	n := 0
	for _, d := range delays {
		n += len(d)
	}
	if e.most != nil {
		n = min(n, max(0, *e.most))
	}
	return n + 1
}

func (e firstEdition) Next(f *Fault, failed []*Fault) (time.Duration, bool) {
	before := 0
	for _, o := range failed {
		if kind(o) == kind(f) {
			before++
		}
	}
	list := delays[kind(f)]
	if before >= len(list) || len(failed)+1 >= e.Most() {
		return 0, false
	}
	return list[before], true
}
