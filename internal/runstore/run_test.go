package runstore

import (
	"testing"
	"time"

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
	tiered := &execution.Price{Input: 3, Output: 15, Long: &execution.LongPrice{Above: 1_500_000, Input: 6, Output: 30}}
	call := execution.Event{Body: execution.Usage{Input: 1_000_000}.CallEvent()}
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
		{"calls below a long prompt", []execution.Event{call, call}, tiered, 6, true, execution.CostFromTable},
		{"a sum that may have a long prompt", []execution.Event{used, used}, tiered, 0, false, ""},
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

// TestTokensOfALostRun: a lost run that did not state the tokens of a turn has those of its session file, once.
func TestTokensOfALostRun(t *testing.T) {
	t.Parallel()
	used := execution.Event{Body: execution.TokenUsage{InputTokens: 100, OutputTokens: 10}}
	turn, end := execution.Event{Body: execution.TurnStart{}}, execution.Event{Body: execution.TurnEnd{}}
	session := execution.Event{Body: execution.SessionStart{SessionID: "s"}}
	file := execution.Usage{Input: 300, Output: 30, Total: 330}
	for _, tt := range []struct {
		name   string
		events []execution.Event
		want   int64
		source execution.CostSource
	}{
		{"nothing stated", []execution.Event{session, turn}, 300, execution.CostFromSession},
		{"the last turn not", []execution.Event{session, turn, used, end, turn}, 300, execution.CostFromSession},
		{"an earlier turn not", []execution.Event{session, turn, end, turn, used, end}, 300, execution.CostFromSession},
		{"all stated", []execution.Event{session, turn, used, end}, 100, execution.CostFromTable},
		{"all stated at the end", []execution.Event{session, turn, end, turn, end, used}, 100, execution.CostFromTable},
		{"no session", []execution.Event{turn}, 0, ""},
	} {
		o := Options{Price: func(string, string) *execution.Price { return &execution.Price{Input: 3, Output: 15} },
			Used: func(agent, session, _ string, since, until time.Time) execution.Usage {
				if agent != "fake" || session != "s" || !until.After(since) {
					t.Errorf("%s: asked about %s %s from %v to %v", tt.name, agent, session, since, until)
				}
				return file
			}}
		w := begin(t, open(t, stateDir(t), o), Meta{})
		for _, e := range tt.events {
			e.Time = time.Now()
			w.Append(e)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := w.Run().lost(o) // as if it had no result
		if err != nil {
			t.Fatal(err)
		}
		if tt.want == 0 {
			if r.Cost != nil {
				t.Errorf("%s: %+v", tt.name, r.Cost)
			}
			continue
		}
		if c := r.Cost; c == nil || c.InputTokens != tt.want || c.TotalUSD == nil || c.Unpriced || c.Source != tt.source {
			t.Errorf("%s: %+v", tt.name, c)
		}
	}
}
