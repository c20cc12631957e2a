package routing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Candidate is an agent, with a model, that could run a request.
type Candidate struct {
	Agent, Model string
	Negotiation  execution.Negotiation // of the request
	Cost         *float64              // what it would cost in dollars; nil if unknown
	Latency      time.Duration         // of an answer; 0 if unknown
	Context      int                   // window in tokens; 0 if unknown
	Down         string                // why it cannot be used now; empty if it can
}

// Name is the candidate as people write it.
func (c Candidate) Name() string {
	if c.Model == "" {
		return c.Agent
	}
	return c.Agent + "/" + c.Model
}

// Preference is what decides between candidates that fit. What is unknown comes last.
type Preference string

// The preferences. The empty one is the order of the candidates.
const (
	Cheapest Preference = "cheapest"
	Fastest  Preference = "fastest"
	Capable  Preference = "capable" // the least degraded, then the largest window
)

// Need is what a request needs besides what it says itself.
type Need struct {
	Prefer  Preference
	Only    string // name of the candidate that has to run it; empty is any
	MaxCost *float64
	Spec    Spec // of Policy.Decide; zero asks for nothing
}

// Rejection is why a candidate does not run a request.
type Rejection struct {
	Candidate Candidate
	Reason    string
}

// Route is who runs a request, and who could instead, in that order.
type Route struct {
	Candidate Candidate
	Reason    string
	Fallbacks []Candidate
	Rejected  []Rejection
}

// NoRoute is the error of ToAdapter if nobody can run the request.
type NoRoute struct{ Rejected []Rejection }

func (n *NoRoute) Error() string {
	why := make([]string, len(n.Rejected))
	for i, r := range n.Rejected {
		why[i] = r.Candidate.Name() + ": " + r.Reason
	}
	if len(why) == 0 {
		return "there are no candidates"
	}
	return "nobody can run the request: " + strings.Join(why, "; ")
}

// Unwrap gives it its code.
func (n *NoRoute) Unwrap() error { return execution.Errorf(execution.CodeCapability, "%s", n.Error()) }

// ToAdapter chooses who runs a request (routeToAdapter). Candidates that are not degraded come before those that are, whatever is preferred.
func ToAdapter(need Need, all []Candidate) (Route, error) {
	if !slices.Contains([]Preference{"", Cheapest, Fastest, Capable}, need.Prefer) {
		return Route{}, execution.Errorf(execution.CodeValidation, "%q is not a preference: cheapest, fastest or capable", need.Prefer)
	}
	var r Route
	var fit []Candidate
	for _, c := range all {
		if why := need.rejects(c); why != "" {
			r.Rejected = append(r.Rejected, Rejection{c, why})
		} else {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		return Route{}, &NoRoute{r.Rejected}
	}
	slices.SortStableFunc(fit, func(a, b Candidate) int {
		return cmp.Or(flag(a.Negotiation.Degraded)-flag(b.Negotiation.Degraded), need.Prefer.compare(a, b))
	})
	r.Candidate, r.Fallbacks = fit[0], fit[1:]
	r.Reason = need.reason(r)
	return r, nil
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rejects says why a candidate does not fit; empty if it does.
func (n Need) rejects(c Candidate) string {
	s := n.Spec
	switch {
	case n.Only != "" && c.Name() != n.Only && c.Agent != n.Only:
		return "another one was asked for"
	case c.Down != "":
		return c.Down
	case !c.Negotiation.Supported:
		for _, why := range c.Negotiation.Reasons {
			if why.Severity == execution.SeverityBlocking {
				return why.Message
			}
		}
		return "it does not support the request"
	case n.MaxCost != nil && c.Cost == nil:
		return "its cost is unknown, and limited"
	case n.MaxCost != nil && *c.Cost > *n.MaxCost:
		return fmt.Sprintf("it would cost $%.4f, more than $%.4f", *c.Cost, *n.MaxCost)
	case s.Latency > 0 && (c.Latency == 0 || c.Latency > s.Latency):
		return fmt.Sprintf("it is not known to answer within %s", s.Latency)
	case c.Context > 0 && c.Context < s.ContextTokens:
		return fmt.Sprintf("its window has %d tokens, fewer than %d", c.Context, s.ContextTokens)
	case s.Tools && c.Negotiation.EffectiveCapabilities.ToolUse == execution.ToolsNone:
		return "it has no tools"
	}
	return ""
}

// compare orders two candidates; unknown values come last.
func (p Preference) compare(a, b Candidate) int {
	switch p {
	case Cheapest:
		switch {
		case a.Cost == nil || b.Cost == nil:
			return flag(a.Cost == nil) - flag(b.Cost == nil)
		default:
			return cmp.Compare(*a.Cost, *b.Cost)
		}
	case Fastest:
		if a.Latency == 0 || b.Latency == 0 {
			return flag(a.Latency == 0) - flag(b.Latency == 0)
		}
		return cmp.Compare(a.Latency, b.Latency)
	case Capable:
		return cmp.Or(cmp.Compare(len(a.Negotiation.Reasons), len(b.Negotiation.Reasons)), cmp.Compare(b.Context, a.Context))
	}
	return 0
}

func (n Need) reason(r Route) string {
	c := r.Candidate
	switch {
	case n.Only != "":
		return "it was asked for"
	case len(r.Fallbacks) == 0:
		return "only it fits"
	case n.Prefer == Cheapest && c.Cost != nil:
		return fmt.Sprintf("it is the cheapest ($%.4f)", *c.Cost)
	case n.Prefer == Fastest && c.Latency > 0:
		return fmt.Sprintf("it is the fastest (%s)", c.Latency)
	case n.Prefer == Capable:
		return "it lacks the least"
	}
	return "it comes first"
}
