package turnruntime

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// counted keeps turns whose cost Drawbar is only told within the budgets for all runs: the turn is refused if one is used up, and counts
// with what the program or the result says it cost. A turn that says nothing is not recorded: most scripts cost nothing.
type counted struct {
	Runtime
	books govern.Spender
}

func (c counted) Run(ctx context.Context, d Dispatch, w Watch) (Outcome, error) {
	begun := time.Now()
	o := execution.RunOptions{Agent: d.Runtime.Type}
	if words, _, err := d.words(d.place()); err == nil && d.Runtime.Type == protocol.RuntimeLocalCLI {
		o.Command = []string{strings.TrimSuffix(filepath.Base(words[0]), ".exe")}
	}
	req := d.request(begun, "", o)
	if err := c.books.Afford(req); err != nil {
		return refused(err, &secret.Redactor{}), nil
	}
	out, err := c.Runtime.Run(ctx, d, w)
	usage, cost := d.stated(out)
	if cost == nil {
		return out, err
	}
	req = d.request(begun, d.text(), o)
	res := out.record(begun, time.Now())
	if out.Meta != nil {
		req.Run.Model = out.Meta.Model
	}
	res.Usage, res.Cost = &usage, new(execution.CostOf(usage, cost, execution.CostFromAgent))
	if err := c.books.Spent(req, res); err != nil {
		d.say("The record of turn %s is incomplete: %v", d.Turn.TurnID, err)
	}
	return out, err
}

// stated is what the program or the result says the turn used and cost; tokens alone are priced. The cost is nil if it says nothing.
func (d Dispatch) stated(o Outcome) (execution.Usage, *float64) {
	said := o.Cost
	if said == nil {
		raw, err := decode(d.look().data)
		if err != nil || json.Unmarshal(raw.At("cost"), &said) != nil || said == nil {
			return execution.Usage{}, nil
		}
	}
	u := execution.Usage{Input: said.InputTokens, Output: said.OutputTokens, Total: said.InputTokens + said.OutputTokens}
	if said.USD > 0 {
		return u, &said.USD
	}
	if u.Total > 0 && o.Meta != nil {
		return u, d.price(o.Meta.Model, false, u.Input, u.Output)
	}
	return u, nil
}
