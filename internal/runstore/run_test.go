package runstore

import (
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// What a lost run used is priced: what the agent stated, and the rest by the price of its model.
func TestCostOfALostRun(t *testing.T) {
	t.Parallel()
	used := execution.Event{Body: execution.TokenUsage{InputTokens: 1_000_000}}
	stated := func(usd float64) execution.Event {
		return execution.Event{Body: execution.CostEvent{Cost: execution.CostOf(execution.Usage{Input: 1_000_000, Total: 1_000_000}, &usd, execution.CostFromAgent)}}
	}
	price := &execution.Price{Input: 3, Output: 15}
	for _, tt := range []struct {
		name   string
		events []execution.Event
		price  *execution.Price
		usd    float64
		known  bool
		source execution.CostSource
	}{
		{"nothing stated", []execution.Event{used}, price, 3, true, execution.CostFromTable},
		{"all stated", []execution.Event{used, stated(7)}, price, 7, true, execution.CostFromAgent},
		{"a part stated", []execution.Event{used, stated(7), used}, price, 10, true, execution.CostFromAgent},
		{"no price", []execution.Event{used}, nil, 0, false, ""},
	} {
		var sum tally
		for _, e := range tt.events {
			sum.add(e)
		}
		sum.price(tt.price)
		c := sum.cost()
		if (c.TotalUSD != nil) != tt.known || tt.known && *c.TotalUSD != tt.usd || c.Source != tt.source || c.Unpriced == tt.known {
			t.Errorf("%s: %+v", tt.name, c)
		}
	}
}
