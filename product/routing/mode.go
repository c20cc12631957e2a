package routing

import (
	"cmp"
	"slices"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// Mode is how much effort a turn is worth.
type Mode string

// The modes, from the cheapest.
const (
	Cheap Mode = "cheap"
	Fast  Mode = "fast"
	Deep  Mode = "deep"
)

var modes = []Mode{Cheap, Fast, Deep}

func (m Mode) depth() int { return slices.Index(modes, m) }

// Tier is the size of a model.
type Tier string

// The tiers.
const (
	Small    Tier = "small"
	Medium   Tier = "medium"
	Large    Tier = "large"
	Frontier Tier = "frontier"
	Other    Tier = "other"
)

// Spec is what a mode needs of a model.
type Spec struct {
	Tier          Tier          `json:"tier"`
	Tools         bool          `json:"requiresTools"`
	Streaming     bool          `json:"requiresStreaming"`
	ContextTokens int           `json:"minContextTokens"`
	Latency       time.Duration `json:"maxLatencyNs"` // 0 is unknown, and meets no bound
}

// Specs are those of the modes without others.
func Specs() map[Mode]Spec {
	return map[Mode]Spec{
		Cheap: {Tier: Small},
		Fast:  {Tier: Medium, Tools: true, Streaming: true, ContextTokens: 16000, Latency: 5 * time.Second},
		Deep:  {Tier: Large, Tools: true, Streaming: true, ContextTokens: 64000},
	}
}

// Escalation is a signal that a turn needs more.
type Escalation struct {
	Signal   string
	Priority int // the highest counts
}

// Turn is what is known about a turn.
type Turn struct {
	Requested     Mode // by the caller; empty is none
	Capability    string
	Cost          float64 // accumulated, in dollars
	Escalations   []Escalation
	Latency       time.Duration // bound; 0 is none
	Ceiling       Mode          // never exceeded; empty is none
	Tools         bool
	Streaming     bool
	ContextTokens int
}

// Policy is a product's routing. The zero value has the defaults.
type Policy struct {
	Capabilities map[string]Mode // mode of a capability
	CostLimit    float64         // beyond which turns are cheap; 0 is none
	Escalations  map[string]Mode // mode of a signal
	Default      Mode            // empty is Fast
	Specs        map[Mode]Spec   // replace the defaults where they are not zero
}

// Reason is why a mode was chosen.
type Reason string

// The reasons, in the order in which they are tried.
const (
	ByCaller     Reason = "caller_requested"
	ByCapability Reason = "capability_override"
	ByCost       Reason = "cost_envelope_exceeded"
	ByEscalation Reason = "escalation_signal"
	ByLatency    Reason = "latency_constraint"
	ByDefault    Reason = "policy_default"
	ByCeiling    Reason = "hard_constraint"
)

// Decision is the mode of a turn.
type Decision struct {
	Mode       Mode
	Spec       Spec
	Reason     Reason
	Escalated  bool
	Overridden bool // by the ceiling
}

// Decide decides the mode of a turn.
func (p Policy) Decide(t Turn) (Decision, error) {
	if err := p.check(t); err != nil {
		return Decision{}, err
	}
	d := p.choose(t)
	if t.Ceiling != "" && d.Mode.depth() > t.Ceiling.depth() {
		d.Mode, d.Reason, d.Overridden = t.Ceiling, ByCeiling, true
	}
	d.Spec = p.spec(d.Mode)
	d.Spec.Tools, d.Spec.Streaming = d.Spec.Tools || t.Tools, d.Spec.Streaming || t.Streaming
	d.Spec.ContextTokens = max(d.Spec.ContextTokens, t.ContextTokens)
	d.Spec.Latency = cmp.Or(t.Latency, d.Spec.Latency)
	return d, nil
}

func (p Policy) choose(t Turn) Decision {
	if t.Requested != "" {
		return Decision{Mode: t.Requested, Reason: ByCaller}
	}
	if m, ok := p.Capabilities[t.Capability]; ok {
		return Decision{Mode: m, Reason: ByCapability}
	}
	if p.CostLimit > 0 && t.Cost > p.CostLimit {
		return Decision{Mode: Cheap, Reason: ByCost}
	}
	best := Decision{}
	priority := 0
	for _, e := range t.Escalations {
		m, ok := p.Escalations[e.Signal]
		if ok && (best.Mode == "" || e.Priority > priority || e.Priority == priority && m.depth() > best.Mode.depth()) {
			best, priority = Decision{Mode: m, Reason: ByEscalation, Escalated: true}, e.Priority
		}
	}
	if best.Mode != "" {
		return best
	}
	meets := func(m Mode) bool { l := p.spec(m).Latency; return l > 0 && l <= t.Latency }
	switch {
	case t.Latency == 0 || meets(Deep):
		return Decision{Mode: cmp.Or(p.Default, Fast), Reason: ByDefault}
	case meets(Fast):
		return Decision{Mode: Fast, Reason: ByLatency}
	}
	return Decision{Mode: Cheap, Reason: ByLatency}
}

// spec is the spec of a mode: that of the policy over the default.
func (p Policy) spec(m Mode) Spec {
	s, own := Specs()[m], p.Specs[m]
	return Spec{cmp.Or(own.Tier, s.Tier), own.Tools || s.Tools, own.Streaming || s.Streaming, cmp.Or(own.ContextTokens, s.ContextTokens), cmp.Or(own.Latency, s.Latency)}
}

func (p Policy) check(t Turn) error {
	named := map[string]Mode{"requested": t.Requested, "ceiling": t.Ceiling, "default": p.Default}
	for name, m := range p.Capabilities {
		named["capabilities."+name] = m
	}
	for name, m := range p.Escalations {
		named["escalations."+name] = m
	}
	for name, m := range named {
		if m != "" && m.depth() < 0 {
			return execution.Errorf(execution.CodeValidation, "%s: %q is not a mode: cheap, fast or deep", name, m)
		}
	}
	if !(t.Cost >= 0) || t.Latency < 0 || t.ContextTokens < 0 {
		return execution.Errorf(execution.CodeValidation, "cost, latency and context of a turn are not negative")
	}
	return nil
}
