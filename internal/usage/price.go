package usage

import (
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// prices finds the price of a model by the name an agent writes.
type prices struct {
	lists [][]execution.Model // the agent's own models, then those of the others
	found map[string]*execution.Price
}

// of is the price of a model, nil for one that is not known: unknown is not free.
func (p *prices) of(model string) *execution.Price {
	price, ok := p.found[model]
	if !ok {
		for _, list := range p.lists {
			if m := match(list, model); m != nil {
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

// match finds the model that a name stands for: its id or an alias; or the longest id or alias that the name begins with,
// when what follows is a date or a version of its delivery, as in claude-opus-4-5-20251101 and claude-opus-4-5@20251101.
// What a provider puts before the name does not count, nor the size of the window behind it: anthropic/claude-opus-4-5,
// us.anthropic.claude-opus-4-5-20251101-v1:0, claude-opus-4-5[1m].
func match(list []execution.Model, name string) *execution.Model {
	for _, n := range []string{name, bare(name)} {
		var found *execution.Model
		longest := -1
		for i := range list {
			for j := -1; j < len(list[i].Aliases); j++ {
				id := list[i].ID
				if j >= 0 {
					id = list[i].Aliases[j]
				}
				if rest, ok := strings.CutPrefix(n, id); ok && id != "" && len(id) > longest && delivery(rest) {
					found, longest = &list[i], len(id)
				}
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// bare is a model's name without what providers add to it.
func bare(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if before, _, ok := strings.Cut(name, "["); ok {
		name = before
	}
	if i := strings.LastIndex(name, "anthropic."); i >= 0 {
		name = name[i+len("anthropic."):]
	}
	return name
}

// delivery reports whether what stands behind a model's id changes nothing: nothing at all, a date, "latest", a version of
// the service that delivers it.
func delivery(rest string) bool {
	if rest == "" {
		return true
	}
	if rest[0] != '-' && rest[0] != '@' && rest[0] != ':' {
		return false
	}
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == '-' || r == '@' || r == ':' }) {
		digits := strings.Trim(part, "0123456789") == ""
		switch {
		case digits && (len(part) == 8 && part[:2] == "20"): // 20251101
		case part == "latest", part == "default", part == "v1", part == "v2", part == "0": // of Bedrock: -v1:0
		case digits && isDate(rest):
		default:
			return false
		}
	}
	return true
}

// isDate reports whether rest is -2026-03-05.
func isDate(rest string) bool {
	return len(rest) == 11 && rest[1:3] == "20" && rest[5] == '-' && rest[8] == '-'
}

// estimate is the price of a call; false when a kind of token in it has none.
func estimate(p *execution.Price, c *call) (float64, bool) {
	if p == nil {
		return 0, false
	}
	usd := float64(c.input)*p.Input + float64(c.output)*p.Output
	for _, part := range []struct {
		n     int64
		price *float64
	}{{c.read, p.CacheRead}, {c.write, p.CacheWrite}, {c.write1h, p.CacheWrite1h}} {
		if part.n == 0 {
			continue
		}
		if part.price == nil {
			return 0, false
		}
		usd += float64(part.n) * *part.price
	}
	return usd / 1e6, true
}
