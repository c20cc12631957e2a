package routing

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// TestDecide: each rule, and which of two wins.
func TestDecide(t *testing.T) {
	t.Parallel()
	p := Policy{Capabilities: map[string]Mode{"triage": Cheap, "research": Deep}, CostLimit: 5, Escalations: map[string]Mode{"stuck": Deep, "slow": Fast, "odd": Cheap}}
	for name, c := range map[string]struct {
		p         Policy
		t         Turn
		mode      Mode
		reason    Reason
		escalated bool
		over      bool
	}{
		"nothing":                          {Policy{}, Turn{}, Fast, ByDefault, false, false},
		"the product's default":            {Policy{Default: Cheap}, Turn{}, Cheap, ByDefault, false, false},
		"the caller":                       {p, Turn{Requested: Deep, Capability: "triage", Cost: 9}, Deep, ByCaller, false, false},
		"a capability":                     {p, Turn{Capability: "research", Cost: 9}, Deep, ByCapability, false, false},
		"an unknown capability":            {p, Turn{Capability: "x"}, Fast, ByDefault, false, false},
		"the cost":                         {p, Turn{Cost: 5.01, Escalations: []Escalation{{"stuck", 1}}}, Cheap, ByCost, false, false},
		"not beyond the limit":             {p, Turn{Cost: 5}, Fast, ByDefault, false, false},
		"no limit":                         {Policy{}, Turn{Cost: 1e9}, Fast, ByDefault, false, false},
		"an escalation":                    {p, Turn{Escalations: []Escalation{{"x", 9}, {"slow", 1}}, Latency: time.Second}, Fast, ByEscalation, true, false},
		"the highest priority":             {p, Turn{Escalations: []Escalation{{"stuck", 1}, {"odd", 2}}}, Cheap, ByEscalation, true, false},
		"the deepest of equals":            {p, Turn{Escalations: []Escalation{{"odd", 1}, {"stuck", 1}, {"slow", 1}}}, Deep, ByEscalation, true, false},
		"a negative priority":              {p, Turn{Escalations: []Escalation{{"stuck", -1}}}, Deep, ByEscalation, true, false},
		"time enough for fast":             {Policy{}, Turn{Latency: 5 * time.Second}, Fast, ByLatency, false, false},
		"no time":                          {Policy{}, Turn{Latency: time.Second}, Cheap, ByLatency, false, false},
		"time enough for deep":             {Policy{Default: Deep, Specs: map[Mode]Spec{Deep: {Latency: time.Second}}}, Turn{Latency: time.Second}, Deep, ByDefault, false, false},
		"a ceiling":                        {p, Turn{Requested: Deep, Ceiling: Fast}, Fast, ByCeiling, false, true},
		"a ceiling over an escalation":     {p, Turn{Escalations: []Escalation{{"stuck", 1}}, Ceiling: Cheap}, Cheap, ByCeiling, true, true},
		"a ceiling that is not reached":    {p, Turn{Requested: Cheap, Ceiling: Deep}, Cheap, ByCaller, false, false},
		"a ceiling that is exactly enough": {p, Turn{Requested: Deep, Ceiling: Deep}, Deep, ByCaller, false, false},
	} {
		d, err := c.p.Decide(c.t)
		if err != nil || d.Mode != c.mode || d.Reason != c.reason || d.Escalated != c.escalated || d.Overridden != c.over {
			t.Errorf("%s: %+v %v", name, d, err)
		}
	}
}

// TestSpec: what a mode needs is that of the policy over the default, and what the turn needs besides.
func TestSpec(t *testing.T) {
	t.Parallel()
	d, err := Policy{}.Decide(Turn{})
	if err != nil || d.Spec != (Spec{Medium, true, true, 16000, 5 * time.Second}) {
		t.Errorf("%+v %v", d.Spec, err)
	}
	p := Policy{Specs: map[Mode]Spec{Cheap: {Tier: Frontier, ContextTokens: 8000, Latency: time.Second}}}
	d, err = p.Decide(Turn{Requested: Cheap, Tools: true, ContextTokens: 9000, Latency: 2 * time.Second})
	if err != nil || d.Spec != (Spec{Frontier, true, false, 9000, 2 * time.Second}) {
		t.Errorf("%+v %v", d.Spec, err)
	}
	if d, _ = p.Decide(Turn{Requested: Cheap, ContextTokens: 1}); d.Spec != (Spec{Frontier, false, false, 8000, time.Second}) {
		t.Errorf("%+v", d.Spec)
	}
}

func TestWrongTurns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		p Policy
		t Turn
	}{
		"requested":  {Policy{}, Turn{Requested: "huge"}},
		"ceiling":    {Policy{}, Turn{Ceiling: "huge"}},
		"default":    {Policy{Default: "huge"}, Turn{}},
		"capability": {Policy{Capabilities: map[string]Mode{"x": "huge"}}, Turn{}},
		"escalation": {Policy{Escalations: map[string]Mode{"x": "huge"}}, Turn{}},
		"cost":       {Policy{}, Turn{Cost: -1}},
		"no cost":    {Policy{}, Turn{Cost: math.NaN()}},
		"latency":    {Policy{}, Turn{Latency: -1}},
		"context":    {Policy{}, Turn{ContextTokens: -1}},
	} {
		if _, err := c.p.Decide(c.t); execution.CodeOf(err) != execution.CodeValidation {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func can(name string, change ...func(*Candidate)) Candidate {
	agent, model, _ := strings.Cut(name, "/")
	c := Candidate{Agent: agent, Model: model, Negotiation: execution.Negotiation{Supported: true, EffectiveCapabilities: execution.Capabilities{ToolUse: execution.ToolsNativeIterative}}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func costs(x float64) func(*Candidate)       { return func(c *Candidate) { c.Cost = &x } }
func takes(d time.Duration) func(*Candidate) { return func(c *Candidate) { c.Latency = d } }
func window(n int) func(*Candidate)          { return func(c *Candidate) { c.Context = n } }
func down(why string) func(*Candidate)       { return func(c *Candidate) { c.Down = why } }
func degraded(reasons int) func(*Candidate) {
	return func(c *Candidate) {
		c.Negotiation.Degraded, c.Negotiation.Reasons = true, make([]execution.Reason, reasons)
	}
}
func blocked(why string) func(*Candidate) {
	return func(c *Candidate) {
		c.Negotiation = execution.Negotiation{Reasons: []execution.Reason{{Severity: execution.SeverityWarning, Message: "slower"}, {Severity: execution.SeverityBlocking, Message: why}}}
	}
}

// TestToAdapter: who is chosen, who could instead, and why the others are not.
func TestToAdapter(t *testing.T) {
	t.Parallel()
	all := []Candidate{can("a", costs(2), takes(3*time.Second), window(100)), can("b/m", costs(1), takes(2*time.Second), window(300), degraded(1)), can("c"), can("d", costs(1.5), takes(time.Second), window(200)),
		can("gone", down("it is not installed")), can("mute", blocked("it has no sessions"))}
	limit := 1.7
	for name, c := range map[string]struct {
		need  Need
		order string
		why   string
	}{
		"the order":                      {Need{}, "a c d b/m", "it comes first"},
		"cheapest":                       {Need{Prefer: Cheapest}, "d a c b/m", "it is the cheapest ($1.5000)"},
		"fastest":                        {Need{Prefer: Fastest}, "d a c b/m", "it is the fastest (1s)"},
		"capable":                        {Need{Prefer: Capable}, "d a c b/m", "it lacks the least"},
		"only one":                       {Need{Only: "b/m", Prefer: Cheapest}, "b/m", "it was asked for"},
		"only an agent":                  {Need{Only: "b"}, "b/m", "it was asked for"},
		"a limit of cost":                {Need{MaxCost: &limit}, "d b/m", "it comes first"},
		"in time":                        {Need{Spec: Spec{Latency: 2 * time.Second}}, "d b/m", "it comes first"},
		"a large window, if it is known": {Need{Spec: Spec{ContextTokens: 250}}, "c b/m", "it comes first"},
		"both":                           {Need{Spec: Spec{ContextTokens: 250, Latency: time.Minute}}, "b/m", "only it fits"},
	} {
		r, err := ToAdapter(c.need, all)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		names := []string{r.Candidate.Name()}
		for _, f := range r.Fallbacks {
			names = append(names, f.Name())
		}
		if got := strings.Join(names, " "); got != c.order || r.Reason != c.why || len(names)+len(r.Rejected) != len(all) {
			t.Errorf("%s: %s, %s, %d rejected", name, got, r.Reason, len(r.Rejected))
		}
	}
	if all[0].Agent != "a" {
		t.Error("the candidates were sorted")
	}
	r, err := ToAdapter(Need{}, all)
	if err != nil || !slices.ContainsFunc(r.Rejected, func(x Rejection) bool { return x.Candidate.Agent == "mute" && x.Reason == "it has no sessions" }) {
		t.Errorf("%+v %v", r.Rejected, err)
	}
}

// TestNoRoute: if nobody can run a request, everybody's reason is said.
func TestNoRoute(t *testing.T) {
	t.Parallel()
	zero := 0.0
	for want, c := range map[string]struct {
		need Need
		c    Candidate
	}{
		"a: it is asleep":                          {Need{}, can("a", down("it is asleep"))},
		"a: it does not support the request":       {Need{}, Candidate{Agent: "a"}},
		"a: its cost is unknown, and limited":      {Need{MaxCost: &zero}, can("a")},
		"a: it would cost $1.0000, more than":      {Need{MaxCost: &zero}, can("a", costs(1))},
		"a: it is not known to answer within 1s":   {Need{Spec: Spec{Latency: time.Second}}, can("a")},
		"a: its window has 5 tokens, fewer than 6": {Need{Spec: Spec{ContextTokens: 6}}, can("a", window(5))},
		"a: it has no tools":                       {Need{Spec: Spec{Tools: true}}, can("a", func(c *Candidate) { c.Negotiation.EffectiveCapabilities.ToolUse = execution.ToolsNone })},
		"a: another one was asked for":             {Need{Only: "b"}, can("a")},
	} {
		_, err := ToAdapter(c.need, []Candidate{c.c})
		var none *NoRoute
		if !errors.As(err, &none) || !strings.Contains(err.Error(), want) || execution.CodeOf(err) != execution.CodeCapability {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := ToAdapter(Need{}, nil); err == nil || err.Error() != "there are no candidates" {
		t.Errorf("%v", err)
	}
	if _, err := ToAdapter(Need{Prefer: "best"}, []Candidate{can("a")}); execution.CodeOf(err) != execution.CodeValidation {
		t.Errorf("%v", err)
	}
}

func BenchmarkToAdapter(b *testing.B) {
	all := []Candidate{can("a", costs(2)), can("b", costs(1)), can("c")}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ToAdapter(Need{Prefer: Cheapest}, all); err != nil {
			b.Fatal(err)
		}
	}
}

// Who runs a request that has to be cheap, and who could instead.
func ExampleToAdapter() {
	low, high := 0.02, 0.06
	can := execution.Negotiation{Supported: true}
	route, err := ToAdapter(Need{Prefer: Cheapest}, []Candidate{
		{Agent: "claude", Model: "opus", Negotiation: can, Cost: &high},
		{Agent: "codex", Negotiation: can, Cost: &low},
		{Agent: "gemini", Negotiation: can, Down: "it is not installed"},
	})
	fmt.Println(route.Candidate.Name(), route.Reason, err)
	fmt.Println("then", route.Fallbacks[0].Name(), "- not", route.Rejected[0].Candidate.Name()+":", route.Rejected[0].Reason)
	// Output:
	// codex it is the cheapest ($0.0200) <nil>
	// then claude/opus - not gemini: it is not installed
}
