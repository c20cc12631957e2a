package gemini

import (
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var statsShape jsonscan.Shape[struct{ TotalTokens, InputTokens, OutputTokens, Cached jsonscan.Value }]

// usageOf converts the tokens of one model to this project's definitions. Gemini's input includes cached tokens, and
// its output excludes thinking, which is the rest of the total.
func usageOf(v jsonscan.Value) execution.Usage {
	n, _ := statsShape.Of(v)
	total, input, output, cached := n.TotalTokens.Count(), n.InputTokens.Count(), n.OutputTokens.Count(), n.Cached.Count()
	u := execution.Usage{Cached: min(cached, input)}
	u.Input = input - u.Cached
	u.Thinking = max(0, total-input-output)
	u.Output = output + u.Thinking
	return u.WithTotal()
}

// count reports the usage of the run. Models are counted separately, because Gemini's own requests do not belong to
// the run; without a list of models the sum counts.
func (p *oneShot) count(stats jsonscan.Value, s *cliagent.Sink) {
	own, found := p.model, false
	var used []modelUsage
	for id, tokens := range stats.Get("models").Object {
		found = true
		if u := usageOf(tokens); !u.IsZero() && !aside(string(id), own) {
			used = append(used, modelUsage{string(id), u})
		}
	}
	if !found {
		if u := usageOf(stats); !u.IsZero() {
			used = append(used, modelUsage{own, u})
		}
	}
	p.usage = spend(used, own, s)
	if main := largest(used); main != "" {
		p.model = main
	}
}

// modelUsage is the usage of one model.
type modelUsage struct {
	model string
	usage execution.Usage
}

// spend emits the events of the usage and returns the sum. If models besides the session's were used, each is charged
// at its own price.
func spend(used []modelUsage, own string, s *cliagent.Sink) (sum execution.Usage) {
	several := len(used) > 1 || len(used) == 1 && used[0].model != own
	for _, m := range used {
		sum = sum.Add(m.usage)
		s.Emit(m.usage.Event())
		if !several {
			continue
		}
		if p := priceOf(m.model); p != nil {
			if usd := p.OfCalls(m.usage, nil); usd != nil {
				s.Emit(execution.CostEvent{Cost: execution.CostOf(m.usage, usd, execution.CostFromTable)})
			}
		}
	}
	return sum
}

func largest(used []modelUsage) (model string) {
	var most int64
	for _, m := range used {
		if m.usage.Total > most {
			model, most = m.model, m.usage.Total
		}
	}
	return model
}

func priceOf(id string) *execution.Price {
	for _, m := range models() {
		if m.ID == id {
			return m.Price
		}
	}
	return nil
}
