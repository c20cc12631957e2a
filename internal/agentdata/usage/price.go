package usage

import (
	"github.com/drawbar/drawbar/execution"
)

// prices finds the price of a model by the name that an agent writes.
type prices struct {
	lists [][]execution.Model // the agent's own models, then those of the others
	found map[string]*execution.Price
}

// of returns the price of a model, nil if unknown: unknown is not free. An agent that resells models may know
// them without a price; the maker's price is then the estimate.
func (p *prices) of(model string) *execution.Price {
	price, ok := p.found[model]
	if !ok {
		for _, list := range p.lists {
			if m := execution.FindModel(list, model); m != nil && m.Price != nil {
				price = m.Price
				break
			}
		}
		if p.found == nil {
			p.found = map[string]*execution.Price{}
		}
		p.found[model] = price
	}
	return price
}

// estimate returns the price of a call; false if a kind of token in it has none.
func estimate(p *execution.Price, c *call) (float64, bool) {
	if p == nil {
		return 0, false
	}
	at := p.At(c.input + c.read + c.write + c.write1h)
	p = &at
	usd := p.Of(execution.Usage{Input: c.input, Output: c.output, Thinking: c.thinking, Cached: c.read, CacheWrite: c.write})
	if usd == nil || c.write1h > 0 && p.CacheWrite1h == nil {
		return 0, false
	}
	if c.write1h > 0 {
		*usd += float64(c.write1h) * *p.CacheWrite1h / 1e6
	}
	return *usd, true
}
