package execution

import "math"

// Usage counts tokens (agent-mux specification, tokenUsage). Input excludes cached tokens, which are in Cached;
// Total is input + output + cached.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	Thinking   int64 `json:"thinking,omitempty"`   // part of Output
	Cached     int64 `json:"cached,omitempty"`     // read from the provider's cache, not part of Input
	CacheWrite int64 `json:"cacheWrite,omitempty"` // written to the provider's cache, not part of Input
	Total      int64 `json:"total"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{Input: u.Input + v.Input, Output: u.Output + v.Output, Thinking: u.Thinking + v.Thinking,
		Cached: u.Cached + v.Cached, CacheWrite: u.CacheWrite + v.CacheWrite, Total: u.Total + v.Total}
}

// Sub returns the difference of two usages, for backends that report running totals.
func (u Usage) Sub(v Usage) Usage {
	return u.Add(Usage{Input: -v.Input, Output: -v.Output, Thinking: -v.Thinking, Cached: -v.Cached, CacheWrite: -v.CacheWrite, Total: -v.Total})
}

// WithTotal returns u with Total computed. Thinking is already part of Output.
func (u Usage) WithTotal() Usage {
	u.Total = u.Input + u.Output + u.Cached + u.CacheWrite
	return u
}

// Event is the event that reports u.
func (u Usage) Event() TokenUsage {
	return TokenUsage{InputTokens: u.Input, OutputTokens: u.Output, ThinkingTokens: u.Thinking, CachedTokens: u.Cached, CacheWriteTokens: u.CacheWrite}
}

// CallEvent is the event that reports u as the tokens of one model call.
func (u Usage) CallEvent() TokenUsage {
	e := u.Event()
	e.ModelCall = true
	return e
}

// Usage returns what the event reports.
func (e TokenUsage) Usage() Usage {
	return Usage{Input: e.InputTokens, Output: e.OutputTokens, Thinking: e.ThinkingTokens, Cached: e.CachedTokens, CacheWrite: e.CacheWriteTokens}
}

// IsZero reports whether u counts nothing.
func (u Usage) IsZero() bool { return u == Usage{} }

// CostSource says where a price comes from.
type CostSource string

// The sources of a price.
const (
	CostFromAgent CostSource = "agent" // the agent stated it
	CostFromTable CostSource = "table" // tokens times the price table
	// CostFromSession is tokens times the price table, with tokens from the agent's session file because an
	// interrupted run did not state them. A cost without a price has this source too.
	CostFromSession CostSource = "session"
)

var costSources = []CostSource{CostFromAgent, CostFromTable, CostFromSession}

// Cost is a cost record (agent-mux specification, CostRecord). TotalUSD is nil if no price is known; Unpriced
// is then set, because unknown is not free. If both are set, TotalUSD is incomplete: some tokens have no price,
// or an interrupted turn never stated its tokens.
type Cost struct {
	TotalUSD            *float64   `json:"totalUsd,omitempty"`
	Unpriced            bool       `json:"unpriced,omitempty"`
	Source              CostSource `json:"source,omitempty"`
	InputTokens         int64      `json:"inputTokens"`
	OutputTokens        int64      `json:"outputTokens"`
	ThinkingTokens      int64      `json:"thinkingTokens,omitempty"`
	CacheCreationTokens int64      `json:"cacheCreationTokens,omitempty"`
	CacheReadTokens     int64      `json:"cacheReadTokens,omitempty"`
}

// CostOf returns the cost record of a usage; usd is nil if no price is known.
func CostOf(u Usage, usd *float64, source CostSource) Cost {
	c := Cost{TotalUSD: usd, Unpriced: usd == nil, InputTokens: u.Input, OutputTokens: u.Output,
		ThinkingTokens: u.Thinking, CacheCreationTokens: u.CacheWrite, CacheReadTokens: u.Cached}
	if usd != nil {
		c.Source = source
	}
	return c
}

// Usage returns the token part of a cost record.
func (c Cost) Usage() Usage {
	return Usage{Input: c.InputTokens, Output: c.OutputTokens, Thinking: c.ThinkingTokens, Cached: c.CacheReadTokens,
		CacheWrite: c.CacheCreationTokens, Total: c.InputTokens + c.OutputTokens + c.CacheReadTokens + c.CacheCreationTokens}
}

// Price is a model's price in US dollars per million tokens. CacheRead and CacheWrite are nil if unknown;
// tokens of that kind then make a cost unpriced.
type Price struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cacheRead,omitempty"`
	CacheWrite *float64 `json:"cacheWrite,omitempty"`
	Thinking   *float64 `json:"thinking,omitempty"` // nil: thinking costs as much as other output
	// CacheWrite1h is the price of tokens cached for an hour instead of minutes. A Usage does not distinguish
	// the two; session files do.
	CacheWrite1h *float64 `json:"cacheWrite1h,omitempty"`
	// Long is the price of model calls with long prompts; nil if that makes no difference.
	Long *LongPrice `json:"long,omitempty"`
}

// LongPrice is the price of a model call whose prompt, with what the cache has of it, has more tokens than Above.
type LongPrice struct {
	Above        int64    `json:"above"`
	Input        float64  `json:"input"`
	Output       float64  `json:"output"`
	CacheRead    *float64 `json:"cacheRead,omitempty"`
	CacheWrite   *float64 `json:"cacheWrite,omitempty"`
	CacheWrite1h *float64 `json:"cacheWrite1h,omitempty"`
}

func (p LongPrice) price() Price {
	return Price{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite, CacheWrite1h: p.CacheWrite1h}
}

// Faults returns the JSON names of the members that no price can have.
func (p Price) Faults() (names []string) {
	for _, m := range []struct {
		name  string
		value *float64
	}{{"input", &p.Input}, {"output", &p.Output}, {"cacheRead", p.CacheRead}, {"cacheWrite", p.CacheWrite}, {"cacheWrite1h", p.CacheWrite1h}, {"thinking", p.Thinking}} {
		if m.value != nil && !(*m.value >= 0 && !math.IsInf(*m.value, 0)) {
			names = append(names, m.name)
		}
	}
	if p.Long == nil {
		return names
	}
	if p.Long.Above <= 0 {
		names = append(names, "long.above")
	}
	for _, inner := range p.Long.price().Faults() {
		names = append(names, "long."+inner)
	}
	return names
}

// At returns the price of a model call with so many tokens in its prompt.
func (p Price) At(prompt int64) Price {
	if p.Long != nil && prompt > p.Long.Above {
		return p.Long.price()
	}
	return p
}

// Of returns the price of a model call's usage in US dollars, nil if a kind of token in it has no price. Thinking tokens are
// part of the output and are not charged twice.
func (p Price) Of(u Usage) *float64 {
	p = p.At(u.Input + u.Cached + u.CacheWrite)
	usd := float64(u.Input)*p.Input/1e6 + float64(u.Output)*p.Output/1e6
	if p.Thinking != nil {
		usd += float64(u.Thinking) * (*p.Thinking - p.Output) / 1e6
	}
	for _, part := range []struct {
		n     int64
		price *float64
	}{{u.Cached, p.CacheRead}, {u.CacheWrite, p.CacheWrite}} {
		if part.n == 0 {
			continue
		}
		if part.price == nil {
			return nil
		}
		usd += float64(part.n) * *part.price / 1e6
	}
	return &usd
}

// OfCalls returns the price of the usage of several model calls, nil if a kind of token in it has no price, or if it is unknown whether a prompt was
// long. calls are those of them that are known one by one.
func (p Price) OfCalls(sum Usage, calls []Usage) *float64 {
	if p.Long == nil {
		return p.Of(sum)
	}
	usd := 0.0
	for _, c := range calls {
		one := p.Of(c)
		if one == nil {
			return nil
		}
		usd, sum = usd+*one, sum.Sub(c)
	}
	if sum.Input+sum.Cached+sum.CacheWrite > p.Long.Above {
		return nil
	}
	rest := p.Of(sum)
	if rest == nil {
		return nil
	}
	usd += *rest
	return &usd
}
